package model

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// Adapt returns a model that knows the tasks of the table too: their coefficients are the means of
// their posterior distribution, by their rows and by what the model knows about
// tasks in general. Of a task with few rows that is near what all tasks share; with
// many it is their regression. Where tasks differ by their noise, that of the new ones is estimated from their rows
// and from what is usual. Everything else stays as it is. Missing features
// are filled in as by FillMissing. A task that the model knows already is an error.
func (m *Model) Adapt(t Table) (*Model, error) {
	if err := m.checkNew(t); err != nil {
		return nil, err
	}
	tasks, samples, err := m.compress(t)
	if err != nil {
		return nil, err
	}
	p := m.p
	p.Theta, p.Covariance, p.CovarianceOf = slices.Clone(p.Theta), slices.Clone(m.covariance()), nil
	p.Noise, p.Freedom = slices.Clone(p.Noise), slices.Clone(p.Freedom)
	own := len(p.Noise) == len(p.Tasks) && (p.Noise != nil || p.Prior.NoisePrior.Freedom > 0)
	w := m.p.Width()
	for i := range tasks {
		theta, covariance, noise, freedom, ok := m.learn(&tasks[i])
		if !ok {
			return nil, fmt.Errorf("task %q: its features are too large for the model's scaling", t.Tasks()[i])
		}
		if own {
			p.Noise, p.Freedom = append(p.Noise, noise), append(p.Freedom, freedom)
		}
		p.Theta = append(p.Theta, m.expand(theta)...)
		for j := range len(covariance) / w {
			p.Covariance = append(p.Covariance, covariance[j*w+j:(j+1)*w]...)
		}
	}
	p.Tasks = slices.Concat(p.Tasks, t.Tasks())
	p.NodeOf = slices.Concat(p.NodeOf, slices.Repeat([]int{-1}, len(samples)))
	p.Samples = slices.Concat(p.Samples, samples)
	return New(p)
}

// checkNew checks a table of new tasks.
func (m *Model) checkNew(t Table) error {
	if err := m.checkFeatures(t); err != nil {
		return err
	}
	if !t.HasTarget() {
		return errors.New("the table has no target column")
	}
	if t.Rows() == 0 {
		return errors.New("the table has no rows")
	}
	for _, name := range t.Tasks() {
		if k, ok := m.index[name]; ok {
			return fmt.Errorf("the model knows task %q already: it was trained on %s", name, text.Plural(m.p.Samples[k], "row"))
		}
	}
	return nil
}

// compress returns the tasks of a table, and the numbers of their rows.
func (m *Model) compress(t Table) ([]mixedmodel.Task, []int, error) {
	s := &m.p.Scaling
	rows := make([][]int, len(t.Tasks()))
	for i := range t.Rows() {
		rows[t.Task(i)] = append(rows[t.Task(i)], i)
	}
	w := m.p.Width()
	c := mixedmodel.NewCompressor(w)
	tasks, samples := make([]mixedmodel.Task, len(rows)), make([]int, len(rows))
	z := make([]float64, s.Width())
	for k, list := range rows {
		for _, i := range list {
			t.X(z[:len(m.features)], i)
			s.Apply(z)
			row, _ := m.project(z)
			next := c.Next()
			copy(next, row)
			if s.LogTarget && !(t.Y(i) > 0) {
				return nil, nil, fmt.Errorf("task %q, row %d of the table: its target is %v, and the model is of the logarithm: want more than 0", t.Tasks()[k], i, t.Y(i))
			}
			next[w] = s.ScaleTarget(t.Y(i))
			for _, v := range next {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					return nil, nil, fmt.Errorf("task %q, row %d of the table: its target is %v, or one of its features is not finite", t.Tasks()[k], i, t.Y(i))
				}
			}
		}
		tasks[k], samples[k] = *c.Task(), len(list)
	}
	return tasks, samples, nil
}
