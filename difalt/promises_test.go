package difalt_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// TestDivergence takes steps that are too long by what a user would mistype and by what
// nobody would. The QR keeps every U orthonormal, so that only the objective tells.
func TestDivergence(t *testing.T) {
	s, net := small(t)
	initial, err := difalt.Initialize(t.Context(), s.Problem, net, difalt.Options{Rank: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.AltGDmin, difalt.DecAltGDmin, difalt.ScaledDiffusion, difalt.GradientTracking} {
		for _, factor := range []float64{10, 30, 1e3, 1e6, 1e30, 1e150, 1e300} {
			o := difalt.Options{Rank: 2, Method: method, Step: initial.Step * factor, Scaled: difalt.ScaledOptions{Step: 0.7 * factor}}
			start := 0.0
			o.Observer = func(r *difalt.Record) error {
				if r.Iteration == 0 {
					start = r.Objective
				}
				return nil
			}
			res, err := difalt.Run(t.Context(), s.Problem, net, o)
			if method == difalt.ScaledDiffusion || method == difalt.GradientTracking {
				// Damping may save them: then they have arrived, or know that they have not.
				if err == nil && (res.Last.SDMax < 1e-8 || res.Status == difalt.IterationLimit && res.Residual > res.Last.SDMax/3) {
					continue
				}
			}
			if !errors.Is(err, difalt.ErrDiverged) || res == nil || res.Status != difalt.Diverged {
				t.Errorf("%v, step times %g: error %v, result %+v", method, factor, err, res)
				continue
			}
			if !errors.Is(res.Status.Err(), difalt.ErrDiverged) {
				t.Errorf("%v says %v", res.Status, res.Status.Err())
			}
			if !(res.Last.Objective <= start*1.0001) {
				t.Errorf("%v, step times %g: the state kept has the objective %g, the start %g", method, factor, res.Last.Objective, start)
			}
			if res.Iterations > 60 {
				t.Errorf("%v, step times %g: seen after %d iterations only", method, factor, res.Iterations)
			}
			for g := range res.U {
				for _, v := range append(res.U[g].Data(), res.B[g]...) {
					if math.IsNaN(v) || math.IsInf(v, 0) {
						t.Fatalf("%v, step times %g: node %d holds %v", method, factor, g, v)
					}
				}
			}
		}
	}
}

// TestNoFalseDivergence runs what is slow, noisy, started at the solution, or exact.
func TestNoFalseDivergence(t *testing.T) {
	inFull(t)
	s, net := small(t)
	solved, err := difalt.Run(t.Context(), s.Problem, net, difalt.Options{Rank: 2})
	if err != nil {
		t.Fatal(err)
	}
	s.U0 = solved.U
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.ScaledDiffusion, difalt.GradientTracking, difalt.AltGDmin} {
		res, err := difalt.Run(t.Context(), s.Problem, net, difalt.Options{Rank: 2, Method: method, Tolerance: 1e-18, Iterations: 100})
		if err != nil {
			t.Errorf("%v, from the solution: %v, %v", method, err, res.Status)
		}
	}
	for seed := range uint64(draws(1, 4)) {
		for _, kappa := range []float64{1.5, 10, 100} {
			s := conditioned(seed+1, 10, 100, 200, 4, 30, kappa)
			net := network(t, "er:0.5", 10, topology.Metropolis, seed+1)
			for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.ScaledDiffusion} {
				if res, err := difalt.Run(t.Context(), s.Problem, net, difalt.Options{Rank: 4, Method: method, Seed: seed, Iterations: 100}); err != nil {
					t.Errorf("%v, kappa %g, seed %d: %v after %d iterations", method, kappa, seed, err, res.Iterations)
				}
			}
		}
	}
}

// interrupted runs a solver to the given iteration and cancels it in its observer.
func interrupted(t *testing.T, p *difalt.Problem, net *consensus.Network, o difalt.Options, at int) *difalt.Solver {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	o.Observer = func(r *difalt.Record) error {
		if r.Iteration == at {
			cancel()
		}
		return nil
	}
	solver, err := difalt.NewSolver(p, net, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(solver.Close)
	if res, err := solver.Run(ctx); err != nil || res.Status != difalt.Canceled || res.Iterations != at {
		t.Fatalf("canceled in iteration %d: %v, %+v", at, err, res)
	}
	return solver
}

// stored returns the bytes of a snapshot, and loaded the snapshot of bytes.
func stored(t *testing.T, snap *difalt.Snapshot) []byte {
	t.Helper()
	p, err := snap.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func loaded(t *testing.T, p []byte) *difalt.Snapshot {
	t.Helper()
	snap := new(difalt.Snapshot)
	if err := snap.UnmarshalBinary(p); err != nil {
		t.Fatal(err)
	}
	return snap
}

// restored runs another solver from a snapshot of one to its end.
func restored(t *testing.T, p *difalt.Problem, net *consensus.Network, o difalt.Options, first *difalt.Solver) *difalt.Result {
	t.Helper()
	snap, err := first.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, err := difalt.NewSolver(p, net, o)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := second.Restore(snap); err != nil {
		t.Fatal(err)
	}
	res, err := second.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestInterruptedIteration cancels runs in the observer, in the middle of an iteration:
// whether they go on or are restored from a snapshot, they compute the same bits.
func TestInterruptedIteration(t *testing.T) {
	s, net := small(t)
	for _, method := range difalt.Methods() {
		for _, name := range []string{"none", "int8", "int4"} {
			codec, err := consensus.ParseCodec(name)
			if err != nil {
				t.Fatal(err)
			}
			o := difalt.Options{Rank: 2, Method: method, Iterations: 30, EveryIteration: true, Agreement: consensus.Agreement{Codec: codec}}
			want, err := difalt.Run(t.Context(), s.Problem, net, o)
			if err != nil && !errors.Is(err, difalt.ErrDiverged) {
				t.Fatal(err)
			}
			first := interrupted(t, s.Problem, net, o, 11)
			snap, err := first.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			loaded := loaded(t, stored(t, snap))
			_, elsewhere := small(t)
			second, err := difalt.NewSolver(s.Problem, elsewhere, o)
			if err != nil {
				t.Fatal(err)
			}
			defer second.Close()
			if err := second.Restore(loaded); err != nil {
				t.Fatal(err)
			}
			for what, solver := range map[string]*difalt.Solver{"went on": first, "was restored": second} {
				got, err := solver.Run(t.Context())
				if err != nil && !errors.Is(err, difalt.ErrDiverged) {
					t.Fatal(err)
				}
				want.Last.Compute, got.Last.Compute = 0, 0
				if got.Last != want.Last || got.Iterations != want.Iterations {
					t.Errorf("%v, %s: the run that %s ends at %+v, want %+v", method, name, what, got.Last, want.Last)
				}
				for i := range want.U {
					if !mat.Equal(got.U[i], want.U[i]) {
						t.Errorf("%v, %s: the run that %s has another U at node %d", method, name, what, i)
					}
				}
			}
		}
	}
}

// TestRestoreChangesNothing offers snapshots of other runs, and damaged ones: each is
// refused with what is wrong, and the solver computes the bits of one that was not asked.
func TestRestoreChangesNothing(t *testing.T) {
	s, net := small(t)
	o := difalt.Options{Rank: 2, Method: difalt.GradientTracking, Iterations: 20, EveryIteration: true}
	initial, err := difalt.Initialize(t.Context(), s.Problem, net, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Step = initial.Step
	want, err := difalt.Run(t.Context(), s.Problem, net, o)
	if err != nil {
		t.Fatal(err)
	}
	of := func(p *difalt.Problem, net *consensus.Network, change func(*difalt.Options)) *difalt.Snapshot {
		o := o
		change(&o)
		snap, err := interrupted(t, p, net, o, 7).Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return snap
	}
	same := func(*difalt.Options) {}
	other, _ := small(t)
	other.x[3][2].Set(1, 1, other.x[3][2].At(1, 1)*(1+1e-15))
	other.rebuild()
	otherY, _ := small(t)
	otherY.y[3][2][1] += 1e-9
	otherY.rebuild()
	sound := of(s.Problem, net, same)
	solver := interrupted(t, s.Problem, net, o, 7)
	// damaged returns the snapshot with other bytes where its bytes have that number.
	damaged := func(from, to float64) *difalt.Snapshot {
		p := stored(t, sound)
		at := bytes.Index(p, binary.LittleEndian.AppendUint64(nil, math.Float64bits(from)))
		if at < 0 {
			t.Fatalf("%v is not in the snapshot", from)
		}
		binary.LittleEndian.PutUint64(p[at:], math.Float64bits(to))
		return loaded(t, p)
	}
	cut := func(n int) *difalt.Snapshot {
		p := stored(t, sound)
		return loaded(t, p[:len(p)-n])
	}
	entry := solver.U()[0].Col(1)[1]
	for name, c := range map[string]struct {
		snap *difalt.Snapshot
		want string
	}{
		"nil":       {nil, "no snapshot"},
		"X":         {of(other.Problem, net, same), "other data"},
		"y":         {of(otherY.Problem, net, same), "other data"},
		"graph":     {of(s.Problem, network(t, "ring", 5, topology.Metropolis, 1), same), "another network"},
		"rounds":    {of(s.Problem, net, func(o *difalt.Options) { o.Rounds = 4 }), "other options"},
		"ridge":     {of(s.Problem, net, func(o *difalt.Options) { o.Ridge = .1 }), "other options"},
		"agreement": {of(s.Problem, net, func(o *difalt.Options) { o.Agreement.Polynomial = consensus.Chebyshev }), "other options"},
		"method":    {of(s.Problem, net, func(o *difalt.Options) { o.Method = difalt.DGD }), `the method is "dgd", but "tracking" here`},
		"nodes":     {of(s.Problem, network(t, "er:0.7", 5, topology.EqualNeighbor, 1), same), "another network"},
		"NaN":       {damaged(entry, math.NaN()), "of node 0: U, column 1, entry 1 is NaN"},
		"infinite":  {damaged(entry, math.Inf(1)), "entry 1 is +Inf"},
		"step":      {damaged(initial.Step, math.NaN()), "the step, entry 0 is NaN"},
		"short":     {cut(8), "too early"},
		"shorter":   {cut(1000), "too early"},
		"long":      {loaded(t, append(stored(t, sound), 0)), "1 bytes too many"},
	} {
		solver := interrupted(t, s.Problem, net, o, 5)
		if err := solver.Restore(c.snap); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
		got, err := solver.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range want.U {
			if !mat.Equal(got.U[i], want.U[i]) {
				t.Errorf("%s: U of node %d differs after a refused snapshot", name, i)
			}
		}
	}
}

// TestDefaults runs nothing but a rank, and too few rounds, on graphs that are wider
// than the default number of rounds.
func TestDefaults(t *testing.T) {
	for _, c := range []struct {
		graph string
		o     difalt.Options
	}{
		{"path", difalt.Options{Rank: 2}},
		{"ring", difalt.Options{Rank: 2, Rounds: 1}},
		{"path", difalt.Options{Rank: 2, Rounds: 1, Initialization: difalt.InitializationOptions{Rounds: 1}, Method: difalt.ScaledDiffusion}},
	} {
		s := gaussian(1, 20, 20, 60, 2, fixed(15), 0)
		if _, err := difalt.Run(t.Context(), s.Problem, network(t, c.graph, 20, topology.Metropolis, 1), c.o); err != nil && !errors.Is(err, difalt.ErrDiverged) {
			t.Errorf("%s, %+v: %v", c.graph, c.o, err)
		}
	}
}

// TestConvergedMeansIt looks at every run that ends as Converged over condition
// numbers, noise, graphs, methods and tolerances: its distance from the minimiser of
// the pooled data is the tolerance, within the spread of what a Newton-like step leaves.
// Runs that stall report a residual as large as their error.
func TestConvergedMeansIt(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs")
	}
	converged, stalled := 0, 0
	kappas := []float64{1.5, 5, 20, 100}
	for _, seed := range []int{0, 3, 1, 2}[:draws(2, 4)] {
		kappa := kappas[seed]
		for _, noise := range []float64{0, 0.2} {
			s := noisy(uint64(seed)+1, 10, 30, 60, 3, 30, kappa, noise)
			alone := network(t, "complete", 1, topology.Metropolis, 1)
			together := &difalt.Problem{Nodes: []*kernel.Tasks{pooled(s)}, Truth: s.Truth}
			best, err := difalt.Run(t.Context(), together, alone, difalt.Options{Rank: 3, Method: difalt.ScaledDiffusion, Tolerance: 1e-13, Iterations: 2000})
			if err != nil {
				t.Fatal(err)
			}
			for _, graph := range []string{"er:0.5", "ring"} {
				net := network(t, graph, 10, topology.Metropolis, 1)
				for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.AltGDmin, difalt.ScaledDiffusion, difalt.GradientTracking, difalt.DGD} {
					for _, tolerance := range []float64{1e-3, 1e-5} {
						name := fmt.Sprintf("kappa %g, noise %g, %s, %v, tolerance %g", kappa, noise, graph, method, tolerance)
						res, err := difalt.Run(t.Context(), s.Problem, net, difalt.Options{Rank: 3, Method: method, Tolerance: tolerance, Iterations: 300})
						if errors.Is(err, difalt.ErrDiverged) {
							continue
						}
						if err != nil {
							t.Fatal(name, err)
						}
						far := 0.0
						for _, u := range res.U {
							far = max(far, difalt.SubspaceDistance(u, best.U[0]))
						}
						switch {
						case res.Status == difalt.Converged:
							converged++
							if far > 3*tolerance {
								t.Errorf("%s: converged after %d iterations, %.2g from the minimiser, residual %.2g, noise %.2g", name, res.Iterations, far, res.Residual, res.StatisticalError)
							}
						case far > 0.1:
							stalled++
							if !(res.Residual > 0.1*far || res.StatisticalError > 0.3) {
								t.Errorf("%s: ends %.2g from the minimiser with a residual of %.2g, noise %.2g", name, far, res.Residual, res.StatisticalError)
							}
						}
					}
				}
			}
		}
	}
	if converged < draws(20, 40) || stalled < draws(10, 20) {
		t.Errorf("%d runs converged and %d stalled: the test does not see enough of either", converged, stalled)
	}
}
