package minimum

import (
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/topology"
)

// TestLargeCoefficients: a task that hardly determines a coefficient, or whose features are small, has one of
// any size. Sums over the nodes hold it.
func TestLargeCoefficients(t *testing.T) {
	graph, err := topology.Complete(2)
	if err != nil {
		t.Fatal(err)
	}
	weights, err := topology.NewWeights(graph, topology.Metropolis)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ first, second float64 }{{1, 1}, {1, 1e-6}, {1, 1e-9}, {1e-6, 1e-6}, {1e-12, 1e-12},
		{1e12, 1e12}} {
		tasks, u, _ := setting(12, func(int) float64 { return .05 }, .5)
		for i, k := range tasks {
			b := k.Edit()
			task := b.Append(2)
			b.SetRow(task, 0, []float64{c.first, 0, 0, 0, 0, 0}, 1)
			b.SetRow(task, 1, []float64{c.first, c.second, 0, 0, 0, 0}, -1)
			tasks[i] = b.Tasks()
		}
		net, err := consensus.New(weights, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Check(t.Context(), net, tasks, u, Options{}); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
