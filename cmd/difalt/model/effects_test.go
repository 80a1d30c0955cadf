package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"
)

// effect returns the one of a kind and a term; there must be one.
func effectOf(t *testing.T, m *Model, kind, term string) Effect {
	t.Helper()
	for _, e := range m.Effects() {
		if e.Kind == kind && e.Term == term {
			return e
		}
	}
	t.Fatalf("there is no %s effect of %q", kind, term)
	return Effect{}
}

// Fixed effects are differences of predictions for a new task, and the intercept is that of zeros and levels of reference. Standard errors, deviations
// and correlations are those of samples of the mean by its covariance, and of tasks by the prior: with four digits of
// a thousand the samples are right to 2 %, and correlations to .03.
func TestEffects(t *testing.T) {
	p := testParameters(t)
	p.Schema = schema.Schema{Columns: []string{"a", "c"}, Categories: []schema.Category{{Column: "c", Levels: []string{"u", "v", "w"}}}}
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	at := func(m *Model, x ...float64) float64 {
		y, _, err := m.PredictAny("new", x)
		if err != nil {
			t.Fatal(err)
		}
		return y
	}
	terms := map[string]func(m *Model) float64{
		ConstantFeature: func(m *Model) float64 { return at(m, 0, 1, 0, 0) },
		"a":             func(m *Model) float64 { return at(m, 3, 1, 0, 0) - at(m, 2, 1, 0, 0) },
		"c=v":           func(m *Model) float64 { return at(m, 0, 0, 1, 0) - at(m, 0, 1, 0, 0) },
		"c=w":           func(m *Model) float64 { return at(m, 0, 0, 0, 1) - at(m, 0, 1, 0, 0) },
	}
	fixed := 0
	for _, e := range m.Effects() {
		if e.Kind == Fixed {
			fixed++
			checkClose(t, e.Term, []float64{e.Estimate, e.Low, e.High}, []float64{terms[e.Term](m), e.Estimate - 1.959963984540054*e.StandardError, e.Estimate + 1.959963984540054*e.StandardError})
			if (e.Reference == "c=u") != (e.Term[0] == 'c') {
				t.Errorf("%s is against %q", e.Term, e.Reference)
			}
		}
	}
	if fixed != len(terms) {
		t.Errorf("there are %d fixed effects: want %d", fixed, len(terms))
	}
	samples := func(cov []float64) map[string][]float64 {
		c := mat.NewSymDense(5, nil)
		for i := range 5 {
			for j := i; j < 5; j++ {
				c.SetSym(i, j, p.Prior.Noise*cov[5*i+j])
			}
			c.SetSym(i, i, c.At(i, i)+1e-12)
		}
		normal, ok := distmv.NewNormal(p.Mean, c, rand.NewPCG(1, 2))
		if !ok {
			t.Fatal("no covariance")
		}
		out := map[string][]float64{}
		for range 10_000 {
			q := p
			q.Mean = normal.Rand(nil)
			sample, err := New(q)
			if err != nil {
				t.Fatal(err)
			}
			for term, of := range terms {
				out[term] = append(out[term], of(sample))
			}
		}
		return out
	}
	of, between := samples(p.Prior.MeanCovariance), samples(m.components[0].S)
	for term := range terms {
		if e := effectOf(t, m, Fixed, term); math.Abs(stat.StdDev(of[term], nil)/e.StandardError-1) > 0.03 {
			t.Errorf("standard error of %s is %v, that of samples %v", term, e.StandardError, stat.StdDev(of[term], nil))
		}
		e := effectOf(t, m, Deviation, term)
		if math.Abs(stat.StdDev(between[term], nil)/e.Estimate-1) > 0.03 || !(e.Low < e.Estimate && e.Estimate < e.High) {
			t.Errorf("deviation of %s is %+v, that of samples %v", term, e, stat.StdDev(between[term], nil))
		}
		if term == ConstantFeature {
			continue
		}
		e = effectOf(t, m, Correlation, term)
		if r := stat.Correlation(between[term], between[ConstantFeature], nil); math.Abs(r-e.Estimate) > 0.03 || !(e.Low < e.Estimate && e.Estimate < e.High) {
			t.Errorf("correlation of %s is %+v, that of samples %v", term, e, r)
		}
	}
}

// Intervals of standard deviations of which the variance is known to n degrees of freedom are those of chi^2: at 10 of them the quantiles are 3.247 and 20.483.
func TestEffectIntervals(t *testing.T) {
	p := testParameters(t)
	p.Prior.Rank, p.Prior.Loadings, p.Prior.Spread = 0, nil, 0
	p.Prior.Uncertainty = mat.NewSymDense(2, []float64{2. / 10, 0, 0, 1})
	p.Prior.Freedom = 10
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []Effect{effectOf(t, m, Deviation, ConstantFeature), effectOf(t, m, Residual, "")} {
		if low, high := e.Low/e.Estimate, e.High/e.Estimate; math.Abs(low-math.Sqrt(10/20.483)) > 1e-4 || math.Abs(high-math.Sqrt(10/3.247)) > 1e-4 ||
			math.Abs(e.StandardError/e.Estimate-math.Sqrt(1./20)) > 1e-9 {
			t.Errorf("%+v", e)
		}
	}
	p.Prior.Uncertainty, p.Prior.Freedom = nil, 0
	if m, err = New(p); err != nil {
		t.Fatal(err)
	}
	for _, e := range []Effect{effectOf(t, m, Deviation, ConstantFeature), effectOf(t, m, Residual, "")} {
		if !math.IsNaN(e.Low) || !math.IsNaN(e.High) || !math.IsNaN(e.StandardError) {
			t.Errorf("an interval of what is not known how well: %+v", e)
		}
	}
	var empty Model
	if len(empty.Effects()) > 0 {
		t.Error("the zero model has effects")
	}
}
