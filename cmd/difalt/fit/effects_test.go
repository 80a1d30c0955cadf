package fit

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/model"
)

// clinics returns some columns of examples/clinics.csv, and the visits in three levels: below 4, below 6, and more.
func clinics(t *testing.T, features ...string) *dataset.Table {
	t.Helper()
	f, err := os.Open("../../../examples/clinics.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows[0] = append(rows[0], "level")
	for i, row := range rows[1:] {
		visits, err := strconv.ParseFloat(row[9], 64)
		if err != nil {
			t.Fatal(err)
		}
		level := "many"
		switch {
		case visits < 4:
			level = "few"
		case visits < 6:
			level = "some"
		}
		rows[i+1] = append(row, level)
	}
	var text bytes.Buffer
	if err := csv.NewWriter(&text).WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	o := dataset.TableOptions{Task: "clinic", Target: "score", Features: features}
	if features[len(features)-1] == "level" {
		o.Categorical = []string{"level"}
	}
	tab, err := dataset.ReadCSV(&text, o)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// checkEffects compares effects with those of another program: estimates to a part of their standard errors, and these to 1 %.
func checkEffects(t *testing.T, m *model.Model, want []model.Effect) {
	t.Helper()
	list := m.Effects()
	for _, w := range want {
		found := false
		for _, e := range list {
			if e.Kind != w.Kind || e.Term != w.Term || e.Reference != w.Reference {
				continue
			}
			found = true
			if !(math.Abs(e.Estimate-w.Estimate) < 0.01*e.StandardError) || w.StandardError > 0 && !(math.Abs(e.StandardError/w.StandardError-1) < 0.01) {
				t.Errorf("%s %s: %v +- %v, want %v +- %v", e.Kind, e.Term, e.Estimate, e.StandardError, w.Estimate, w.StandardError)
			}
			if !(e.Low < e.Estimate && e.High > e.Estimate) {
				t.Errorf("%s %s: %v is not between %v and %v", e.Kind, e.Term, e.Estimate, e.Low, e.High)
			}
		}
		if !found {
			t.Errorf("there is no %s effect of %q against %q in %+v", w.Kind, w.Term, w.Reference, list)
		}
	}
}

// Where models coincide, effects, likelihood and explained variance are those of a linear mixed model of statsmodels 0.15.0, MixedLM with
// reml=True: of score ~ age + dose + level with random intercepts, and of score ~ dose with random intercepts and, independent of these,
// slopes on standardised doses. The log likelihood there is the normal density at its estimates, by numpy.
func TestEffectsAreThoseOfMixedLM(t *testing.T) {
	free, none := 0.0, math.Inf(1)
	c := testConfig(t, 2, -1)
	c.MeanRidge, c.Ridge, c.CommonNoise, c.Owners, c.Curves = &free, &none, true, false, []string{}
	m, _ := fit(t, assigned(t, clinics(t, "age", "dose", "level"), 2), c)
	checkEffects(t, m, []model.Effect{
		{Kind: model.Fixed, Term: model.ConstantFeature, Estimate: 53.475115, StandardError: 1.466105},
		{Kind: model.Fixed, Term: "age", Estimate: -0.090729, StandardError: 0.017314},
		{Kind: model.Fixed, Term: "dose", Estimate: 0.516333, StandardError: 0.042601},
		{Kind: model.Fixed, Term: "level=many", Reference: "level=few", Estimate: 2.294417, StandardError: 0.645567},
		{Kind: model.Fixed, Term: "level=some", Reference: "level=few", Estimate: 1.428048, StandardError: 0.615296},
		{Kind: model.Deviation, Term: model.ConstantFeature, Estimate: 3.9035885},
		{Kind: model.Residual, Estimate: 6.934175},
	})
	checkGoodness(t, m, -2714.0403, 0.158169, 0.360754)
	c.Ridge = nil
	m, _ = fit(t, assigned(t, clinics(t, "dose"), 2), c)
	dose := 5.9182541609193535 // standard deviation
	checkEffects(t, m, []model.Effect{
		{Kind: model.Fixed, Term: model.ConstantFeature, Estimate: 49.541779, StandardError: 1.829277},
		{Kind: model.Fixed, Term: "dose", Estimate: 0.548246, StandardError: 0.084576},
		{Kind: model.Deviation, Term: "dose", Estimate: 2.68442637 / dose},
		{Kind: model.Residual, Estimate: 6.671430},
	})
	checkGoodness(t, m, -2711.6144, 0.137868, 0.417142)
}

func checkGoodness(t *testing.T, m *model.Model, likelihood, marginal, conditional float64) {
	t.Helper()
	g := m.Parameters().Goodness
	if math.Abs(g.LogLikelihood-likelihood) > 0.02 || math.Abs(g.R2Marginal-marginal) > 0.002 || math.Abs(g.R2Conditional-conditional) > 0.004 {
		t.Errorf("%+v: want %v, %v and %v", g, likelihood, marginal, conditional)
	}
}

// 95 % intervals of the standard deviation of intercepts and slopes, of the noise, and of fixed effects, hold what tables were drawn with in 85 to 99 of 100 cases, terms with the same truth together: of
// 150 tables a standard error is 1.8 or less; Wald's intervals of fixed effects, of 30 tasks, are a percent too narrow, and deviations
// are those of a model that the evidence chose: with one variance for the slopes of all features, or one for each.
func TestCoverageOfEffects(t *testing.T) {
	inFull(t)
	for _, slopes := range [][]float64{{0.6, 0.6}, {1.2, 0.2}} {
		coverageOfEffects(t, slopes)
	}
}

// coverageOfEffects is about tables of two features, of which the slopes have the given standard deviations.
func coverageOfEffects(t *testing.T, slopes []float64) {
	t.Helper()
	const tables, tasks, rows = 150, 30, 12
	hits, all := map[string]float64{}, map[string]float64{}
	for seed := range uint64(tables) {
		r := rand.New(rand.NewPCG(seed, 5))
		tab := emptyTable(t, len(slopes))
		for k := range tasks {
			level, theta := 2+0.8*r.NormFloat64(), make([]float64, len(slopes))
			for j, sd := range slopes {
				theta[j] = 1 + sd*r.NormFloat64()
			}
			for range rows {
				x, y := make([]float64, len(slopes)), level+r.NormFloat64()
				for j := range x {
					x[j] = r.NormFloat64()
					y += theta[j] * x[j]
				}
				if err := tab.Append(fmt.Sprint(k), "", x, y); err != nil {
					t.Fatal(err)
				}
			}
		}
		c := testConfig(t, 2, -1)
		c.CommonNoise, c.Owners, c.Curves = true, false, []string{}
		m, _ := fit(t, assigned(t, tab, 2), c)
		for _, e := range m.Effects() {
			truth := map[string]float64{
				"fixedf0": 1, "fixedf1": 1, "fixed(intercept)": 2, "deviationf0": slopes[0], "deviationf1": slopes[1], "deviation(intercept)": 0.8, "noise": 1,
			}[e.Kind+e.Term]
			if e.Kind == model.Correlation {
				continue
			}
			what := fmt.Sprintf("%s %v", e.Kind, truth)
			if all[what]++; e.Low < truth && truth < e.High {
				hits[what]++
			}
		}
	}
	t.Log(hits)
	for what, n := range hits {
		if share := n / all[what]; share < 0.85 || share > 0.99 {
			t.Errorf("intervals of %s hold the truth in %.3f", what, share)
		}
	}
	if len(hits) < 5 {
		t.Errorf("intervals are of %v", hits)
	}
}
