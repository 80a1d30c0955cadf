package topology

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// farthest returns the number of hops from every node to the farthest other, of a connected graph (Floyd
// and Warshall).
func farthest(g *Graph) []int {
	n := g.Len()
	d, far := make([][]int, n), make([]int, n)
	for i := range n {
		d[i] = slices.Repeat([]int{n}, n)
		d[i][i] = 0
		for _, j := range g.Neighbors(i) {
			d[i][j] = 1
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				d[i][j] = min(d[i][j], d[i][k]+d[k][j])
			}
		}
	}
	for i := range n {
		far[i] = slices.Max(d[i])
	}
	return far
}

// randomGraph returns a connected graph of n nodes: a random tree and some edges more.
func randomGraph(t testing.TB, n, more int, rng *rand.Rand) *Graph {
	return must[*Graph](t)(build("random", n, 0, func(add func(i, j int)) {
		for i := 1; i < n; i++ {
			add(i, rng.IntN(i))
		}
		for range more {
			add(rng.IntN(n), rng.IntN(n))
		}
	}))
}

// TestExtentAgainstAllPairs: up to 512 nodes, center and diameter equal those of all pairs.
func TestExtentAgainstAllPairs(t *testing.T) {
	graph, rng := must[*Graph](t), rand.New(rand.NewPCG(1, 2))
	graphs := []*Graph{graph(Exponential(37)), graph(Star(40)), graph(Complete(30)), graph(Path(200)), graph(Ring(131))}
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

// TestExtentOfLarge: above 512 nodes the bounds hold, and trees are exact.
func TestExtentOfLarge(t *testing.T) {
	graph, rng := must[*Graph](t), rand.New(rand.NewPCG(3, 4))
	const n = allSweeps + 101
	for _, c := range []struct {
		g     *Graph
		exact bool
	}{
		{graph(Path(n)), true}, {graph(Star(n)), true}, {randomGraph(t, n, 0, rng), true}, {graph(Complete(n)), false},
		{graph(Ring(n)), false}, {graph(Exponential(n)), false}, {randomGraph(t, n, 2*n, rng), false}, {graph(ErdosRenyi(n, .05, 1)), false},
	} {
		far := make([]int, n)
		for i := range far {
			far[i] = slices.Max(c.g.Distances(i))
		}
		diameter, radius := slices.Max(far), slices.Min(far)
		got, exact := c.g.Diameter()
		if got < diameter || got > 2*diameter || exact && got != diameter {
			t.Errorf("%v: diameter %d, exact: %v, want %d", c.g, got, exact, diameter)
		}
		center := far[c.g.Center()]
		if center > 2*radius || c.exact && (center != radius || got > diameter+1) {
			t.Errorf("%v: center %d is %d hops from the farthest node, want %d", c.g, c.g.Center(), center, radius)
		}
	}
}

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
