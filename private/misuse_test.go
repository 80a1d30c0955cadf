package private

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// TestMisuseSpendsNothing: no context, and more numbers than memory, are errors that spend nothing.
func TestMisuseSpendsNothing(t *testing.T) {
	graph, err := topology.Complete(1)
	if err != nil {
		t.Fatal(err)
	}
	weights, err := topology.NewWeights(graph, topology.Metropolis)
	if err != nil {
		t.Fatal(err)
	}
	net, err := consensus.New(weights, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewAccount(1, .01, 0)
	if err != nil {
		t.Fatal(err)
	}
	var none context.Context
	vector := func(_, _ int, v []float64) { v[0] = 1 }
	if _, err := a.Sum(none, net, "a sum", .01, []int{2}, 1, vector); err == nil {
		t.Error("Sum takes a nil context")
	}
	for _, n := range []int{-1, math.MaxInt >> 4, math.MaxInt} {
		if _, err := a.Sum(t.Context(), net, "a sum", .01, []int{2}, n, vector); err == nil {
			t.Errorf("Sum of %d numbers has no error", n)
		}
	}
	if a.Rho() != 0 || len(a.Spent()) != 0 {
		t.Errorf("misuse spends %g", a.Rho())
	}
}

// TestWorkersInRange: a number of workers that no pool has is an error that names it, and spends nothing.
func TestWorkersInRange(t *testing.T) {
	graph, err := topology.Complete(1)
	if err != nil {
		t.Fatal(err)
	}
	weights, err := topology.NewWeights(graph, topology.Metropolis)
	if err != nil {
		t.Fatal(err)
	}
	net, err := consensus.New(weights, nil)
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := kernel.NewTasks([][][]float64{{{1, 2}, {3, 4}}, {{1, 3}}}, [][]float64{{1, 2}, {3}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewAccount(1, .01, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{-1, kernel.MaxWorkers + 1} {
		_, err := Run(t.Context(), []*kernel.Tasks{tasks}, net, Options{Rank: 1, Account: a, Workers: workers})
		var parameter *difalt.ParameterError
		if !errors.As(err, &parameter) || parameter.Name != "Workers" || a.Rho() != 0 {
			t.Errorf("%d workers: %v, %g spent", workers, err, a.Rho())
		}
	}
}
