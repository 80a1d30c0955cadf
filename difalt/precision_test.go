package difalt_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
)

// reached returns the first iteration with every node within eps of the truth, -1 if none.
func reached(recs []difalt.Record, eps float64) int {
	return slices.IndexFunc(recs, func(r difalt.Record) bool { return r.SDMax < eps })
}

// final is the median distance of the last 40 iterations.
func final(recs []difalt.Record) float64 {
	var last []float64
	for _, r := range recs[len(recs)-40:] {
		last = append(last, r.SDMax)
	}
	slices.Sort(last)
	return last[len(last)/2]
}

// sameArrival wants runs in mixed precision that reach distances within an iteration of
// those of float64 and end within twice their distance.
func sameArrival(t *testing.T, p *difalt.Problem, net *consensus.Network, o difalt.Options) {
	t.Helper()
	want := curve(t, p, net, o)
	o.MixedPrecision = true
	got := curve(t, p, net, o)
	for _, eps := range []float64{1e-2, 1e-6, 1e-10, 1e-12} {
		if g, w := reached(got, eps), reached(want, eps); g < w-1 || g > w+1 {
			t.Errorf("%g is reached in %d iterations, with float64 in %d", eps, g, w)
		}
	}
	if g, w := final(got), final(want); g > 2*w+1e-15 {
		t.Errorf("ends at %g, with float64 at %g", g, w)
	}
	if g, w := got[len(got)-1].Objective, want[len(want)-1].Objective; g > w*(1+1e-2)+1e-23 {
		t.Errorf("objective %g, with float64 %g", g, w)
	}
}

// minimizer replaces the truth by what the data say, the minimiser in float64.
func minimizer(t *testing.T, s *synthetic, o difalt.Options) {
	t.Helper()
	o.Agreement, o.Method, o.EveryIteration, o.Iterations = consensus.Agreement{Polynomial: consensus.Tree}, difalt.AcceleratedTracking, true, 300
	res, err := difalt.Run(t.Context(), s.Problem, network(t, "complete", len(s.Nodes), topology.Metropolis, 1), o)
	if err != nil {
		t.Fatal(err)
	}
	s.Truth = res.U[0]
}

func TestMixedPrecision(t *testing.T) {
	net := network(t, "er:0.7", 5, topology.Metropolis, 1)
	tree := consensus.Agreement{Polynomial: consensus.Tree}
	ragged := func(t int) int { return 8 + t*7%30 }
	for name, s := range map[string]*synthetic{
		"gaussian":  gaussian(1, 5, 20, 40, 2, fixed(15), 0),
		"kappa 100": conditioned(2, 5, 30, 60, 3, 30, 100),
		"ragged":    gaussian(3, 5, 20, 60, 3, ragged, 0),
	} {
		d, r := s.Truth.Dims()
		start := kernel.BasisOf(normal(rand.New(rand.NewPCG(8, 8)), d, r))
		floats.AddScaledTo(start.Data(), s.Truth.Data(), 0.1/math.Sqrt(float64(d)), start.Data())
		start.Orthonormalize(nil, nil)
		for range s.Nodes { // all go the same way from here
			s.U0 = append(s.U0, start)
		}
		for _, o := range []difalt.Options{
			{Method: difalt.Accelerated, Iterations: 150},
			{Method: difalt.Accelerated, Iterations: 150, Agreement: tree},
			{Method: difalt.AcceleratedTracking, Iterations: 150},
			{Method: difalt.ScaledDiffusion, Iterations: 250},
			{Method: difalt.GradientTracking, Iterations: 250},
		} {
			o.Rank = r
			t.Run(fmt.Sprint(name, "/", o.Method, "/", o.Agreement.Polynomial), func(t *testing.T) { sameArrival(t, s.Problem, net, o) })
		}
	}
	for _, method := range difalt.PaperMethods() {
		s, net := small(t)
		t.Run(method.String(), func(t *testing.T) {
			sameArrival(t, s.Problem, net, difalt.Options{Rank: 2, Method: method, Iterations: 400})
		})
	}
}

// From a start that knows nothing of the weakest direction, runs find it by chance, with
// float64 and with a copy; neither takes longer.
func TestMixedPrecisionFromAPoorStart(t *testing.T) {
	inFull(t)
	net := network(t, "er:0.7", 5, topology.Metropolis, 1)
	took := map[bool]int{}
	for seed := range uint64(12) {
		s := conditioned(seed, 5, 30, 60, 3, 30, 100)
		for _, mixed := range []bool{false, true} {
			recs := curve(t, s.Problem, net, difalt.Options{Rank: 3, Method: difalt.Accelerated, Iterations: 200, MixedPrecision: mixed})
			n := reached(recs, 1e-12)
			if n < 0 {
				t.Errorf("seed %d, mixed precision %v: ends at %g", seed, mixed, final(recs))
			}
			took[mixed] += n
		}
	}
	if float64(took[true]) > 1.1*float64(took[false]) {
		t.Errorf("%d iterations, with float64 %d", took[true], took[false])
	}
}

// With noise the distance is to the minimiser of the data, of which e_t is not small.
func TestMixedPrecisionUnderNoise(t *testing.T) {
	for _, noise := range []float64{1e-6, 1e-3, 0.05, 0.5} {
		for _, ridge := range []float64{0, 0.7} {
			s := noisy(4, 5, 20, 50, 2, 25, 3, noise)
			o := difalt.Options{Rank: 2, Ridge: ridge, Method: difalt.Accelerated, Iterations: 200, Agreement: consensus.Agreement{Polynomial: consensus.Tree}}
			minimizer(t, s, o)
			t.Run(fmt.Sprintf("noise=%g/ridge=%g", noise, ridge), func(t *testing.T) {
				sameArrival(t, s.Problem, network(t, "er:0.7", 5, topology.Metropolis, 1), o)
			})
		}
	}
}

// Units of the features and means far from zero make the problem one that gradients take
// long for: the curves are the same.
func TestMixedPrecisionOfAnyFeatures(t *testing.T) {
	change := map[string]func(k int, v float64) float64{
		"units":        func(k int, v float64) float64 { return v * math.Pow(10, float64(k%13-6)) },
		"small units":  func(k int, v float64) float64 { return v * math.Pow(10, float64(k%3-1)) },
		"offset":       func(k int, v float64) float64 { return v + []float64{0, 0, 30}[k%3] },
		"large offset": func(k int, v float64) float64 { return v + []float64{0, 0, 1e6}[k%3] },
		"heavy":        func(k int, v float64) float64 { return v * math.Exp(v*v/2) },
		"counts":       func(k int, v float64) float64 { return math.Floor(math.Abs(3 * v)) },
	}
	for name, f := range change {
		for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.ScaledDiffusion} {
			s := gaussian(6, 4, 20, 40, 2, fixed(25), 0)
			for g := range s.x {
				for t, x := range s.x[g] {
					for i := range x.RawMatrix().Rows {
						row, y := x.RawRowView(i), 0.0
						for k, v := range row {
							row[k] = f(k, v)
							y += row[k] * s.theta[g][t].AtVec(k)
						}
						s.y[g][t][i] = y
					}
				}
			}
			s.rebuild()
			t.Run(fmt.Sprint(name, "/", method), func(t *testing.T) {
				o := difalt.Options{Rank: 2, Method: method, Iterations: 300}
				net := network(t, "ring", 4, topology.Metropolis, 1)
				want := curve(t, s.Problem, net, o)
				o.MixedPrecision = true
				got := curve(t, s.Problem, net, o)
				// Where steps are damped, that is decided a little earlier or later.
				for i, rec := range got {
					low, high := math.Inf(1), 0.0
					for _, w := range want[max(i-4-i/8, 0):min(i+5+i/8, len(want))] {
						low, high = min(low, w.SDMax), max(high, w.SDMax)
					}
					// In units of 1e-6 to 1e6 a distance is that of few features, and damped so often that either curve may be ahead
					// of the other by more than the window: there it is not behind. An offset of 1e6 leaves ten digits.
					alike, rounding := 1.2, 5e-15
					switch name {
					case "units":
						alike, low = 5, 0
					case "large offset":
						rounding = 1e-9
					}
					if g := rec.SDMax; g > alike*high+rounding || low > alike*g+rounding {
						t.Fatalf("SD after %d iterations is %g, with float64 %g", i, g, want[i].SDMax)
					}
				}
				if g, w := final(got), final(want); g > 4*w+1e-15 {
					t.Errorf("ends at %g, with float64 at %g", g, w)
				}
			})
		}
	}
}

func TestMixedPrecisionDiverges(t *testing.T) {
	s, net := small(t)
	for _, mixed := range []bool{false, true} {
		res, err := difalt.Run(t.Context(), s.Problem, net, difalt.Options{Rank: 2, Step: 1, Iterations: 300, MixedPrecision: mixed})
		if !errors.Is(err, difalt.ErrDiverged) || res.Status != difalt.Diverged {
			t.Errorf("mixed precision %v: %v, %v", mixed, res.Status, err)
		}
	}
	if _, err := difalt.NewSolver(s.Problem, net, difalt.Options{Rank: 2, MixedPrecision: true, SampleSplit: true}); err == nil {
		t.Error("MixedPrecision with SampleSplit is accepted")
	}
}

// A residual is that of the samples, also where the run starts from the solution and has
// had no reason to read them.
func TestMixedPrecisionStartsAtTheSolution(t *testing.T) {
	s, net := small(t)
	for range net.Len() {
		s.U0 = append(s.U0, s.Truth.Clone())
	}
	for _, iterations := range []int{1, 50} {
		res, err := difalt.Run(t.Context(), s.Problem, net, difalt.Options{Rank: 2, Method: difalt.Accelerated, Iterations: iterations, MixedPrecision: true})
		if err != nil || res.Last.SDMax > 1e-3 {
			t.Fatalf("%d iterations: %v, %v", iterations, res, err)
		}
		if near := res.Last.SDMax < 1e-10; near != (res.Status == difalt.Converged) || res.Residual < res.Last.SDMax/10 {
			t.Errorf("%d iterations: %v at %g, residual %g", iterations, res.Status, res.Last.SDMax, res.Residual)
		}
	}
}

// TestMixedPrecisionResumes restores snapshots of every stage of a run, in new solvers and
// in one that has run on: they go on with the same bits.
func TestMixedPrecisionResumes(t *testing.T) {
	s := noisy(4, 5, 20, 50, 2, 25, 3, 0.01)
	net := network(t, "er:0.7", 5, topology.Metropolis, 1)
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.Accelerated, difalt.GradientTracking} {
		o := difalt.Options{Rank: 2, Method: method, MixedPrecision: true, Iterations: 60, EveryIteration: true}
		newSolver := func(workers int) *difalt.Solver {
			o.Workers = workers
			solver, err := difalt.NewSolver(s.Problem, net, o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(solver.Close)
			return solver
		}
		var stages [][]byte
		var want [][]*kernel.Basis
		first := newSolver(1)
		for range o.Iterations {
			snap, err := first.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := first.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
			var u []*kernel.Basis
			for _, v := range first.U() {
				u = append(u, v.Clone())
			}
			stages, want = append(stages, stored(t, snap)), append(want, u)
		}
		again := newSolver(2)
		for from := len(stages) - 1; from >= 0; from -= 1 + rand.IntN(7) {
			for _, solver := range []*difalt.Solver{newSolver(3), again} {
				if err := solver.Restore(loaded(t, stages[from])); err != nil {
					t.Fatal(err)
				}
				for k := from; k < min(from+25, len(want)); k++ {
					if _, err := solver.Step(t.Context()); err != nil {
						t.Fatal(err)
					}
					for i, u := range solver.U() {
						if !slices.Equal(u.Data(), want[k][i].Data()) {
							t.Fatalf("%v: restored in iteration %d, node %d differs in iteration %d", method, from, i, k)
						}
					}
				}
			}
		}
	}
}

func TestMixedPrecisionRefusesSnapshots(t *testing.T) {
	s, net := small(t)
	solver, err := difalt.NewSolver(s.Problem, net, difalt.Options{Rank: 2, MixedPrecision: true})
	if err != nil {
		t.Fatal(err)
	}
	defer solver.Close()
	for range 30 {
		if _, err := solver.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	snap, err := solver.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := stored(t, snap)
	for n, last := 8, len(p); n < last/2; n += 8 { // the anchors come last
		if err := solver.Restore(loaded(t, p[:last-n])); err == nil {
			t.Fatalf("without its last %d bytes it is accepted", n)
		}
	}
	spoilt := slices.Clone(p)
	binary.LittleEndian.PutUint64(spoilt[len(p)-8:], math.Float64bits(math.NaN()))
	if err := solver.Restore(loaded(t, spoilt)); err == nil || !strings.Contains(err.Error(), "the anchor, column 1") {
		t.Errorf("an anchor that is NaN: %v", err)
	}
}

// Most of the responses is noise and the features are correlated: the guard of the
// accelerated methods has to tell small rises of the objective from what an anchor changes.
func TestMixedPrecisionUnderMostlyNoise(t *testing.T) {
	net := network(t, "ring", 4, topology.Metropolis, 1)
	took := map[bool]int{}
	for seed := range uint64(4) {
		s, _ := correlated(seed)
		rng := rand.New(rand.NewPCG(seed, 80))
		for g := range s.y {
			for t := range s.y[g] {
				for i := range s.y[g][t] {
					s.y[g][t][i] += 2 * rng.NormFloat64()
				}
			}
		}
		s.rebuild()
		for _, mixed := range []bool{false, true} {
			o := difalt.Options{Method: difalt.Accelerated, Rank: 2, Iterations: 3000, Ridge: 5, MixedPrecision: mixed, Agreement: consensus.Agreement{Polynomial: consensus.Tree}}
			res, err := difalt.Run(t.Context(), s.Problem, net, o)
			if err != nil || !res.Status.Arrived() {
				t.Fatalf("seed %d, mixed precision %v: %v, %v", seed, mixed, res, err)
			}
			took[mixed] += res.Iterations
		}
	}
	if took[true] > took[false]+took[false]/5 {
		t.Errorf("%d iterations, with float64 %d", took[true], took[false])
	}
}
