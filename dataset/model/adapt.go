package model

import (
	"fmt"
	"slices"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
)

// Adapt returns a model that knows the tasks of the table too: their b_t are fitted
// to the frozen U of the given node, with the given ridge, and everything else stays
// as it is. Missing features are filled in as by FillMissing. singular names the tasks
// whose least squares had no unique solution, so that b_t is the one of minimum norm. A
// task that the model knows already is an error.
func (m *Model) Adapt(t *dataset.Table, node int, ridge float64) (adapted *Model, singular []string, err error) {
	if err := m.checkNew(t, node); err != nil {
		return nil, nil, err
	}
	all := make([]int, len(t.Tasks()))
	for k := range all {
		all[k] = k
	}
	tasks := t.Pack(dataset.Layout{all}, nil, m.width(), func(z []float64, i int) float64 {
		t.X(z[:len(m.center)], i)
		m.apply(z)
		return t.Y(i) - m.target - dot(z, m.mean)
	})[0]
	b, status, err := difalt.Adapt(m.u[node], tasks, ridge)
	if err != nil {
		return nil, nil, err
	}
	for k, s := range status {
		if s != lsq.OK {
			singular = append(singular, fmt.Sprintf("%q (%v)", t.Tasks()[k], s))
		}
	}
	a := *m
	a.tasks = slices.Concat(m.tasks, t.Tasks())
	a.nodeOf = slices.Concat(m.nodeOf, slices.Repeat([]int{node}, len(all)))
	a.samples = slices.Concat(m.samples, t.Samples(nil))
	a.b = slices.Concat(m.b, b)
	a.precision = slices.Concat(m.precision, precisions(tasks, m.u[node], ridge))
	a.u = append([]*kernel.Basis(nil), m.u...)
	a.finish()
	a.factor()
	return &a, singular, nil
}

// precisions returns A_t'A_t + ridge I for every task, with A_t = X_t u.
func precisions(tasks *kernel.Tasks, u *kernel.Basis, ridge float64) []float64 {
	d, r := u.Dims()
	out := make([]float64, tasks.Len()*r*r)
	row, p := make([]float64, d), make([]float64, r)
	for t := range tasks.Len() {
		gram := out[t*r*r:][:r*r]
		for i := range tasks.Samples(t) {
			addOuter(gram, tasks.Row(row, t, i), p, u)
		}
		addDiagonal(gram, r, ridge)
	}
	return out
}
