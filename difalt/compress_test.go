package difalt_test

import (
	"math"
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// TestTallTasks: a run on tasks with many more samples than features, which are compressed, ends with the
// coefficients and the objective of the samples, for each method, with and without a ridge.
func TestTallTasks(t *testing.T) {
	p := draw(t, 3, 8, 12, 400, 2, 2, .1, 3)
	for _, o := range []difalt.Options{
		{Rank: 2, Method: difalt.Accelerated}, {Rank: 2, Method: difalt.Accelerated, Ridge: 5},
		{Rank: 2, Iterations: 30, EveryIteration: true},
	} {
		res := run(t, p, network(t, "ring", 3, 1), o)
		objective, size := 0.0, 0.0
		for i, k := range p.Nodes {
			g := kernel.NewGroup(k, o.Rank)
			g.Minimize(res.U[i], o.Ridge, nil)
			if !floats.EqualApprox(res.B[i], g.B, 1e-12*floats.Norm(g.B, math.Inf(1))) {
				t.Errorf("%v, ridge %g, node %d: coefficients %v, of the samples %v", o.Method, o.Ridge, i, res.B[i],
					g.B)
			}
			for task := range k.Len() {
				size += floats.Dot(k.Y(task), k.Y(task))
			}
			objective += g.Objective
		}
		if e := math.Abs(res.Last.Objective - objective); !(e <= 1e-12*size) {
			t.Errorf("%v, ridge %g: objective %v, of the samples %v", o.Method, o.Ridge, res.Last.Objective, objective)
		}
	}
}
