package topology

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// testGraphs returns connected graphs of many kinds and sizes.
func testGraphs(t testing.TB) (list []*Graph) {
	for _, c := range []struct {
		spec  string
		nodes int
	}{
		{"path", 1}, {"path", 2}, {"path", 3}, {"path", 10}, {"ring", 3}, {"ring", 8}, {"ring", 41}, {"star", 6},
		{"complete", 7}, {"exponential", 16}, {"er:0.5", 20}, {"er:0.1", 50},
	} {
		list = append(list, of(t, c.spec, c.nodes))
	}
	return list
}

// weigh returns the weights of a rule.
func weigh(t testing.TB, g *Graph, rule Rule) *Weights {
	t.Helper()
	return must[*Weights](t)(NewWeights(g, rule))
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
	lazy := slices.Clone(metropolis)
	for i := range lazy {
		lazy[i] = (metropolis[i] + map[bool]float64{true: 1}[i%5 == 0]) / 2
	}
	for rule, want := range map[Rule][]float64{Metropolis: metropolis, LazyMetropolis: lazy, EqualNeighbor: equal} {
		w := weigh(t, g, rule)
		if got := w.Dense(); !mat.EqualApprox(got, mat.NewDense(4, 4, want), 1e-15) {
			t.Errorf("%v: W is %v, want %v", rule, mat.Formatted(got), want)
		}
		doubly := rule != EqualNeighbor
		if doublyStochastic(w) != doubly {
			t.Errorf("%v: doubly stochastic %v, want %v", rule, !doubly, doubly)
		}
	}
}

func TestGammaClosedForms(t *testing.T) {
	check := func(g *Graph, rule Rule, want float64) {
		t.Helper()
		if w := weigh(t, g, rule); math.Abs(w.Gamma()-want) > 1e-12 {
			t.Errorf("%v: gamma is %v, want %v", w, w.Gamma(), want)
		}
	}
	cos := func(turn float64) float64 { return math.Cos(2 * math.Pi * turn) }
	for _, n := range []int{3, 4, 5, 8, 21, 50} {
		x, ring := float64(n), of(t, "ring", n)
		// The circulant eigenvalues 1/3 + 2/3 cos(2 pi k/n) lie in [-1/3, 1].
		slowest, fastest := 1./3+2./3*cos(1/x), 1./3+2./3*cos(float64(n/2)/x)
		check(ring, Metropolis, max(math.Abs(slowest), math.Abs(fastest)))
		check(ring, LazyMetropolis, (1+slowest)/2)
		if n%2 == 1 {
			check(ring, EqualNeighbor, math.Cos(math.Pi/x)) // cos(2 pi k/n) nearest to -1
		}
		// Laplacian of a path: 2 - 2 cos(pi k/n), k < n. All Metropolis weights are 1/3.
		l1, l2 := 2-2*math.Cos(math.Pi*(x-1)/x), 2-2*math.Cos(math.Pi/x)
		check(of(t, "path", n), Metropolis, max(1-l2/3, math.Abs(1-l1/3)))
		// Laplacian of a star: 0, 1, ..., 1, n. All Metropolis weights are 1/n.
		check(of(t, "star", n), Metropolis, 1-1/x)
		check(of(t, "complete", n), Metropolis, 0)
		check(of(t, "complete", n), EqualNeighbor, 1/(x-1))
	}
	for _, rule := range []Rule{Metropolis, EqualNeighbor, LazyMetropolis} {
		check(of(t, "path", 1), rule, 0)
	}
	check(of(t, "path", 2), Metropolis, 0)
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
	for _, g := range []*Graph{of(t, "path", 2), of(t, "ring", 4), of(t, "ring", 300), of(t, "star", 20)} {
		_, err := NewWeights(g, EqualNeighbor)
		wantError(t, err, "equal weights", g.String(), "gamma(W) = 1", "bipartite", "use metropolis")
		for _, rule := range []Rule{Metropolis, LazyMetropolis} {
			if w := weigh(t, g, rule); !(w.Gamma() < 1) {
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
		{mat.NewDense(2, 2, []float64{1, 0, .5, .5}),
			[]string{"one direction only: 0 in row 0, column 1, but 0.5 in row 1, column 0"}},
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
	cos := func(turn float64) float64 { return math.Cos(2 * math.Pi * turn) }
	for _, c := range []struct {
		spec           string
		nodes          int
		rule           Rule
		want, accuracy float64
	}{
		{"ring", 2000, Metropolis, (1 + 2*cos(1./2000)) / 3, 1e-5},
		{"ring", 2001, EqualNeighbor, math.Cos(math.Pi / 2001), 1e-5},
		{"path", 1500, LazyMetropolis, 1 - (2-2*math.Cos(math.Pi/1500))/6, 1e-5},
		{"star", 1000, Metropolis, 1 - 1./1000, 1e-9},
		{"complete", 260, Metropolis, 0, 1e-12},
		{"complete", 260, EqualNeighbor, 1. / 259, 1e-12},
		{"ring", 300, Metropolis, (1 + 2*cos(1./300)) / 3, 1e-12},
	} {
		w := weigh(t, of(t, c.spec, c.nodes), c.rule)
		if got := w.Gamma(); got > c.want+1e-12 || got < c.want-c.accuracy {
			t.Errorf("%v: gamma %v, want %v less at most %v", w, got, c.want, c.accuracy)
		}
	}
	for _, spec := range []string{"exponential", "er:0.1"} {
		for _, rule := range []Rule{Metropolis, EqualNeighbor} {
			w := weigh(t, of(t, spec, 300), rule)
			if got, want := w.Gamma(), w.largest(); math.Abs(got-want) > 1e-9 {
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
			name, sum := fmt.Sprint(rule, edges), weigh(t, g, rule).Fingerprint()
			if seen[sum] != "" || sum != weigh(t, g, rule).Fingerprint() {
				t.Errorf("%s has the fingerprint of %s", name, seen[sum])
			}
			seen[sum] = name
		}
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

// TestTextWithoutGamma: the text of weights, and the test whether weights without negative entries converge,
// need no eigenvalue.
func TestTextWithoutGamma(t *testing.T) {
	never := func() float64 {
		t.Error("gamma was computed")
		return 0
	}
	w := weigh(t, of(t, "complete", 1000), Metropolis)
	w.gamma = never
	if got, want := w.String(), "metropolis weights on complete (1000 nodes, 499500 edges)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, g := range testGraphs(t) {
		w := must[*Weights](t)(WeightsOf(weigh(t, g, Metropolis).Dense()))
		w.gamma = never
		if _, ok := w.converges(); !ok {
			t.Errorf("%v does not converge", w)
		}
	}
}

// TestNegativeWeights: with negative entries the powers of a matrix need not converge; larger matrices show
// it, too.
func TestNegativeWeights(t *testing.T) {
	for _, n := range []int{5, denseNodes + 44} {
		for _, extra := range []float64{1.5, 2.5} { // I - extra L/4 of a ring: eigenvalues from 1 - extra to 1
			m := mat.NewDense(n, n, nil)
			for i := range n {
				m.Set(i, i, 1-extra/2)
				m.Set(i, (i+1)%n, extra/4)
				m.Set((i+1)%n, i, extra/4)
			}
			w, err := WeightsOf(m)
			switch {
			case extra > 2:
				wantError(t, err, "does not converge", "use metropolis")
			case err != nil:
				t.Error(err)
			case !(w.Gamma() < 1):
				t.Errorf("%v: gamma %v", w, w.Gamma())
			}
		}
	}
}
