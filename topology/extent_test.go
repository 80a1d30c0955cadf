package topology

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// farthest returns the number of hops from every node to the farthest other, of a connected
// graph, by squaring the relation "at most so far" instead of searching.
func farthest(g *Graph) []int {
	n := g.Len()
	far := make([]int, n)
	for i := range n {
		reached, hops := make([]bool, n), 0
		reached[i] = true
		for slices.Contains(reached, false) {
			next := slices.Clone(reached)
			for j, ok := range reached {
				for _, k := range g.Neighbors(j) {
					next[k] = next[k] || ok
				}
			}
			reached = next
			hops++
		}
		far[i] = hops
	}
	return far
}

// randomGraph returns a connected graph of n nodes: a random tree and some edges more.
func randomGraph(t testing.TB, n, more int, rng *rand.Rand) *Graph {
	return must[*Graph](t)(build("random", n, func(add func(i, j int)) {
		for i := 1; i < n; i++ {
			add(i, rng.IntN(i))
		}
		for range more {
			add(rng.IntN(n), rng.IntN(n))
		}
	}))
}

// TestExtentAgainstAllPairs: up to 512 nodes center and diameter are those of all pairs.
func TestExtentAgainstAllPairs(t *testing.T) {
	graph, rng := must[*Graph](t), rand.New(rand.NewPCG(1, 2))
	graphs := []*Graph{graph(Exponential(37)), graph(Torus(7, 9)), graph(Grid(9, 11)), graph(Star(40)), graph(Complete(30)), graph(Path(200)), graph(Ring(131))}
	for n := 1; n < 40; n++ {
		graphs = append(graphs, randomGraph(t, n, 0, rng), randomGraph(t, n, n/3, rng), randomGraph(t, n, 3*n, rng), randomGraph(t, n, n*n/4, rng))
	}
	for _, g := range append(graphs, testGraphs(t)...) {
		far := farthest(g)
		if want, got := slices.Index(far, slices.Min(far)), g.Center(); got != want {
			t.Errorf("%v: center %d, want %d: nodes are %d hops from the farthest", g, got, want, far)
		}
		if got, exact := g.Diameter(); got != slices.Max(far) || !exact {
			t.Errorf("%v: diameter %d, exact: %v, want %d", g, got, exact, slices.Max(far))
		}
		if got := slices.Max(g.Distances(g.Center())); got != slices.Min(far) {
			t.Errorf("%v: from the center %d hops, want %d", g, got, slices.Min(far))
		}
	}
}

// TestExtentOfLarge: the bounds hold, and the center is hardly worse than the best, where not
// all nodes are looked at.
func TestExtentOfLarge(t *testing.T) {
	graph, rng := must[*Graph](t), rand.New(rand.NewPCG(3, 4))
	const n = exactNodes + 100
	for _, c := range []struct {
		g     *Graph
		exact bool // few sweeps are known to show it
	}{
		{graph(Path(n)), true}, {graph(Star(n)), true}, {graph(Complete(n)), true}, {graph(Grid(18, 34)), true}, {randomGraph(t, n, 0, rng), true},
		{graph(Ring(n)), false}, {graph(Torus(18, 34)), false}, {graph(Exponential(n)), false}, {randomGraph(t, n, 2*n, rng), false}, {graph(ErdosRenyi(n, .05, 1)), false},
	} {
		far := make([]int, n)
		for i := range far {
			far[i] = slices.Max(c.g.Distances(i))
		}
		diameter, radius := slices.Max(far), slices.Min(far)
		if got, exact := c.g.Diameter(); got < diameter || got > 2*diameter || exact && got != diameter || c.exact && !exact {
			t.Errorf("%v: diameter %d, exact: %v, want %d", c.g, got, exact, diameter)
		}
		switch got := far[c.g.Center()]; {
		case got > radius+1, c.exact && c.g.Center() != slices.Index(far, radius):
			t.Errorf("%v: center %d is %d hops from the farthest, want %d", c.g, c.g.Center(), got, radius)
		}
	}
}

// TestExtentOfDisconnected: the bounds that degrees give must not make a graph look connected.
func TestExtentOfDisconnected(t *testing.T) {
	for n := 2; n < 6; n++ {
		for reached := 1; reached < n; reached++ {
			var edges [][2]int // all between the first few nodes
			for i := range reached {
				for j := range i {
					edges = append(edges, [2]int{i, j})
				}
			}
			g := must[*Graph](t)(FromEdges(n, edges))
			if hops, _ := g.Diameter(); hops != -1 || g.Center() != -1 || g.Connected() {
				t.Errorf("%v: diameter %d, center %d, connected: %v", g, hops, g.Center(), g.Connected())
			}
		}
	}
}
