package difalt_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// A table is tasks as rows, with the truth y = intercept_t + x'theta_t behind the responses.
type table struct {
	x          [][][]float64
	y          [][]float64
	theta      [][]float64
	intercepts []float64
}

// newTable draws tasks whose effects are combinations of r directions. Features have offsets and units.
func newTable(rng *rand.Rand, tasks, n, d, r int) *table {
	k := &table{}
	u := make([][]float64, r)
	for j := range u {
		u[j] = gaussian(rng, d)
	}
	k.add(rng, u, tasks, n)
	return k
}

// add draws more tasks with effects along the directions u.
func (k *table) add(rng *rand.Rand, u [][]float64, tasks, n int) {
	d := len(u[0])
	for range tasks {
		theta := make([]float64, d)
		for _, direction := range u {
			floats.AddScaled(theta, rng.NormFloat64(), direction)
		}
		intercept := 10 * rng.NormFloat64()
		var rows [][]float64
		var y []float64
		for range n {
			x := gaussian(rng, d)
			for j := range x {
				x[j] = (x[j] + 3) * math.Ldexp(1, j%7-3)
			}
			rows, y = append(rows, x), append(y, intercept+floats.Dot(x, theta))
		}
		k.x, k.y = append(k.x, rows), append(k.y, y)
		k.theta, k.intercepts = append(k.theta, theta), append(k.intercepts, intercept)
	}
}

func gaussian(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

func (k *table) tasks(t testing.TB) *kernel.Tasks {
	t.Helper()
	tasks, err := kernel.NewTasks(k.x, k.y)
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}

// scaled returns the table with features times fx, in turn, and responses times fy.
func (k *table) scaled(fx []float64, fy float64) *table {
	s := &table{theta: k.theta, intercepts: k.intercepts}
	for t, rows := range k.x {
		var list [][]float64
		for _, x := range rows {
			z := slices.Clone(x)
			for j := range z {
				z[j] *= fx[j%len(fx)]
			}
			list = append(list, z)
		}
		s.x, s.y = append(s.x, list), append(s.y, floats.ScaleTo(make([]float64, len(k.y[t])), fy, k.y[t]))
	}
	return s
}

// fitted fits a model that must converge.
func fitted(t testing.TB, tasks *kernel.Tasks, o difalt.Options) *difalt.Model {
	t.Helper()
	m, err := o.Fit(t.Context(), tasks)
	if err != nil {
		t.Fatal(err)
	}
	if m.Status != difalt.Converged {
		t.Fatalf("%v after %d iterations", m.Status, m.Iterations)
	}
	return m
}

// checkTruth checks that a model predicts new rows of every task, times a unit.
func checkTruth(t *testing.T, name string, m *difalt.Model, k *table, fx []float64, fy float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(111, 112))
	for task, theta := range k.theta {
		x := gaussian(rng, len(theta))
		want := fy * (k.intercepts[task] + floats.Dot(x, theta))
		for j := range x {
			x[j] *= fx[j%len(fx)]
		}
		got := m.Predict(nil, task, x)
		if len(got) != 1 || !(math.Abs(got[0]-want) <= 1e-7*fy*(math.Abs(k.intercepts[task])+floats.Norm(theta, 2))) {
			t.Fatalf("%s, task %d: predicts %v, want %g", name, task, got, want)
		}
	}
}

// A noiseless model predicts new rows, whatever the units, offsets and sizes of features and responses:
// prices of 2e7, and numbers whose squares are beyond float64.
func TestFit(t *testing.T) {
	rng := rand.New(rand.NewPCG(101, 102))
	k := newTable(rng, 30, 14, 20, 3)
	first := fitted(t, k.tasks(t), difalt.Options{Rank: 3})
	for _, c := range []struct {
		name string
		fx   []float64
		fy   float64
	}{
		{"as they are", []float64{1}, 1},
		{"prices", []float64{1}, 2e7}, {"large responses", []float64{1}, 1e12},
		{"small responses", []float64{1}, 1e-30},
		{"responses of 1e200", []float64{1}, 1e200}, {"responses of 1e-200", []float64{1}, 1e-200},
		{"units", []float64{1, 1e3, 1e-6, 1e10}, 1}, {"features of 1e12", []float64{1e12}, 5e-3},
		{"huge and tiny features", []float64{1e180, 1, 1e-180}, 1e-3},
	} {
		m := fitted(t, k.scaled(c.fx, c.fy).tasks(t), difalt.Options{Rank: 3})
		checkTruth(t, c.name, m, k, c.fx, c.fy)
		if float64(m.Iterations) > 1.3*float64(first.Iterations)+3 {
			t.Errorf("%s: %d iterations, as they are %d", c.name, m.Iterations, first.Iterations)
		}
	}
	// Constant features, and tasks without samples or with one, disturb nothing.
	constant := k.scaled([]float64{1}, 1)
	for task, rows := range constant.x {
		for i := range rows {
			rows[i] = append(rows[i], 7, 0)
		}
		constant.theta[task] = append(slices.Clone(constant.theta[task]), 0, 0)
	}
	constant.x, constant.y = append(constant.x, nil, constant.x[0][:1]), append(constant.y, nil, constant.y[0][:1])
	m := fitted(t, constant.tasks(t), difalt.Options{Rank: 3})
	for task := range 30 {
		row := append(gaussian(rng, 20), 7, 0)
		want := k.intercepts[task] + floats.Dot(row, constant.theta[task])
		if got := m.Predict(nil, task, row)[0]; !(math.Abs(got-want) <= 1e-6) {
			t.Errorf("with constant features task %d predicts %g, want %g", task, got, want)
		}
	}
	if got := m.Predict(nil, 30, constant.x[0][0]); got[0] != 0 {
		t.Errorf("a task without samples predicts %v", got)
	}
	if got := m.Predict(nil, 31, constant.x[0][0])[0]; !(math.Abs(got-constant.y[0][0]) <= 1e-9) {
		t.Errorf("a task of one sample predicts %v there, want %v", got, constant.y[0][0])
	}
}

// The bits do not depend on the number of workers, and every method of one node comes to the same model.
func TestFitOptions(t *testing.T) {
	k := newTable(rand.New(rand.NewPCG(103, 104)), 30, 30, 10, 2)
	row := k.x[4][1]
	want := fitted(t, k.tasks(t), difalt.Options{Rank: 2, Workers: 1})
	for _, o := range []difalt.Options{{Rank: 2, Workers: 3}, {Rank: 2, Method: difalt.Accelerated}} {
		m := fitted(t, k.tasks(t), o)
		if !slices.Equal(m.B, want.B) || !slices.Equal(m.U.Data(), want.U.Data()) ||
			!slices.Equal(m.Intercepts, want.Intercepts) {
			t.Errorf("%+v: other bits", o)
		}
	}
	m := fitted(t, k.tasks(t), difalt.Options{Rank: 2, Method: difalt.AltGDmin, Iterations: 5000})
	a, b := m.Predict(nil, 4, row)[0], want.Predict(nil, 4, row)[0]
	if !(math.Abs(a-b) <= 1e-6*math.Abs(b)) || m.Iterations <= want.Iterations {
		t.Errorf("AltGDmin predicts %g after %d iterations, Accelerated %g after %d", a, m.Iterations, b,
			want.Iterations)
	}
}

// Weights count samples, and a common factor of any size changes nothing, with a ridge that has it too.
func TestFitWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(105, 106))
	k := newTable(rng, 20, 16, 8, 2)
	repeated := &table{}
	var w []float64
	for task, rows := range k.x {
		repeated.x, repeated.y = append(repeated.x, nil), append(repeated.y, nil)
		for i, x := range rows {
			k.y[task][i] += 0.1 * rng.NormFloat64()
			times := rng.IntN(3)
			for range times {
				repeated.x[task] = append(repeated.x[task], x)
				repeated.y[task] = append(repeated.y[task], k.y[task][i])
			}
			w = append(w, float64(times))
		}
	}
	predict := func(m *difalt.Model) (list []float64) {
		for task := range k.x {
			list = m.Predict(list, task, k.x[task]...)
		}
		return list
	}
	near := func(what string, got, want []float64, tolerance float64) {
		t.Helper()
		if e := floats.Distance(got, want, 2); !(e <= tolerance*floats.Norm(want, 2)) {
			t.Errorf("%s: predictions differ by %g of %g", what, e, floats.Norm(want, 2))
		}
	}
	for _, ridge := range []float64{0, 1} {
		want := predict(fitted(t, repeated.tasks(t), difalt.Options{Rank: 2, Ridge: ridge}))
		tolerance := 1e-7
		if ridge > 0 {
			tolerance = 1e-3 // the deviations of repeated samples are others
		}
		for _, factor := range []float64{1, 1e-12, 1e12, 1e-200, 3} {
			tasks, err := k.tasks(t).Weighted(floats.ScaleTo(make([]float64, len(w)), factor, w))
			if err != nil {
				t.Fatal(err)
			}
			o := difalt.Options{Rank: 2, Ridge: ridge * factor}
			m := fitted(t, tasks, o)
			near("weights", predict(m), want, tolerance)
			if m.Ridge != o.Ridge {
				t.Errorf("ridge %g, want %g", m.Ridge, o.Ridge)
			}
			if factor == 1 {
				want, tolerance = predict(m), 1e-7
			}
		}
	}
}

// TestExtremeWeights: weights that are nearly the largest number, or denormal, count as other ones: for Fit,
// and for Adapt.
func TestExtremeWeights(t *testing.T) {
	k := newTable(rand.New(rand.NewPCG(153, 154)), 20, 16, 8, 2)
	m := fitted(t, k.tasks(t), difalt.Options{Rank: 2})
	predict := func(m *difalt.Model) (list []float64) {
		for task := range k.x {
			list = m.Predict(list, task, k.x[task]...)
		}
		return list
	}
	want := predict(m)
	for _, weight := range []float64{0x1p-1074, 0x1p-1060, 0x1p-1000, 0x1p1000, 0x1p1022} {
		tasks, err := k.tasks(t).Weighted(slices.Repeat([]float64{weight}, k.tasks(t).TotalSamples()))
		if err != nil {
			t.Fatal(err)
		}
		adapted, err := m.Adapt(t.Context(), tasks)
		if err != nil {
			t.Errorf("weights %g: %v", weight, err)
			continue
		}
		for _, other := range []*difalt.Model{fitted(t, tasks, difalt.Options{Rank: 2}), adapted} {
			if got := predict(other); !(floats.Distance(got, want, 2) <= 1e-7*floats.Norm(want, 2)) {
				t.Errorf("weights %g: predictions differ by %g", weight, floats.Distance(got, want, 2))
			}
		}
	}
}

// A result is what Fit returns.
type result struct {
	model *difalt.Model
	err   error
}

// Mistakes are errors that name the option, or the task and the row.
func TestFitErrors(t *testing.T) {
	fit := func(ctx context.Context, tasks *kernel.Tasks, rank int) result {
		m, err := difalt.Fit(ctx, tasks, rank)
		return result{m, err}
	}
	k := newTable(rand.New(rand.NewPCG(107, 108)), 5, 6, 4, 2)
	tasks := k.tasks(t)
	var none context.Context
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	bad := kernel.NewBuilder(2, []int{3, 3, 3}, kernel.Float64)
	bad.SetRow(1, 2, []float64{1, math.NaN()}, 0)
	for text, f := range map[string]func() result{
		"need a context":                            func() result { return fit(none, tasks, 2) },
		"need tasks":                                func() result { return fit(t.Context(), nil, 2) },
		"Rank is 0: must be at least 1":             func() result { return fit(t.Context(), tasks, 0) },
		"Rank is 5: must be at most the 4 features": func() result { return fit(t.Context(), tasks, 5) },
		"Rank is 4: must be at most the 3 tasks": func() result {
			return fit(t.Context(), newTable(rand.New(rand.NewPCG(1, 2)), 3, 6, 4, 2).tasks(t), 4)
		},
		"Ridge is -1: must be from 0": func() result {
			m, err := difalt.Options{Rank: 2, Ridge: -1}.Fit(t.Context(), tasks)
			return result{m, err}
		},
		"task 1, row 2: feature 1 is NaN": func() result { return fit(t.Context(), bad.Tasks(), 1) },
		context.Canceled.Error():          func() result { return fit(ended, tasks, 2) },
		"the tasks have no samples": func() result {
			return fit(t.Context(), kernel.NewBuilder(3, []int{0, 0}, kernel.Float64).Tasks(), 1)
		},
		"in the units of the data the model is not finite: divide features by their size": func() result {
			k := newTable(rand.New(rand.NewPCG(107, 108)), 5, 6, 4, 2)
			for _, x := range k.x {
				for _, row := range x {
					floats.Scale(1e-310, row)
				}
			}
			return fit(t.Context(), k.tasks(t), 2)
		},
		"the initialisation estimates sigma_max^2 = 0: are all re": func() result {
			return fit(t.Context(), tasks.WithResponses(make([]float64, 30)), 1)
		},
	} {
		got := f()
		m, err := got.model, got.err
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(text)) || m != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	var parameter *difalt.ParameterError
	if _, err := difalt.Fit(t.Context(), tasks, 9); !errors.As(err, &parameter) || parameter.Name != "Rank" {
		t.Errorf("%v is no *ParameterError of Rank", err)
	}
	var data *kernel.DataError
	infinite := kernel.View(make([]float64, 8), 8, 2, []int{0, 1}, []float64{math.Inf(1)})
	if _, err := difalt.Fit(t.Context(), infinite, 1); !errors.As(err, &data) || data.Task != 0 || data.Row != 0 {
		t.Errorf("%v is no *kernel.DataError", err)
	}
}
