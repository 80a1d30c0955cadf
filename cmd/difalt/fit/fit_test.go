package fit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/model"
	"gonum.org/v1/gonum/mat"
)

func fitted(t *testing.T, table *dataset.Table, c Config) (*model.Model, *Report) {
	t.Helper()
	m, r, err := Fit(context.Background(), table, c)
	if err != nil {
		t.Fatal(err)
	}
	return m, r
}

func chosenOf(r *Report) (c Candidate) {
	for _, c := range r.Candidates {
		if c.Chosen {
			return c
		}
	}
	return c
}

// Fit finds the form that a table was drawn from, and predicts with little more than the noise.
func TestFitFindsTheForm(t *testing.T) {
	flat := []float64{1, -0.5, 0.7, 0.2, 0}
	for name, c := range map[string]struct {
		d      drawing
		rank   int
		curves bool
		most   float64 // held-out RMSE over the noise
	}{
		"alike":      {drawing{tasks: 20, rows: 24, features: 5, mean: flat, noise: 1}, 0, false, 1.08},
		"levels":     {drawing{tasks: 30, rows: 24, features: 5, mean: flat, levels: 2, noise: 1}, 0, false, 1.08},
		"slopes":     {drawing{tasks: 30, rows: 40, features: 5, mean: flat, slopes: 1, noise: 1}, 0, false, 1.15},
		"directions": {drawing{tasks: 60, rows: 16, features: 10, rank: 2, length: 2, noise: 1}, 2, false, 1.3},
		"curve":      {drawing{tasks: 30, rows: 24, features: 2, levels: 1, noise: 0.5, curve: func(x float64) float64 { return x * x }}, 0, true, 1.2},
	} {
		t.Run(name, func(t *testing.T) {
			table := c.d.table(t, 4)
			m, r := fitted(t, table, Config{Train: holdOut(table)})
			chosen := chosenOf(r)
			if chosen.Rank != c.rank || chosen.Curves != c.curves || !r.Converged {
				t.Errorf("chosen %+v, converged %v: want rank %d, curves %v", chosen, r.Converged, c.rank, c.curves)
			}
			if rmse := r.Scores[0].Test.RMSE; rmse > c.most*c.d.noise || rmse < 0.85*c.d.noise {
				t.Errorf("held-out RMSE %v with noise %v", rmse, c.d.noise)
			}
			if noise := m.Noise(); math.Abs(noise/c.d.noise-1) > 0.1 {
				t.Errorf("noise %v, want %v", noise, c.d.noise)
			}
		})
	}
}

// Curves win by what they explain, not by a climb that comes farther: without noise the evidence has many
// tops and long ridges. The form without curves has its best rank among those that were tried with curves.
func TestNoCurvesByABetterClimb(t *testing.T) {
	for seed := range uint64(2) {
		for _, noise := range []float64{0, 1e-6} {
			table := drawing{tasks: 40, rows: 24, features: 5, rank: 1, length: 2, noise: noise}.table(t, seed)
			_, r := fitted(t, table, Config{Train: holdOut(table)})
			ranks := map[bool]int{}
			for _, c := range r.Candidates {
				ranks[c.Curves] = max(ranks[c.Curves], c.Rank)
			}
			if chosen := chosenOf(r); chosen.Curves || !r.Converged || ranks[false] < ranks[true] {
				t.Errorf("seed %d, noise %v: chosen %+v of ranks up to %v, converged %v", seed, noise, chosen, ranks, r.Converged)
			}
		}
	}
}

// Neither the number of workers nor the way to read a task changes a bit.
func TestWorkersDoNotChangeBits(t *testing.T) {
	table := drawing{tasks: 70, rows: 9, features: 6, levels: 1, rank: 1, length: 1, noise: 1, uneven: 3}.table(t, 4)
	one, first := fitted(t, table, Config{Workers: 1})
	three, second := fitted(t, table, Config{Workers: 3})
	a, b := one.Parameters(), three.Parameters()
	a.Tasks.Covariance, b.Tasks.Covariance = nil, nil
	if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(first.Candidates, second.Candidates) {
		t.Error("one worker and three give different models")
	}
}

// The errors that the report gives are those of the model's own predictions.
func TestScoresAreThoseOfPredictions(t *testing.T) {
	table := drawing{tasks: 12, rows: 12, features: 3, levels: 1, noise: 1}.table(t, 5)
	train := holdOut(table)
	m, r := fitted(t, table, Config{Train: train})
	var sums [2]float64
	var n [2]int
	x := make([]float64, 3)
	for i := range table.Rows() {
		y, _, err := m.Predict(table.Tasks()[table.Task(i)], table.X(x, i))
		if err != nil {
			t.Fatal(err)
		}
		set := 0
		if !train[i] {
			set = 1
		}
		sums[set] += (y - table.Y(i)) * (y - table.Y(i))
		n[set]++
	}
	for set, e := range []Errors{r.Scores[0].Train, r.Scores[0].Test} {
		if want := math.Sqrt(sums[set] / float64(n[set])); e.Rows != n[set] || math.Abs(e.RMSE-want) > 1e-9*want {
			t.Errorf("set %d: %d rows with RMSE %v, want %d with %v", set, e.Rows, e.RMSE, n[set], want)
		}
	}
	rows, squares := 0, 0.0
	for score := range r.Tasks() {
		if len(score.Test) != len(r.Scores) {
			t.Fatalf("task %q has %d errors, want %d", score.Task, len(score.Test), len(r.Scores))
		}
		rows += score.Test[0].Rows
		squares += score.Test[0].RMSE * score.Test[0].RMSE * float64(score.Test[0].Rows)
	}
	if rows != n[1] || math.Abs(squares-sums[1]) > 1e-9*squares {
		t.Errorf("tasks have %d held-out rows and %v squares, want %d and %v", rows, squares, n[1], sums[1])
	}
}

// The pooled baseline is ridge regression with its ridge, solved from the normal equations.
func TestPooledIsRidgeRegression(t *testing.T) {
	table := drawing{tasks: 10, rows: 12, features: 3, mean: []float64{1, 0.3, 0}, noise: 1}.table(t, 6)
	_, r := fitted(t, table, Config{})
	s := statsOf(t, table, false, 1)
	var pooled Score
	for _, score := range r.Scores {
		if score.Method == Pooled {
			pooled = score
		}
	}
	n := table.Rows()
	x, y, row := make([]float64, n*s.p), make([]float64, n), make([]float64, 3)
	s.rows.fill(x, y, row, s.design, s.rows.order)
	design := mat.NewDense(n, s.p, x)
	var gram mat.Dense
	gram.Mul(design.T(), design)
	for j := 1; j < s.p; j++ {
		gram.Set(j, j, gram.At(j, j)+pooled.Ridge)
	}
	var right, beta, fit mat.VecDense
	right.MulVec(design.T(), mat.NewVecDense(n, y))
	if err := beta.SolveVec(&gram, &right); err != nil {
		t.Fatal(err)
	}
	fit.MulVec(design, &beta)
	fit.SubVec(mat.NewVecDense(n, y), &fit)
	if want := mat.Norm(&fit, 2) / math.Sqrt(float64(n)) * s.rows.target.Scale; math.Abs(pooled.Train.RMSE-want) > 1e-4*want {
		t.Errorf("RMSE %v, want %v", pooled.Train.RMSE, want)
	}
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
			inside, all, predicted, rows := 0, 0, 0, 0
			x := make([]float64, 4)
			for seed := range uint64(16) {
				table := d.table(t, 100+seed)
				train := holdOut(table)
				m, _ := fitted(t, table, Config{Train: train})
				for _, e := range m.Effects() {
					if e.Kind != model.Slope {
						continue
					}
					truth := mean[e.Term[1]-'0']
					if all++; e.Low <= truth && truth <= e.High {
						inside++
					}
				}
				for i := range table.Rows() {
					if train[i] {
						continue
					}
					p, err := m.PredictError(table.Tasks()[table.Task(i)], table.X(x, i))
					if err != nil {
						t.Fatal(err)
					}
					if rows++; math.Abs(p.Value-table.Y(i)) <= 1.96*p.SampleError {
						predicted++
					}
				}
			}
			if share := float64(inside) / float64(all); share < 0.86 {
				t.Errorf("%d of %d intervals of effects cover", inside, all)
			}
			if share := float64(predicted) / float64(rows); share < 0.93 || share > 0.97 {
				t.Errorf("%d of %d intervals of predictions cover", predicted, rows)
			}
		})
	}
}

// Weights that are all alike change nothing, rows of weight 0 count as absent, and a heavy row pulls.
func TestWeights(t *testing.T) {
	read := func(weight func(i int) float64, rows func(i int) bool) *dataset.Table {
		r := rand.New(rand.NewPCG(9, 9))
		var b strings.Builder
		b.WriteString("task,x,w,y\n")
		for i := range 60 {
			x, e := r.NormFloat64(), r.NormFloat64()
			if rows(i) {
				fmt.Fprintf(&b, "t%d,%v,%v,%v\n", i/2%5, x, weight(i), float64(i/2%5)+x+e)
			}
		}
		table, err := dataset.ReadCSV(strings.NewReader(b.String()), dataset.TableOptions{Task: "task", Target: "y", Weight: "w"})
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	all := func(int) bool { return true }
	theta := func(table *dataset.Table) []float64 {
		m, _ := fitted(t, table, Config{NoCurves: true})
		return m.Parameters().Tasks.Theta
	}
	same := func(a, b []float64) bool {
		for i := range a {
			if math.Abs(a[i]-b[i]) > 1e-9 {
				return false
			}
		}
		return true
	}
	plain := theta(read(func(int) float64 { return 1 }, all))
	if !same(plain, theta(read(func(int) float64 { return 7 }, all))) {
		t.Error("weights of 7 differ from weights of 1")
	}
	odd := func(i int) float64 { return float64(i % 2) }
	if !same(theta(read(odd, all)), theta(read(odd, func(i int) bool { return i%2 == 1 }))) {
		t.Error("rows of weight 0 differ from absent rows")
	}
	if same(plain, theta(read(func(i int) float64 { return 1 + float64(i%7) }, all))) {
		t.Error("weights change nothing")
	}
}

// No shape of a table is a fault: few rows, many features, single tasks, constant columns.
func TestSmallShapes(t *testing.T) {
	for _, shape := range [][3]int{{1, 1, 1}, {1, 2, 5}, {2, 1, 3}, {3, 2, 8}, {8, 1, 2}, {1, 40, 2}, {4, 3, 30}} {
		t.Run(fmt.Sprint(shape), func(t *testing.T) {
			table := drawing{tasks: shape[0], rows: shape[1], features: shape[2], noise: 1}.table(t, 8)
			m, r := fitted(t, table, Config{})
			y, _, err := m.Predict("t00", table.X(make([]float64, shape[2]), 0))
			if err != nil || math.IsNaN(y) || math.IsNaN(r.Scores[0].Train.RMSE) {
				t.Errorf("prediction %v, RMSE %v, error %v", y, r.Scores[0].Train.RMSE, err)
			}
			for rank := 1; rank < 9; rank++ {
				if _, _, err := Fit(context.Background(), table, Config{Rank: &rank}); err != nil && !strings.Contains(err.Error(), "the rank is") {
					t.Errorf("rank %d: %v", rank, err)
				}
			}
		})
	}
}

func TestErrors(t *testing.T) {
	table := drawing{tasks: 3, rows: 4, features: 2, noise: 1}.table(t, 9)
	none, err := dataset.NewTable([]string{"x"}, false)
	if err != nil {
		t.Fatal(err)
	}
	rank := func(r int) *int { return &r }
	for name, c := range map[string]struct {
		table *dataset.Table
		c     Config
		want  string
	}{
		"no target":           {none, Config{}, "no target column"},
		"train":               {table, Config{Train: make([]bool, 3)}, "3 entries for 12 rows"},
		"no training rows":    {table, Config{Train: make([]bool, 12)}, "no training rows"},
		"negative rank":       {table, Config{Rank: rank(-1)}, "the rank is -1"},
		"more than the tasks": {table, Config{Rank: rank(3)}, "the rank is 3: at most 2 is possible with 3 tasks"},
		"workers":             {table, Config{Workers: -2}, "the number of workers is -2"},
		"logarithm":           {negative(t), Config{LogTarget: true}, `row 1 of the table, task "a": the target -1 has no logarithm`},
	} {
		t.Run(name, func(t *testing.T) {
			m, _, err := Fit(context.Background(), c.table, c.c)
			if m != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("model %v, error %v: want %q", m != nil, err, c.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if m, _, err := Fit(ctx, table, Config{}); m != nil || err != context.Canceled {
		t.Errorf("after the end of the context: model %v, error %v", m != nil, err)
	}
}

func negative(t *testing.T) *dataset.Table {
	table, err := dataset.NewTable([]string{"x"}, true)
	if err == nil {
		err = table.Append("a", []float64{1}, -1)
	}
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// A form without curves climbs on the tasks of the widest form that it is compared with.
func TestFormsAreComparedOnTheSameTasks(t *testing.T) {
	s := statsOf(t, drawing{tasks: 70, rows: 9, features: 6, levels: 1, noise: 1}.table(t, 4), false, 2)
	if n := len(s.climbTasks()); n != 70 {
		t.Errorf("alone it climbs on %d of 70 tasks", n)
	}
	s.wide = 2000
	if n := len(s.climbTasks()); n != climbTasks {
		t.Errorf("beside 2000 columns it climbs on %d tasks, want %d", n, climbTasks)
	}
}
