package difalt_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// TestWarmStart adds tasks to nodes that have been trained: started from the result
// of before, the run must need a fraction of the iterations.
func TestWarmStart(t *testing.T) {
	s := gaussian(3, 5, 20, 60, 2, fixed(15), 0)
	net := network(t, "er:0.7", 5, topology.Metropolis, 1)
	old := &difalt.Problem{Truth: s.Truth}
	for g := range s.Nodes { // without the last two tasks of every node
		var x []mat.Matrix
		for _, m := range s.x[g][:len(s.x[g])-2] {
			x = append(x, m)
		}
		old.Nodes = append(old.Nodes, kernel.NewTasks(x, s.y[g][:len(x)], kernel.Float64))
	}
	o := difalt.Options{Rank: 2, Method: difalt.ScaledDiffusion, Iterations: 20}
	before, err := difalt.Run(t.Context(), old, net, o)
	if err != nil {
		t.Fatal(err)
	}
	within := func(recs []difalt.Record) int {
		for _, r := range recs {
			if r.SDMax < 1e-10 {
				return r.Iteration
			}
		}
		return len(recs)
	}
	o.Iterations = 100
	cold := within(curve(t, s.Problem, net, o))
	s.U0 = before.U
	warm := within(curve(t, s.Problem, net, o))
	if warm >= cold-10 {
		t.Errorf("%d iterations from the result of before, %d from scratch", warm, cold)
	}
}

// TestStartsApart gives every node another start. Along a tree the accelerated methods must
// compute with one U, that of node 0; and what is tracked must not drift by its codes.
func TestStartsApart(t *testing.T) {
	const nodes, d, r = 6, 40, 3
	s := conditioned(1, nodes, d, 90, r, 25, 2)
	rng := rand.New(rand.NewPCG(1, 80))
	for range nodes {
		u := kernel.BasisOf(normal(rng, d, r))
		u.Orthonormalize(make([]float64, r*r), make([]float64, r))
		s.U0 = append(s.U0, u)
	}
	first := s.U0[1].Clone()
	for _, a := range []consensus.Agreement{{Polynomial: consensus.Tree}, {Polynomial: consensus.Tree, Codec: consensus.Int8}, {}} {
		for _, method := range []difalt.Method{difalt.GradientTracking, difalt.Accelerated, difalt.AcceleratedTracking} {
			net := network(t, "ring", nodes, topology.Metropolis, 1)
			res := run(t, s.Problem, net, difalt.Options{Rank: r, Method: method, Agreement: a, Iterations: 100})
			if res.Status != difalt.Converged || res.Last.SDMax > 3e-10 {
				t.Errorf("%v, %v: %v at %g", method, a, res.Status, res.Last.SDMax)
			}
		}
	}
	if !slices.Equal(s.U0[1].Data(), first.Data()) {
		t.Error("the run has changed the caller's U0")
	}
}

// TestInitCompute: the time of the initialisation is told apart from that of the
// iterations, and a restored run has that of the run that it goes on with.
func TestInitCompute(t *testing.T) {
	s, net := small(t)
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.Accelerated} {
		o := difalt.Options{Rank: 2, Method: method, Iterations: 3, EveryIteration: true}
		first := interrupted(t, s.Problem, net, o, 1)
		before, err := first.Result()
		if err != nil {
			t.Fatal(err)
		}
		after := restored(t, s.Problem, net, o, first)
		if before.InitCompute <= 0 || after.InitCompute != before.InitCompute || before.InitTraffic != after.InitTraffic {
			t.Errorf("%v: the initialisation took %v and sent %+v, in the restored run %v and %+v", method, before.InitCompute, before.InitTraffic, after.InitCompute, after.InitTraffic)
		}
	}
}
