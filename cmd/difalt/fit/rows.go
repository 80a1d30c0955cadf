package fit

import (
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/mixed"
	"gonum.org/v1/gonum/floats"
)

// rows are the training rows of positive weight of a table.
type rows struct {
	t       *dataset.Table
	counts  func(row int) bool
	order   []int32 // rows, those of a task side by side
	start   []int   // of every task in order, and one more
	weights []float64
	mean    float64 // of the weights of training rows
	target  mixed.Target
	stats   []columnStat
}

func newRows(t *dataset.Table, c *Config) *rows {
	r := &rows{t: t, weights: t.Weights(), mean: 1}
	r.counts = func(i int) bool { return c.trains(i) && (r.weights == nil || r.weights[i] > 0) }
	r.order, r.start = byTask(t, r.counts)
	if r.weights != nil {
		sum := 0.0
		for _, i := range r.order {
			sum += r.weights[i]
		}
		r.mean = sum / float64(len(r.order))
	}
	return r
}

// byTask returns the rows that count in the order of their tasks, and where every task starts in this list.
func byTask(t *dataset.Table, counts func(row int) bool) (order []int32, start []int) {
	start = make([]int, len(t.Tasks())+1)
	for i := range t.Rows() {
		if counts(i) {
			start[t.Task(i)+1]++
		}
	}
	for k := range t.Tasks() {
		start[k+1] += start[k]
	}
	order = make([]int32, start[len(start)-1])
	next := slices.Clone(start)
	for i := range t.Rows() {
		if counts(i) {
			k := t.Task(i)
			order[next[k]] = int32(i)
			next[k]++
		}
	}
	return order, start
}

// of returns the training rows of a task.
func (r *rows) of(task int) []int32 { return r.order[r.start[task]:r.start[task+1]] }

// weight returns the weight of a row divided by the mean weight of training rows.
func (r *rows) weight(row int) float64 {
	if r.weights == nil {
		return 1
	}
	return r.weights[row] / r.mean
}

// value returns the target of a row or its logarithm.
func (r *rows) value(row int, log bool) float64 {
	if log {
		return math.Log(r.t.Y(row))
	}
	return r.t.Y(row)
}

// each calls f with the features and the weight of every training row in the order of the table; x is valid
// until f returns.
func (r *rows) each(f func(x []float64, weight float64)) {
	x := make([]float64, len(r.t.Features()))
	for i := range r.t.Rows() {
		if r.counts(i) {
			f(r.t.X(x, i), r.weight(i))
		}
	}
}

// fill sets x, n x P by rows, and y to the design and the standardised targets of training rows, multiplied
// by the square roots of their weights. row is scratch with one entry per feature.
func (r *rows) fill(x, y, row []float64, d *mixed.Design, list []int32) {
	p := d.Width()
	for k, i := range list {
		to := x[k*p:][:p]
		d.Apply(to, r.t.X(row, int(i)))
		y[k] = r.target.Standardize(r.t.Y(int(i)))
		if w := r.weight(int(i)); w != 1 {
			floats.Scale(math.Sqrt(w), to)
			y[k] *= math.Sqrt(w)
		}
	}
}
