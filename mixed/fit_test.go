package mixed

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Fit finds the form that a table was drawn from, and predicts with little more than the noise.
func TestFitFindsTheForm(t *testing.T) {
	flat := []float64{1, -0.5, 0.7, 0.2, 0}
	for name, c := range map[string]struct {
		d      drawing
		rank   int
		curves bool
		most   float64 // held-out RMSE over the noise
	}{
		"alike":           {drawing{tasks: 20, rows: 24, features: 5, mean: flat, noise: 1}, 0, false, 1.08},
		"levels":          {drawing{tasks: 30, rows: 24, features: 5, mean: flat, levels: 2, noise: 1}, 0, false, 1.08},
		"slopes":          {drawing{tasks: 30, rows: 40, features: 5, mean: flat, slopes: 1, noise: 1}, 0, false, 1.15},
		"directions":      {drawing{tasks: 60, rows: 16, features: 10, rank: 2, length: 2, noise: 1}, 2, false, 1.3},
		"many directions": {drawing{tasks: 60, rows: 24, features: 8, rank: 3, length: 2, noise: 1}, 3, false, 1.3},
		"curve": {drawing{tasks: 30, rows: 24, features: 2, levels: 1, noise: 0.5,
			curve: func(x float64) float64 { return x * x }}, 0, true, 1.2},
	} {
		t.Run(name, func(t *testing.T) {
			table := c.d.table(t, 4)
			m, r := fitted(t, table, Options{}, holdOut(table)...)
			if chosen := chosenOf(r); chosen.Rank != c.rank || chosen.Curves != c.curves || !r.Converged {
				t.Errorf("chosen %+v, converged %v: want rank %d, curves %v", chosen, r.Converged, c.rank, c.curves)
			}
			more := slices.ContainsFunc(r.Candidates, func(o Candidate) bool { return o.Rank > c.rank+1 })
			check.FailIf(t, more && c.rank == 0 && !c.curves, "ranks beyond 1 were tried: %+v", r.Candidates)
			if rmse := r.Scores[0].Test.RMSE; rmse > c.most*c.d.noise || rmse < 0.85*c.d.noise {
				t.Errorf("held-out RMSE %v with noise %v", rmse, c.d.noise)
			}
			note := strings.Contains(strings.Join(r.Notes, " "), "3, was chosen: try --rank 4")
			if note != (c.rank == 3) {
				t.Errorf("rank %d with the notes %q", c.rank, r.Notes)
			}
			// The parts of the variance.
			fixed := floats.Dot(c.d.mean, c.d.mean)
			random := c.d.levels*c.d.levels + float64(c.d.features)*c.d.slopes*c.d.slopes +
				2*float64(c.d.rank)*c.d.length*c.d.length
			if c.curves {
				fixed += 2 // of the square of a normal number
			}
			all, g := fixed+random+c.d.noise*c.d.noise, m.Parameters().Goodness
			if math.Abs(g.R2Marginal-fixed/all) > 0.1 || math.Abs(g.R2Conditional-(fixed+random)/all) > 0.1 {
				t.Errorf("shares %+v, want %v and %v", g, fixed/all, (fixed+random)/all)
			}
			if noise := m.Noise(); math.Abs(noise/c.d.noise-1) > 0.1 {
				t.Errorf("noise %v, want %v", noise, c.d.noise)
			}
		})
	}
}

// Curves win by what they explain, not by an optimiser that comes farther: without noise the evidence has
// many tops and long ridges. The form without curves has its best rank among those that were tried with
// curves.
func TestNoCurvesByABetterOptimum(t *testing.T) {
	for seed := range uint64(2) {
		for _, noise := range []float64{0, 1e-6} {
			table := drawing{tasks: 40, rows: 24, features: 5, rank: 1, length: 2, noise: noise}.table(t, seed)
			_, r := fitted(t, table, Options{}, holdOut(table)...)
			ranks := map[bool]int{}
			for _, c := range r.Candidates {
				ranks[c.Curves] = max(ranks[c.Curves], c.Rank)
			}
			if chosen := chosenOf(r); chosen.Curves || !r.Converged || ranks[false] < ranks[true] {
				t.Errorf("seed %d, noise %v: chosen %+v of ranks up to %v, converged %v", seed, noise, chosen, ranks,
					r.Converged)
			}
		}
	}
}

// Neither the number of workers nor the way to read a task changes a bit.
func TestWorkersDoNotChangeBits(t *testing.T) {
	table := drawing{tasks: 70, rows: 9, features: 6, levels: 1, rank: 1, length: 1, noise: 1, uneven: 3}.table(t, 4)
	one, first := fitted(t, table, Options{Workers: 1})
	three, second := fitted(t, table, Options{Workers: 3})
	a, b := one.Parameters(), three.Parameters()
	check.FailIf(t, !reflect.DeepEqual(a, b) || !reflect.DeepEqual(first.Candidates, second.Candidates),
		"one worker and three give different models")
}

// The errors that the report gives are those of the model's own predictions. Progress goes through all stages
// in their order; the steps of a stage stay below their limit, and the sums are those of the report.
func TestScoresAreThoseOfPredictions(t *testing.T) {
	table := drawing{tasks: 12, rows: 12, features: 3, levels: 1, noise: 1}.table(t, 5)
	var stages []string
	var last Progress
	m, r := fitted(t, table, Options{Progress: func(p Progress) {
		if !slices.Contains(stages, p.Stage) {
			stages = append(stages, p.Stage)
		} else {
			check.FailIf(t, p.Stage != last.Stage || p.Done < last.Done || p.Most != last.Most,
				"%+v after %+v", p, last)
		}
		check.FailIf(t, p.Sums < last.Sums || p.Sums > last.Sums+1 || p.Most > 0 && p.Done >= p.Most,
			"%+v after %+v", p, last)
		last = p
	}}, holdOut(table)...)
	check.FailIf(t, !slices.Equal(stages, Stages), "stages %q, want %q", stages, Stages)
	check.FailIf(t, last.Sums != r.Sums() || last.Sums < 20, "%d sums, the report has %d", last.Sums, r.Sums())
	tallies := map[bool]*tally{true: {}, false: {}}
	eachRow(t, m, table, holdOut(table),
		func(_ int, p Prediction, y float64, train bool) { tallies[train].count(y, p.Value, farthestAlone) })
	for train, e := range map[bool]Errors{true: r.Scores[0].Train, false: r.Scores[0].Test} {
		want := tallies[train].Errors(1)
		check.FailIf(t, e.Rows != want.Rows || math.Abs(e.RMSE-want.RMSE) > 1e-9 || math.Abs(e.MAE-want.MAE) > 1e-9,
			"training %v: errors %+v, want %+v", train, e, want)
	}
	least := math.Inf(1)
	for _, s := range r.Scores[1:] {
		least = min(least, s.Test.RMSE)
	}
	if v, want := r.Verdict, 1-r.Scores[0].Test.RMSE/least; math.Abs(v.Gain-want) > 1e-9 ||
		!(v.Low < want && want < v.High) {
		t.Errorf("gain %v, %v to %v: want %v", v.Gain, v.Low, v.High, want)
	}
	rows, squares := 0, 0.0
	for score := range r.Tasks() {
		if len(score.Test) != len(r.Scores) {
			t.Fatalf("task %q has %d errors, want %d", score.Task, len(score.Test), len(r.Scores))
		}
		rows += score.Test[0].Rows
		squares += score.Test[0].RMSE * score.Test[0].RMSE * float64(score.Test[0].Rows)
	}
	if want := tallies[false]; float64(rows) != want.Rows || math.Abs(squares-want.Squares) > 1e-9*squares {
		t.Errorf("tasks have %d held-out rows and %v squares, want %+v", rows, squares, want)
	}
}

// The pooled baseline is ridge regression with its ridge, solved from the normal equations.
func TestPooledIsRidgeRegression(t *testing.T) {
	table := drawing{tasks: 10, rows: 12, features: 3, mean: []float64{1, 0.3, 0}, noise: 1}.table(t, 6)
	_, r := fitted(t, table, Options{})
	s, pooled := statsOf(t, table, false, 1), r.Scores[1]
	x, y := mat.NewDense(table.Rows(), s.p, nil), mat.NewVecDense(table.Rows(), nil)
	s.rows.weighted(s.design, x.RawMatrix().Data, y.RawVector().Data)
	var gram mat.Dense
	gram.Mul(x.T(), x)
	for j := 1; j < s.p; j++ {
		gram.Set(j, j, gram.At(j, j)+pooled.Ridge)
	}
	var beta, residual mat.VecDense
	beta.MulVec(x.T(), y)
	check.Done(beta.SolveVec(&gram, &beta))
	residual.MulVec(x, &beta)
	residual.SubVec(y, &residual)
	want := mat.Norm(&residual, 2) / math.Sqrt(float64(table.Rows())) * s.rows.target.Scale
	check.FailIf(t, pooled.Method != Pooled || math.Abs(pooled.Train.RMSE-want) > 1e-4*want,
		"%s: RMSE %v, want %v", pooled.Method, pooled.Train.RMSE, want)
}

// Intervals of effects cover true means that are small against their spread, and 0 where there is none;
// those of predictions cover held-out targets. 16 tables each, so that bounds are three standard errors or
// more.
func TestIntervalsCover(t *testing.T) {
	mean := []float64{0.15, -0.1, 0.12, 0}
	for name, d := range map[string]drawing{
		"small effects, spread": {tasks: 40, rows: 20, features: 4, mean: mean, levels: 1, slopes: 0.8, noise: 1},
		"small effects, alike":  {tasks: 40, rows: 20, features: 4, mean: mean, levels: 1, noise: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var inside, all, predicted, rows float64
			for seed := range uint64(16) {
				table := d.table(t, 100+seed)
				m, _ := fitted(t, table, Options{}, holdOut(table)...)
				for _, e := range m.Effects() {
					if e.Kind != Slope {
						continue
					}
					truth := mean[e.Term[1]-'0']
					if all++; e.Low <= truth && truth <= e.High {
						inside++
					}
				}
				eachRow(t, m, table, holdOut(table), func(_ int, p Prediction, y float64, train bool) {
					if train {
						return
					}
					if rows++; math.Abs(p.Value-y) <= 1.96*p.SampleError {
						predicted++
					}
				})
			}
			if share := inside / all; share < 0.86 {
				t.Errorf("%v of %v intervals of effects cover", inside, all)
			}
			if share := predicted / rows; share < 0.93 || share > 0.97 {
				t.Errorf("%v of %v intervals of predictions cover", predicted, rows)
			}
		})
	}
}

// The effect of a column that is constant in every task does not differ between tasks, and its standard error
// is that of a regression of the tasks' means.
func TestColumnOfTasks(t *testing.T) {
	const tasks, rows = 60, 8
	r, table, z := rand.New(rand.NewPCG(8, 8)), newTable(t, "x", "z"), make([]float64, tasks)
	for k := range tasks {
		z[k] = r.NormFloat64()
		level, slope := r.NormFloat64()+0.5*z[k], 1+0.5*r.NormFloat64()
		for range rows {
			x := r.NormFloat64()
			add(t, table, fmt.Sprint(k), level+slope*x+r.NormFloat64(), x, z[k])
		}
	}
	m, _ := fitted(t, table, Options{})
	e, want := m.Effects()[2], math.Sqrt((1+1./rows)/tasks/stat.PopVariance(z, nil))
	if e.Term != "z" || e.Deviation != 0 || math.Abs(e.Estimate-0.5) > 4*want ||
		math.Abs(e.StandardError/want-1) > 0.2 {
		t.Errorf("effect %+v, want about 0.5 with standard error %v", e, want)
	}
}

// Weights that are all alike change nothing, rows of weight 0 count as absent, and a heavy row pulls.
func TestWeights(t *testing.T) {
	theta := func(weight func(i int) float64, drop bool) []float64 {
		r := rand.New(rand.NewPCG(9, 9))
		table := newTable(t, "x")
		for i := range 60 {
			x, e := r.NormFloat64(), r.NormFloat64()
			if w := weight(i); w > 0 || !drop {
				add(t, table, fmt.Sprint("t", i/2%5), float64(i/2%5)+x+e, x)
				table.Weighting = append(table.Weighting, w)
			}
		}
		m, _ := fitted(t, table, Options{NoCurves: true})
		return m.Parameters().Tasks.Theta
	}
	equal := func(v float64) func(int) float64 { return func(int) float64 { return v } }
	odd := func(i int) float64 { return float64(i % 2) }
	plain := theta(equal(1), false)
	for name, c := range map[string]struct {
		a, b []float64
		same bool
	}{
		"weights of 7 and of 1": {theta(equal(7), false), plain, true},
		"rows of weight 0":      {theta(odd, false), theta(odd, true), true},
		"weights that differ":   {theta(func(i int) float64 { return 1 + float64(i%7) }, false), plain, false},
	} {
		check.FailIf(t, floats.EqualApprox(c.a, c.b, 1e-9) != c.same,
			"%s: coefficients %v and %v, want equal ones: %v", name, c.a, c.b, c.same)
	}
}

// No shape of a table is a fault: few rows, many features, single tasks, constant columns.
func TestSmallShapes(t *testing.T) {
	for _, shape := range [][3]int{{1, 1, 1}, {1, 2, 5}, {2, 1, 3}, {3, 2, 8}, {8, 1, 2}, {1, 40, 2}, {4, 3, 30}} {
		t.Run(fmt.Sprint(shape), func(t *testing.T) {
			table := drawing{tasks: shape[0], rows: shape[1], features: shape[2], noise: 1}.table(t, 8)
			m, r := fitted(t, table, Options{})
			y, _, err := m.Predict("t00", table.X(make([]float64, shape[2]), 0))
			if err != nil || math.IsNaN(y) || math.IsNaN(r.Scores[0].Train.RMSE) {
				t.Errorf("prediction %v, RMSE %v, error %v", y, r.Scores[0].Train.RMSE, err)
			}
			seen := map[Candidate]bool{}
			for _, c := range r.Candidates {
				form := Candidate{Rank: c.Rank, Curves: c.Curves}
				check.FailIf(t, seen[form], "the form %+v is compared twice", form)
				seen[form] = true
			}
			for rank := 1; rank < 9; rank++ {
				_, _, err := Fit(context.Background(), Input{Table: table}, Options{Rank: &rank})
				check.FailIf(t, err != nil && !strings.Contains(err.Error(), "the rank is"), "rank %d: %v", rank, err)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	table, zero := drawing{tasks: 3, rows: 4, features: 2, noise: 1}.table(t, 9), newTable(t, "x")
	add(t, zero, "a", 0, 1)
	none, heavy, all := newTable(t, "x"), newTable(t, "x"), make([]bool, 12)
	add(t, heavy, "a", 2, 1)
	add(t, heavy, "a", 3, 2)
	heavy.Weighting = []float64{0, 1e120}
	for i := range all {
		all[i] = true
	}
	rank := func(r int) *int { return &r }
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		ctx   context.Context
		table *Data
		o     Options
		want  string
		held  []bool
	}{
		"no target":        {ended, none, Options{}, "no target column", nil},
		"held out":         {ended, table, Options{}, "3 entries for 12 rows", make([]bool, 3)},
		"no training rows": {ended, table, Options{}, "no training rows", all},
		"workers":          {ended, table, Options{Workers: -2}, "the number of workers is -2", nil},
		"logarithm": {ended, zero, Options{LogTarget: true},
			`row 1 of the table, task "a": the target 0 has no logarithm`, nil},
		"canceled": {ended, table, Options{}, "context canceled", nil},
		"negative rank": {context.Background(), table, Options{Rank: rank(-1)},
			"the rank is -1: it must be from 0 to 2", nil},
		"more than the columns": {context.Background(), oddTable(t, func(_ int, x, e float64) float64 { return x + e }),
			Options{Rank: rank(5)},
			"from 0 to 4, with 6 tasks and 4 columns", nil},
		"weight": {ended, heavy, Options{},
			`row 2 of the table, task "a": the weight is 1e+120: must be 0, or from 1e-100 to 1e+100`, nil},
		"more than the tasks": {context.Background(), table, Options{Rank: rank(3)},
			"the rank is 3: it must be from 0 to 2, with 3 tasks and 3 columns", nil},
	} {
		t.Run(name, func(t *testing.T) {
			m, _, err := Fit(c.ctx, Input{Table: c.table, HeldOut: c.held}, c.o)
			check.FailIf(t, m != nil || err == nil || !strings.Contains(err.Error(), c.want),
				"model %v, error %v: want %q", m != nil, err, c.want)
		})
	}
}

// twoOwners counts one owner as two.
type twoOwners struct{ Local }

func (twoOwners) Owners() int { return 2 }

// A form without curves uses the tasks of the widest form that it is compared with.
func TestFormsAreComparedOnTheSameTasks(t *testing.T) {
	s := statsOf(t, drawing{tasks: 70, rows: 9, features: 6, levels: 1, noise: 1}.table(t, 4), false, 2)
	for wide, want := range map[int]int{s.p: 70, 2000: leastSome} {
		if got := len(s.someTasks(wide).own); got != want {
			t.Errorf("beside %d columns it uses %d of 70 tasks, want %d", wide, got, want)
		}
	}
	s.rows.sums = twoOwners{} // totals of some tasks would disclose the others
	check.FailIf(t, s.someTasks(2000) != s.tasks, "two owners use some of the tasks")
	s.rows.sums = Local{}
	s.some = s.someTasks(2000) // the chosen form then uses all tasks
	c, ctx := s.candidate(0), context.Background()
	start := c.newOptimiser(s.start())
	check.Done(optimiseAll(ctx, start))
	c.keepHigher(&start.best)
	end := check.OK(c.finish(ctx, c.s.tasks))
	if m, _, err := s.evaluate(ctx, end.q); err != nil || math.Abs(m.evidence-end.evidence) > 1e-9 {
		t.Errorf("evidence %v, of all tasks %v (%v)", end.evidence, m.evidence, err)
	}
}
