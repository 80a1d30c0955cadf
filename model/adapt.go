package model

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/text"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/floats"
)

// Adapt returns a model that knows the tasks of the table too: their b_t are fitted
// to the frozen U of the given node,
//
//	b_t = argmin |X_t U b - y_t|^2 + ridge |b|^2,
//
// with scaled rows less the mean, and everything else stays as it is. Missing features
// are filled in as by FillMissing. singular names the tasks whose least squares had no
// unique solution, so that b_t is the one of minimum norm. A task that the model knows
// already is an error.
func (m *Model) Adapt(t Table, node int, ridge float64) (adapted *Model, singular []string, err error) {
	if err := m.checkNew(t, node); err != nil {
		return nil, nil, err
	}
	if !(ridge >= 0) || math.IsInf(ridge, 0) {
		return nil, nil, fmt.Errorf("the ridge is %v: must be finite and not negative", ridge)
	}
	samples := make([]int, len(t.Tasks()))
	for i := range t.Rows() {
		samples[t.Task(i)]++
	}
	tasks, err := m.pack(t, samples)
	if err != nil {
		return nil, nil, err
	}
	u, d := m.p.U[node], m.p.Scaling.Width()
	g := kernel.NewGroup(tasks, m.rank)
	g.Minimize(u, ridge, kernel.NewWorkspace(tasks.MaxSamples(), d, m.rank))
	for k, s := range g.Status {
		if s != lsq.OK {
			singular = append(singular, fmt.Sprintf("%q (%v)", t.Tasks()[k], s))
		}
	}
	p := m.p
	p.Tasks = slices.Concat(p.Tasks, t.Tasks())
	p.NodeOf = slices.Concat(p.NodeOf, slices.Repeat([]int{node}, len(samples)))
	p.Samples = slices.Concat(p.Samples, samples)
	p.B = slices.Concat(p.B, g.B)
	p.Precision = slices.Concat(p.Precision, precisions(tasks, u, ridge))
	adapted, err = New(p)
	return adapted, singular, err
}

// checkNew checks a table of new tasks for a node of the model.
func (m *Model) checkNew(t Table, node int) error {
	if err := m.checkFeatures(t); err != nil {
		return err
	}
	if !t.HasTarget() {
		return errors.New("the table has no target column")
	}
	if t.Rows() == 0 {
		return errors.New("the table has no rows")
	}
	if node < 0 || node >= len(m.p.Nodes) {
		return fmt.Errorf("node %d: the model has nodes 0 to %d", node, len(m.p.Nodes)-1)
	}
	for _, name := range t.Tasks() {
		if k, ok := m.index[name]; ok {
			return fmt.Errorf("the model knows task %q already: it was trained on %s", name, text.Plural(m.p.Samples[k], "row"))
		}
	}
	return nil
}

// pack returns the scaled rows of a table, less the mean.
func (m *Model) pack(t Table, samples []int) (*kernel.Tasks, error) {
	s := &m.p.Scaling
	b := kernel.NewBuilder(s.Width(), samples, kernel.Float64)
	next, z := make([]int, len(samples)), make([]float64, s.Width())
	for i := range t.Rows() {
		k := t.Task(i)
		t.X(z[:len(m.features)], i)
		s.Apply(z)
		y := t.Y(i) - s.Target - floats.Dot(z, m.p.Mean)
		if math.IsNaN(y) || math.IsInf(y, 0) {
			return nil, fmt.Errorf("task %q, row %d of the table: its target is %v, or one of its features is not finite", t.Tasks()[k], i, t.Y(i))
		}
		b.SetRow(k, next[k], z, y)
		next[k]++
	}
	return b.Tasks(), nil
}

// precisions returns A_t'A_t + ridge I for every task, with A_t = X_t u.
func precisions(tasks *kernel.Tasks, u *kernel.Basis, ridge float64) []float64 {
	d, r := u.Dims()
	out := make([]float64, tasks.Len()*r*r)
	row, p := make([]float64, d), make([]float64, r)
	for t := range tasks.Len() {
		gram := out[t*r*r:][:r*r]
		for i := range tasks.Samples(t) {
			tasks.Row(row, t, i)
			for j := range p {
				p[j] = floats.Dot(row, u.Col(j))
			}
			for j, v := range p {
				floats.AddScaled(gram[j*r:][:r], v, p)
			}
		}
		for j := range r {
			gram[j*r+j] += ridge
		}
	}
	return out
}
