package fit

import (
	"context"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/mixed"
	"gonum.org/v1/gonum/floats"
)

// rows are the training rows of positive weight of a table, and what all owners know about theirs.
type rows struct {
	sums    Sums
	t       *dataset.Table
	counts  func(row int) bool
	order   []int32 // rows, those of a task side by side
	start   []int   // of every task in order, and one more
	weights []float64

	owners   float64  // their number
	tasks    *taskSet // all
	mean     float64  // of the weights of the training rows of all owners
	coarse   bool     // counts of rows are coarse: there are two owners, and one has few rows
	positive bool     // all targets
	stats    []columnStat
	// target is raw or, for a model of it, the logarithm. compares: the logarithm is compared with raw.
	target, raw, logarithm mixed.Target
	equal, compares        bool // equal: all targets are the same
}

// newRows describes the training rows of all owners, in four sums.
func newRows(ctx context.Context, t *dataset.Table, c *Config) (*rows, error) {
	r := &rows{t: t, weights: t.Weights(), sums: c.Sums}
	if r.sums == nil {
		r.sums = Local{}
	}
	r.counts = func(i int) bool { return c.trains(i) && (r.weights == nil || r.weights[i] > 0) }
	r.order, r.start = byTask(t, r.counts)
	return r, r.describe(ctx, c)
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
		return 1 / r.mean
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

// standardized returns the standardised target of a row or that of its logarithm.
func (r *rows) standardized(row int, log bool) float64 {
	if log {
		return r.logarithm.Standardize(r.t.Y(row))
	}
	return r.raw.Standardize(r.t.Y(row))
}

// each calls f with every training row, its features and its weight in the order of the table; x is valid
// until f returns.
func (r *rows) each(f func(row int, x []float64, weight float64)) {
	x := make([]float64, len(r.t.Features()))
	for i := range r.t.Rows() {
		if r.counts(i) {
			f(i, r.t.X(x, i), r.weight(i))
		}
	}
}

// fill sets x, n x P by rows, to the design of training rows. row is scratch with one entry per feature.
func (r *rows) fill(x, row []float64, d *mixed.Design, list []int32) {
	p := d.Width()
	for k, i := range list {
		d.Apply(x[k*p:][:p], r.t.X(row, int(i)))
	}
}

// weigh multiplies rows of the design by the square roots of their weights.
func (r *rows) weigh(x []float64, list []int32) {
	if r.weights == nil && r.mean == 1 {
		return
	}
	p := len(x) / max(len(list), 1)
	for k, i := range list {
		floats.Scale(math.Sqrt(r.weight(int(i))), x[k*p:][:p])
	}
}

// fillTargets sets y to the standardised targets of training rows, or to those of their logarithms, multiplied
// by the square roots of the weights.
func (r *rows) fillTargets(y []float64, list []int32, log bool) {
	for k, i := range list {
		y[k] = r.standardized(int(i), log) * math.Sqrt(r.weight(int(i)))
	}
}
