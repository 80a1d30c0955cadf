package consensus

import (
	"strings"
	"testing"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// must returns a function that fails the test on an error.
func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// wantError fails unless err contains all the parts.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", parts)
		return
	}
	for _, p := range append(parts, "consensus: ") {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q lacks %q", err, p)
		}
	}
}

// network returns the network of weights w with all nodes in this process.
func network(t testing.TB, w *topology.Weights) *Network {
	t.Helper()
	return must[*Network](t)(New(w, nil))
}

func newMixer(t testing.TB, w *topology.Weights, pool *kernel.Pool, a Agreement) *Mixer {
	t.Helper()
	return must[*Mixer](t)(network(t, w).NewMixer(a, pool))
}

// weightsOf returns Metropolis weights on the graph that spec describes.
func weightsOf(t testing.TB, spec string, nodes int) *topology.Weights {
	t.Helper()
	g := must[*topology.Graph](t)(topology.Parse(spec, nodes, 2))
	return must[*topology.Weights](t)(topology.NewWeights(g, topology.Metropolis))
}

// testGraphs returns connected graphs of many kinds and sizes.
func testGraphs(t testing.TB) []*topology.Graph {
	t.Helper()
	var all []*topology.Graph
	for _, x := range []struct {
		spec  string
		nodes int
	}{
		{"path", 1}, {"path", 2}, {"path", 3}, {"path", 10}, {"ring", 3}, {"ring", 8}, {"ring", 41}, {"star", 6},
		{"grid:3x4", 12}, {"torus:3x5", 15}, {"complete", 7}, {"exponential", 16}, {"er:0.5", 20}, {"er:0.1", 50},
	} {
		all = append(all, must[*topology.Graph](t)(topology.Parse(x.spec, x.nodes, 2)))
	}
	return all
}
