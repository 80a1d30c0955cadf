package model

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// Adapt returns a model that has also learned the rows of a table. Coefficients of a task that is
// new to the model get their posterior distribution under the prior N(Mean, prior covariance +
// MeanCovariance); those of a known task are updated from their present distribution, so that its
// rows must be rows that the model has not seen. Mean, prior and other tasks stay as they are.
// If tasks differ by their noise, that of the table's tasks is estimated too. Rows count with their
// weights. Errors name the task and the row, counted from 1, of targets and features that cannot be used.
func (m *Model) Adapt(t Table) (*Model, error) {
	switch {
	case !slices.Equal(t.Features(), m.features):
		return nil, fmt.Errorf("the table has the features %q, the model %q", t.Features(), m.features)
	case !t.HasTarget():
		return nil, errors.New("the table has no target column")
	case t.Rows() == 0:
		return nil, errors.New("the table has no rows")
	}
	w := len(m.p.Mean)
	a := adaption{m: m, table: t, x: make([]float64, len(m.features)), z: make([]float64, w), gain: make([]float64, w)}
	p := m.p
	k := &p.Tasks
	k.Names, k.Samples, k.Theta = slices.Clone(k.Names), slices.Clone(k.Samples), slices.Clone(k.Theta)
	k.Noise, k.Freedom = slices.Clone(k.Noise), slices.Clone(k.Freedom)
	learned, err := a.learnAll(&p)
	if err != nil {
		return nil, err
	}
	if m.KeepsIntervals() {
		k.Covariance = nil
		k.CovarianceOf = func(t int, packed []float64) {
			if c, ok := learned[t]; ok {
				copy(packed, c)
			} else {
				copy(packed, m.covariance(t))
			}
		}
	}
	return New(p)
}

// A Table holds rows of samples; *dataset.Table is one.
type Table interface {
	Features() []string // names
	Tasks() []string    // names
	Rows() int
	Task(row int) int // index in Tasks
	// X sets dst, one entry per feature, to the features of a row, NaN where they are missing, and returns
	// it.
	X(dst []float64, row int) []float64
	HasTarget() bool
	Y(row int) float64
	Weights() []float64 // weights of the rows; nil: all are 1
}

// An adaption learns tasks from the rows of a table, one after the other.
type adaption struct {
	m          *Model
	table      Table
	x, z, gain []float64 // features and columns of a row, and covariance times columns
}

// learnAll adds the tasks of the table to p, or updates them. It returns their covariances by index.
func (a *adaption) learnAll(p *Parameters) (map[int][]float64, error) {
	rows := make([][]int, len(a.table.Tasks()))
	for i := range a.table.Rows() {
		rows[a.table.Task(i)] = append(rows[a.table.Task(i)], i)
	}
	k, learned := &p.Tasks, map[int][]float64{}
	for i, list := range rows {
		if len(list) == 0 {
			continue
		}
		name := a.table.Tasks()[i]
		at, known := a.m.index[name]
		if !known {
			at = len(k.Names)
			k.Names, k.Samples, k.Theta = append(k.Names, name), append(k.Samples, 0), append(k.Theta, p.Mean...)
			if p.Prior.Noise.TaskFreedom > 0 {
				k.Noise, k.Freedom = append(k.Noise, 0), append(k.Freedom, 0)
			}
		} else if !a.m.KeepsIntervals() {
			return nil, fmt.Errorf("task %q: the model does not keep covariances of known tasks, and cannot learn more of their rows", name)
		}
		posterior, err := a.learn(at, known, list)
		if err != nil {
			return nil, err
		}
		learned[at] = posterior.packed
		copy(k.Theta[at*len(p.Mean):], posterior.theta)
		k.Samples[at] += len(list)
		if k.Noise != nil {
			k.Noise[at], k.Freedom[at] = posterior.noise, posterior.freedom
		}
	}
	return learned, nil
}

// A posterior is the distribution of a task's coefficients, and the variance of its noise.
type posterior struct {
	theta, packed  []float64
	noise, freedom float64
}

// learn returns the posterior of the task with index t in the new model from the given rows.
func (a *adaption) learn(t int, known bool, rows []int) (posterior, error) {
	m := a.m
	prior := posterior{theta: m.p.Mean, noise: m.p.Prior.Noise.Variance, freedom: m.p.Prior.Noise.TaskFreedom}
	if known {
		prior.theta, prior.packed = m.theta(t), m.covariance(t)
		if m.p.Tasks.Noise != nil {
			prior.noise, prior.freedom = m.p.Tasks.Noise[t], m.p.Tasks.Freedom[t]
		}
	} else {
		prior.packed = make([]float64, len(m.unseen))
		m.p.Prior.Covariance(prior.packed)
		for i, v := range m.p.MeanCovariance {
			prior.packed[i] += v
		}
	}
	p, err := a.condition(&prior, prior.noise, rows)
	for i := 0; i < emSteps && err == nil && prior.freedom > 0; i++ {
		rss, spent, n := a.residual(&p, rows)
		noise := (prior.freedom*prior.noise + rss + spent) / (prior.freedom + n)
		freedom := prior.freedom + max(n-spent/p.noise, 0)
		p, err = a.condition(&prior, noise, rows)
		p.freedom = freedom
	}
	return p, err
}

// emSteps is the number of EM steps for the variance of a task's noise, whose prior is scaled inverse
// chi-squared: the sum of squared residuals and of their variances, over the degrees of freedom.
const emSteps = 10

// condition returns the distribution of the coefficients given rows with noise of the given
// variance, one row after the other. For a row z with target y, theta ~ N(theta, C) becomes
//
//	g = C z,  v = z'g + noise/weight,  theta + g (y - z'theta)/v,  C - g g'/v.
func (a *adaption) condition(prior *posterior, noise float64, rows []int) (posterior, error) {
	p := posterior{slices.Clone(prior.theta), slices.Clone(prior.packed), noise, 0}
	c := blas64.SymmetricPacked{Uplo: blas.Upper, N: len(p.theta), Data: p.packed}
	theta, z, g := vector(p.theta), vector(a.z), vector(a.gain)
	for _, i := range rows {
		y, w, err := a.row(i)
		if err != nil {
			return p, err
		}
		if w == 0 {
			continue
		}
		blas64.Spmv(1, c, z, 0, g)
		v := max(blas64.Dot(z, g), 0) + noise/w // rounding may make the first term negative
		r := y - blas64.Dot(z, theta)
		if !finite(v) || !finite(r) {
			return p, fmt.Errorf("%s: its features are too large", a.place(i))
		}
		blas64.Axpy(r/v, g, theta)
		blas64.Spr(-1/v, g, c)
	}
	if notFinite(p.theta) >= 0 || notFinite(p.packed) >= 0 {
		return p, fmt.Errorf("%s: the features of its task are too large", a.place(rows[0]))
	}
	return p, nil
}

func vector(data []float64) blas64.Vector {
	return blas64.Vector{N: len(data), Data: data, Inc: 1}
}

// residual returns the weighted sums over rows of the squared residuals and of the variances of
// z' theta, and the number of rows of positive weight.
func (a *adaption) residual(p *posterior, rows []int) (rss, spent, n float64) {
	for _, i := range rows {
		y, w, _ := a.row(i) // condition has checked it
		if w > 0 {
			rss += w * square(y-blas64.Dot(vector(a.z), vector(p.theta)))
			spent += w * quadratic(p.packed, a.z)
			n++
		}
	}
	return rss, spent, n
}

// row sets z to the columns of a row, and returns its standardised target and its weight.
func (a *adaption) row(i int) (y, weight float64, err error) {
	a.table.X(a.x, i)
	for j, v := range a.x {
		if math.IsInf(v, 0) {
			return 0, 0, fmt.Errorf("%s: feature %q is %v", a.place(i), a.m.features[j], v)
		}
	}
	a.m.p.Design.Apply(a.z, a.x)
	target := a.table.Y(i)
	y = a.m.p.Target.Standardize(target)
	if !finite(y) {
		why := "it must be finite"
		if a.m.p.Target.Log {
			why = "the model is of the target's logarithm: it must be finite and positive"
		}
		return 0, 0, fmt.Errorf("%s: the target is %v: %s", a.place(i), target, why)
	}
	weight = 1
	if list := a.table.Weights(); list != nil {
		weight = list[i]
	}
	if !(weight >= 0) || !finite(weight) {
		return 0, 0, fmt.Errorf("%s: the weight is %v: it must be finite and not negative", a.place(i), weight)
	}
	return y, weight, nil
}

// place names a row in errors.
func (a *adaption) place(i int) string {
	return fmt.Sprintf("task %q, row %d", a.table.Tasks()[a.table.Task(i)], i+1)
}
