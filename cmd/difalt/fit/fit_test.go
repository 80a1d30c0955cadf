package fit

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/difalt"
)

// On data of low rank, with fewer rows a task than unknowns, the model must beat all that is
// simpler on held-out rows, and say so; with levels alone it must find no rank and say that.
func TestVerdicts(t *testing.T) {
	k := newTruth(1, 8, 1)
	tab := k.table(t, 60, 24, 40, 4)
	c := testConfig(t, 4, 0)
	var err error
	if c.Train, err = tab.Split(dataset.Split{TrainRows: 10, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	_, r := fit(t, tab, c)
	if v := r.Verdict; r.Chosen.Rank != 2 || !(v.Low > 0.1) || v.Low > v.Gain || v.Gain > v.High || !strings.Contains(v.Text, "of rank 2 has an RMSE") {
		t.Errorf("%+v, %+v", r.Chosen, v)
	}
	for _, s := range r.Scores[1:] {
		if gain := 1 - r.Scores[0].Test.RMSE/s.Test.RMSE; s.Method == r.Verdict.Other && math.Abs(gain-r.Verdict.Gain) > 1e-9 || gain < r.Verdict.Gain-1e-9 {
			t.Errorf("the gain over %s is %v, the verdict %v", s.Method, gain, r.Verdict.Gain)
		}
	}
	if !r.Converged || r.Result == nil || len(r.Chosen.Axes) != 2 {
		t.Errorf("converged %v, axes %v", r.Converged, r.Chosen.Axes)
	}
	for i := range k.v {
		k.v[i] = [2]float64{}
	}
	k.theta = map[string][]float64{}
	c.Train = nil
	_, r = fit(t, k.table(t, 60, 10, 20, 4), c)
	if r.Chosen.Rank != 0 || r.Result != nil || !strings.Contains(r.Verdict.Text, "No rows were held out") || !strings.Contains(r.Verdict.Text, "A shared intercept explains it") {
		t.Errorf("%+v, %+v", r.Chosen, r.Verdict)
	}
}

// Without noise the tasks are recovered, intercepts included.
func TestFitRecoversTruth(t *testing.T) {
	k := newTruth(5, 7, 0)
	m, r := fit(t, k.table(t, 60, 12, 20, 1), testConfig(t, 1, 2))
	for task, want := range k.theta {
		theta, constant, err := m.Coefficients(task)
		if err != nil {
			t.Fatal(err)
		}
		for j := range want {
			if math.Abs(theta[j]-want[j]) > 1e-4 {
				t.Fatalf("task %s, feature %d: %v, want %v", task, j, theta[j], want[j])
			}
		}
		if math.Abs(constant-k.level[task]) > 1e-3 {
			t.Fatalf("task %s: constant %v, want %v", task, constant, k.level[task])
		}
	}
	if notes := strings.Join(r.Notes, " "); !strings.Contains(notes, "fitted exactly") {
		t.Errorf("notes %q", notes)
	}
}

// changed returns the table with features and targets as change leaves them.
func changed(t *testing.T, tab *dataset.Table, change func(i int, x []float64, y float64) float64) *dataset.Table {
	t.Helper()
	k := len(tab.Features())
	other := emptyTable(t, k)
	x := make([]float64, k)
	for i := range tab.Rows() {
		tab.X(x, i)
		y := change(i, x, tab.Y(i))
		if err := other.Append(tab.Tasks()[tab.Task(i)], "", x, y); err != nil {
			t.Fatal(err)
		}
	}
	return assigned(t, other, len(tab.Nodes()))
}

// What is held out must not matter for the model or for any strength.
func TestHeldOutRowsAreNotUsed(t *testing.T) {
	tab := newTruth(2, 4, 1).table(t, 12, 10, 12, 2)
	train, err := tab.Split(dataset.Split{TestRows: 4, Seed: 9})
	if err != nil {
		t.Fatal(err)
	}
	other := changed(t, tab, func(i int, x []float64, y float64) float64 {
		if train[i] {
			return y
		}
		x[1] *= 1e3
		return -1e3 * y
	})
	c := testConfig(t, 2, 2)
	c.Train = train
	a, ra := fit(t, tab, c)
	b, rb := fit(t, other, c)
	if !bytes.Equal(fileOf(t, a), fileOf(t, b)) {
		t.Error("the model depends on held-out rows")
	}
	for i := range ra.Scores {
		if ra.Scores[i].Ridge != rb.Scores[i].Ridge || ra.Scores[i].Train != rb.Scores[i].Train || ra.Scores[i].Test == rb.Scores[i].Test {
			t.Errorf("%s: %+v, %+v", ra.Scores[i].Method, ra.Scores[i], rb.Scores[i])
		}
	}
}

// Units must not matter, however far they are from 1: columns whose moments or squares are out
// of range, or far from zero, and targets.
func TestUnitsDoNotMatter(t *testing.T) {
	tab := newTruth(3, 4, 1).table(t, 12, 10, 12, 1)
	c := testConfig(t, 1, 0)
	var err error
	if c.Train, err = tab.Split(dataset.Split{TestRows: 3, Seed: 9}); err != nil {
		t.Fatal(err)
	}
	_, want := fit(t, tab, c)
	for name, change := range map[string]struct {
		unit float64
		x    func(v float64) float64
	}{
		"moved":  {1, func(v float64) float64 { return 1024*v + 512 }},
		"far":    {1, func(v float64) float64 { return 0x1p40 + math.Round(v*0x1p12)/0x1p12 }},
		"huge":   {0x1p300, func(v float64) float64 { return 0x1p490 * v }},
		"tiny":   {0x1p-400, func(v float64) float64 { return 0x1p-900 * v }},
		"target": {0x1p332, func(v float64) float64 { return v }},
	} {
		other := changed(t, tab, func(_ int, x []float64, y float64) float64 {
			x[2] = change.x(x[2])
			return y * change.unit
		})
		_, got := fit(t, other, c)
		near := 1e-3
		if name == "far" { // data rounded to 2^-12, and climbs that end a twentieth below the top of the log evidence
			near = 2e-2
		}
		for i, s := range got.Scores {
			if rmse := s.Test.RMSE / change.unit; math.Abs(rmse/want.Scores[i].Test.RMSE-1) > near {
				t.Errorf("%s: %s has an RMSE of %v, want %v", name, s.Method, rmse, want.Scores[i].Test.RMSE)
			}
		}
	}
}

// A row of weight 2 counts as two rows of half the information each: coefficients are those of a
// table where it stands twice, for strengths that are known.
func TestWeights(t *testing.T) {
	tab := newTruth(3, 3, 1).table(t, 8, 6, 9, 1)
	double := emptyTable(t, 3)
	weights := make([]float64, tab.Rows())
	x := make([]float64, 3)
	for i := range weights {
		weights[i] = 1
		if i%3 == 0 {
			weights[i] = 2
		}
		for range int(weights[i]) {
			if err := double.Append(tab.Tasks()[tab.Task(i)], "", tab.X(x, i), tab.Y(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	mean := float64(double.Rows()) / float64(tab.Rows())
	ridges := [3]float64{2, 3, 0.5}
	c := testConfig(t, 1, -1)
	c.Intercept, c.Ridge, c.MeanRidge = &ridges[0], &ridges[1], &ridges[2]
	want, _ := fit(t, assigned(t, double, 1), c)
	// Weights are 1 in the mean: so ridges are as many times smaller.
	for i := range ridges {
		ridges[i] /= mean
	}
	c.Weights = weights
	got, _ := fit(t, tab, c)
	for _, task := range tab.Tasks() {
		theta, constant, _ := got.Coefficients(task)
		wanted, wantedConstant, _ := want.Coefficients(task)
		checkClose(t, "task "+task, append(theta, constant), append(wanted, wantedConstant))
	}
	c.Weights = weights[1:]
	_, _, err := Fit(t.Context(), tab, c)
	check(t, err, "weights for")
	weights[2] = -1
	c.Weights = weights
	_, _, err = Fit(t.Context(), tab, c)
	check(t, err, "the weight of row 2 is -1")
}

// A fit that continues a model, of fewer rows or of the same, finds what one from scratch does, but for whether slopes have variances of their own,
// where the evidence hardly decides.
func TestContinue(t *testing.T) {
	tab := newTruth(1, 6, 1).table(t, 30, 15, 20, 1)
	c := testConfig(t, 1, 0)
	var err error
	if c.Train, err = tab.Split(dataset.Split{TestFraction: 0.2, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	fewer, _ := fit(t, tab, c)
	c.Train = nil
	want, _ := fit(t, tab, c)
	for name, from := range map[string]*model.Model{"fewer rows": fewer, "the same rows": want} {
		c.Continue = from
		got, r := fit(t, tab, c)
		if got.Rank() != 2 || got.Rank() != want.Rank() || !r.Converged {
			t.Fatalf("%s: ranks %d and %d", name, got.Rank(), want.Rank())
		}
		for _, task := range tab.Tasks() {
			theta, _, _ := got.Coefficients(task)
			wanted, _, _ := want.Coefficients(task)
			for j, v := range wanted {
				if math.Abs(theta[j]-v) > 0.03*(1+math.Abs(v)) {
					t.Errorf("%s: task %s, feature %d: %v, want %v", name, task, j, theta[j], v)
				}
			}
		}
	}
}

// The model that a fit continues is of the same features.
func TestContinueOtherFeatures(t *testing.T) {
	c := testConfig(t, 1, 0)
	c.Rank = 1
	c.Continue, _ = fit(t, newTruth(1, 3, 1).table(t, 8, 10, 12, 1), c)
	_, _, err := Fit(t.Context(), newTruth(1, 4, 1).table(t, 8, 10, 12, 1), c)
	check(t, err, "the model to continue has 3 features")
}

// More features than rows: the reduced fit is the one with all features. A ridge of all coefficients
// is their posterior mean by the dense formula with rows in place of features.
func TestWideIsTheDualRidge(t *testing.T) {
	const k, n = 300, 24
	r := rand.New(rand.NewPCG(2, 3))
	tab := emptyTable(t, k)
	x := make([]float64, k)
	for i := range n {
		for j := range x {
			x[j] = r.NormFloat64()
		}
		if err := tab.Append(taskName(i%4), "", x, x[0]+x[1]+r.NormFloat64()); err != nil {
			t.Fatal(err)
		}
	}
	assigned(t, tab, 1)
	ridges := [3]float64{2, 3, 0.5}
	c := testConfig(t, 1, -1)
	c.Intercept, c.Ridge, c.MeanRidge = &ridges[0], &ridges[1], &ridges[2]
	m, _ := fit(t, tab, c)
	p := m.Parameters()
	if p.Width() != n { // n - 1 directions of centred rows, and the constant
		t.Errorf("%d coefficients", p.Width())
	}
	d, err := newDesign(t.Context(), tab, &c)
	if err != nil {
		t.Fatal(err)
	}
	z, y := make([][]float64, n), make([]float64, n)
	for i := range z {
		z[i] = make([]float64, k+1)
		y[i] = d.fullRow(z[i], i)
	}
	want := densePosterior(z, y, func(i int) int { return tab.Task(i) }, ridges)
	for i := range z {
		got, err := m.Predict(tab.Tasks()[tab.Task(i)], tab.X(x, i))
		if err != nil {
			t.Fatal(err)
		}
		if v := want[i]*p.Scaling.TargetScale + p.Scaling.Target; math.Abs(got-v) > 1e-4 {
			t.Errorf("row %d: %v, want %v", i, got, v)
		}
	}
}

func TestInterruptedFit(t *testing.T) {
	tab := newTruth(3, 4, 1).table(t, 12, 10, 12, 2)
	c := testConfig(t, 2, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Fit(ctx, tab, c); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	c.Options.EveryIteration, c.Options.Iterations = true, 5000
	c.Options.Observer = func(r *difalt.Record) error {
		if r.Iteration == 3 {
			cancel()
		}
		return nil
	}
	m, r, err := Fit(ctx, tab, c)
	if err != nil || m == nil || r.Result.Status != difalt.Canceled || r.Converged {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestFitErrors(t *testing.T) {
	tab := newTruth(3, 4, 1).table(t, 12, 10, 12, 2)
	negative := -1.0
	for want, change := range map[string]func(c *Config){
		"fit needs a table":           func(c *Config) { c.Network = nil },
		"has 3 entries":               func(c *Config) { c.Train = make([]bool, 3) },
		"there are no training rows":  func(c *Config) { c.Train = make([]bool, tab.Rows()) },
		"the ridge is -1":             func(c *Config) { c.Ridge = &negative },
		"the ridge on the mean is -1": func(c *Config) { c.MeanRidge = &negative },
		"the number of folds is 1":    func(c *Config) { c.Folds = 1 },
		"the number of starts is -1":  func(c *Config) { c.Starts = -1 },
		"the rank is 9":               func(c *Config) { c.Rank = 9 },
		"the rank is 0":               func(c *Config) { c.Plain, c.Rank = true, 0 },
		"2 nodes, but 3 nodes":        func(c *Config) { c.Network = testConfig(t, 3, 1).Network },
	} {
		c := testConfig(t, 2, 2)
		change(&c)
		_, _, err := Fit(t.Context(), tab, c)
		check(t, err, want)
	}
	_, _, err := Fit(t.Context(), nil, testConfig(t, 2, 2))
	check(t, err, "fit needs a table")
}
