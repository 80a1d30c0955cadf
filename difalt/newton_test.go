package difalt_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// newtonOptions are for a run along the tree that is sure to come to Gauss-Newton steps on a
// problem with a condition number of 300.
func newtonOptions(rank int) difalt.Options {
	return difalt.Options{Rank: rank, Method: difalt.Newton, Iterations: 100, Workers: 1, Tolerance: 1e-9, Agreement: consensus.Agreement{Polynomial: consensus.Tree}}
}

// TestNewton: with a large condition number, two thirds of the iterations of Accelerated along a
// tree are enough, to the same U; without one, and in gossip, the runs are the same to the bit.
func TestNewton(t *testing.T) {
	fewer := 0
	for seed := range uint64(3) {
		net := network(t, "er:0.5", 6, topology.Metropolis, seed)
		for kappa, large := range map[float64]bool{2: false, 300: true} {
			s := conditioned(seed, 6, 40, 80, 3, 24, kappa)
			o := newtonOptions(3)
			o.Iterations = 300
			got := run(t, s.Problem, net, o)
			o.Method = difalt.Accelerated
			want := run(t, s.Problem, net, o)
			if got.Status != difalt.Converged || got.Last.SDMax > 2e-9 || got.Last.Disagreement != 0 {
				t.Errorf("seed %d, condition number %g: %v at %g from the truth, nodes %g apart", seed, kappa, got.Status, got.Last.SDMax, got.Last.Disagreement)
			}
			if !large && !mat.Equal(got.U[0], want.U[0]) {
				t.Errorf("seed %d, condition number %g: not the run of Accelerated", seed, kappa)
			}
			if large && 3*got.Iterations <= 2*want.Iterations {
				fewer++
			}
		}
		s := conditioned(seed, 6, 40, 80, 3, 24, 300)
		o := difalt.Options{Rank: 3, Method: difalt.Newton, Iterations: 30, Rounds: 3, EveryIteration: true}
		got := run(t, s.Problem, net, o)
		o.Method = difalt.Accelerated
		if !mat.Equal(got.U[0], run(t, s.Problem, net, o).U[0]) {
			t.Errorf("seed %d: in gossip Newton is not Accelerated", seed)
		}
	}
	if fewer < 2 {
		t.Errorf("with a condition number of 300 only %d of 3 runs took a third fewer iterations", fewer)
	}
}

// TestNewtonSteps: U rests while products are added up, and every step lowers the objective
// where there is no noise.
func TestNewtonSteps(t *testing.T) {
	for seed := range uint64(4) {
		s := conditioned(seed, 6, 40, 80, 3, 12, 1000)
		net := network(t, "er:0.5", 6, topology.Metropolis, seed)
		o := newtonOptions(3)
		o.Iterations, o.EveryIteration = 120, true
		recs := curve(t, s.Problem, net, o)
		best, rests := math.Inf(1), 0
		for i := 1; i < len(recs); i++ {
			if recs[i].Objective != recs[i-1].Objective || i < 7 {
				continue
			}
			rests++
			if recs[i].Objective > best*(1+1e-9)+1e-8 {
				t.Errorf("seed %d, iteration %d: rests at an objective of %g after %g", seed, i, recs[i].Objective, best)
			}
			best = min(best, recs[i].Objective)
		}
		if rests < 20 || recs[len(recs)-1].SDMax > 1e-11 {
			t.Errorf("seed %d: %d iterations at rest; ends %g from the truth", seed, rests, recs[len(recs)-1].SDMax)
		}
	}
}

// TestNewtonUnderNoise: it ends where one node with all data ends, with a ridge, too, with tasks
// of fewer samples than the rank, with moments of correlated features, in mixed precision, with
// data far from one, and of a single node.
func TestNewtonUnderNoise(t *testing.T) {
	for name, change := range map[string]func(p *difalt.Problem, o *difalt.Options){
		"plain": func(*difalt.Problem, *difalt.Options) {},
		"ridge": func(_ *difalt.Problem, o *difalt.Options) { o.Ridge = 0.01 },
		"mixed": func(_ *difalt.Problem, o *difalt.Options) { o.MixedPrecision = true },
		"codes": func(_ *difalt.Problem, o *difalt.Options) { o.Agreement.Codec = consensus.Int8 },
		"large": func(p *difalt.Problem, _ *difalt.Options) { rescale(p, 0x1p60, 0x1p-80) },
		"moments": func(p *difalt.Problem, _ *difalt.Options) {
			m := mat.NewSymDense(30, nil)
			for i := range 30 {
				m.SetSym(i, i, 1+0.3*float64(i%2))
			}
			p.Moments = m
		},
	} {
		s := noisy(3, 5, 30, 60, 3, 25, 150, 1e-3)
		o := newtonOptions(3)
		o.Iterations = 300
		p := &difalt.Problem{Nodes: append([]*kernel.Tasks(nil), s.Nodes...)}
		change(p, &o)
		got := run(t, p, network(t, "ring", 5, topology.Metropolis, 1), o)
		alone := o
		alone.Method, alone.MixedPrecision, alone.Agreement.Codec, alone.Tolerance, alone.Iterations = difalt.ScaledDiffusion, false, consensus.None, 1e-11, 20000
		q := *p
		q.U0 = got.U
		alone.Step = 1
		want := run(t, &q, network(t, "ring", 5, topology.Metropolis, 1), alone)
		if far := difalt.SubspaceDistance(got.U[0], want.U[0]); got.Status != difalt.Converged || far > 1e-8 {
			t.Errorf("%s: %v after %d iterations, %g from where plain steps go on to (%v)", name, got.Status, got.Iterations, far, want.Status)
		}
	}
}

// TestNewtonTransactions: interrupted in any iteration and restored, in any number of processes,
// with any number of workers and when exchanges fail, a run has the same bits.
func TestNewtonTransactions(t *testing.T) {
	const nodes = 4
	s := conditioned(2, nodes, 20, 40, 2, 12, 300)
	w := network(t, "path", nodes, topology.Metropolis, 1).Weights()
	for _, mixed := range []bool{false, true} {
		for _, codec := range []consensus.Codec{consensus.None, consensus.Int8} {
			o := newtonOptions(2)
			o.MixedPrecision, o.Agreement.Codec = mixed, codec
			fresh := func() *consensus.Network {
				net, err := consensus.New(w, nil)
				if err != nil {
					t.Fatal(err)
				}
				return net
			}
			want := run(t, s.Problem, fresh(), o)
			if want.Iterations < 20 || want.Status != difalt.Converged {
				t.Fatalf("%v after %d iterations: want some after the first Gauss-Newton steps", want.Status, want.Iterations)
			}
			same := func(what string, got *difalt.Result) {
				t.Helper()
				if got.Last.Compute = want.Last.Compute; got.Last != want.Last || got.Status != want.Status || !mat.Equal(got.U[0], want.U[0]) {
					t.Errorf("mixed %v, %v, %s: ends as %v at %+v, want %+v", mixed, codec, what, got.Status, got.Last, want.Last)
				}
			}
			stride := 3
			if !mixed && codec == consensus.None {
				stride = 1
			}
			for at := 6; at < want.Iterations; at += stride {
				same(fmt.Sprint("interrupted at ", at), restored(t, s.Problem, fresh(), o, interrupted(t, s.Problem, fresh(), o, at)))
			}
			o.Workers = 3
			same("3 workers", run(t, s.Problem, fresh(), o))
			o.Workers = 1
			for _, k := range []int{2, nodes} {
				sameApart(t, fmt.Sprintf("%d processes", k), want, s.Problem, w, together(nodes, k), o)
			}
			if !mixed {
				o.Iterations = 14
				retried(t, s, w, o, 60, 90)
			}
		}
	}
}

// TestNewtonIsHidden is TestSwap for runs that come to Gauss-Newton steps.
func TestNewtonIsHidden(t *testing.T) {
	s := conditioned(2, 4, 20, 40, 2, 12, 300)
	w := network(t, "path", 4, topology.Metropolis, 1).Weights()
	for _, code := range []string{"none", "int8"} {
		if err := swapped(t, s.Problem, w, 0, 3, alongTree(t, difalt.Newton, code), noLeak); err != nil {
			t.Errorf("%s: %v", code, err)
		}
	}
}

// TestNewtonDoesNotAllocate: neither sums of gradients nor products do.
func TestNewtonDoesNotAllocate(t *testing.T) {
	s := conditioned(2, 4, 20, 40, 2, 12, 300)
	o := newtonOptions(2)
	o.EveryIteration = true
	solver, err := difalt.NewSolver(s.Problem, network(t, "path", 4, topology.Metropolis, 1), o)
	if err != nil {
		t.Fatal(err)
	}
	defer solver.Close()
	step := func() {
		if _, err := solver.Step(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for range 12 {
		step()
	}
	if n := testing.AllocsPerRun(30, step); n != 0 {
		t.Errorf("%g allocations an iteration", n)
	}
}

// TestNewtonAtRounding: where nothing is left to gain but rounding, Newton does not take that for steps
// that gain little, and stays.
func TestNewtonAtRounding(t *testing.T) {
	for seed := range uint64(4) {
		s := conditioned(seed, 6, 40, 80, 3, 24, 1000)
		net := network(t, "er:0.5", 6, topology.Metropolis, seed)
		o := newtonOptions(3)
		o.Agreement.Codec, o.Iterations, o.EveryIteration = consensus.Int8, 200, true
		recs := curve(t, s.Problem, net, o)
		for _, r := range recs[120:] {
			if r.SDMax > 1e-10 {
				t.Fatalf("seed %d, iteration %d: %g from the truth", seed, r.Iteration, r.SDMax)
			}
		}
	}
}
