package difalt

import (
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// noisy is a small problem of two nodes in this process, with noise.
func noisy(t *testing.T, o Options) *Solver {
	t.Helper()
	const d, n, tasks, nodes = 12, 20, 8, 2
	rng := rand.New(rand.NewPCG(3, 4))
	var list []*kernel.Tasks
	for range nodes {
		samples := make([]int, tasks)
		for k := range samples {
			samples[k] = n
		}
		b := kernel.NewBuilder(d, samples, kernel.Float64)
		for k := range tasks {
			b1, b2 := rng.NormFloat64(), rng.NormFloat64()
			for i := range n {
				x := make([]float64, d)
				for j := range x {
					x[j] = rng.NormFloat64()
				}
				b.SetRow(k, i, x, b1*x[0]+b2*x[1]+.1*rng.NormFloat64())
			}
		}
		list = append(list, b.Tasks())
	}
	graph, err := topology.Complete(nodes)
	if err != nil {
		t.Fatal(err)
	}
	p, net, err := InProcess(list, graph)
	if err != nil {
		t.Fatal(err)
	}
	o.Rank, o.Workers = 2, 1
	s, err := NewSolver(p, net, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestMeasurementAllocations: a check that measures the residual does not allocate, by a sketch or by sums of
// gradients.
func TestMeasurementAllocations(t *testing.T) {
	for _, method := range []Method{DifAltGDmin, Accelerated} {
		s := noisy(t, Options{Method: method, Tolerance: 1e300})
		for range 3 {
			if _, err := s.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		rule := &s.checker.rule
		allocations := check.Allocations(10, func() {
			rule.Measured = -measureAfter
			status, err := s.checker.check(t.Context(), s.net, 0, false)
			if err != nil || status != Converged || rule.Measured != s.point.iteration {
				t.Errorf("%v: %v, measured at %d, %v", method, status, rule.Measured, err)
			}
		})
		if allocations != 0 {
			t.Errorf("%v: %v allocations in a check that measures the residual", method, allocations)
		}
	}
}
