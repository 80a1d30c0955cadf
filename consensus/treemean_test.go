package consensus

import (
	"math"
	"testing"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/topology"
)

// TestServer: the mean over all nodes, the same bits at every node.
func TestServer(t *testing.T) {
	for _, g := range testGraphs(t) {
		w := must[*topology.Weights](t)(topology.NewWeights(g, topology.Metropolis))
		for _, shape := range shapes {
			before := matrixOf(randomMessages(g.Len(), shape[0], shape[1], shape[2], 5))
			got := mixed(t, network(t, w).NewServer(), shape, 1)
			for j := range before.RawMatrix().Cols {
				sum := 0.0
				for i := range g.Len() {
					sum += before.At(i, j)
				}
				if want := sum / float64(g.Len()); math.Abs(got.At(0, j)-want) > 1e-14 {
					t.Errorf("%v, shape %v: entry %d is %v, want %v", g, shape, j, got.At(0, j), want)
				}
				for i := range g.Len() {
					if got.At(i, j) != got.At(0, j) {
						t.Errorf("%v, shape %v: other bits at node %d", g, shape, i)
					}
				}
			}
		}
	}
}

func TestServerTraffic(t *testing.T) {
	s := network(t, weightsOf(t, "path", 5)).NewServer()
	mixed(t, s, [3]int{13, 3, 2}, 1)
	mixed(t, s, [3]int{0, 0, 4}, 1)
	// Every call gathers 5 messages and broadcasts 5.
	want := wire.Traffic{Rounds: 4, Messages: 20, Bytes: 10 * (8*(41+4) + 2*header)}
	if got := s.net.Traffic(); got != want {
		t.Errorf("traffic %+v, want %+v", got, want)
	}
	for _, rounds := range []int{0, 2} {
		wantError(t, s.Mix(background, randomMessages(5, 2, 2, 0, 1), rounds), "rounds through a server", "must be 1")
	}
}
