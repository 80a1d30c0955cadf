package fit

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/difalt"
	"gonum.org/v1/gonum/floats"
)

// A target without variation is predicted, and said; the smallest targets that a float64
// holds and the largest of a table have the fit of others.
func TestExtremeTargets(t *testing.T) {
	tab := newTruth(3, 3, 1).table(t, 8, 12, 12, 2)
	c := testConfig(t, 2, 0)
	c.TargetColumn = "yield"
	for _, value := range []float64{0, 3.5} {
		m, r := fit(t, changed(t, tab, func(int, []float64, float64) float64 { return value }), c)
		if got, constant, err := m.Coefficients("0"); err != nil || math.Abs(constant-value) > 1e-9 || math.Abs(got[0]) > 1e-9 {
			t.Errorf("%v: coefficients %v and %v, %v", value, got, constant, err)
		}
		if notes := strings.Join(r.Notes, " "); !strings.Contains(notes, "in all training rows") || strings.Contains(notes, "fitted exactly") {
			t.Errorf("%v: notes %q", value, notes)
		}
	}
	_, want := fit(t, tab, c)
	for _, e := range []int{-1000, 490} {
		_, r := fit(t, changed(t, tab, func(_ int, _ []float64, y float64) float64 { return math.Ldexp(y, e) }), c)
		if got := math.Ldexp(r.Scores[0].Train.RMSE, -e); !(math.Abs(got/want.Scores[0].Train.RMSE-1) < 1e-6) {
			t.Errorf("2^%d: RMSE %v, want %v", e, got, want.Scores[0].Train.RMSE)
		}
	}
}

// A caller who wants no rank does not read that none was worth it.
func TestVerdictOfFixedRank(t *testing.T) {
	_, r := fit(t, newTruth(1, 4, 1).table(t, 12, 10, 10, 2), testConfig(t, 2, -1))
	if text := r.Verdict.Text; !strings.Contains(text, "no rank was tried") || strings.Contains(text, "worth") {
		t.Errorf("verdict %q", text)
	}
}

// Numbers of a configuration have two ends, and what is beyond is an error that names it, before anything is computed.
func TestBothEndsOfNumbers(t *testing.T) {
	tab := newTruth(3, 3, 1).table(t, 8, 12, 12, 2)
	weightsOf := func(w float64) func(*Config) {
		return func(c *Config) {
			c.Weights = slices.Repeat([]float64{1}, tab.Rows())
			c.Weights[2] = w
		}
	}
	ridge := func(v float64, of func(c *Config) **float64) func(*Config) {
		return func(c *Config) { *of(c) = &v }
	}
	beyond, below := math.Nextafter(difalt.MaxRidge, math.Inf(1)), -math.SmallestNonzeroFloat64
	for want, changes := range map[string][]func(c *Config){
		"the ridge on intercepts is": {ridge(beyond, func(c *Config) **float64 { return &c.Intercept }), ridge(below, func(c *Config) **float64 { return &c.Intercept })},
		"the ridge on the mean is":   {ridge(beyond, func(c *Config) **float64 { return &c.MeanRidge }), ridge(below, func(c *Config) **float64 { return &c.MeanRidge })},
		"the ridge is": {
			ridge(beyond, func(c *Config) **float64 { return &c.Ridge }), ridge(below, func(c *Config) **float64 { return &c.Ridge }),
			ridge(math.NaN(), func(c *Config) **float64 { return &c.Ridge }), func(c *Config) { c.Plain, c.Ridge = true, &beyond },
		},
		"the number of starts is": {func(c *Config) { c.Starts = -1 }, func(c *Config) { c.Starts = maxStarts + 1 }},
		"the number of folds is":  {func(c *Config) { c.Folds = -1 }, func(c *Config) { c.Folds = 1 }, func(c *Config) { c.Folds = 101 }, func(c *Config) { c.Folds = math.MaxInt }},
		"the rank is":             {func(c *Config) { c.Rank = -2 }, func(c *Config) { c.Rank = 5 }, func(c *Config) { c.Rank = math.MaxInt }},
		"the weight of row 2 is":  {weightsOf(-1), weightsOf(math.NaN()), weightsOf(math.SmallestNonzeroFloat64), weightsOf(math.MaxFloat64)},
	} {
		for _, change := range changes {
			c := testConfig(t, 2, 2)
			change(&c)
			_, _, err := Fit(t.Context(), tab, c)
			check(t, err, want)
		}
	}
}

// The ends themselves give a model of finite numbers.
func TestEndsOfRidges(t *testing.T) {
	tab := newTruth(3, 3, 1).table(t, 8, 12, 12, 2)
	for _, ridge := range []float64{0, math.SmallestNonzeroFloat64, difalt.MaxRidge, math.Inf(1)} {
		for _, plain := range []bool{false, true} {
			c := testConfig(t, 2, 1)
			c.Plain, c.Ridge = plain, &ridge
			if plain && math.IsInf(ridge, 1) {
				continue
			}
			if !plain {
				c.Intercept, c.MeanRidge = &ridge, &ridge
			}
			m, _, err := Fit(t.Context(), tab, c)
			if err != nil {
				t.Errorf("ridge %v, plain %v: %v", ridge, plain, err)
				continue
			}
			for _, v := range m.Parameters().Theta {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("ridge %v, plain %v: coefficients are not finite", ridge, plain)
				}
			}
		}
	}
}

// TestHardlyARow: tables of a row or two are a model or an error.
func TestHardlyARow(t *testing.T) {
	for rows := 1; rows <= 3; rows++ {
		for _, tasks := range []int{1, rows} {
			tab := emptyTable(t, 2)
			for i := range rows {
				if err := tab.Append(taskName(i%tasks), "0", []float64{float64(1 + i), float64(2 - i)}, float64(3+i*i)); err != nil {
					t.Fatal(err)
				}
			}
			_, _, err := Fit(t.Context(), tab, testConfig(t, 1, 0))
			if err != nil && !strings.Contains(err.Error(), "are there too few rows") {
				t.Errorf("%d rows of %d tasks: %v", rows, tasks, err)
			}
		}
	}
}

// One of the models that are averaged may take all of the weight: errors of these rows are least so. The others are not in the model then.
func TestOneModelHasAllTheWeight(t *testing.T) {
	tab := emptyTable(t, 2)
	for i, row := range [][]float64{{4, 6, -24}, {-3, 0, -21}, {8, -3, 9}} {
		if err := tab.Append(taskName(i), "", row[:2], row[2]); err != nil {
			t.Fatal(err)
		}
	}
	c := testConfig(t, 3, 0)
	c.Owners = false
	m, _, err := Fit(t.Context(), assigned(t, tab, 3), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, weights := m.Ranks(); slices.Min(weights) <= 0 {
		t.Errorf("weights %v", weights)
	}
}

// A target without noise is no error, though ranks that explain all of it have no likelihood: what is reported has one, and predictions are near.
func TestTargetWithoutNoise(t *testing.T) {
	kinds := map[string]func(task float64, x []float64, y float64) float64{
		"drawn": func(_ float64, _ []float64, y float64) float64 { return y },
		"alike": func(_ float64, x []float64, _ float64) float64 { return 10 + floats.Sum(x) },
		"one slope": func(task float64, x []float64, _ float64) float64 {
			return 10 + math.Sin(9*task)*x[0] + 0.1*x[len(x)-1]
		},
		"intercepts": func(task float64, x []float64, _ float64) float64 { return 10 + math.Sin(9*task) + x[0] },
	}
	for kind, of := range kinds {
		for _, nodes := range []int{1, 2} {
			for _, tasks := range []int{3, 4, 12} {
				for features := 1; features <= 4; features++ {
					drawn := newTruth(uint64(features), features, 0).table(t, tasks, 12, 12, nodes)
					tab := changed(t, drawn, func(i int, x []float64, y float64) float64 { return of(float64(drawn.Task(i)), x, y) })
					c := testConfig(t, nodes, 0)
					c.Owners = nodes > 1
					m, r, err := Fit(t.Context(), tab, c)
					if err != nil {
						t.Errorf("%s, %d nodes, %d tasks of %d features: %v", kind, nodes, tasks, features, err)
						continue
					}
					for _, k := range r.Tried {
						if math.IsInf(k.Evidence, 0) || math.IsNaN(k.Evidence) {
							t.Errorf("%s, %d nodes, %d tasks of %d features: evidence %v of rank %d", kind, nodes, tasks, features, k.Evidence, k.Rank)
						}
					}
					worst, x := 0.0, make([]float64, features)
					for i := range tab.Rows() {
						tab.X(x, i)
						y, err := m.Predict(tab.Tasks()[tab.Task(i)], x)
						if err != nil {
							t.Fatal(err)
						}
						worst = max(worst, math.Abs(y-tab.Y(i)))
					}
					if few := nodes > 1 && tasks < 4; !(worst < 0.25) && !few { // of three tasks a dither leaves little
						t.Errorf("%s, %d nodes, %d tasks of %d features: off by %v", kind, nodes, tasks, features, worst)
					}
				}
			}
		}
	}
}
