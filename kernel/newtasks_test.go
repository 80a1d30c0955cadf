package kernel_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// The same tasks from rows, from matrices of every kind and row by row, also without samples.
func TestNewTasks(t *testing.T) {
	rows := [][][]float64{{{1, 2, 3}, {4, 5, 6}}, nil, {{7, 8, 9}}}
	y := [][]float64{{1, -1}, {}, {2}}
	b := kernel.NewBuilder(3, []int{2, 0, 1}, kernel.Float64)
	for task, x := range rows {
		for i, row := range x {
			b.SetRow(task, i, row, y[task][i])
		}
	}
	want := b.Tasks()
	first, last := mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6}), mat.NewDense(1, 3, []float64{7, 8, 9})
	column := mat.NewVecDense(3, []float64{7, 8, 9})
	tasks := map[string]func() (*kernel.Tasks, error){
		"rows":     func() (*kernel.Tasks, error) { return kernel.NewTasks(rows, y) },
		"dense":    func() (*kernel.Tasks, error) { return kernel.NewTasks([]*mat.Dense{first, nil, last}, y) },
		"matrices": func() (*kernel.Tasks, error) { return kernel.NewTasks([]mat.Matrix{first, nil, column.T()}, y) },
		"mixed":    func() (*kernel.Tasks, error) { return kernel.NewTasks([]any{first, nil, rows[2]}, y) },
		"empty": func() (*kernel.Tasks, error) {
			return kernel.NewTasks([]mat.Matrix{first, &mat.Dense{}, last}, y)
		},
		"transposed": func() (*kernel.Tasks, error) {
			return kernel.NewTasks([]mat.Matrix{mat.DenseCopyOf(first.T()).T(), nil, last}, y)
		},
	}
	for name, f := range tasks {
		got, err := f()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		equalTasks(t, name, got, want)
	}
}

// equalTasks checks that two tasks hold the same samples and weights.
func equalTasks(t *testing.T, name string, got, want *kernel.Tasks) {
	t.Helper()
	if got.Len() != want.Len() || got.Features() != want.Features() || got.TotalSamples() != want.TotalSamples() ||
		got.MaxSamples() != want.MaxSamples() || got.Storage() != want.Storage() {
		t.Fatalf("%s: %d tasks of %d features and %d samples, want %d of %d and %d",
			name, got.Len(), got.Features(), got.TotalSamples(), want.Len(), want.Features(), want.TotalSamples())
	}
	a, b := make([]float64, want.Features()), make([]float64, want.Features())
	for task := range want.Len() {
		if !slices.Equal(got.Y(task), want.Y(task)) {
			t.Errorf("%s: responses %v of task %d, want %v", name, got.Y(task), task, want.Y(task))
		}
		for i := range want.Samples(task) {
			if !slices.Equal(got.Row(a, task, i), want.Row(b, task, i)) || got.Weight(task, i) != want.Weight(task, i) {
				t.Errorf("%s: task %d, row %d is %v with weight %v, want %v with %v",
					name, task, i, a, got.Weight(task, i), b, want.Weight(task, i))
			}
		}
	}
}

// Data that do not fit are errors that name the task and the row.
func TestNewTasksErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	good := [][]float64{{1, 2}, {3, 4}}
	tasks, err := kernel.NewTasks([][][]float64{good, good}, [][]float64{{1, 2}, {3, 4}})
	if err != nil {
		t.Fatal(err)
	}
	huge, err := kernel.NewTasks([][][]float64{{{1e200}}}, [][]float64{{1}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		task, row int
		f         func() (*kernel.Tasks, error)
	}{
		"no tasks": {-1, -1, func() (*kernel.Tasks, error) { return kernel.NewTasks[[][]float64](nil, nil) }},
		"responses of fewer tasks": {-1, -1, func() (*kernel.Tasks, error) {
			return kernel.NewTasks([][][]float64{good, good}, [][]float64{{1, 2}})
		}},
		"no features": {-1, -1, func() (*kernel.Tasks, error) {
			return kernel.NewTasks([][][]float64{nil, {}}, [][]float64{nil, {}})
		}},
		"rows without features": {-1, -1, func() (*kernel.Tasks, error) {
			return kernel.NewTasks([][][]float64{{{}}}, [][]float64{{1}})
		}},
		"fewer responses": {1, -1, func() (*kernel.Tasks, error) {
			return kernel.NewTasks([][][]float64{good, good}, [][]float64{{1, 2}, {1}})
		}},
		"a short row": {1, 1, func() (*kernel.Tasks, error) {
			return kernel.NewTasks([][][]float64{good, {{1, 2}, {1}}}, [][]float64{{1, 2}, {1, 2}})
		}},
		"a matrix of other columns": {1, 0, func() (*kernel.Tasks, error) {
			return kernel.NewTasks([]mat.Matrix{mat.NewDense(1, 2, nil), mat.NewDense(1, 3, nil)},
				[][]float64{{1}, {1}})
		}},
		"NaN": {1, 1, func() (*kernel.Tasks, error) {
			return kernel.NewTasks([][][]float64{good, {{1, 2}, {nan, 1}}}, [][]float64{{1, 2}, {1, 2}})
		}},
		"Inf in y": {0, 1, func() (*kernel.Tasks, error) {
			return kernel.NewTasks([][][]float64{good}, [][]float64{{1, inf}})
		}},
		"no matrix": {1, -1, func() (*kernel.Tasks, error) {
			return kernel.NewTasks([]any{good, "text"}, [][]float64{{1, 2}, {1}})
		}},
		"few weights":       {-1, -1, func() (*kernel.Tasks, error) { return tasks.Weighted([]float64{1, 1, 1}) }},
		"a negative weight": {1, 0, func() (*kernel.Tasks, error) { return tasks.Weighted([]float64{1, 1, -1, 1}) }},
		"NaN as weight":     {0, 1, func() (*kernel.Tasks, error) { return tasks.Weighted([]float64{1, nan, 1, 1}) }},
		"Inf as weight":     {1, 1, func() (*kernel.Tasks, error) { return tasks.Weighted([]float64{1, 1, 1, inf}) }},
		"an overflow":       {0, 0, func() (*kernel.Tasks, error) { return huge.Weighted([]float64{1e300}) }},
	} {
		got, err := c.f()
		var fault *kernel.DataError
		if got != nil || !errors.As(err, &fault) || fault.Task != c.task || fault.Row != c.row {
			t.Errorf("%s: %v, want an error at task %d, row %d", name, err, c.task, c.row)
		}
	}
}

// A weight of k is the sample k times, and a weight of 0 the sample absent, for tasks of every size and both
// storages. Multiplied weights give the same coefficients.
func TestWeighted(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	for _, c := range []struct{ d, r, tasks, n int }{
		{5, 2, 1, 9}, {13, 3, 40, 12}, {9, 2, 20, 30}, {40, 4, 7, 25}, {4100, 3, 1, 140},
	} {
		for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
			counts := []int{0, 1, 4} // whose roots times float32 numbers are float32 numbers
			if storage == kernel.Float64 {
				counts = []int{0, 1, 2, 3}
			}
			plain := kernel.NewBuilder(c.d, slices.Repeat([]int{c.n}, c.tasks), storage)
			repeated := kernel.NewBuilder(c.d, make([]int, c.tasks), storage)
			var w []float64
			row := make([]float64, c.d)
			for task := range c.tasks {
				for i := range c.n {
					for j := range row {
						row[j] = float64(float32(rng.NormFloat64()))
					}
					y, k := rng.NormFloat64(), counts[rng.IntN(len(counts))]
					at := repeated.Extend(task, k)
					for l := range k {
						repeated.SetRow(task, at+l, row, y)
					}
					if k == 0 {
						row[0] = math.NaN() // nobody reads it
					}
					plain.SetRow(task, i, row, y)
					w = append(w, float64(k))
				}
			}
			data, want, u := plain.Tasks(), kernel.NewGroup(repeated.Tasks(), c.r), randomBasis(rng, c.d, c.r)
			for _, ridge := range []float64{0, 2} {
				want.Step(u, ridge, nil)
				checkWeighted(t, data, w, u, ridge, want, 1)
			}
			want.Step(u, 0, nil)
			for _, factor := range []float64{16, 0x1p-80, 3.7} {
				if storage == kernel.Float64 || factor != 3.7 {
					checkWeighted(t, data, floats.ScaleTo(make([]float64, len(w)), factor, w), u, 0, want, factor)
				}
			}
		}
	}
}

// checkWeighted compares a step on weighted tasks with a group: the same coefficients, and the gradient and
// the objective times a factor. Tasks that lose all samples count as the group's.
func checkWeighted(
	t *testing.T, data *kernel.Tasks, w []float64, u *kernel.Basis, ridge float64, want *kernel.Group, factor float64,
) {
	t.Helper()
	tasks, err := data.Weighted(w)
	if err != nil {
		t.Fatal(err)
	}
	present := 0
	for _, v := range w {
		if v > 0 {
			present++
		}
	}
	if tasks.TotalSamples() != present {
		t.Errorf("%d samples, want %d", tasks.TotalSamples(), present)
	}
	_, r := u.Dims()
	got := kernel.NewGroup(tasks, r)
	got.Step(u, ridge, nil)
	near := func(what string, got, want []float64, factor float64) {
		t.Helper()
		scaled := floats.ScaleTo(make([]float64, len(want)), factor, want)
		e, size := floats.Distance(got, scaled, 2), floats.Norm(scaled, 2)
		if !(e <= 1e-11*size) {
			t.Errorf("%s off by %g of %g, factor %g, ridge %g", what, e, size, factor, ridge)
		}
	}
	near("coefficients", got.B, want.B, 1)
	near("gradient", got.Grad.Data(), want.Grad.Data(), factor)
	near("objective", []float64{got.Objective}, []float64{want.Objective}, factor)
}

// Weights of weighted tasks are multiplied, and compressed tasks are those of the weighted problem.
func TestWeightedTwice(t *testing.T) {
	rng := rand.New(rand.NewPCG(73, 74))
	const d, r = 5, 2
	data, _, _ := randomTasks(rng, d, []int{20, 0, 30, 4}, kernel.Float64)
	u, w, v, product := randomBasis(rng, d, r), make([]float64, 54), make([]float64, 54), make([]float64, 54)
	for i := range w {
		w[i], v[i] = 2*rng.Float64(), 2*rng.Float64()
		product[i] = w[i] * v[i]
	}
	once, err := data.Weighted(w)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := once.Weighted(v)
	if err != nil {
		t.Fatal(err)
	}
	if twice.Weight(2, 7) != product[27] || data.Weight(2, 7) != 1 {
		t.Errorf("weight %v, want %v; before %v", twice.Weight(2, 7), product[27], data.Weight(2, 7))
	}
	want := kernel.NewGroup(twice, r)
	want.Step(u, 0.5, nil)
	checkWeighted(t, data, product, u, 0.5, want, 1)
	compressed := kernel.NewGroup(twice.Compressed(), r)
	compressed.Step(u, 0.5, nil)
	if !(floats.Distance(compressed.B, want.B, 2) <= 1e-12*floats.Norm(want.B, 2)) {
		t.Errorf("compressed %v, want %v", compressed.B, want.B)
	}
}

// Random sequences of the calls of a Builder, compared with lists of rows; Tasks that it starts from stay as
// they are.
func TestBuilderEdits(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(75, seed))
		storage, d := kernel.Storage(seed%2), 1+rng.IntN(20)
		m := &edits{t: t, rng: rng, d: d, builder: kernel.NewBuilder(d, []int{2, 0, 3}, storage)}
		for _, n := range []int{2, 0, 3} {
			m.tasks = append(m.tasks, m.zeros(n))
		}
		var before *kernel.Tasks
		var then [][]weighted
		for range 4 {
			for range rng.IntN(12) {
				m.change()
			}
			got := m.builder.Tasks()
			m.check(got, m.tasks)
			if before != nil {
				m.check(before, then)
			}
			for task := range m.tasks { // those of weight 0 are gone
				m.tasks[task] = slices.DeleteFunc(m.tasks[task], func(row weighted) bool { return row.w == 0 })
			}
			before, then = got, nil
			for _, rows := range m.tasks {
				then = append(then, slices.Clone(rows))
			}
			m.builder = got.Edit()
		}
	}
}

// edits is a Builder, and beside it the rows that its tasks should have.
type edits struct {
	t       *testing.T
	rng     *rand.Rand
	d       int
	builder *kernel.Builder
	tasks   [][]weighted
}

// A weighted row of integers, which both storages hold.
type weighted struct {
	x    []float64
	y, w float64
}

func (m *edits) zeros(n int) (rows []weighted) {
	for range n {
		rows = append(rows, weighted{make([]float64, m.d), 0, 1})
	}
	return rows
}

// change makes one random call.
func (m *edits) change() {
	task, n := -1, m.rng.IntN(4)
	if len(m.tasks) > 0 {
		task = m.rng.IntN(len(m.tasks))
	}
	switch call := m.rng.IntN(8); {
	case call == 0 || task < 0:
		if at := m.builder.Append(n); at != len(m.tasks) {
			m.t.Errorf("Append returns %d, want %d", at, len(m.tasks))
		}
		m.tasks = append(m.tasks, m.zeros(n))
	case call == 1:
		if at := m.builder.Extend(task, n); at != len(m.tasks[task]) {
			m.t.Errorf("Extend returns %d, want %d", at, len(m.tasks[task]))
		}
		m.tasks[task] = append(slices.Clip(m.tasks[task]), m.zeros(n)...)
	case call == 2:
		m.builder.Replace(task, n)
		m.tasks[task] = m.zeros(n)
	case call == 3:
		m.builder.Drop(task)
		m.tasks = slices.Delete(m.tasks, task, task+1)
	case len(m.tasks[task]) > 0:
		i := m.rng.IntN(len(m.tasks[task]))
		row := weighted{make([]float64, m.d), float64(m.rng.IntN(9)), 1}
		for j := range row.x {
			row.x[j] = float64(m.rng.IntN(9) - 4)
		}
		if call < 6 {
			m.builder.SetRow(task, i, row.x, row.y)
		} else {
			row.w = []float64{0, 1, 4}[m.rng.IntN(3)]
			m.builder.SetWeightedRow(task, i, row.x, row.y, row.w)
		}
		m.tasks[task][i] = row
	}
}

// check compares tasks with the rows that have a weight.
func (m *edits) check(got *kernel.Tasks, rows [][]weighted) {
	m.t.Helper()
	if got.Len() != len(rows) {
		m.t.Fatalf("%d tasks, want %d", got.Len(), len(rows))
	}
	x, total := make([]float64, m.d), 0
	for task, list := range rows {
		at := 0
		for _, row := range list {
			if row.w == 0 {
				continue
			}
			root, y, w := math.Sqrt(row.w), got.Y(task)[at], got.Weight(task, at)
			want := floats.ScaleTo(make([]float64, m.d), root, row.x)
			if !slices.Equal(got.Row(x, task, at), want) || y != root*row.y || w != row.w {
				m.t.Fatalf("task %d, row %d is %v, %v of weight %v, want %v", task, at, x, y, w, row)
			}
			at++
		}
		if total += at; got.Samples(task) != at {
			m.t.Fatalf("task %d has %d rows, want %d", task, got.Samples(task), at)
		}
	}
	if got.TotalSamples() != total {
		m.t.Fatalf("%d samples, want %d", got.TotalSamples(), total)
	}
}
