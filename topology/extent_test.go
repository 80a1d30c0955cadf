package topology

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// eccentricities returns the number of hops from every node to the farthest other, of a connected graph
// (Floyd and Warshall).
func eccentricities(g *Graph) []int {
	n := g.Len()
	d, far := make([][]int, n), make([]int, n)
	if n > allSweeps { // the cube of n takes long
		for i := range far {
			far[i] = slices.Max(g.Distances(i))
		}
		return far
	}
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

// TestCenter: up to 512 nodes the center is that of all pairs; in larger trees it is as near to the farthest
// node, and in other graphs at most twice as far.
func TestCenter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const large = allSweeps + 101
	graphs := append(testGraphs(t), of(t, "exponential", 37), of(t, "star", 40), of(t, "path", 200), of(t, "ring", 131))
	for n := 1; n < 40; n++ {
		for _, more := range []int{0, n / 3, 3 * n, n * n / 4} {
			graphs = append(graphs, randomGraph(t, n, more, rng))
		}
	}
	for _, spec := range []string{"path", "star", "complete", "ring", "exponential", "er:0.05"} {
		graphs = append(graphs, of(t, spec, large))
	}
	for _, g := range append(graphs, randomGraph(t, large, 0, rng), randomGraph(t, large, 2*large, rng)) {
		far := eccentricities(g)
		radius, tree := slices.Min(far), g.Edges() == g.Len()-1
		switch got := g.Center(); {
		case g.Len() <= allSweeps && got != slices.Index(far, radius):
			t.Errorf("%v: center %d: nodes are %d hops from the farthest", g, got, far)
		case far[got] > 2*radius || tree && far[got] != radius || far[got] != slices.Max(g.Distances(got)):
			t.Errorf("%v: center %d is %d hops from the farthest node, want %d", g, got, far[got], radius)
		}
	}
	for reached := 1; reached < 5; reached++ {
		g := must[*Graph](t)(FromEdges(5, [][2]int{{0, 1}, {1, 2}, {2, 3}}[:reached-1]))
		if g.Center() != -1 || g.Connected() {
			t.Errorf("%v: center %d, connected: %v", g, g.Center(), g.Connected())
		}
	}
}
