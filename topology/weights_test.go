package topology

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// testGraphs returns connected graphs of many kinds and sizes.
func testGraphs(t testing.TB) []*Graph {
	graph := must[*Graph](t)
	return []*Graph{
		graph(Path(1)), graph(Path(2)), graph(Path(3)), graph(Path(10)),
		graph(Ring(3)), graph(Ring(8)), graph(Ring(41)), graph(Star(6)),
		graph(Grid(3, 4)), graph(Torus(3, 5)), graph(Complete(7)), graph(Exponential(16)),
		graph(ErdosRenyi(20, .5, 1)), graph(ErdosRenyi(50, .1, 2)),
	}
}

func TestRuleNames(t *testing.T) {
	var zero Rule
	if zero != Metropolis {
		t.Errorf("the default is %v, want metropolis", zero)
	}
	for i, name := range []string{"metropolis", "equal", "lazy-metropolis", "lazy-equal", "best-constant"} {
		if r := must[Rule](t)(ParseRule(name)); r != Rules()[i] || r.String() != name {
			t.Errorf("%q parsed as %v", name, r)
		}
	}
	_, err := ParseRule("max-degree")
	wantError(t, err, `"max-degree"`, "metropolis, equal, lazy-metropolis, lazy-equal, best-constant")
	_, err = NewWeights(must[*Graph](t)(Ring(3)), Rule(9))
	wantError(t, err, "Rule(9)")
}

// TestRuleEntries checks the formulas on a triangle with a tail, degrees 2 2 3 1.
func TestRuleEntries(t *testing.T) {
	g := must[*Graph](t)(FromEdges(4, [][2]int{{0, 1}, {1, 2}, {2, 0}, {2, 3}}))
	// The Laplacian has the eigenvalues 0, 1, 3, 4.
	const alpha = 2. / 5
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
		EqualNeighbor: equal, LazyEqualNeighbor: lazy(equal),
		BestConstant: {
			1 - 2*alpha, alpha, alpha, 0,
			alpha, 1 - 2*alpha, alpha, 0,
			alpha, alpha, 1 - 3*alpha, alpha,
			0, 0, alpha, 1 - alpha},
	} {
		w := must[*Weights](t)(NewWeights(g, rule))
		for i := range 4 {
			for j := range 4 {
				if got := w.At(i, j); math.Abs(got-want[4*i+j]) > 1e-15 {
					t.Errorf("%v: W(%d,%d) = %v, want %v", rule, i, j, got, want[4*i+j])
				}
			}
		}
		doubly := rule != EqualNeighbor && rule != LazyEqualNeighbor
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
		add(ring, LazyEqualNeighbor, (1+cos(1/x))/2)
		// Laplacian of a path: 2 - 2 cos(pi k/n), k < n. All Metropolis weights are 1/3.
		l1, l2 := 2-2*math.Cos(math.Pi*(x-1)/x), 2-2*math.Cos(math.Pi/x)
		add(path, Metropolis, max(1-l2/3, math.Abs(1-l1/3)))
		add(path, BestConstant, (l1-l2)/(l1+l2))
		// Laplacian of a star: 0, 1, ..., 1, n. All Metropolis weights are 1/n.
		add(star, Metropolis, 1-1/x)
		add(star, BestConstant, (x-1)/(x+1))
		add(star, LazyEqualNeighbor, .5) // (1 + {1, 0, ..., 0, -1})/2
		add(graph(Complete(n)), Metropolis, 0)
		add(graph(Complete(n)), BestConstant, 0)
		add(graph(Complete(n)), EqualNeighbor, 1/(x-1))
	}
	// Regular of degree 4, and products of rings: (1 + 2 cos a + 2 cos b)/5.
	add(graph(Torus(4, 7)), Metropolis, (1+2+2*cos(1./7))/5)
	add(graph(Torus(4, 7)), EqualNeighbor, (1-cos(3./7))/2)
	for _, rule := range Rules() {
		add(graph(Path(1)), rule, 0)
	}
	add(graph(Path(2)), Metropolis, 0)
	add(graph(Path(2)), BestConstant, 0)
	add(graph(Path(2)), LazyEqualNeighbor, 0)
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
		for _, rule := range Rules() {
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

// TestGammaOfPaper compares with what is known of the graphs of the paper's
// experiments, as medians over seeds.
func TestGammaOfPaper(t *testing.T) {
	for _, c := range []struct {
		n          int
		p          float64
		rule       Rule
		low, high  float64 // seen in one or two draws
		otherDraws float64 // allowance
	}{
		{20, .5, EqualNeighbor, .43, .46, .06},
		{20, .5, Metropolis, .56, .62, .06},
		{100, .1, EqualNeighbor, .57, .57, .06},
		{100, .1, Metropolis, .73, .73, .06},
	} {
		var gammas []float64
		for seed := range uint64(9) {
			g := must[*Graph](t)(ErdosRenyi(c.n, c.p, seed))
			gammas = append(gammas, must[*Weights](t)(NewWeights(g, c.rule)).Gamma())
		}
		slices.Sort(gammas)
		if m := gammas[4]; m < c.low-c.otherDraws || m > c.high+c.otherDraws {
			t.Errorf("%v on er:%v of %d nodes: median gamma %v, want %v to %v", c.rule, c.p, c.n, m, c.low, c.high)
		}
	}
}

// TestBestConstant: no other common edge weight has a smaller gamma.
func TestBestConstant(t *testing.T) {
	for _, g := range testGraphs(t) {
		best := must[*Weights](t)(NewWeights(g, BestConstant))
		if g.Len() == 1 {
			continue
		}
		alpha := best.At(0, g.Neighbors(0)[0])
		for _, f := range []float64{.5, .9, .99, 1.01, 1.1, 1.5} {
			scaled := newWeights(g, "scaled")
			scaled.setOffDiagonal(func(int, int) float64 { return f * alpha })
			scaled.stationary = best.stationary
			if gamma := scaled.Gamma(); gamma < best.Gamma()-1e-12 {
				t.Errorf("%v: %v times the weight has gamma %v", best, f, gamma)
			}
		}
	}
}

func TestPeriodic(t *testing.T) {
	graph := must[*Graph](t)
	for _, g := range []*Graph{
		graph(Path(2)), graph(Ring(4)), graph(Ring(20)), graph(Star(20)), graph(Grid(4, 5)), graph(Torus(4, 6)),
	} {
		_, err := NewWeights(g, EqualNeighbor)
		wantError(t, err, "equal weights", g.String(), "gamma(W) = 1", "bipartite", "use metropolis")
		for _, rule := range []Rule{Metropolis, LazyMetropolis, LazyEqualNeighbor, BestConstant} {
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
	w := must[*Weights](t)(WeightsOf(mat.NewDense(2, 2, []float64{.3, .7, 1.1, -.1 + 1e-12})))
	if math.Abs(w.Gamma()-.8) > 1e-9 || doublyStochastic(w) {
		t.Errorf("%v: gamma %v, doubly stochastic %v", w, w.Gamma(), doublyStochastic(w))
	}
}

// TestWeightsOfCopies: changing the matrix afterwards does not change the weights.
func TestWeightsOfCopies(t *testing.T) {
	m := mat.NewDense(2, 2, []float64{.5, .5, .5, .5})
	w := must[*Weights](t)(WeightsOf(m))
	m.Set(0, 0, 9)
	if w.At(0, 0) != .5 {
		t.Error("the weights alias the matrix")
	}
}

// TestSpectrum compares with eigenvalues known in closed form: of the mean over the
// neighbours, -1/(n-1) on a complete graph, cos(2 pi k/n) on a ring.
func TestSpectrum(t *testing.T) {
	for _, c := range []struct {
		graph string
		value func(k int) float64
	}{
		{"complete", func(int) float64 { return -1. / 6 }},
		{"ring", func(k int) float64 { return math.Cos(2 * math.Pi * float64(k) / 7) }},
	} {
		g, err := Parse(c.graph, 7, 1)
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewWeights(g, EqualNeighbor)
		if err != nil {
			t.Fatal(err)
		}
		var got, want []float64
		for k, v := range w.Spectrum().Values {
			got, want = append(got, real(v)), append(want, c.value(k+1))
			if math.Abs(imag(v)) > 1e-12 {
				t.Errorf("%s: eigenvalue %v is complex", c.graph, v)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if len(got) != 6 || !floats.EqualApprox(got, want, 1e-12) {
			t.Errorf("%s: eigenvalues %v, want %v", c.graph, got, want)
		}
	}
}

// TestRealEigenvalues: those of the rules are, those of a matrix that turns are not.
func TestRealEigenvalues(t *testing.T) {
	for _, g := range testGraphs(t) {
		for _, rule := range Rules() {
			if w, err := NewWeights(g, rule); err == nil && !w.RealEigenvalues() {
				t.Errorf("%v: eigenvalues are not real", w)
			}
		}
	}
	// Around a triangle in one direction more than in the other.
	turning := must[*Weights](t)(WeightsOf(mat.NewDense(3, 3, []float64{.2, .7, .1, .1, .2, .7, .7, .1, .2})))
	if turning.RealEigenvalues() {
		t.Errorf("%v: eigenvalues are real", turning)
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
