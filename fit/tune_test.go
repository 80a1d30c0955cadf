package fit

import (
	"math"
	"reflect"
	"testing"

	"github.com/difalt/difalt/dataset"
)

// Two directions, a level, and what pooled ridge is off for all of them make four
// dimensions that the residuals of tasks are in: with plenty of rows and little noise, fewer must do worse in cross-validation
// and must not be chosen.
func TestTuneFindsTheRank(t *testing.T) {
	tab := newTruth(3, 8, 0.3).table(t, 60, 30, 40, 4)
	c := testConfig(t, 4, 5)
	c.Tune, c.Spectrum = true, true
	m, r := fit(t, tab, c)
	if m.Rank() < 4 || r.Chosen.Rank != m.Rank() || r.Chosen.Ridge != m.Parameters().Ridge {
		t.Errorf("chosen is %+v, the model has rank %d and ridge %v", r.Chosen, m.Rank(), m.Parameters().Ridge)
	}
	best := map[int]float64{}
	smallest := math.Inf(1)
	for _, tried := range r.Tried {
		if b, ok := best[tried.Rank]; !ok || tried.RMSE < b {
			best[tried.Rank] = tried.RMSE
		}
		smallest = min(smallest, tried.RMSE)
	}
	if len(best) != 5 || best[1] < 1.2*best[4] || best[2] < 1.2*best[4] || best[3] < 1.05*best[4] || r.Chosen.RMSE > smallest*(1+2*equallyGood) {
		t.Errorf("errors by rank are %v, the chosen one is %v", best, r.Chosen.RMSE)
	}
	if r.Chosen.RMSE < 0.3 {
		t.Errorf("the error %v in cross-validation is below the noise", r.Chosen.RMSE)
	}
	if s := r.Spectrum; len(s) != 5 || s[3] < 3*s[4] {
		t.Errorf("the singular values are %v: want four large ones", s)
	}
}

// The workers must not change a bit.
func TestTuneIsDeterministic(t *testing.T) {
	tab := newTruth(3, 4, 1).table(t, 20, 8, 12, 3)
	c := testConfig(t, 3, 3)
	c.Tune = true
	c.Options.Iterations = 30
	a, ra := fit(t, tab, c)
	c.Options.Workers = 4
	b, rb := fit(t, tab, c)
	if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(ra.Tried, rb.Tried) || ra.Traffic != rb.Traffic {
		t.Error("one and four workers choose or fit differently")
	}
}

// When tasks do not differ, tuning must not do worse than pooled ridge.
func TestTuneOnEqualTasks(t *testing.T) {
	k := newTruth(9, 6, 2)
	for j := range k.v {
		k.v[j] = [2]float64{}
	}
	for i := range 20 {
		k.theta[taskName(i)] = k.mean
		k.level[taskName(i)] = 5
	}
	tab := k.table(t, 20, 20, 24, 3)
	train, err := tab.Split(dataset.Split{TrainRows: 8, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	c := testConfig(t, 3, 3)
	c.Tune, c.Train = true, train
	_, r := fit(t, tab, c)
	if ours, pooled := r.Scores[0].Test.ExplainedVariance, r.Scores[1].Test.ExplainedVariance; ours < pooled-0.01 {
		t.Errorf("explained variance %v, pooled ridge %v", ours, pooled)
	}
}

// Large tables are tuned on a part of their tasks, and must choose what those
// tasks alone would.
func TestTuneLargeTable(t *testing.T) {
	k := newTruth(3, 4, 0.3)
	tab, part := k.table(t, 24, 20, 30, 2), emptyTable(t, 4)
	x := make([]float64, 4)
	for i := range tab.Rows() {
		if tab.Task(i)%3 == 0 { // each node has 12 tasks
			if err := part.Append(tab.Tasks()[tab.Task(i)], "", tab.X(x, i), tab.Y(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := part.AssignBlocks(2); err != nil {
		t.Fatal(err)
	}
	c := testConfig(t, 2, 2)
	c.NoMean, c.Standardize, c.Options.Iterations = true, false, 40
	bytes, tasks := largeBytes, leastTuned
	defer func() { largeBytes, leastTuned = bytes, tasks }()
	choose := func(tab *dataset.Table, tasks int) []Candidate {
		t.Helper()
		d, err := newDesign(t.Context(), tab, &c)
		if err != nil {
			t.Fatal(err)
		}
		f := &fitter{design: d, c: &c, report: &Report{}}
		if err := f.tunedTasks(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(f.tuned[0]) + len(f.tuned[1]); n != tasks {
			t.Errorf("%d tasks take part, want %d", n, tasks)
		}
		if _, err = f.choose(t.Context(), []float64{0.1, 1, 10}); err != nil {
			t.Fatal(err)
		}
		return f.report.Tried
	}
	want := choose(part, 8)
	largeBytes, leastTuned = 0, 8
	for i, tried := range choose(tab, 8) {
		checkClose(t, "error", []float64{tried.RMSE}, []float64{want[i].RMSE})
	}
}

func TestTuneNeedsFreedom(t *testing.T) {
	tab := newTruth(1, 3, 1).table(t, 6, 5, 5, 2)
	c := testConfig(t, 2, 2)
	m, _ := fit(t, tab, c)
	c.Tune, c.U0 = true, m.Parameters().U
	_, _, err := Fit(t.Context(), tab, c)
	check(t, err, "the rank cannot be chosen")
}
