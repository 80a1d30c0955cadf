package topology

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// testGraphs returns connected graphs of many kinds and sizes.
func testGraphs(t testing.TB) []*Graph {
	graph := must[*Graph](t)
	return []*Graph{
		graph(Path(1)), graph(Path(2)), graph(Path(3)), graph(Path(10)),
		graph(Ring(3)), graph(Ring(8)), graph(Ring(41)), graph(Star(6)),
		graph(Complete(7)), graph(Exponential(16)),
		graph(ErdosRenyi(20, .5, 1)), graph(ErdosRenyi(50, .1, 2)),
	}
}

func TestRuleNames(t *testing.T) {
	var zero Rule
	if zero != Metropolis {
		t.Errorf("the default is %v, want metropolis", zero)
	}
	for i, name := range []string{"metropolis", "equal", "lazy-metropolis"} {
		if r := must[Rule](t)(ParseRule(name)); r != Rule(i) || r.String() != name {
			t.Errorf("%q parsed as %v", name, r)
		}
	}
	_, err := ParseRule("max-degree")
	wantError(t, err, `"max-degree"`, "metropolis, equal, lazy-metropolis")
	_, err = NewWeights(must[*Graph](t)(Ring(3)), Rule(9))
	wantError(t, err, "Rule(9)")
}

// TestRuleEntries checks the formulas on a triangle with a tail, degrees 2 2 3 1.
func TestRuleEntries(t *testing.T) {
	g := must[*Graph](t)(FromEdges(4, [][2]int{{0, 1}, {1, 2}, {2, 0}, {2, 3}}))
	metropolis := []float64{
		5. / 12, 1. / 3, 1. / 4, 0,
		1. / 3, 5. / 12, 1. / 4, 0,
		1. / 4, 1. / 4, 1. / 4, 1. / 4,
		0, 0, 1. / 4, 3. / 4}
	equal := []float64{
		0, 1. / 2, 1. / 2, 0,
		1. / 2, 0, 1. / 2, 0,
		1. / 3, 1. / 3, 0, 1. / 3,
		0, 0, 1, 0}
	lazy := func(w []float64) []float64 {
		w = slices.Clone(w)
		for i := range w {
			w[i] /= 2
			if i%5 == 0 {
				w[i] += .5
			}
		}
		return w
	}
	for rule, want := range map[Rule][]float64{
		Metropolis: metropolis, LazyMetropolis: lazy(metropolis),
		EqualNeighbor: equal,
	} {
		w := must[*Weights](t)(NewWeights(g, rule))
		for i := range 4 {
			for j := range 4 {
				if got := w.At(i, j); math.Abs(got-want[4*i+j]) > 1e-15 {
					t.Errorf("%v: W(%d,%d) = %v, want %v", rule, i, j, got, want[4*i+j])
				}
			}
		}
		doubly := rule != EqualNeighbor
		if doublyStochastic(w) != doubly {
			t.Errorf("%v: doubly stochastic %v, want %v", rule, !doubly, doubly)
		}
	}
}

func TestGammaClosedForms(t *testing.T) {
	graph, weights := must[*Graph](t), must[*Weights](t)
	type testCase struct {
		w    *Weights
		want float64
	}
	var cases []testCase
	add := func(g *Graph, rule Rule, want float64) {
		cases = append(cases, testCase{weights(NewWeights(g, rule)), want})
	}
	cos := func(turn float64) float64 { return math.Cos(2 * math.Pi * turn) }
	for _, n := range []int{3, 4, 5, 8, 21, 50} {
		x := float64(n)
		ring, path, star := graph(Ring(n)), graph(Path(n)), graph(Star(n))
		// The circulant eigenvalues 1/3 + 2/3 cos(2 pi k/n) lie in [-1/3, 1].
		slowest := 1./3 + 2./3*cos(1/x)
		fastest := 1./3 + 2./3*cos(float64(n/2)/x)
		add(ring, Metropolis, max(math.Abs(slowest), math.Abs(fastest)))
		add(ring, LazyMetropolis, (1+slowest)/2)
		if n%2 == 1 {
			add(ring, EqualNeighbor, math.Cos(math.Pi/x)) // cos(2 pi k/n) nearest to -1
		}
		// Laplacian of a path: 2 - 2 cos(pi k/n), k < n. All Metropolis weights are 1/3.
		l1, l2 := 2-2*math.Cos(math.Pi*(x-1)/x), 2-2*math.Cos(math.Pi/x)
		add(path, Metropolis, max(1-l2/3, math.Abs(1-l1/3)))
		// Laplacian of a star: 0, 1, ..., 1, n. All Metropolis weights are 1/n.
		add(star, Metropolis, 1-1/x)
		add(graph(Complete(n)), Metropolis, 0)
		add(graph(Complete(n)), EqualNeighbor, 1/(x-1))
	}
	for _, rule := range []Rule{Metropolis, EqualNeighbor, LazyMetropolis} {
		add(graph(Path(1)), rule, 0)
	}
	add(graph(Path(2)), Metropolis, 0)
	for _, c := range cases {
		if got := c.w.Gamma(); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: gamma is %v, want %v", c.w, got, c.want)
		}
	}
}

// TestGammaGeneral holds the eigenvalues of matrices that are not symmetric to
// closed forms and to those of the symmetric route.
func TestGammaGeneral(t *testing.T) {
	weights := must[*Weights](t)
	if got := weights(WeightsOf(mat.NewDense(2, 2, []float64{.7, .3, .4, .6}))).Gamma(); math.Abs(got-.3) > 1e-14 {
		t.Errorf("gamma is %v, want 1 - .3 - .4", got)
	}
	// A circulant with drift: complex eigenvalues .2 + .5 e^(2 pi i k/n) + .3 e^(-2 pi i k/n).
	const n = 7
	drift := mat.NewDense(n, n, nil)
	want := 0.0
	for k := range n {
		drift.Set(k, k, .2)
		drift.Set(k, (k+1)%n, .5)
		drift.Set((k+1)%n, k, .3)
		if k > 0 {
			s, c := math.Sincos(2 * math.Pi * float64(k) / n)
			want = max(want, math.Hypot(.2+.8*c, .2*s))
		}
	}
	w := weights(WeightsOf(drift))
	if math.Abs(w.Gamma()-want) > 1e-12 {
		t.Errorf("%v: gamma is %v, want %v", w, w.Gamma(), want)
	}
	if !doublyStochastic(w) {
		t.Errorf("%v: not doubly stochastic", w)
	}
	for _, g := range testGraphs(t) {
		for _, rule := range []Rule{Metropolis, EqualNeighbor, LazyMetropolis} {
			a, err := NewWeights(g, rule)
			if err != nil {
				continue // bipartite; see TestPeriodic
			}
			b := weights(WeightsOf(a.Dense()))
			if math.Abs(a.Gamma()-b.Gamma()) > 1e-7 || doublyStochastic(a) != doublyStochastic(b) {
				t.Errorf("%v, as a matrix: %v", a, b)
			}
			if !slices.EqualFunc(b.Graph().adj, g.adj, slices.Equal) {
				t.Errorf("%v, as a matrix: another graph, %v", a, b)
			}
		}
	}
}

func TestPeriodic(t *testing.T) {
	graph := must[*Graph](t)
	for _, g := range []*Graph{
		graph(Path(2)), graph(Ring(4)), graph(Ring(300)), graph(Star(20)),
	} {
		_, err := NewWeights(g, EqualNeighbor)
		wantError(t, err, "equal weights", g.String(), "gamma(W) = 1", "bipartite", "use metropolis")
		for _, rule := range []Rule{Metropolis, LazyMetropolis} {
			if w, err := NewWeights(g, rule); err != nil {
				t.Error(err)
			} else if !(w.Gamma() < 1) {
				t.Errorf("%v: gamma is %v", w, w.Gamma())
			}
		}
		mean := newWeights(g, "mean")
		mean.setNeighborMean()
		_, err = WeightsOf(mean.Dense())
		wantError(t, err, "custom weights", fmt.Sprint(g.Edges())+" edge", "bipartite", "use metropolis")
	}
}

func TestWeightsErrors(t *testing.T) {
	_, err := NewWeights(must[*Graph](t)(FromEdges(5, [][2]int{{0, 1}, {1, 2}, {3, 4}})), Metropolis)
	wantError(t, err, "edges (5 nodes, 3 edges)", "not connected", "node 3 cannot be reached from node 0")
	_, err = NewWeights(nil, Metropolis)
	wantError(t, err, "need a graph")
	nan := math.NaN()
	for _, c := range []struct {
		w    *mat.Dense
		want []string
	}{
		{&mat.Dense{}, []string{"0 nodes"}},
		{mat.NewDense(1, 2, []float64{.5, .5}), []string{"1 x 2", "square"}},
		{mat.NewDense(2, 2, []float64{.5, .5, .5, nan}), []string{"NaN in row 1, column 1"}},
		{mat.NewDense(2, 2, []float64{.5, math.Inf(-1), .5, .5}), []string{"-Inf in row 0, column 1"}},
		{mat.NewDense(2, 2, []float64{.5, .5, .5, .5 + 1e-8}), []string{"row 1", "sums to 1.00000001"}},
		{mat.NewDense(2, 2, []float64{1, 0, .5, .5}), []string{"one direction only: 0 in row 0, column 1, but 0.5 in row 1, column 0"}},
		{mat.NewDense(2, 2, []float64{1, 0, 0, 1}), []string{"matrix (2 nodes, 0 edges)", "node 1 cannot be reached"}},
		// Eigenvalue 1 - .9 - 1.2 = -1.1.
		{mat.NewDense(2, 2, []float64{.1, .9, 1.2, -.2}), []string{"gamma(W) = 1.1", "does not converge"}},
	} {
		_, err := WeightsOf(c.w)
		wantError(t, err, c.want...)
	}
	// Rows that sum to 1 to rounding are fine, and negative entries are.
	m := mat.NewDense(2, 2, []float64{.3, .7, 1.1, -.1 + 1e-12})
	w := must[*Weights](t)(WeightsOf(m))
	if m.Set(0, 0, 9); w.At(0, 0) != .3 {
		t.Error("the weights alias the matrix")
	}
	if math.Abs(w.Gamma()-.8) > 1e-9 || doublyStochastic(w) {
		t.Errorf("%v: gamma %v, doubly stochastic %v", w, w.Gamma(), doublyStochastic(w))
	}
}

// TestGammaOfLarge: above 256 nodes gamma is a lower bound, which is accurate where the spectrum has a gap.
func TestGammaOfLarge(t *testing.T) {
	graph := must[*Graph](t)
	cos := func(turn float64) float64 { return math.Cos(2 * math.Pi * turn) }
	for _, c := range []struct {
		g              *Graph
		rule           Rule
		want, accuracy float64
	}{
		{graph(Ring(2000)), Metropolis, (1 + 2*cos(1./2000)) / 3, 4e-3},
		{graph(Ring(2001)), EqualNeighbor, math.Cos(math.Pi / 2001), 4e-3},
		{graph(Path(1500)), LazyMetropolis, 1 - (2-2*math.Cos(math.Pi/1500))/6, 4e-3},
		{graph(Star(1000)), Metropolis, 1 - 1./1000, 1e-9},
		{graph(Complete(260)), Metropolis, 0, 1e-12},
		{graph(Complete(260)), EqualNeighbor, 1. / 259, 1e-12},
		{graph(Ring(300)), Metropolis, (1 + 2*cos(1./300)) / 3, 1e-3},
	} {
		w := must[*Weights](t)(NewWeights(c.g, c.rule))
		if got := w.Gamma(); got > c.want+1e-12 || got < c.want-c.accuracy {
			t.Errorf("%v: gamma %v, want %v less at most %v", w, got, c.want, c.accuracy)
		}
	}
	for _, g := range []*Graph{graph(Exponential(300)), graph(ErdosRenyi(300, .1, 1))} {
		for _, rule := range []Rule{Metropolis, EqualNeighbor} {
			w := must[*Weights](t)(NewWeights(g, rule))
			if got, want := w.Gamma(), w.largest(); math.Abs(got-want) > 1e-6 {
				t.Errorf("%v: gamma %v, want %v", w, got, want)
			}
		}
	}
}

// TestFingerprint: the position of an entry counts, not only its value and its order.
func TestFingerprint(t *testing.T) {
	seen := make(map[uint64]string)
	for _, edges := range [][][2]int{{{0, 1}, {1, 2}}, {{0, 2}, {1, 2}}, {{0, 1}, {0, 2}}, {{0, 1}, {0, 2}, {1, 2}}} {
		g := must[*Graph](t)(FromEdges(3, edges))
		for _, rule := range []Rule{Metropolis, LazyMetropolis} {
			w := must[*Weights](t)(NewWeights(g, rule))
			name, sum := fmt.Sprint(rule, edges), w.Fingerprint()
			if seen[sum] != "" || sum != must[*Weights](t)(NewWeights(g, rule)).Fingerprint() {
				t.Errorf("%s has the fingerprint of %s", name, seen[sum])
			}
			seen[sum] = name
		}
	}
	// The same columns and values in the same order, distributed over other rows.
	a := &Weights{graph: &Graph{adj: [][]int{{1}, {}}}, diagonal: []float64{0, 0}, links: [][]float64{{1}, {}}}
	b := &Weights{graph: &Graph{adj: [][]int{{}, {}}}, diagonal: []float64{0, 1}, links: [][]float64{{}, {}}}
	if a.Fingerprint() == b.Fingerprint() {
		t.Error("two matrices with other rows have one fingerprint")
	}
}

// doublyStochastic reports whether the columns sum to 1, too.
func doublyStochastic(w *Weights) bool {
	m := w.Dense()
	for j := range w.Len() {
		if !(math.Abs(mat.Sum(m.ColView(j))-1) <= rowTolerance) {
			return false
		}
	}
	return true
}
