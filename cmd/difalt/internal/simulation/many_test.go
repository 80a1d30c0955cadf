package simulation

import (
	"runtime"
	"slices"
	"testing"
)

// allocated returns how many bytes f allocates in all.
func allocated(f func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}

// TestManyNodes: what a run allocates from the graph to the curves grows with the edges and
// tasks, and not with the square of the nodes: twice the nodes of a torus take hardly more
// than twice the bytes. Something of 8 L^2 bytes would be 200 MB more of them.
func TestManyNodes(t *testing.T) {
	for method, agree := range map[string]string{"accelerated": "tree", "dif": "chebyshev"} {
		bytes := func(nodes int) float64 {
			s := Setting{
				Nodes: nodes, Features: 10, Tasks: nodes, Samples: 8, Rank: 2,
				Graph: "torus", Weights: "metropolis", Methods: []string{method}, Agree: agree,
				Rounds: 3, InitRounds: 3, PowerIterations: 2, Iterations: 2, Seed: 7, Time: PaperTime,
			}
			return allocated(func() { runTrials(t, s, 1, 1, 2) })
		}
		half, all := bytes(2500), bytes(5000)
		t.Logf("%s: %.1f and %.1f MB", method, half/1e6, all/1e6)
		if all > 2.3*half {
			t.Errorf("%s: %.1f MB for 5,000 nodes, %.1f MB for 2,500", method, all/1e6, half/1e6)
		}
	}
}

// TestTreeOfAnyGraph: along a tree results do not depend on the graph, though the tree does.
func TestTreeOfAnyGraph(t *testing.T) {
	s := small()
	s.Nodes, s.Agree, s.Iterations = 15, "tree", 5
	var want []string
	for _, graph := range []string{"exponential", "ring", "star", "path", "torus"} {
		s.Graph = graph
		bases, err := s.Over(t.Context(), 1, "accelerated", nil, 1, func() {}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = bases
		}
		if !slices.Equal(bases, want) {
			t.Errorf("%s: other bits than on the exponential graph", graph)
		}
	}
}
