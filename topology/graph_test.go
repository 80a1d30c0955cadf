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

// of returns the graph of a text.
func of(t testing.TB, spec string, nodes int) *Graph {
	t.Helper()
	return must[*Graph](t)(Parse(spec, nodes, 1))
}

func TestGenerators(t *testing.T) {
	for _, c := range []struct {
		spec            string
		nodes           int
		text            string
		hops            int // from the center to the farthest node
		bipartite       bool
		degree0, degree int // of node 0 and of the last node
	}{
		{"ring", 1, "ring (1 node, 0 edges)", 0, true, 0, 0},
		{"ring", 2, "ring (2 nodes, 1 edge)", 1, true, 1, 1},
		{"ring", 7, "ring (7 nodes, 7 edges)", 3, false, 2, 2},
		{"ring", 8, "ring (8 nodes, 8 edges)", 4, true, 2, 2},
		{"path", 1, "path (1 node, 0 edges)", 0, true, 0, 0},
		{"path", 2, "path (2 nodes, 1 edge)", 1, true, 1, 1},
		{"path", 9, "path (9 nodes, 8 edges)", 4, true, 1, 1},
		{"star", 1, "star (1 node, 0 edges)", 0, true, 0, 0},
		{"star", 6, "star (6 nodes, 5 edges)", 1, true, 5, 1},
		{"complete", 1, "complete (1 node, 0 edges)", 0, true, 0, 0},
		{"complete", 6, "complete (6 nodes, 15 edges)", 1, false, 5, 5},
		{"exponential", 1, "exponential (1 node, 0 edges)", 0, true, 0, 0},
		{"exponential", 2, "exponential (2 nodes, 1 edge)", 1, true, 1, 1},
		{"exponential", 8, "exponential (8 nodes, 20 edges)", 2, false, 5, 5}, // +-1, +-2 and 4 = -4
		{"er:0.5", 1, "er:0.5 (1 node, 0 edges)", 0, true, 0, 0},
		{"er:0.5", 2, "er:0.5 (2 nodes, 1 edge)", 1, true, 1, 1},
		{"er:1", 6, "er:1 (6 nodes, 15 edges)", 1, false, 5, 5},
	} {
		g := of(t, c.spec, c.nodes)
		checkSimple(t, g)
		hops, d0, d := slices.Max(g.Distances(g.Center())), g.Degree(0), g.Degree(c.nodes-1)
		if g.String() != c.text || hops != c.hops || g.bipartite() != c.bipartite || d0 != c.degree0 || d != c.degree ||
			!g.Connected() {
			t.Errorf("%v: %d hops, bipartite: %v, degrees %d and %d: want %+v", g, hops, g.bipartite(), d0, d, c)
		}
	}
}

// TestGeneratorErrors: errors name the text; a library refuses a graph that it cannot hold before it
// allocates memory for it.
func TestGeneratorErrors(t *testing.T) {
	for name, f := range map[string]func(int) (*Graph, error){
		"ring": Ring, "path": Path, "star": Star, "complete": Complete, "exponential": Exponential,
	} {
		_, err := f(-3)
		wantError(t, err, name, "at least 1")
		_, err = f(1_000_000_000)
		wantError(t, err, name, "1000000000 nodes: at most 10000000")
	}
	for _, c := range []struct {
		spec  string
		nodes int
		want  []string
	}{
		{"", 5, []string{`unknown graph ""`, Specs()}},
		{"Ring", 5, []string{`unknown graph "Ring"`, Specs()}},
		{"ring:5", 5, []string{`unknown graph "ring:5"`, Specs()}},
		{"er:", 5, []string{`graph "er:"`, "not a probability", Specs()}},
		{"er:half", 5, []string{`"half" is not a probability`, Specs()}},
		{"er:1.5", 5, []string{"5 nodes", "p = 1.5", "0 < p <= 1"}},
		{"er:0", 5, []string{"p = 0", "0 < p <= 1"}},
		{"er:NaN", 5, []string{"p = NaN"}},
		{"er:Inf", 5, []string{"p = +Inf"}},
		{"er:0.0001", 50, []string{"er:0.0001 of 50 nodes", "about 50 nodes would have no neighbour"}},
		{"er:1e-07", 1_000_000, []string{"about 904838 nodes would have no neighbour", "p = ln(n)/n = 1.4e-05"}},
		{"er:0.03", 50, []string{"er:0.03 of 50 nodes", "1000 draws"}},
		{"er:0.5", 1_000_000, []string{"er:0.5", "2.5e+11 edges"}},
		{"ring", 0, []string{`graph "ring" of 0 nodes`, "at least 1"}},
		{"star", math.MaxInt, []string{"star", "at most 10000000"}},
		{"complete", 100_000, []string{"complete of 100000 nodes", "5e+09 edges"}},
		{"exponential", 10_000_000, []string{"exponential", "edges: at most 100000000"}},
	} {
		_, err := Parse(c.spec, c.nodes, 1)
		wantError(t, err, c.want...)
	}
	_, err := FromEdges(math.MaxInt32, nil)
	wantError(t, err, "edges of 2147483647 nodes: at most")
}

func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, spec string, nodes int, seed uint64) {
		nodes %= 40 // time is quadratic in it
		g, err := Parse(spec, nodes, seed)
		if err != nil {
			wantError(t, err)
			return
		}
		if checkSimple(t, g); g.Len() != nodes || !g.Connected() {
			t.Errorf("%q, %d nodes: got %v, connected %v", spec, nodes, g, g.Connected())
		}
	})
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
}

// TestLinkRandomly: above 512 nodes, too, every pair is linked with the same probability, independently:
// the numbers of edges in classes of pairs, and the degrees, are binomial.
func TestLinkRandomly(t *testing.T) {
	const n = 600
	for _, p := range []float64{.003, .1, .7, 1} {
		g := must[*Graph](t)(
			build("", n, 0, func(add func(i, j int)) { linkRandomly(n, p, rand.New(rand.NewPCG(9, 10)), add) }))
		checkSimple(t, g)
		// counts[k] and pairs[k] of the edges and pairs in class k of three partitions.
		counts, pairs := make([][3]float64, 2*n), make([][3]float64, 2*n)
		for i := range n {
			linked := map[int]float64{}
			for _, j := range g.Neighbors(i) {
				linked[j] = 1
			}
			for j := range i {
				for k, class := range [3]int{(i + j) / 100, (i - j) / 50, i / 30} {
					pairs[class][k]++
					counts[class][k] += linked[j]
				}
			}
		}
		for class := range pairs {
			for k, m := range pairs[class] {
				if deviation := math.Abs(counts[class][k] - m*p); deviation > 5*math.Sqrt(m*p*(1-p))+5*p+1e-9 {
					t.Errorf("p = %v: %v of %v pairs are linked in class %d of partition %d", p, counts[class][k], m,
						class, k)
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
