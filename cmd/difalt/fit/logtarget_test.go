package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/model"
	"gonum.org/v1/gonum/floats"
)

// amounts returns a table of tasks of different sizes with an effect that multiplies targets, or adds to them, and errors that do.
func amounts(t *testing.T, seed uint64, multiply bool) *dataset.Table {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 50))
	tab := emptyTable(t, 3)
	for k := range 50 {
		level := 0.8 * rng.NormFloat64()
		for range 12 {
			x := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
			v := level + 0.6*x[0] - 0.3*x[1] + 0.3*rng.NormFloat64()
			y := math.Exp(3 + v)
			if !multiply {
				y = 100 + 20*v
			}
			if err := tab.Append(fmt.Sprint("shop ", k), "", x, y); err != nil {
				t.Fatal(err)
			}
		}
	}
	return tab
}

// ofTargets returns the table with other targets.
func ofTargets(t *testing.T, tab *dataset.Table, change func(y float64) float64) *dataset.Table {
	return changed(t, tab, func(_ int, _ []float64, y float64) float64 { return change(y) })
}

// held returns a configuration of one owner with a third of the rows held out.
func held(t *testing.T, tab *dataset.Table, choice *bool) Config {
	t.Helper()
	c := testConfig(t, len(tab.Nodes()), 0)
	c.Owners, c.LogTarget = false, choice
	var err error
	if c.Train, err = tab.Split(dataset.Split{TestRows: 4, Seed: 3}); err != nil {
		t.Fatal(err)
	}
	return c
}

var yes, no = true, false

// A fit of the logarithm of the target is a fit of the table with logarithms, whose predictions are exponentials; errors are told of the target itself.
func TestLogTargetIsThatOfLogarithms(t *testing.T) {
	tab := assigned(t, amounts(t, 1, true), 2)
	m, r := fit(t, tab, held(t, tab, &yes))
	logs := ofTargets(t, tab, math.Log)
	want, wanted := fit(t, logs, held(t, logs, &no))
	got, p := m.Parameters(), want.Parameters()
	if !floats.Equal(got.Theta, p.Theta) || !floats.Equal(got.Prior.MeanCovariance, p.Prior.MeanCovariance) || got.Prior.Noise != p.Prior.Noise || !got.Scaling.LogTarget || p.Scaling.LogTarget {
		t.Error("the model is another one than that of the logarithms")
	}
	sum, squares, n := 0.0, 0.0, 0.0
	train := held(t, tab, nil).Train
	x := make([]float64, 3)
	for i := range tab.Rows() {
		if train[i] {
			sum += math.Log(tab.Y(i))
			continue
		}
		y, err := m.Predict(tab.Tasks()[tab.Task(i)], tab.X(x, i))
		if err != nil {
			t.Fatal(err)
		}
		squares += (tab.Y(i) - y) * (tab.Y(i) - y)
		n++
	}
	if got := r.Scores[0].Test.RMSE; math.Abs(got/math.Sqrt(squares/n)-1) > 1e-9 {
		t.Errorf("RMSE %v is reported, %v is it", got, math.Sqrt(squares/n))
	}
	if v := got.Goodness.LogLikelihood + sum; math.Abs(v-p.Goodness.LogLikelihood) > 1e-6*math.Abs(v) {
		t.Errorf("log likelihood %v of the targets, %v of their logarithms, which add up to %v", got.Goodness.LogLikelihood, p.Goodness.LogLikelihood, sum)
	}
	if r.Chosen.Evidence != wanted.Chosen.Evidence || len(r.Scores) != len(wanted.Scores) {
		t.Errorf("%+v, %+v", r.Chosen, wanted.Chosen)
	}
}

// The logarithm is taken where effects multiply the target, and is as good there as if it had been asked for; not where they add to it, where a target is not above 0, nor between
// owners. Predictions do not depend on the unit of the target.
func TestLogTargetIsChosen(t *testing.T) {
	for seed := range uint64(3) {
		tab := assigned(t, amounts(t, seed, true), 2)
		m, r := fit(t, tab, held(t, tab, nil))
		asked, a := fit(t, tab, held(t, tab, &yes))
		_, without := fit(t, tab, held(t, tab, &no))
		if !m.Parameters().Scaling.LogTarget || !floats.Equal(m.Parameters().Theta, asked.Parameters().Theta) {
			t.Fatalf("seed %d: the logarithm was not taken, or another one", seed)
		}
		ours, other := r.Scores[0].Test.RMSE, without.Scores[0].Test.RMSE
		t.Logf("seed %d: RMSE %.3g, without the logarithm %.3g", seed, ours, other)
		if ours > 0.95*other || math.Abs(ours/a.Scores[0].Test.RMSE-1) > 1e-9 {
			t.Errorf("seed %d: RMSE %v, without the logarithm %v, asked for %v", seed, ours, other, a.Scores[0].Test.RMSE)
		}
		if notes := strings.Join(r.Notes, " "); !strings.Contains(notes, "The target is fitted by its logarithm") || strings.Contains(strings.Join(a.Notes, " "), "by its logarithm") {
			t.Errorf("notes %q", notes)
		}
		// Simpler methods are those of the target, and one of its logarithm.
		for i, s := range without.Scores[1:] {
			if s.Method != r.Scores[i+1].Method || math.Abs(s.Test.RMSE/r.Scores[i+1].Test.RMSE-1) > 1e-9 {
				t.Errorf("%+v and %+v", s, r.Scores[i+1])
			}
		}
		if last := r.Scores[len(r.Scores)-1]; last.Method != ShrunkenLog || last.Test.RMSE < 0.9*ours || last.Test.RMSE > other {
			t.Errorf("%+v", last)
		}
		large := ofTargets(t, tab, func(y float64) float64 { return 1000 * y })
		n, _ := fit(t, large, held(t, large, nil))
		x := []float64{0.3, -0.2, 1}
		y, err := m.Predict("shop 3", x)
		z, other2 := n.Predict("shop 3", x)
		if err != nil || other2 != nil || math.Abs(z/y-1000) > 0.01 {
			t.Errorf("%v, in another unit %v", y, z)
		}
		added := assigned(t, amounts(t, seed, false), 2)
		zero := ofTargets(t, tab, func(y float64) float64 { return y - 0.5 })
		owners := held(t, tab, nil)
		owners.Owners = true
		for name, c := range map[string]struct {
			tab *dataset.Table
			c   Config
		}{
			"effects add": {added, held(t, added, nil)}, "a target below 0": {ofTargets(t, tab, func(y float64) float64 { return y - 3 }), held(t, tab, nil)},
			"owners": {tab, owners}, "all targets nearly alike": {ofTargets(t, zero, func(y float64) float64 { return 1e6 + y }), held(t, tab, nil)},
		} {
			if m, _ := fit(t, c.tab, c.c); m.Parameters().Scaling.LogTarget {
				t.Errorf("seed %d, %s: the logarithm was taken", seed, name)
			}
		}
	}
}

// Weights that grow with the target do not make targets less likely by their logarithms, which are of rows, not of weights.
func TestLogTargetOfWeightedRows(t *testing.T) {
	for seed := range uint64(2) {
		tab := assigned(t, amounts(t, seed, true), 2)
		c := held(t, tab, nil)
		c.Weights = make([]float64, tab.Rows())
		for i := range c.Weights {
			c.Weights[i] = tab.Y(i)
		}
		m, r := fit(t, tab, c)
		c.LogTarget = &no
		_, without := fit(t, tab, c)
		if ours, other := r.Scores[0].Test.RMSE, without.Scores[0].Test.RMSE; !m.Parameters().Scaling.LogTarget || ours > 0.9*other {
			t.Errorf("seed %d: RMSE %v, without the logarithm %v", seed, ours, other)
		}
	}
}

// Of targets whose noise grows with them, while their effects add, logarithms are likelier, but predict far worse: they are not taken.
func TestLikelierLogTargetIsNotEnough(t *testing.T) {
	for seed := range uint64(2) {
		rng := rand.New(rand.NewPCG(seed, 51))
		tab := emptyTable(t, 2)
		for k := range 600 {
			if k%12 == 0 {
				rng.NormFloat64()
			}
			x := []float64{math.Exp(1.2 * rng.NormFloat64()), rng.NormFloat64()}
			if err := tab.Append(fmt.Sprint("shop ", k/12), "", x, (20+10*x[0])*math.Exp(0.6*rng.NormFloat64())); err != nil {
				t.Fatal(err)
			}
		}
		tab = assigned(t, tab, 2)
		c := held(t, tab, nil)
		c.Curves = []string{}
		m, r := fit(t, tab, c)
		c.LogTarget = &yes
		log, other := fit(t, tab, c)
		if m.Parameters().Scaling.LogTarget || other.Scores[0].Test.RMSE < 1.1*r.Scores[0].Test.RMSE || log.Parameters().Goodness.LogLikelihood < m.Parameters().Goodness.LogLikelihood {
			t.Errorf("seed %d: RMSE %v, by logarithms %v; log likelihood %v and %v", seed, r.Scores[0].Test.RMSE, other.Scores[0].Test.RMSE, m.Parameters().Goodness.LogLikelihood, log.Parameters().Goodness.LogLikelihood)
		}
	}
}

// A learning curve compares a model of the logarithm with the same simpler methods, of the target itself, as one of the target.
func TestLearningCurveOfLogTarget(t *testing.T) {
	tab, other := assigned(t, amounts(t, 1, true), 2), amounts(t, 2, true)
	fresh, x := emptyTable(t, 3), make([]float64, 3)
	for i := range other.Rows() {
		if err := fresh.Append("new "+other.Tasks()[other.Task(i)], "", other.X(x, i), other.Y(i)); err != nil {
			t.Fatal(err)
		}
	}
	var points [2][]CurvePoint
	for i, choice := range []*bool{&yes, &no} {
		c := held(t, tab, choice)
		c.Curves = []string{}
		m, _ := fit(t, tab, c)
		var err error
		if points[i], _, err = LearningCurve(m, fresh, CurveConfig{Repeats: 1, Samples: []int{3, 6}}); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range points[0] {
		other := points[1][i]
		if math.Abs(p.Single.RMSE/other.Single.RMSE-1) > 0.01 || p.Mean != other.Mean || !(p.Ours.RMSE < other.Ours.RMSE) {
			t.Errorf("%+v of the logarithm, %+v of the target", p, other)
		}
	}
}

// What has no logarithm is refused with its row, and a model that is continued says which target the fit is of.
func TestLogTargetOfConfig(t *testing.T) {
	tab := assigned(t, amounts(t, 1, true), 2)
	c := held(t, tab, &yes)
	m, _ := fit(t, tab, c)
	c = held(t, tab, nil)
	c.Continue = m
	if again, r := fit(t, tab, c); !again.Parameters().Scaling.LogTarget || r.Scores[0].Test.RMSE > 1.02*scoreOf(t, m, tab, c.Train) {
		t.Error("a model of the logarithm was continued as one of the target, or to a worse one")
	}
	bad := changed(t, tab, func(i int, _ []float64, y float64) float64 {
		if i == 17 {
			return 0
		}
		return y
	})
	_, _, err := Fit(t.Context(), bad, held(t, bad, &yes))
	if err == nil || !strings.Contains(err.Error(), `row 17 of the table, of task "shop 1", has a target of 0, which has no logarithm`) {
		t.Error(err)
	}
	c = held(t, tab, &yes)
	c.Plain, c.Rank = true, 2
	if _, _, err := Fit(t.Context(), tab, c); err == nil || !strings.Contains(err.Error(), "neither a plain nor a private one") {
		t.Error(err)
	}
}

// Neither the choice nor errors depend on the unit of the target, even where squares of it are no numbers.
func TestLogTargetInAnyUnit(t *testing.T) {
	tab := assigned(t, amounts(t, 1, true), 2)
	_, want := fit(t, tab, held(t, tab, nil))
	for _, unit := range []float64{0x1p-990, 0x1p-300, 0x1p480} {
		other := ofTargets(t, tab, func(y float64) float64 { return y * unit })
		m, r := fit(t, other, held(t, other, nil))
		if !m.Parameters().Scaling.LogTarget {
			t.Errorf("in units of %g the logarithm is not taken", 1/unit)
		}
		if got := r.Scores[0].Test.RMSE / unit / want.Scores[0].Test.RMSE; !(math.Abs(got-1) < 0.01) {
			t.Errorf("in units of %g the RMSE is %v of that in others", 1/unit, got)
		}
	}
}

// Targets that differ by too many orders for errors in their unit are refused by name, and fitted as they are if nobody asks for logarithms.
func TestLogTargetOfTooManyOrders(t *testing.T) {
	tab := assigned(t, amounts(t, 1, true), 2)
	for power, want := range map[float64]string{10: "", 30: "the logarithms of the targets have a standard deviation of 3"} {
		wide := ofTargets(t, tab, func(y float64) float64 { return math.Pow(y/20, power) })
		if _, _, err := Fit(t.Context(), wide, held(t, wide, nil)); err != nil {
			t.Errorf("power %v: %v", power, err)
		}
		_, r, err := Fit(t.Context(), wide, held(t, wide, &yes))
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) || want == "" && (err != nil || math.IsNaN(r.Scores[0].Test.RMSE)) {
			t.Errorf("power %v: %v, want %q", power, err, want)
		}
	}
}

// Held-out targets that have no logarithm are predicted, and their errors told, as all others are; the choice and the model do not know them.
func TestHeldOutTargetsNeedNoLogarithm(t *testing.T) {
	tab := assigned(t, amounts(t, 1, true), 2)
	c := held(t, tab, nil)
	bad := changed(t, tab, func(i int, _ []float64, y float64) float64 {
		if !c.Train[i] && i%5 < 2 {
			return -float64(i % 5)
		}
		return y
	})
	want, _ := fit(t, tab, c)
	for name, choice := range map[string]*bool{"auto": nil, "yes": &yes} {
		m, r := fit(t, bad, held(t, bad, choice))
		if !m.Parameters().Scaling.LogTarget || !floats.Equal(m.Parameters().Theta, want.Parameters().Theta) {
			t.Errorf("%s: held-out targets change the model", name)
		}
		if got := r.Scores[0].Test.RMSE; !(math.Abs(got/scoreOf(t, m, bad, c.Train)-1) < 1e-9) {
			t.Errorf("%s: RMSE %v, %v is it", name, got, scoreOf(t, m, bad, c.Train))
		}
		for _, s := range r.Scores {
			for _, e := range []Errors{s.Train, s.Test} {
				if math.IsNaN(e.RMSE + e.MAE + e.ExplainedVariance) {
					t.Errorf("%s: %+v", name, s)
				}
			}
		}
	}
}

// scoreOf returns the RMSE of a model on rows that are held out.
func scoreOf(t *testing.T, m *model.Model, tab *dataset.Table, train []bool) float64 {
	t.Helper()
	y, err := m.PredictTable(tab)
	if err != nil {
		t.Fatal(err)
	}
	sum, n := 0.0, 0.0
	for i, v := range y {
		if !train[i] {
			sum += (tab.Y(i) - v) * (tab.Y(i) - v)
			n++
		}
	}
	return math.Sqrt(sum / n)
}
