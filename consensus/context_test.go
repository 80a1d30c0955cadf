package consensus_test

import (
	"context"
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
