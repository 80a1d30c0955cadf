package difalt_test

import (
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/topology"
)

// With fewer bytes of samples than are worth a copy, at all nodes together, MixedPrecision
// changes no bit; with as many it does, at every node, however many of them live in a
// process and however little each has.
func TestMixedPrecisionBySize(t *testing.T) {
	const nodes, d = 5, 20
	s := noisy(4, nodes, d, 50, 2, 25, 3, 0.01)
	bytes := 0
	for _, tasks := range s.Nodes {
		bytes += 8 * tasks.TotalSamples() * blas.Stride(d)
	}
	w := network(t, "ring", nodes, topology.Metropolis, 1).Weights()
	before := difalt.ReduceFrom(0)
	defer difalt.ReduceFrom(before)
	for _, method := range []difalt.Method{difalt.Accelerated, difalt.Newton, difalt.DifAltGDmin} {
		o := difalt.Options{Rank: 2, Method: method, Iterations: 25, Agreement: consensus.Agreement{RoundByRound: true}}
		if method == difalt.Newton {
			o.Agreement = consensus.Agreement{Polynomial: consensus.Tree}
		}
		run := func(mixed bool, from int) *difalt.Result {
			difalt.ReduceFrom(from)
			o.MixedPrecision = mixed
			res, err := difalt.Run(t.Context(), s.Problem, network(t, "ring", nodes, topology.Metropolis, 1), o)
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		plain := run(false, 0)
		for from, copies := range map[int]bool{bytes: true, bytes + 1: false} {
			mixed := run(true, from)
			for g, u := range mixed.U {
				if same := slices.Equal(u.Data(), plain.U[g].Data()); same == copies {
					t.Errorf("%v, copies from %d bytes of %d: the bits of node %d are those of float64: %t", method, from, bytes, g, same)
				}
			}
			for _, groups := range []processes{together(nodes, 2), together(nodes, nodes)} {
				sameApart(t, method.String(), mixed, s.Problem, w, groups, o)
			}
		}
	}
}

// A snapshot of a run without copies, though they were asked for, goes on with the same bits.
func TestMixedPrecisionWithoutCopiesResumes(t *testing.T) {
	s := noisy(4, 5, 20, 50, 2, 25, 3, 0.01)
	before := difalt.ReduceFrom(math.MaxInt)
	defer difalt.ReduceFrom(before)
	o := difalt.Options{Rank: 2, Method: difalt.Accelerated, MixedPrecision: true, Iterations: 30, EveryIteration: true}
	var solvers [2]*difalt.Solver
	for k := range solvers {
		var err error
		if solvers[k], err = difalt.NewSolver(s.Problem, network(t, "er:0.7", 5, topology.Metropolis, 1), o); err != nil {
			t.Fatal(err)
		}
		defer solvers[k].Close()
	}
	steps := func(solver *difalt.Solver, n int) {
		for range n {
			if _, err := solver.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	steps(solvers[0], 12)
	snap, err := solvers[0].Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := solvers[1].Restore(loaded(t, stored(t, snap))); err != nil {
		t.Fatal(err)
	}
	for _, solver := range solvers {
		steps(solver, 8)
	}
	for i, u := range solvers[1].U() {
		if !slices.Equal(u.Data(), solvers[0].U()[i].Data()) {
			t.Errorf("node %d differs", i)
		}
	}
}
