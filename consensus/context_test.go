package consensus_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/topology"
)

// TestNoContext: every operation returns an error for a nil context, and the network goes on.
func TestNoContext(t *testing.T) {
	graph, err := topology.Ring(3)
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
	gossip, err := net.Agree(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := func() [][]float64 { return [][]float64{{1}, {2}, {3}} }
	messages := func() []consensus.Message {
		return []consensus.Message{{Scalars: []float64{1}}, {Scalars: []float64{2}}, {Scalars: []float64{3}}}
	}
	tree := net.TreeMean()
	for name, f := range map[string]func(context.Context) error{
		"Sum":       func(ctx context.Context) error { return net.Sum(ctx, rows()) },
		"SumThen":   func(ctx context.Context) error { return net.SumThen(ctx, rows(), 1, func([]float64) {}) },
		"Broadcast": func(ctx context.Context) error { return net.Broadcast(ctx, 0, rows()) },
		"Gather":    func(ctx context.Context) error { _, err := net.Gather(ctx, make([][]byte, 3)); return err },
		"Bind":      func(ctx context.Context) error { return net.Bind(ctx, nil) },
		"Confirm":   net.Confirm,
		"Agree":     func(ctx context.Context) error { return gossip.Average(ctx, messages(), consensus.Float64) },
		"TreeMean":  func(ctx context.Context) error { return tree.Average(ctx, messages(), consensus.Float64) },
		"Int8":      func(ctx context.Context) error { return tree.Average(ctx, messages(), consensus.Int8) },
		"Server": func(ctx context.Context) error {
			return net.ServerMean().Average(ctx, messages(), consensus.Float64)
		},
		"Neighbour": func(ctx context.Context) error {
			return net.NeighbourMean(nil).Average(ctx, messages(), consensus.Float64)
		},
	} {
		var none context.Context
		if err := f(none); err == nil {
			t.Errorf("%s takes a nil context", name)
		}
		if err := f(t.Context()); err != nil {
			t.Errorf("%s after a nil context: %v", name, err)
		}
	}
}

// TestErrorsOfOneProcess: where all nodes live in one process, the network goes on after every error: NaN
// or infinity in any operation.
func TestErrorsOfOneProcess(t *testing.T) {
	graph, err := topology.Path(3)
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
	gossip, err := net.Agree(40, nil)
	if err != nil {
		t.Fatal(err)
	}
	tree := net.TreeMean()
	average := func(x consensus.Exchange, c consensus.Codec, v float64) ([]consensus.Message, error) {
		z := []consensus.Message{{Scalars: []float64{1}}, {Scalars: []float64{v}}, {Scalars: []float64{3}}}
		return z, x.Average(t.Context(), z, c)
	}
	spoil := map[string]func() error{
		"sum":       func() error { return net.Sum(t.Context(), [][]float64{{1}, {math.NaN()}, {3}}) },
		"broadcast": func() error { return net.Broadcast(t.Context(), 1, [][]float64{{1}, {math.Inf(1)}, {3}}) },
		"gossip":    func() error { _, err := average(gossip, consensus.Float64, math.NaN()); return err },
		"mean":      func() error { _, err := average(tree, consensus.Float64, math.NaN()); return err },
		"codes":     func() error { _, err := average(tree, consensus.Int16, math.NaN()); return err },
	}
	for name, f := range spoil {
		if err := f(); !errors.Is(err, consensus.ErrNotFinite) {
			t.Errorf("%s: %v", name, err)
		}
		z := [][]float64{{1}, {2}, {3}}
		if err := net.Sum(t.Context(), z); err != nil || z[0][0] != 6 {
			t.Errorf("after %s: sum %v, %v", name, z, err)
		}
		for _, x := range []consensus.Exchange{gossip, tree} {
			m, err := average(x, consensus.Float64, 2)
			if err != nil || math.Abs(m[2].Scalars[0]-2) > 1e-6 {
				t.Errorf("after %s: mean %v, %v", name, m, err)
			}
		}
		if _, err := average(tree, consensus.Int16, 2); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
}
