package model

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// factor computes the Cholesky factors R of the precisions, R'R = A'A + ridge I, row
// by row; zeros in place of one that does not exist.
func (m *Model) factor() {
	r := m.rank
	m.chol = make([]float64, len(m.p.Precision))
	for t := range m.p.Tasks {
		c := m.chol[t*r*r:][:r*r]
		copy(c, m.p.Precision[t*r*r:])
		if !cholesky(c, r) {
			clear(c)
		}
	}
}

// cholesky overwrites the upper triangle of a by its factor R, and returns false if
// a is singular to rounding.
func cholesky(a []float64, r int) bool {
	largest := 0.0
	for i := range r {
		largest = max(largest, a[i*r+i])
	}
	for i := range r {
		for j := i; j < r; j++ {
			for k := range i {
				a[i*r+j] -= a[k*r+i] * a[k*r+j]
			}
		}
		if !(a[i*r+i] > 1e-14*largest) {
			return false
		}
		pivot := math.Sqrt(a[i*r+i])
		for j := i; j < r; j++ {
			a[i*r+j] /= pivot
		}
	}
	return true
}

// Noise returns the standard deviation of the noise of a single target about its
// expected value, in the unit of the target. It is 0 if there were too few training
// rows to tell.
func (m *Model) Noise() float64 { return math.Sqrt(m.p.NoiseVariance) }

// stackRank is the largest rank for which PredictError does not allocate.
const stackRank = 32

// PredictError returns the prediction of Predict and its standard error: the
// standard deviation, in the unit of the target, of the expected target of x by the
// posterior distribution of b_t,
//
//	sqrt(noise^2 p' (A_t'A_t + ridge I)^-1 p),  p = U' x,  A_t = X_t U,
//
// with features x standardised. That takes mean and U as known exactly, and the ridge as
// a Gaussian prior of b_t. It says how far the prediction may be from the expected target;
// a single target also has noise, so that its standard deviation about the prediction is
// sqrt(standardError^2 + Noise^2). The standard error is NaN where b_t is not unique and
// where Noise is not known.
func (m *Model) PredictError(task string, x []float64) (y, standardError float64, err error) {
	y, err = m.Predict(task, x)
	if err != nil {
		return 0, 0, err
	}
	return y, m.standardError(m.index[task], x), nil
}

func (m *Model) standardError(t int, x []float64) float64 {
	if m.p.NoiseVariance == 0 {
		return math.NaN()
	}
	r := m.rank
	var stack [stackRank]float64
	p := stack[:min(r, stackRank)]
	if r > stackRank {
		p = make([]float64, r)
	}
	s, u := &m.p.Scaling, m.p.U[m.p.NodeOf[t]]
	c := m.chol[t*r*r:][:r*r]
	square := 0.0
	for j := range p {
		col := u.Col(j)
		if s.Constant {
			p[j] = col[len(x)]
		}
		for i, v := range x {
			p[j] += (v - s.Center[i]) / s.Scale[i] * col[i]
		}
		// R' w = p by forward substitution: p' (R'R)^-1 p = |w|^2.
		for k := range j {
			p[j] -= c[k*r+j] * p[k]
		}
		p[j] /= c[j*r+j]
		square += p[j] * p[j]
	}
	if math.IsInf(square, 0) {
		return math.NaN()
	}
	return math.Sqrt(m.p.NoiseVariance * square)
}

// Covariance returns the posterior covariance of the coefficients b_t of a task
// (rank x rank), noise^2 (A_t'A_t + ridge I)^-1. It returns an error if b_t is not
// unique or the noise is not known.
func (m *Model) Covariance(task string) (*mat.SymDense, error) {
	t, ok := m.index[task]
	if !ok {
		return nil, unknownTask(task)
	}
	if m.p.NoiseVariance == 0 {
		return nil, fmt.Errorf("the noise of the model is not known: there were too few training rows")
	}
	r := m.rank
	var c mat.Cholesky
	if m.chol[t*r*r] == 0 || !c.Factorize(mat.NewSymDense(r, slices.Clone(m.p.Precision[t*r*r:][:r*r]))) {
		return nil, fmt.Errorf("the coefficients of task %q are not unique: a ridge would make them so", task)
	}
	inverse := mat.NewSymDense(r, nil)
	if err := c.InverseTo(inverse); err != nil {
		return nil, fmt.Errorf("the coefficients of task %q: %w", task, err)
	}
	inverse.ScaleSym(m.p.NoiseVariance, inverse)
	return inverse, nil
}
