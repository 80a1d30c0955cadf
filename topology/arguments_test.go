package topology

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestNoArguments: what is missing or empty is an error or nothing, and no call ends the program.
func TestNoArguments(t *testing.T) {
	_, err := FromAdjacency(nil)
	wantError(t, err, "adjacency matrix", "nil")
	_, err = FromAdjacency((*mat.Dense)(nil))
	wantError(t, err, "adjacency matrix", "nil")
	_, err = WeightsOf(nil)
	wantError(t, err, "weights", "nil")
	_, err = WeightsOf((*mat.Dense)(nil))
	wantError(t, err, "weights", "nil")
	_, err = NewWeights(&Graph{}, Metropolis)
	wantError(t, err, "0 nodes")
	_, err = FromAdjacency(mat.NewDense(1, 1, []float64{math.NaN()}))
	wantError(t, err, "NaN in row 0, column 0")
	_, err = FromEdges(-1, [][2]int{{0, 1}})
	wantError(t, err, "edges of -1 nodes")
	for _, n := range []int{-3, 0, maxNodes + 1} {
		for _, spec := range []string{"er:0.5", "ring", "path", "star", "complete", "exponential"} {
			_, err := Parse(spec, n, 1)
			wantError(t, err, spec, "nodes")
		}
	}
	for _, spec := range []string{"", "er:", "er:NaN", "er:-1", "er:1.1", "er:0", "er:Inf", "er:x", "Ring", "ring "} {
		if g, err := Parse(spec, 5, 1); err == nil {
			t.Errorf("%q is %v", spec, g)
		}
	}
	empty := &Graph{}
	if empty.Len() != 0 || empty.Edges() != 0 || empty.Center() != -1 || empty.Connected() ||
		len(empty.Distances(0)) != 0 {
		t.Errorf("an empty graph: %v, center %d, connected %v", empty, empty.Center(), empty.Connected())
	}
}

// TestNoSuchNode: a node that a graph lacks has no neighbours, no weights, and cannot be reached.
func TestNoSuchNode(t *testing.T) {
	g := of(t, "ring", 5)
	w := weigh(t, g, Metropolis)
	for _, node := range []int{-1, 5, math.MaxInt, math.MinInt} {
		if len(g.Neighbors(node)) != 0 || g.Degree(node) != 0 || w.At(node, 0) != 0 || w.At(0, node) != 0 ||
			w.At(node, node) != 0 {
			t.Errorf("node %d: neighbours %v, weights %v %v %v", node, g.Neighbors(node), w.At(node, 0), w.At(0, node),
				w.At(node, node))
		}
		for to, hops := range g.Distances(node) {
			if hops != -1 {
				t.Errorf("from node %d to %d: %d hops", node, to, hops)
			}
		}
	}
}
