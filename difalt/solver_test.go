package difalt_test

import (
	"bytes"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// small is a problem that every method but DGD solves in a few dozen iterations.
func small(t testing.TB) (*synthetic, *consensus.Network) {
	return gaussian(1, 5, 20, 40, 2, fixed(15), 0), network(t, "er:0.7", 5, topology.Metropolis, 1)
}

func TestRecoversTheta(t *testing.T) {
	s, net := small(t)
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.AltGDmin} {
		res, err := difalt.Run(t.Context(), s.Problem, net, difalt.Options{Rank: 2, Method: method, EveryIteration: true})
		if err != nil {
			t.Fatal(err)
		}
		if res.Status != difalt.IterationLimit || res.Iterations != 500 {
			t.Errorf("%v: %v after %d iterations", method, res.Status, res.Iterations)
		}
		for g := range s.theta {
			for k, want := range s.theta[g] {
				var diff mat.VecDense
				diff.SubVec(mat.NewVecDense(20, res.Theta(g, k)), want)
				// Theorem 1, part 1, with epsilon at rounding.
				if e := mat.Norm(&diff, 2) / mat.Norm(want, 2); e > 1e-12 {
					t.Fatalf("%v: theta of node %d, task %d is off by %g", method, g, k, e)
				}
			}
		}
	}
}

// TestWorkers asserts the same bits for any number of workers, and that nothing is
// left running.
func TestWorkers(t *testing.T) {
	before := runtime.NumGoroutine()
	s, net := small(t)
	for _, method := range difalt.Methods() {
		var want []difalt.Record
		for _, workers := range []int{1, 2, 3, 7} {
			got := curve(t, s.Problem, net, difalt.Options{Rank: 2, Method: method, Iterations: 30, Workers: workers})
			for i := range got {
				got[i].Compute = 0
			}
			if want == nil {
				want = got
			}
			for i := range want {
				if want[i] != got[i] {
					t.Fatalf("%v, %d workers: record %d is %+v, with one worker %+v", method, workers, i, got[i], want[i])
				}
			}
		}
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}

func TestStepDoesNotAllocate(t *testing.T) {
	s, net := small(t)
	for _, method := range difalt.Methods() {
		for i, a := range []consensus.Agreement{{}, {}, {RoundByRound: true}, {RoundByRound: true, Polynomial: consensus.Chebyshev}, {Codec: consensus.Int8}} {
			seen, workers := 0, 1+i%2
			o := difalt.Options{Rank: 2, Method: method, MixedPrecision: workers > 1, Workers: workers, Agreement: a, EveryIteration: true, Observer: func(*difalt.Record) error { seen++; return nil }}
			solver, err := difalt.NewSolver(s.Problem, net, o)
			if err != nil {
				t.Fatal(err)
			}
			ctx := t.Context()
			step := func() {
				if _, err := solver.Step(ctx); err != nil {
					t.Fatal(err)
				}
			}
			step()
			if n := testing.AllocsPerRun(20, step); n != 0 {
				t.Errorf("%v, %+v, %d workers: %v allocations an iteration", method, a, workers, n)
			}
			if seen == 0 {
				t.Error("the observer was not called")
			}
			solver.Close()
		}
	}
}

// TestStopAtNoise stops early on noisy data without losing accuracy, and at
// rounding on data without noise.
func TestStopAtNoise(t *testing.T) {
	net := network(t, "er:0.7", 5, topology.Metropolis, 1)
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.ScaledDiffusion} {
		for _, noise := range []float64{0.3, 0.01, 0} {
			s := gaussian(1, 5, 20, 40, 2, fixed(25), noise)
			o := difalt.Options{Rank: 2, Method: method, StopAtNoise: true, Rounds: 20, Iterations: 2000}
			stopped, err := difalt.Run(t.Context(), s.Problem, net, o)
			if err != nil {
				t.Fatal(err)
			}
			o.StopAtNoise, o.EveryIteration = false, true
			full, err := difalt.Run(t.Context(), s.Problem, net, o)
			if err != nil {
				t.Fatal(err)
			}
			if stopped.Status != difalt.Converged || stopped.Iterations > 500 {
				t.Errorf("%v, noise %g: %v after %d iterations", method, noise, stopped.Status, stopped.Iterations)
			}
			if got, best := stopped.Last.SDMax, full.Last.SDMax; got > 1.1*best+1e-10 {
				t.Errorf("%v, noise %g: stopped at %g, %d iterations reach %g", method, noise, got, o.Iterations, best)
			}
		}
	}
}

// TestSampleSplit runs the theory's variant: every set is used once, and with
// enough samples it converges like the rest.
func TestSampleSplit(t *testing.T) {
	s := gaussian(1, 4, 12, 24, 2, fixed(82*12), 0)
	net := network(t, "complete", 4, topology.Metropolis, 1)
	o := difalt.Options{Rank: 2, SampleSplit: true, Iterations: 40}
	recs := curve(t, s.Problem, net, o)
	if last := recs[len(recs)-1].SDMax; last > 1e-2*recs[0].SDMax {
		t.Errorf("sample splitting goes from %g to %g in 40 iterations", recs[0].SDMax, last)
	}
	o.Iterations = 300
	_, err := difalt.Run(t.Context(), s.Problem, net, o)
	want := "node 0, task 0: SampleSplit with 300 iterations needs 1204 samples a task (602 sets of at least Rank = 2), but it has 984"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want one with %q", err, want)
	}
}

func TestTraffic(t *testing.T) {
	s, net := small(t)
	edges, height := int64(net.Graph().Edges()), int64(radius(net.Graph()))
	for method, want := range map[difalt.Method]wire.Traffic{
		difalt.DifAltGDmin: {Rounds: 3 * 10, Messages: 30 * 2 * edges, Bytes: 30 * 2 * edges * 20 * 2 * 8},
		difalt.DecAltGDmin: {Rounds: 3 * 10, Messages: 30 * 2 * edges, Bytes: 30 * 2 * edges * 20 * 2 * 8},
		difalt.AltGDmin:    {Rounds: 20, Messages: 20 * 5, Bytes: 20 * 5 * 20 * 2 * 8},
		// The first P goes up a tree in three words a number, with three counts of up to five
		// nodes, and down again with a byte more.
		difalt.ScaledDiffusion: {Rounds: 2*height + 3*10, Messages: 2*4 + 30*2*edges, Bytes: 4*(3*3*8+2) + 4*(3*8+1) + 30*2*edges*43*8},
		difalt.DGD:             {Rounds: 10, Messages: 10 * 2 * edges, Bytes: 10 * 2 * edges * 20 * 2 * 8},
	} {
		res, err := difalt.Run(t.Context(), s.Problem, net, difalt.Options{Rank: 2, Method: method, Rounds: 3, Initialization: difalt.InitializationOptions{Rounds: 20}, Iterations: 10, EveryIteration: true})
		if err != nil {
			t.Fatal(err)
		}
		want.Bytes += 6 * want.Messages // headers
		if method != difalt.AltGDmin {
			// One header reduction: two bytes, and then counts of eight words in four bits each
			// and two numbers, of five words on their way up.
			want.Bytes += 4*(2+4+2*5*8) + 4*(2+4+2*8)
		}
		if res.Last.Traffic != want {
			t.Errorf("%v: traffic %+v, want %+v", method, res.Last.Traffic, want)
		}
	}
}

// radius is the least number of hops within which one node reaches all.
func radius(g *topology.Graph) int {
	least := g.Len()
	for i := range g.Len() {
		hops := map[int]int{i: 0}
		queue, far := []int{i}, 0
		for len(queue) > 0 {
			k := queue[0]
			queue = queue[1:]
			for _, j := range g.Neighbors(k) {
				if _, seen := hops[j]; !seen {
					hops[j] = hops[k] + 1
					far = max(far, hops[j])
					queue = append(queue, j)
				}
			}
		}
		least = min(least, far)
	}
	return least
}

func TestRunRefuses(t *testing.T) {
	net := network(t, "ring", 3, topology.Metropolis, 1)
	ok := difalt.Options{Rank: 2}
	nan := gaussian(1, 3, 8, 9, 2, fixed(6), 0)
	nan.x[1][2].Set(4, 5, math.NaN())
	nan.rebuild()
	inf := gaussian(1, 3, 8, 9, 2, fixed(6), 0)
	inf.y[2][0][3] = math.Inf(-1)
	inf.rebuild()
	empty := gaussian(1, 3, 8, 9, 2, fixed(6), 0)
	empty.Nodes[0] = kernel.NewBuilder(8, nil, kernel.Float64).Tasks()
	zero := gaussian(1, 3, 8, 9, 2, fixed(6), 0)
	for g := range zero.Nodes {
		zero.Nodes[g] = kernel.NewBuilder(8, []int{0, 0, 0}, kernel.Float64).Tasks()
	}
	two := gaussian(1, 2, 8, 9, 2, fixed(6), 0)
	good := gaussian(1, 3, 8, 9, 2, fixed(6), 0)
	wide := gaussian(1, 3, 8, 9, 2, fixed(6), 0)
	wide.U0 = []*kernel.Basis{kernel.NewBasis(8, 2), kernel.NewBasis(8, 3), kernel.NewBasis(8, 2)}
	few := gaussian(1, 3, 8, 6, 2, fixed(6), 0)
	long := &difalt.Problem{Nodes: good.Nodes, Truth: good.Truth.Clone()}
	long.Truth.Col(1)[3]++
	for _, c := range []struct {
		name string
		p    *difalt.Problem
		net  *consensus.Network
		o    difalt.Options
		want string
	}{
		{"NaN", nan.Problem, net, ok, "node 1, task 2, row 4: feature 5 is NaN"},
		{"Inf", inf.Problem, net, ok, "node 2, task 0, row 3: y is -Inf"},
		{"no tasks", empty.Problem, net, ok, "node 0: node has no tasks"},
		{"no samples", zero.Problem, net, ok, "the tasks have no samples"},
		{"nodes", two.Problem, net, ok, "problem has tasks of 2 nodes, but 3 nodes"},
		{"rank 0", good.Problem, net, difalt.Options{}, "Rank is 0"},
		{"rank 9", good.Problem, net, difalt.Options{Rank: 9}, "Rank is 9: must not be more than the 8 features"},
		{"rank 8", few.Problem, net, difalt.Options{Rank: 8}, "Rank is 8: must not be more than the 6 tasks"},
		{"rounds", good.Problem, net, difalt.Options{Rank: 2, Rounds: -1}, "Rounds is -1"},
		{"silence", good.Problem, net, difalt.Options{Rank: 2, Method: difalt.Accelerated, Rounds: 3, Agreement: consensus.Agreement{Trigger: .2}}, "Agreement.Trigger is 0.2: accelerated"},
		{"long silence", good.Problem, net, difalt.Options{Rank: 2, Method: difalt.ScaledDiffusion, Agreement: consensus.Agreement{Trigger: .6}}, "at most 0.5"},
		{"step", good.Problem, net, difalt.Options{Rank: 2, Step: math.NaN()}, "Step is NaN"},
		{"ridge", good.Problem, net, difalt.Options{Rank: 2, Ridge: -3}, "Ridge is -3"},
		{"U0", wide.Problem, net, ok, "U0 of node 1 is 8 x 3, want 8 x 2"},
		{"truth", long, net, ok, "Truth is not orthonormal: the product of columns"},
		{"nil", nil, net, ok, "need a problem and a network"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := difalt.Run(t.Context(), c.p, c.net, c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one with %q", err, c.want)
			}
		})
	}
	for _, graph := range []*topology.Graph{nil, net.Graph()} {
		if _, _, err := difalt.InProcess(two.Nodes, graph); err == nil || !strings.Contains(err.Error(), "there are 2 nodes: need a graph of as many") {
			t.Errorf("got error %v", err)
		}
	}
}

// TestUnderdetermined runs tasks with fewer samples than the rank: they take the
// minimum-norm solution, the log says so, and a ridge silences it.
func TestUnderdetermined(t *testing.T) {
	s := gaussian(1, 3, 10, 12, 3, func(t int) int { return 2 + 10*(t%2) }, 0)
	net := network(t, "ring", 3, topology.Metropolis, 1)
	for _, ridge := range []float64{0, 1e-3} {
		var log bytes.Buffer
		res, err := difalt.Run(t.Context(), s.Problem, net, difalt.Options{
			Rank: 3, Iterations: 5, Ridge: ridge, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		want := 6
		if ridge > 0 {
			want = 0
		}
		if res.Last.Singular != want || strings.Contains(log.String(), "minimum norm") != (want > 0) {
			t.Errorf("ridge %g: %d singular tasks, log %q", ridge, res.Last.Singular, log.String())
		}
	}
}

func TestAdapt(t *testing.T) {
	s := gaussian(5, 1, 15, 4, 3, fixed(6), 0)
	b, status, err := difalt.Adapt(s.Truth, s.Nodes[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range s.theta[0] {
		var theta mat.VecDense
		theta.MulVec(s.Truth, mat.NewVecDense(3, b[3*k:3*k+3]))
		theta.SubVec(&theta, want)
		if e := mat.Norm(&theta, 2); e > 1e-12 || status[k] != 0 {
			t.Errorf("task %d: theta is off by %g, status %v", k, e, status[k])
		}
	}
	if _, _, err := difalt.Adapt(kernel.NewBasis(14, 3), s.Nodes[0], 0); err == nil || !strings.Contains(err.Error(), "15 features, the representation 14") {
		t.Errorf("wrong number of features: %v", err)
	}
	if _, _, err := difalt.Adapt(s.Truth, s.Nodes[0], math.Inf(1)); err == nil || !strings.Contains(err.Error(), "ridge is +Inf") {
		t.Errorf("infinite ridge: %v", err)
	}
}

func TestMethodNames(t *testing.T) {
	for _, m := range difalt.Methods() {
		if got, err := difalt.ParseMethod(m.String()); err != nil || got != m {
			t.Errorf("%v: %v, %v", m, got, err)
		}
	}
	if _, err := difalt.ParseMethod("sgd"); err == nil || !strings.Contains(err.Error(), `unknown method "sgd"`) {
		t.Error(err)
	}
}

// TestIterations steps through a run by the iterator.
func TestIterations(t *testing.T) {
	s, net := small(t)
	solver, err := difalt.NewSolver(s.Problem, net, difalt.Options{Rank: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer solver.Close()
	var last *difalt.Record
	states := 0
	for rec, err := range solver.Iterations(t.Context()) {
		if err != nil || rec.Iteration < states-1 || rec.Iteration > states {
			t.Fatalf("state %d: %+v, %v", states, rec, err)
		}
		last = rec
		states++
	}
	res, err := solver.Result()
	if err != nil || res.Status != difalt.Converged || last == nil || last.Iteration != res.Iterations || last.SDMax > 1e-9 {
		t.Errorf("%v, %+v, last record %+v", err, res, last)
	}
	if status, err := solver.Step(t.Context()); status != difalt.Converged || err != nil {
		t.Errorf("a step after the end: %v, %v", status, err)
	}
}
