package mixed

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// A rowList lists rows of a table by task. Tasks, and the rows of each, come in an order that follows from
// their contents: sums in this order have equal bits wherever the rows are in the table, and for one of
// several owners wherever the columns are. The order does not depend on the unit of the weights. Held-out
// rows change the order of no two tasks that differ in training rows, so they change no bit of a model.
type rowList struct {
	order []int32  // rows, task after task
	names []string // of all tasks of the table
	list  []int    // tasks with rows, in the order
	start []int    // of every task of the table in order
	end   []int
	sums  []uint64 // of the keys of every task

	training []uint64  // of the keys of the training rows of every task
	weights  []float64 // of the training rows of every task, together
}

// rowsByTask lists the rows of positive weight for a number of owners. The error comes from a context that
// ends.
func rowsByTask(ctx context.Context, in *Input, owners int) (*rowList, error) {
	t := in.Table
	l := &rowList{names: t.Tasks()}
	n := len(l.names)
	l.start, l.end, l.weights = make([]int, n), make([]int, n), make([]float64, n)
	l.sums, l.training = make([]uint64, n), make([]uint64, n)
	keys, read := make([]uint64, t.Rows()), t.X
	if owners > 1 { // which have columns in the order of their names
		read = byName(t)
	}
	rows, x := 0, make([]float64, len(t.Features()))
	for i := range keys {
		if i%rowsAtOnce == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		if weight := in.weight(i); weight > 0 {
			keys[i] = rowKey(read(x, i), t.Y(i))
			l.count(t.Task(i), keys[i], weight, in.trains(i))
			rows++
		}
	}
	for k, n := range l.end {
		if n > 0 {
			l.list = append(l.list, k)
		}
	}
	slices.SortFunc(l.list, l.compare)
	at := 0
	for _, k := range l.list {
		l.start[k] = at
		at += l.end[k]
		l.end[k] = l.start[k]
	}
	l.order = make([]int32, rows)
	for i := range keys {
		if in.weight(i) > 0 {
			k := t.Task(i)
			l.order[l.end[k]] = int32(i)
			l.end[k]++
		}
	}
	for j, k := range l.list {
		if j%rowsAtOnce == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		slices.SortFunc(l.of(k), func(a, b int32) int {
			return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(in.weight(int(a)), in.weight(int(b))))
		})
	}
	return l, nil
}

// count adds a row to the numbers that describe its task.
func (l *rowList) count(task int, key uint64, weight float64, trains bool) {
	l.end[task]++
	l.sums[task] += mix(key, 1)
	if trains {
		l.training[task] += mix(key, 1)
		l.weights[task] += weight
	}
}

// byName returns a function that sets dst, which it returns, to the features of a row in the order of their
// names.
func byName(t Table) func(dst []float64, row int) []float64 {
	names := t.Features()
	order, x := make([]int, len(names)), make([]float64, len(names))
	for j := range order {
		order[j] = j
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(names[a], names[b]) })
	return func(dst []float64, row int) []float64 {
		t.X(x, row)
		for k, j := range order {
			dst[k] = x[j]
		}
		return dst
	}
}

// compare orders tasks by their training rows, tasks with equal ones by the weights of these, then by all of
// their rows, and then by their names.
func (l *rowList) compare(a, b int) int {
	training, weights := cmp.Compare(l.training[a], l.training[b]), cmp.Compare(l.weights[a], l.weights[b])
	return cmp.Or(training, weights, cmp.Compare(l.sums[a], l.sums[b]), cmp.Compare(l.names[a], l.names[b]))
}

// of returns the rows of a task.
func (l *rowList) of(task int) []int32 { return l.order[l.start[task]:l.end[task]] }

// only returns the rows that counts accepts, in their order: the list itself where these are all.
func (l *rowList) only(counts func(row int) bool) *rowList {
	if !slices.ContainsFunc(l.order, func(i int32) bool { return !counts(int(i)) }) {
		return l
	}
	out := *l
	out.order, out.list = make([]int32, 0, len(l.order)), nil
	out.start, out.end = make([]int, len(l.start)), make([]int, len(l.end))
	for _, k := range l.list {
		out.start[k] = len(out.order)
		for _, i := range l.of(k) {
			if counts(int(i)) {
				out.order = append(out.order, i)
			}
		}
		if out.end[k] = len(out.order); out.end[k] > out.start[k] {
			out.list = append(out.list, k)
		}
	}
	return &out
}

// rowKey returns a number that follows from the contents of a row but its weight, missing values all alike.
func rowKey(x []float64, y float64) uint64 {
	const second = 0x3ff << 52
	h := mix(mix(0, math.Float64bits(y+0)), second) // -0 becomes 0
	for _, v := range x {
		bits := math.Float64bits(v + 0)
		if v != v {
			bits = 1
		}
		h = mix(h, bits)
	}
	return h
}

// mix returns a hash of a hash and of 64 bits more.
func mix(h, bits uint64) uint64 {
	h = (h ^ bits) * 0x9e3779b97f4a7c15
	return h ^ h>>32
}
