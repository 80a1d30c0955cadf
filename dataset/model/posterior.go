package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// addOuter adds a a' to the r x r matrix gram, for a = u' z and with p for scratch.
func addOuter(gram, z, p []float64, u *kernel.Basis) {
	r := len(p)
	for j := range p {
		p[j] = dot(z, u.Col(j))
	}
	for i, a := range p {
		for j, b := range p {
			gram[i*r+j] += a * b
		}
	}
}

// addDiagonal adds ridge to the diagonal of an r x r matrix.
func addDiagonal(a []float64, r int, ridge float64) {
	for i := range r {
		a[i*r+i] += ridge
	}
}

// effective returns tr G (G + ridge I)^-1, the number of parameters that ridge
// regression spends, for a Gram matrix G: sum of s / (s + ridge) over its
// eigenvalues s, without those that are zero to rounding.
func effective(gram []float64, r int, ridge float64) float64 {
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(r, slices.Clone(gram)), false) {
		return float64(r) // at most
	}
	values := e.Values(nil)
	sum := 0.0
	for _, s := range values {
		if s > 1e-14*values[r-1] {
			sum += s / (s + ridge)
		}
	}
	return sum
}

// factor computes the Cholesky factors R of the precisions, R'R = A'A + ridge I, row
// by row; zeros in place of one that does not exist.
func (m *Model) factor() {
	r := m.rank
	m.chol = make([]float64, len(m.precision))
	for t := range m.tasks {
		c := m.chol[t*r*r:][:r*r]
		copy(c, m.precision[t*r*r:])
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
func (m *Model) Noise() float64 { return math.Sqrt(m.noise) }

// stackRank is the largest rank for which PredictError does not allocate.
const stackRank = 32

// PredictError returns the prediction of Predict and its standard error: the
// standard deviation, in the unit of the target, of the expected target of x by the
// posterior distribution of b_t,
//
//	sqrt(noise^2 p' (A_t'A_t + ridge I)^-1 p),  p = U' x,  A_t = X_t U,
//
// with features x standardised. That treats mean and U as known, and a ridge as a
// Gaussian prior of b_t. A single target scatters about its expected value by Noise
// beside. The standard error is NaN where b_t is not unique and where Noise is not
// known.
func (m *Model) PredictError(task string, x []float64) (y, standardError float64, err error) {
	y, err = m.Predict(task, x)
	if err != nil {
		return 0, 0, err
	}
	return y, m.standardError(m.index[task], x), nil
}

func (m *Model) standardError(t int, x []float64) float64 {
	if m.noise == 0 {
		return math.NaN()
	}
	r := m.rank
	var stack [stackRank]float64
	p := stack[:min(r, stackRank)]
	if r > stackRank {
		p = make([]float64, r)
	}
	u := m.u[m.nodeOf[t]]
	c := m.chol[t*r*r:][:r*r]
	square := 0.0
	for j := range p {
		col := u.Col(j)
		if m.constant {
			p[j] = col[len(x)]
		}
		for i, v := range x {
			p[j] += (v - m.center[i]) / m.scale[i] * col[i]
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
	return math.Sqrt(m.noise * square)
}

// Covariance returns the posterior covariance of the coefficients b_t of a task
// (rank x rank), noise^2 (A_t'A_t + ridge I)^-1. It returns an error if b_t is not
// unique or the noise is not known.
func (m *Model) Covariance(task string) (*mat.SymDense, error) {
	t, ok := m.index[task]
	if !ok {
		return nil, unknownTask(task)
	}
	if m.noise == 0 {
		return nil, fmt.Errorf("the noise of the model is not known: there were too few training rows")
	}
	r := m.rank
	var c mat.Cholesky
	if m.chol[t*r*r] == 0 || !c.Factorize(mat.NewSymDense(r, slices.Clone(m.precision[t*r*r:][:r*r]))) {
		return nil, fmt.Errorf("the coefficients of task %q are not unique: a ridge would make them so", task)
	}
	inverse := mat.NewSymDense(r, nil)
	if err := c.InverseTo(inverse); err != nil {
		return nil, fmt.Errorf("the coefficients of task %q: %w", task, err)
	}
	inverse.ScaleSym(m.noise, inverse)
	return inverse, nil
}

// singularValues returns those of the matrix of all coefficients, r of every task,
// in descending order.
func singularValues(b [][]float64, r int) []float64 {
	values, _ := axes(b, r)
	return values
}

// axes returns the singular values of the matrix of all coefficients, in descending
// order, and its left singular vectors (r x r): the principal axes within the
// subspace.
func axes(b [][]float64, r int) ([]float64, *mat.Dense) {
	p := mat.NewSymDense(r, nil)
	for _, node := range b {
		for t := 0; t < len(node); t += r {
			p.SymRankOne(p, 1, mat.NewVecDense(r, node[t:t+r]))
		}
	}
	var e mat.EigenSym
	values, order := make([]float64, r), mat.NewDense(r, r, nil)
	if !e.Factorize(p, true) {
		for j := range values {
			values[j] = math.NaN()
			order.Set(j, j, 1)
		}
		return values, order
	}
	var v mat.Dense
	e.VectorsTo(&v)
	for j, square := range e.Values(nil) { // ascending
		values[r-1-j] = math.Sqrt(max(square, 0))
		order.SetCol(r-1-j, mat.Col(nil, j, &v))
	}
	return values, order
}

// Loadings returns what tasks differ by: the columns of a d x r matrix are the
// principal axes of the deviations U b_t, in the standardised features, with the
// added constant, if there is one, last, scaled to the root mean square of the
// deviations along them. values are the singular values of the deviations. The
// largest entry of every column is positive.
func (m *Model) Loadings() (loadings *mat.Dense, values []float64) {
	values, v := axes([][]float64{m.b}, m.rank)
	loadings = new(mat.Dense)
	loadings.Mul(m.u[0], v)
	for j, s := range values {
		scale := s / math.Sqrt(float64(len(m.tasks)))
		col := mat.Col(nil, j, loadings)
		at := 0
		for i, x := range col {
			if math.Abs(x) > math.Abs(col[at]) {
				at = i
			}
		}
		if col[at] < 0 {
			scale = -scale
		}
		for i, x := range col {
			loadings.Set(i, j, scale*x)
		}
	}
	return loadings, values
}
