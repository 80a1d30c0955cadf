package kernel

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// A DataError reports a fault in the data of tasks.
type DataError struct {
	Task, Row int // counted from 0; -1 if the fault concerns all of them
	Why       string
}

func (e *DataError) Error() string {
	switch {
	case e.Task < 0:
		return "kernel: " + e.Why
	case e.Row < 0:
		return fmt.Sprintf("kernel: task %d: %s", e.Task, e.Why)
	}
	return fmt.Sprintf("kernel: task %d, row %d: %s", e.Task, e.Row, e.Why)
}

// NewTasks returns tasks with copies of the samples x[t] and the responses y[t] of every task t. X is
// [][]float64, the rows of a task, or a matrix: mat.Matrix, or a type that implements it. All tasks have the
// same number of features. A task without samples is a nil or empty [][]float64, a nil mat.Matrix, or a nil
// pointer to a matrix.
//
// It returns a *DataError that names the task, and the row, if a shape does not fit or a number is not
// finite.
func NewTasks[X any](x []X, y [][]float64) (*Tasks, error) {
	if len(x) == 0 {
		return nil, &DataError{-1, -1, "there are no tasks"}
	}
	if len(x) != len(y) {
		return nil, &DataError{-1, -1, fmt.Sprintf("samples of %d tasks, but responses of %d", len(x), len(y))}
	}
	list, samples, features := make([]table, len(x)), make([]int, len(x)), 0
	for t := range x {
		var err error
		if list[t], err = tableOf(x[t], t); err != nil {
			return nil, err
		}
		samples[t] = list[t].rows
		if samples[t] != len(y[t]) {
			return nil, &DataError{t, -1, fmt.Sprintf("%d rows, but %d responses", samples[t], len(y[t]))}
		}
		if samples[t] > 0 && features == 0 {
			features = list[t].columns
		}
	}
	if features == 0 {
		return nil, &DataError{-1, -1, "the tasks have no features"}
	}
	b, row := NewBuilder(features, samples, Float64), make([]float64, features)
	for t, m := range list {
		for i := range m.rows {
			if n := m.length(i); n != features {
				return nil, &DataError{t, i, fmt.Sprintf("%d features, but the first row has %d", n, features)}
			}
			m.row(row, i)
			if err := checkRow(t, i, row, y[t][i]); err != nil {
				return nil, err
			}
			b.SetRow(t, i, row, y[t][i])
		}
	}
	return b.Tasks(), nil
}

// checkRow returns a *DataError if a number of a row is not finite.
func checkRow(t, i int, x []float64, y float64) error {
	if math.IsNaN(y) || math.IsInf(y, 0) {
		return &DataError{t, i, fmt.Sprintf("the response is %v", y)}
	}
	for j, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return &DataError{t, i, fmt.Sprintf("feature %d is %v", j, v)}
		}
	}
	return nil
}

// A table is the samples of one task in one of the forms that NewTasks takes.
type table struct {
	rows, columns int // columns is of the first row
	slices        [][]float64
	matrix        mat.Matrix
}

func tableOf(x any, t int) (table, error) {
	switch x := x.(type) {
	case [][]float64:
		if len(x) == 0 {
			return table{}, nil
		}
		return table{rows: len(x), columns: len(x[0]), slices: x}, nil
	case mat.Matrix:
		if isNil(x) {
			return table{}, nil
		}
		rows, columns := x.Dims()
		return table{rows: rows, columns: columns, matrix: x}, nil
	case nil:
		return table{}, nil
	}
	return table{}, &DataError{t, -1, fmt.Sprintf("samples are a %T: must be [][]float64 or a mat.Matrix", x)}
}

// length returns the number of features of row i.
func (k *table) length(i int) int {
	if k.matrix != nil {
		return k.columns
	}
	return len(k.slices[i])
}

// row copies row i, whose length was checked.
func (k *table) row(dst []float64, i int) {
	if k.matrix != nil {
		mat.Row(dst, i, k.matrix)
		return
	}
	copy(dst, k.slices[i])
}

// Weighted returns a copy of t whose samples, task after task, have the weights w. Steps on it minimise
//
//	sum_i w_i (x_i'U b - y_i)^2 + ridge |b|^2
//
// for every task, and Grad and Objective are those of the weighted sums. A weight of 2 counts the sample
// twice. A sample of weight 0 is absent: the copy does not have it, Samples and TotalSamples do not count
// it, and it may hold any numbers. Without a ridge, a common factor of all weights changes no coefficient.
// Weights of samples that have weights already are multiplied.
//
// A row and its response are stored with the root of the weight as a factor, and rounded to the storage. A
// weight that is negative or not finite, and a row that the factor makes infinite, give a *DataError with
// the task and the row.
func (t *Tasks) Weighted(w []float64) (*Tasks, error) {
	if len(w) != t.total {
		return nil, &DataError{-1, -1, fmt.Sprintf("%d weights for %d samples", len(w), t.total)}
	}
	samples, at := make([]int, len(t.rows)), 0
	for task, n := range t.rows {
		for i := range n {
			if !(w[at] >= 0) || math.IsInf(w[at], 1) {
				return nil, &DataError{task, i, fmt.Sprintf("the weight is %v: must be finite and not negative", w[at])}
			}
			if w[at] > 0 {
				samples[task]++
			}
			at++
		}
	}
	b, row := NewBuilder(t.d, samples, t.storage), make([]float64, t.d)
	at = 0
	for task, n := range t.rows {
		to := 0
		for i := range n {
			weight := w[at]
			at++
			if weight == 0 {
				continue
			}
			y := t.Y(task)[i]
			t.Row(row, task, i)
			root, product := math.Sqrt(weight), weight*t.Weight(task, i)
			held := t.storage.holds(row, root) && Float64.holds([]float64{y}, root)
			if !held || math.IsInf(product, 1) || product == 0 {
				return nil, &DataError{task, i, fmt.Sprintf("the weight %g makes a number too large or small", weight)}
			}
			b.set(task, to, row, y, root, product)
			to++
		}
	}
	return b.Tasks(), nil
}

// Weight returns the weight of sample i of a task: 1 unless the sample was given another one.
func (t *Tasks) Weight(task, i int) float64 {
	t.checkIndex(task, i)
	if t.weights == nil {
		return 1
	}
	return t.weights[t.first[task]+i]
}

// CheckFinite returns a *DataError for the first feature or response that is not finite.
func (t *Tasks) CheckFinite() error {
	row := make([]float64, t.d)
	for task := range t.rows {
		for i, y := range t.Y(task) {
			if err := checkRow(task, i, t.Row(row, task, i), y); err != nil {
				return err
			}
		}
	}
	return nil
}
