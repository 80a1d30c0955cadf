package topology

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
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
	for _, p := range append(parts, "topology: ") {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q lacks %q", err, p)
		}
	}
}

// checkSimple fails unless the adjacency of g is that of a simple undirected graph.
func checkSimple(t *testing.T, g *Graph) {
	t.Helper()
	sum := 0
	for i := range g.Len() {
		nb := g.Neighbors(i)
		sum += len(nb)
		if len(nb) != g.Degree(i) {
			t.Errorf("%v: node %d has degree %d and %d neighbours", g, i, g.Degree(i), len(nb))
		}
		for k, j := range nb {
			if j == i || j < 0 || j >= g.Len() || !slices.Contains(g.Neighbors(j), i) {
				t.Errorf("%v: node %d has neighbour %d", g, i, j)
			}
			if k > 0 && nb[k-1] >= j {
				t.Errorf("%v: neighbours of node %d are %v: not ascending", g, i, nb)
			}
		}
	}
	if sum != 2*g.Edges() {
		t.Errorf("%v: degrees sum to %d", g, sum)
	}
}

func TestGenerators(t *testing.T) {
	graph := must[*Graph](t)
	for _, c := range []struct {
		g               *Graph
		text            string
		diameter        int
		bipartite       bool
		degree0, degree int // of node 0 and of the last node
	}{
		{graph(Ring(1)), "ring (1 node, 0 edges)", 0, true, 0, 0},
		{graph(Ring(2)), "ring (2 nodes, 1 edge)", 1, true, 1, 1},
		{graph(Ring(7)), "ring (7 nodes, 7 edges)", 3, false, 2, 2},
		{graph(Ring(8)), "ring (8 nodes, 8 edges)", 4, true, 2, 2},
		{graph(Path(1)), "path (1 node, 0 edges)", 0, true, 0, 0},
		{graph(Path(2)), "path (2 nodes, 1 edge)", 1, true, 1, 1},
		{graph(Path(9)), "path (9 nodes, 8 edges)", 8, true, 1, 1},
		{graph(Star(1)), "star (1 node, 0 edges)", 0, true, 0, 0},
		{graph(Star(2)), "star (2 nodes, 1 edge)", 1, true, 1, 1},
		{graph(Star(6)), "star (6 nodes, 5 edges)", 2, true, 5, 1},
		{graph(Complete(1)), "complete (1 node, 0 edges)", 0, true, 0, 0},
		{graph(Complete(2)), "complete (2 nodes, 1 edge)", 1, true, 1, 1},
		{graph(Complete(6)), "complete (6 nodes, 15 edges)", 1, false, 5, 5},
		{graph(Exponential(1)), "exponential (1 node, 0 edges)", 0, true, 0, 0},
		{graph(Exponential(2)), "exponential (2 nodes, 1 edge)", 1, true, 1, 1},
		// +-1, +-2 and 4 = -4.
		{graph(Exponential(8)), "exponential (8 nodes, 20 edges)", 2, false, 5, 5},
		{graph(ErdosRenyi(1, .5, 1)), "er:0.5 (1 node, 0 edges)", 0, true, 0, 0},
		{graph(ErdosRenyi(2, .5, 1)), "er:0.5 (2 nodes, 1 edge)", 1, true, 1, 1},
		{graph(ErdosRenyi(6, 1, 1)), "er:1 (6 nodes, 15 edges)", 1, false, 5, 5},
	} {
		checkSimple(t, c.g)
		if got := c.g.String(); got != c.text {
			t.Errorf("got %q, want %q", got, c.text)
		}
		if got, exact := c.g.Diameter(); got != c.diameter || !exact {
			t.Errorf("%v: diameter %d, exact: %v, want %d", c.g, got, exact, c.diameter)
		}
		if got := c.g.bipartite(); got != c.bipartite {
			t.Errorf("%v: bipartite %v, want %v", c.g, got, c.bipartite)
		}
		if d0, d := c.g.Degree(0), c.g.Degree(c.g.Len()-1); d0 != c.degree0 || d != c.degree {
			t.Errorf("%v: degrees %d and %d, want %d and %d", c.g, d0, d, c.degree0, c.degree)
		}
		if !c.g.Connected() {
			t.Errorf("%v: not connected", c.g)
		}
	}
}

// TestGeneratorErrors: a library refuses a graph that it cannot hold before it allocates memory for it.
func TestGeneratorErrors(t *testing.T) {
	for name, f := range map[string]func(int) (*Graph, error){
		"ring": Ring, "path": Path, "star": Star, "complete": Complete, "exponential": Exponential,
	} {
		for _, n := range []int{0, -3} {
			_, err := f(n)
			wantError(t, err, name, "at least 1")
		}
		_, err := f(1_000_000_000)
		wantError(t, err, name, "1000000000 nodes: at most 10000000")
		_, err = Parse(name, math.MaxInt, 1)
		wantError(t, err, name, "at most 10000000")
	}
	_, err := Complete(100_000)
	wantError(t, err, "complete of 100000 nodes", "5e+09 edges")
	_, err = Exponential(10_000_000)
	wantError(t, err, "exponential", "edges: at most 100000000")
	_, err = ErdosRenyi(1_000_000, .5, 1)
	wantError(t, err, "er:0.5", "2.5e+11 edges")
	for _, p := range []float64{0, -.5, 1.5, math.NaN(), math.Inf(1)} {
		_, err = ErdosRenyi(5, p, 1)
		wantError(t, err, "5 nodes", "0 < p <= 1")
	}
	_, err = ErdosRenyi(0, .5, 1)
	wantError(t, err, "er:0.5 of 0 nodes")
	_, err = FromEdges(math.MaxInt32, nil)
	wantError(t, err, "edges of 2147483647 nodes: at most")
}

func TestErdosRenyi(t *testing.T) {
	graph := must[*Graph](t)
	// The number of edges is binomial: 1990 on average, standard deviation 42.
	g := graph(ErdosRenyi(200, .1, 7))
	checkSimple(t, g)
	if g.Edges() < 1990-5*42 || g.Edges() > 1990+5*42 {
		t.Errorf("%v: want about 1990 edges", g)
	}
	same, other := graph(ErdosRenyi(200, .1, 7)), graph(ErdosRenyi(200, .1, 8))
	if !slices.EqualFunc(g.adj, same.adj, slices.Equal) {
		t.Error("the same seed gave another graph")
	}
	if slices.EqualFunc(g.adj, other.adj, slices.Equal) {
		t.Error("another seed gave the same graph")
	}
	// The hard setting of the paper: about every second draw has an isolated node.
	for seed := range uint64(20) {
		if g := graph(ErdosRenyi(100, .05, seed)); !g.Connected() {
			t.Errorf("seed %d: %v is not connected", seed, g)
		}
	}
	_, err := ErdosRenyi(50, .001, 1)
	wantError(t, err, "50 nodes", "0.001", "1000 draws")
}

// TestLinkRandomly: above 512 nodes, too, every pair is linked with the same probability, independently:
// the numbers of edges in classes of pairs, and the degrees, are binomial.
func TestLinkRandomly(t *testing.T) {
	const n = 600
	for _, p := range []float64{.003, .1, .7, 1} {
		g := must[*Graph](t)(build("", n, 0, func(add func(i, j int)) { linkRandomly(n, p, rand.New(rand.NewPCG(9, 10)), add) }))
		checkSimple(t, g)
		// counts[k] and pairs[k] of the edges and pairs in class k of three partitions.
		counts, pairs := make([][3]float64, 2*n), make([][3]float64, 2*n)
		for i := range n {
			for j := range i {
				for k, class := range [3]int{(i + j) / 100, (i - j) / 50, i / 30} {
					pairs[class][k]++
				}
			}
			for _, j := range g.Neighbors(i) {
				if j < i {
					for k, class := range [3]int{(i + j) / 100, (i - j) / 50, i / 30} {
						counts[class][k]++
					}
				}
			}
		}
		for class := range pairs {
			for k, m := range pairs[class] {
				if deviation := math.Abs(counts[class][k] - m*p); deviation > 5*math.Sqrt(m*p*(1-p))+5*p+1e-9 {
					t.Errorf("p = %v: %v of %v pairs are linked in class %d of partition %d", p, counts[class][k], m, class, k)
				}
			}
		}
		for i := range n {
			if mean := p * (n - 1); math.Abs(float64(g.Degree(i))-mean) > 6*math.Sqrt(mean*(1-p))+6+1e-9 {
				t.Errorf("p = %v: node %d has %d neighbours, want about %v", p, i, g.Degree(i), mean)
			}
		}
	}
}
