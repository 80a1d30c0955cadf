package topology

import (
	"runtime"
	"testing"
)

// TestMemoryOfEdges: all that is made of a graph takes bytes in proportion to its edges and nodes;
// a single matrix of 5,000 x 5,000 would be 200 MB.
func TestMemoryOfEdges(t *testing.T) {
	const nodes = 5000
	for _, spec := range []string{"torus", "ring", "path", "star", "exponential", "er:0.004"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		g, err := Parse(spec, nodes, 1)
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewWeights(g, Metropolis)
		if err != nil {
			t.Fatal(err)
		}
		g.Center()
		w.Fingerprint()
		if _, err := NewWeights(g, EqualNeighbor); (err == nil) == g.bipartite() {
			t.Error(err)
		}
		runtime.ReadMemStats(&after)
		took, most := after.TotalAlloc-before.TotalAlloc, uint64(100*(2*g.Edges()+5*nodes))
		t.Logf("%v: %.2f MB, at most %.2f MB", g, float64(took)/1e6, float64(most)/1e6)
		if took > most {
			t.Errorf("%v: %d bytes, want at most %d", g, took, most)
		}
	}
}
