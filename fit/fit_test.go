package fit

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel/lsq"
	"github.com/difalt/difalt/model"
)

// On data of the model's own form, with fewer rows a task than unknowns, the shared
// representation must beat both baselines on held-out rows.
func TestFitBeatsBaselines(t *testing.T) {
	for seed := range uint64(3) {
		tab := newTruth(seed, 8, 1).table(t, 60, 24, 40, 4)
		train, err := tab.Split(dataset.Split{TrainRows: 10, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		c := testConfig(t, 4, 3)
		c.Train = train
		_, r := fit(t, tab, c)
		ours, pooled, single := r.Scores[0].Test, r.Scores[1].Test, r.Scores[2].Test
		t.Logf("seed %d: explained variance %.3f, pooled %.3f, single %.3f", seed, ours.ExplainedVariance, pooled.ExplainedVariance, single.ExplainedVariance)
		if ours.ExplainedVariance < pooled.ExplainedVariance+0.1 || ours.ExplainedVariance < single.ExplainedVariance+0.05 {
			t.Errorf("seed %d: explained variance %.3f, pooled ridge %.3f, one ridge per task %.3f", seed, ours.ExplainedVariance, pooled.ExplainedVariance, single.ExplainedVariance)
		}
		if ours.Rows+r.Scores[0].Train.Rows != tab.Rows() || r.Scores[0].Train.Rows != 600 {
			t.Errorf("seed %d: errors are of %d and %d rows", seed, r.Scores[0].Train.Rows, ours.Rows)
		}
	}
}

// Without noise the tasks are recovered, intercepts included.
func TestFitRecoversTruth(t *testing.T) {
	k := newTruth(5, 7, 0)
	tab := k.table(t, 60, 12, 20, 3)
	// Levels and two directions differ between tasks, and pooled ridge is off by a
	// vector that is the same for all.
	c := testConfig(t, 3, 4)
	c.Options.Iterations = 3000
	c.TuneRidge = false
	m, _ := fit(t, tab, c)
	for task, want := range k.theta {
		theta, constant, err := m.Coefficients(task)
		if err != nil {
			t.Fatal(err)
		}
		for j := range want {
			if math.Abs(theta[j]-want[j]) > 1e-5 {
				t.Fatalf("task %s, feature %d: %v, want %v", task, j, theta[j], want[j])
			}
		}
		if math.Abs(constant-k.level[task]) > 1e-3 {
			t.Fatalf("task %s: constant %v, want %v", task, constant, k.level[task])
		}
	}
}

// What is held out must not matter for the model or for any strength.
func TestHeldOutRowsAreNotUsed(t *testing.T) {
	k := newTruth(2, 4, 1)
	tab := k.table(t, 12, 10, 12, 2)
	train, err := tab.Split(dataset.Split{TestRows: 4, Seed: 9})
	if err != nil {
		t.Fatal(err)
	}
	other := emptyTable(t, 4)
	x := make([]float64, 4)
	for i := range tab.Rows() {
		tab.X(x, i)
		y := tab.Y(i)
		if !train[i] {
			x[1], y = 1e3*x[1], -1e3*y
		}
		if err := other.Append(tab.Tasks()[tab.Task(i)], "", x, y); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.AssignBlocks(2); err != nil {
		t.Fatal(err)
	}
	c := testConfig(t, 2, 2)
	c.Train = train
	a, ra := fit(t, tab, c)
	b, rb := fit(t, other, c)
	if !reflect.DeepEqual(a.Parameters(), b.Parameters()) {
		t.Error("the model depends on held-out rows")
	}
	for i := range ra.Scores {
		if ra.Scores[i].Ridge != rb.Scores[i].Ridge || ra.Scores[i].Train != rb.Scores[i].Train {
			t.Errorf("%s depends on held-out rows", ra.Scores[i].Method)
		}
		if ra.Scores[i].Test == rb.Scores[i].Test {
			t.Errorf("%s: the held-out error does not depend on held-out rows", ra.Scores[i].Method)
		}
	}
}

// Units of the features must not matter when they are standardised.
func TestUnitsDoNotMatter(t *testing.T) {
	k := newTruth(3, 4, 1)
	tab := k.table(t, 12, 10, 12, 2)
	other := emptyTable(t, 4)
	x := make([]float64, 4)
	for i := range tab.Rows() {
		tab.X(x, i)
		x[2] = 1024*x[2] + 512
		if err := other.Append(tab.Tasks()[tab.Task(i)], "", x, tab.Y(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.AssignBlocks(2); err != nil {
		t.Fatal(err)
	}
	c := testConfig(t, 2, 2)
	a, _ := fit(t, tab, c)
	b, _ := fit(t, other, c)
	for i := range tab.Rows() {
		task := tab.Tasks()[tab.Task(i)]
		p, _ := a.Predict(task, tab.X(x, i))
		q, _ := b.Predict(task, other.X(x, i))
		if math.Abs(p-q) > 1e-8*math.Abs(p) {
			t.Fatalf("row %d: %v and %v", i, p, q)
		}
	}
}

// Nor must the units of all features and of the target, over all of float64's range.
func TestScaleDoesNotMatter(t *testing.T) {
	tab := newTruth(3, 4, 1).table(t, 12, 10, 12, 2)
	for _, standardize := range []bool{true, false} {
		c := testConfig(t, 2, 2)
		c.Spectrum = true
		c.Standardize, c.Intercept = standardize, standardize // a constant 1 has a unit of its own
		want, _ := fit(t, tab, c)
		for _, unit := range [][2]int{{90, 0}, {-90, 0}, {0, 90}, {0, -90}, {-45, 45}} {
			other := emptyTable(t, 4)
			x := make([]float64, 4)
			for i := range tab.Rows() {
				for j, v := range tab.X(x, i) {
					x[j] = v * math.Pow10(unit[0])
				}
				if err := other.Append(tab.Tasks()[tab.Task(i)], "", x, tab.Y(i)*math.Pow10(unit[1])); err != nil {
					t.Fatal(err)
				}
			}
			if err := other.AssignBlocks(2); err != nil {
				t.Fatal(err)
			}
			got, _ := fit(t, other, c)
			if _, values := got.Loadings(); !(values[0] > 0) || math.IsInf(values[0], 0) {
				t.Errorf("units 1e%d and 1e%d: singular values %v", unit[0], unit[1], values)
			}
			for i := range tab.Rows() {
				task := tab.Tasks()[tab.Task(i)]
				p, _ := want.Predict(task, tab.X(x, i))
				q, _ := got.Predict(task, other.X(x, i))
				if q = q * math.Pow10(-unit[1]); !(math.Abs(p-q) <= 1e-7*math.Abs(p)) {
					t.Fatalf("standardised %v, units 1e%d and 1e%d: row %d is %v, want %v", standardize, unit[0], unit[1], i, q, p)
				}
			}
		}
	}
}

// Without mean, scaling and constant, Fit is difalt.Run.
func TestPlainFit(t *testing.T) {
	tab := newTruth(4, 4, 1).table(t, 12, 6, 9, 3)
	c := testConfig(t, 3, 2)
	c.NoMean, c.Standardize, c.Intercept, c.TuneRidge, c.Baselines, c.Starts = true, false, false, false, false, 1
	m, r := fit(t, tab, c)
	layout, err := tab.Layout()
	if err != nil {
		t.Fatal(err)
	}
	res, err := difalt.Run(t.Context(), &difalt.Problem{Nodes: tab.Pack(layout, nil, 4, nil)}, c.Network, c.Options)
	if err != nil {
		t.Fatal(err)
	}
	for g, tasks := range layout {
		if !reflect.DeepEqual(r.Result.U[g].Data(), res.U[g].Data()) || !reflect.DeepEqual(r.Result.B[g], res.B[g]) {
			t.Errorf("node %d differs from difalt.Run", g)
		}
		for i, k := range tasks {
			theta, constant, _ := m.Coefficients(tab.Tasks()[k])
			for j, want := range res.Theta(g, i) {
				if math.Abs(theta[j]-want) > 1e-14*(1+math.Abs(want)) || constant != 0 {
					t.Errorf("node %d, task %d: theta is %v, constant %v", g, i, theta, constant)
				}
			}
		}
	}
	if len(r.Scores) != 1 || r.Scores[0].Test.Rows != 0 || !math.IsNaN(r.Scores[0].Test.RMSE) {
		t.Errorf("scores are %+v", r.Scores)
	}
}

func TestInterruptedFit(t *testing.T) {
	tab := newTruth(4, 4, 1).table(t, 12, 6, 9, 3)
	c := testConfig(t, 3, 2)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.Options.Observer = func(r *difalt.Record) error {
		if r.Iteration == 5 {
			cancel()
		}
		return nil
	}
	m, r, err := Fit(ctx, tab, c)
	if err != nil {
		t.Fatal(err)
	}
	if r.Result.Status != difalt.Canceled || r.Result.Iterations < 5 || r.Result.Iterations > 6 {
		t.Errorf("%v after %d iterations", r.Result.Status, r.Result.Iterations)
	}
	if _, err := m.Predict("3", make([]float64, 4)); err != nil {
		t.Error(err)
	}
	if _, _, err := Fit(ctx, tab, c); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// Steps of ten times the automatic one and more end with an error and no model, also
// when cross-validation is what diverges.
func TestDivergedFit(t *testing.T) {
	tab := newTruth(4, 6, 1).table(t, 30, 12, 16, 3)
	c := testConfig(t, 3, 2)
	c.TuneRidge, c.Ridge = false, 0.1
	c.Options.Method, c.Options.Agreement = difalt.DifAltGDmin, consensus.Agreement{}
	_, r := fit(t, tab, c)
	for _, factor := range []float64{10, 100, 1e4, 1e6, 1e20, 1e50, 1e100, 1e150} {
		for _, tune := range []bool{false, true} {
			c.Options.Step, c.TuneRidge = factor*r.Result.Step, tune
			m, _, err := Fit(t.Context(), tab, c)
			if m != nil || !errors.Is(err, difalt.ErrDiverged) {
				t.Errorf("a step of %v times the automatic one: model %v, error %v", factor, m != nil, err)
			}
		}
	}
}

func TestFewRows(t *testing.T) {
	k := newTruth(6, 4, 1)
	tab := emptyTable(t, 4)
	for _, task := range []string{"a", "b", "c", "d", "e"} {
		k.add(t, tab, task, 8)
	}
	k.add(t, tab, "small", 2)
	if err := tab.AssignBlocks(2); err != nil {
		t.Fatal(err)
	}
	c := testConfig(t, 2, 3)
	c.TuneRidge = false
	m, r := fit(t, tab, c)
	if !reflect.DeepEqual(r.FewRows, []string{`"small" (2 rows)`}) || !reflect.DeepEqual(r.Singular, []string{`"small" (` + lsq.Underdetermined.String() + ")"}) {
		t.Errorf("few rows %q, singular %q", r.FewRows, r.Singular)
	}
	if y, err := m.Predict("small", []float64{0, 10, 20, 30}); err != nil || math.IsNaN(y) {
		t.Errorf("prediction %v, %v", y, err)
	}
}

func TestIntercept(t *testing.T) {
	with := newTruth(6, 3, 1).table(t, 6, 8, 8, 2)
	c := testConfig(t, 2, 2)
	m, _ := fit(t, with, c)
	if d, _ := m.Parameters().U[0].Dims(); d != 4 {
		t.Errorf("the basis has %d rows, want 3 features and a constant", d)
	}
	constant := emptyTable(t, 3)
	x := make([]float64, 3)
	for i := range with.Rows() {
		with.X(x, i)
		x[1] = 3
		if err := constant.Append(with.Tasks()[with.Task(i)], "", x, with.Y(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := constant.AssignBlocks(2); err != nil {
		t.Fatal(err)
	}
	m, _ = fit(t, constant, c)
	if d, _ := m.Parameters().U[0].Dims(); d != 3 {
		t.Errorf("the basis has %d rows, want no constant beside the constant feature", d)
	}
	if s := m.Parameters().Scaling; s.Center[1] != 0 || s.Scale[1] != 1 {
		t.Errorf("the constant feature is scaled by %v and %v", s.Center[1], s.Scale[1])
	}
}

func TestFitErrors(t *testing.T) {
	tab := newTruth(1, 3, 1).table(t, 6, 5, 5, 2)
	for _, c := range []struct {
		change func(c *Config)
		want   string
	}{
		{func(c *Config) { c.Network = nil }, "needs a network"},
		{func(c *Config) { *c = testConfig(t, 3, 2) }, "the table has 2 nodes, but 3 nodes of the network live here"},
		{func(c *Config) { c.Train = []bool{true} }, "has 1 entries for 30 rows"},
		{func(c *Config) { c.Train = make([]bool, 30) }, "no training rows"},
		{func(c *Config) { c.Ridge = -1 }, "ridge is -1"},
		{func(c *Config) { c.Ridge = math.NaN() }, "ridge is NaN"},
		{func(c *Config) { c.Folds = 1 }, "folds is 1"},
		{func(c *Config) { c.Options.Rank = 0 }, "Rank is 0"},
		{func(c *Config) { c.Options.Rank = 5 }, "Rank is 5"},
		{func(c *Config) { c.Options.Step = -1 }, "Step is -1"},
	} {
		config := testConfig(t, 2, 2)
		c.change(&config)
		_, _, err := Fit(t.Context(), tab, config)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

// Whether the table is released does not matter for the result.
func TestRelease(t *testing.T) {
	c := testConfig(t, 4, 2)
	c.Options.Iterations = 50
	c.Tune = true
	var models []*model.Model
	var reports []*Report
	for _, release := range []bool{false, true} {
		tab := newTruth(2, 5, 1).table(t, 12, 8, 14, 4)
		train, err := tab.Split(dataset.Split{TestRows: 3, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		c.Train, c.Release = train, release
		m, r := fit(t, tab, c)
		models, reports = append(models, m), append(reports, r)
		if !release {
			y, err := m.PredictTable(tab)
			if err != nil {
				t.Fatal(err)
			}
			var squares [2]float64
			for i, on := range train {
				squares[set(on)] += (tab.Y(i) - y[i]) * (tab.Y(i) - y[i])
			}
			s := r.Scores[0]
			checkClose(t, "errors", []float64{s.Train.RMSE, s.Test.RMSE},
				[]float64{math.Sqrt(squares[0] / float64(s.Train.Rows)), math.Sqrt(squares[1] / float64(s.Test.Rows))})
		}
	}
	if !reflect.DeepEqual(models[0], models[1]) || !reflect.DeepEqual(reports[0].Scores, reports[1].Scores) {
		t.Error("the model or its errors depend on the release of the table")
	}
}
