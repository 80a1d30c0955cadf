package mixed

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// errNumeric reports numbers that overflow. errTotals is the errNumeric of sums over tasks.
var (
	errNumeric = errors.New("numbers are out of range: look for features, targets and weights that are far " +
		"larger than all others")
	errTotals = fmt.Errorf("in sums over all tasks %w", errNumeric)
)

// A solver reduces tasks to their information X'V^-1 X and X'V^-1 y, where V = X S X' + Noise I is the
// covariance of y for a known mean. Likelihoods, posterior coefficients and their covariances follow from
// these two. It belongs to one goroutine. Set sets the prior and the task of the other methods.
type solver struct {
	prior       *Prior
	task        *taskData
	noise       float64   // variance of the noise of the task
	own         []int     // coefficient of every independent column of F, S = F F'; the loadings follow
	factor      []float64 // Cholesky factor R of Noise I + F'G F (q x q) or of V (n x n), upper
	half        []float64 // R'^-1 F'G or R'^-1 X
	vector      []float64 // R'^-1 F'c or R'^-1 y
	deviance    float64   // log det V + y'V^-1 y
	a, b        []float64 // q or n entries, and P
	m, h        []float64 // information
	part, inner []float64 // of AddSpread and Coefficients
	gain        []float64 // of Coefficients
	cancelled   func() bool
}

// longWork is the number of multiplications of a product of matrices that a solver does not begin once the
// work is cancelled.
const longWork = 1 << 23

// stops reports whether the work is cancelled and the task is long, so that the solver leaves it unfinished.
func (s *solver) stops(rows int) bool {
	return float64(rows)*square(float64(s.width())) > longWork && s.cancelled != nil && s.cancelled()
}

// width returns P.
func (s *solver) width() int { return len(s.prior.Deviations) }

// Set factorises the covariance of a task for the deviations, loadings and noise variance of a prior; neither
// must change until the next Set. n rows cost n^2 P, products 2 q^2 P for q columns of F. The error is
// errNumeric.
func (s *solver) Set(prior *Prior, t *taskData) error {
	s.prior, s.task, s.noise, s.own = prior, t, prior.Noise.Variance*cmp.Or(t.Noise, 1), s.own[:0]
	for j, d := range prior.Deviations {
		if d != 0 {
			s.own = append(s.own, j)
		}
	}
	n, p := len(s.own)+s.prior.Rank, s.width()
	if t.G == nil {
		n = t.Rows
	}
	s.factor, s.vector, s.a = dense.Grow(s.factor, n*n), dense.Grow(s.vector, n), dense.Grow(s.a, n)
	s.half = dense.Grow(s.half, n*p)
	r, ok := s.factorise()
	if !ok {
		return errNumeric
	}
	if t.G == nil {
		copy(s.half, t.X)
		copy(s.vector, t.Y)
	} else {
		s.project(s.vector, t.C)
	}
	if n > 0 {
		dense.Trsv(blas.Trans, r, dense.Vector(s.vector))
		dense.Trsm(blas.Left, blas.Trans, 1, r, dense.General(n, p, s.half))
	}
	s.deviance = rounded.Dot(s.vector, s.vector)
	if t.G != nil {
		s.deviance = (t.YY - s.deviance) / s.noise
	}
	s.deviance += float64(float64(t.Rows-n) * rounded.Log(s.noise))
	for i := range n {
		s.deviance += 2 * rounded.Log(s.factor[i*n+i])
	}
	if math.IsNaN(s.deviance) || math.IsInf(s.deviance, 0) {
		return errNumeric
	}
	return nil
}

// Shares of the largest variance of a covariance that rounding may move its entries by.
const (
	leastRounding = 1e-15
	mostRounding  = 1e-6
)

// factorise sets factor to the Cholesky factor of the covariance of the task, and half to F'G for products. A
// noise below the rounding errors of the other variances may leave no factor. The task then has as much noise
// as these errors, the least that leaves one in steps of ten.
func (s *solver) factorise() (r blas64.Triangular, ok bool) {
	n := len(s.vector)
	for share := leastRounding; share <= mostRounding; share *= 10 {
		if s.task.G == nil {
			s.rowCovariance()
		} else {
			s.productCovariance()
		}
		if s.stops(n) {
			return r, false
		}
		largest := 0.0
		for i := range n {
			largest = max(largest, math.Abs(s.factor[i*n+i]))
		}
		if r, ok = dense.Potrf(dense.Symmetric(n, s.factor)); ok {
			return r, true
		}
		s.noise = max(s.noise, share*largest)
	}
	return r, false
}

// rowCovariance sets factor to V = X S X' + noise I.
func (s *solver) rowCovariance() {
	x, n, p := s.task.X, s.task.Rows, s.width()
	for i := range n {
		floats.MulTo(s.half[i*p:][:p], x[i*p:][:p], s.prior.Deviations)
	}
	v := dense.Symmetric(n, s.factor)
	dense.Syrk(blas.NoTrans, 1, dense.General(n, p, s.half), 0, v)
	for a := range s.prior.Rank {
		dense.Gemv(blas.NoTrans, 1, dense.General(n, p, x), dense.Vector(s.loadings(a)), 0, dense.Vector(s.a))
		dense.Syr(1, dense.Vector(s.a), v)
	}
	for i := range n {
		s.factor[i*n+i] += s.noise
	}
}

// productCovariance sets half to F'G and the upper triangle of factor to the upper triangle of F'G F + noise
// I.
func (s *solver) productCovariance() {
	g, p, q := s.task.G, s.width(), len(s.vector)
	for i, j := range s.own {
		d, row := s.prior.Deviations[j], s.half[i*p:][:p]
		for k := range j {
			row[k] = d * g[k*p+j]
		}
		floats.ScaleTo(row[j:], d, g[j*p+j:(j+1)*p])
	}
	for a := range s.prior.Rank {
		to := dense.Vector(s.half[(len(s.own)+a)*p:][:p])
		dense.Symv(1, dense.Symmetric(p, g), dense.Vector(s.loadings(a)), 0, to)
	}
	for i := range q {
		if i%64 == 63 && s.stops(q) {
			return
		}
		s.projectFrom(i, s.factor[i*q:][:q], s.half[i*p:][:p])
		s.factor[i*q+i] += s.noise
	}
}

// loadings returns column a of the loadings.
func (s *solver) loadings(a int) []float64 { return s.prior.Loadings[a*s.width():][:s.width()] }

// project sets dst, q entries, to F'x.
func (s *solver) project(dst, x []float64) { s.projectFrom(0, dst, x) }

// projectFrom is project for the entries from a place on: other entries of a row of a symmetric matrix are
// not read.
func (s *solver) projectFrom(first int, dst, x []float64) {
	own := len(s.own)
	for i := first; i < own; i++ {
		j := s.own[i]
		dst[i] = s.prior.Deviations[j] * x[j]
	}
	for a := max(first-own, 0); a < s.prior.Rank; a++ {
		dst[own+a] = rounded.Dot(x, s.loadings(a))
	}
}

// Deviance returns log det V + y'V^-1 y.
func (s *solver) Deviance() float64 { return s.deviance }

// Score sets dst, P entries, to X'V^-1 (y - X mean). dst must not alias mean.
func (s *solver) Score(dst, mean []float64) {
	if s.task.G == nil {
		copy(s.a, s.task.Y)
	}
	copy(dst, s.task.C)
	s.add(dst, -1, mean)
}

// Times sets dst, P entries, to X'V^-1 X v. dst must not alias v.
func (s *solver) Times(dst, v []float64) {
	clear(s.a)
	clear(dst)
	s.add(dst, 1, v)
}

// add sets dst to X'V^-1 (e + sign X v), where e is in s.a for rows, and X'e in dst for products: to
// (x - G F (noise I + F'G F)^-1 F'x) / noise for x = X'(e + sign X v).
func (s *solver) add(dst []float64, sign float64, v []float64) {
	t, p, n := s.task, s.width(), len(s.vector)
	back, scale := 1.0, 1.0
	if t.G == nil {
		clear(dst)
		if n > 0 {
			dense.Gemv(blas.NoTrans, sign, dense.General(n, p, t.X), dense.Vector(v), 1, dense.Vector(s.a))
		}
	} else {
		back, scale = -1, 1/s.noise
		dense.Symv(sign, dense.Symmetric(p, t.G), dense.Vector(v), 1, dense.Vector(dst))
		s.project(s.a, dst)
	}
	if n > 0 {
		dense.Trsv(blas.Trans, dense.Upper(n, s.factor), dense.Vector(s.a))
		dense.Gemv(blas.Trans, back, dense.General(n, p, s.half), dense.Vector(s.a), 1, dense.Vector(dst))
	}
	floats.Scale(scale, dst)
}

// AddInformation adds M = X'V^-1 X to the upper triangle of m, P x P, and X'V^-1 y to h.
func (s *solver) AddInformation(m, h []float64) {
	t, p, n := s.task, s.width(), len(s.vector)
	scale := 1.0
	if t.G != nil {
		scale = -1 / s.noise
		rounded.AddScaled(m, -scale, t.G)
		rounded.AddScaled(h, -scale, t.C)
	}
	if half := dense.General(n, p, s.half); n > 0 {
		dense.Syrk(blas.Trans, scale, half, 1, dense.Symmetric(p, m))
		dense.Gemv(blas.Trans, scale, half, dense.Vector(s.vector), 1, dense.Vector(h))
	}
}

// Information returns M, P x P with both triangles, and h of AddInformation. Both alias the solver.
func (s *solver) Information() (m, h []float64) {
	p := s.width()
	s.m, s.h = dense.Grow(s.m, p*p), dense.Grow(s.h, p)
	clear(s.m)
	clear(s.h)
	s.AddInformation(s.m, s.h)
	dense.Mirror(p, s.m)
	return s.m, s.h
}

// Effective returns tr S M, the effective number of parameters of the task's deviation.
func (s *solver) Effective() (sum float64) {
	t, p := s.task, s.width()
	squares := dense.Grow(s.b, p) // of F'G or X by columns
	s.b = squares
	clear(squares)
	for i := range s.vector {
		for j, v := range s.half[i*p:][:p] {
			squares[j] += float64(v * v)
		}
	}
	for j, d := range s.prior.Deviations {
		m := squares[j]
		if t.G != nil {
			m = (t.G[j*p+j] - m) / s.noise
		}
		sum += float64(d * d * m)
	}
	for a := range s.prior.Rank {
		s.Times(s.b, s.loadings(a))
		sum += rounded.Dot(s.b, s.loadings(a))
	}
	return sum
}

// AddSpread adds the diagonal of M C M to dst, P entries, for C, P x P with both triangles. It costs n P^2,
// and P^3 for products.
func (s *solver) AddSpread(dst, c []float64) {
	n, p := len(s.vector), s.width()
	left, rows := s.half, n
	if s.task.G != nil {
		left, _ = s.Information()
		rows = p
	}
	if rows == 0 {
		return
	}
	s.part, s.inner = dense.Grow(s.part, rows*p), dense.Grow(s.inner, n*n)
	from, part := dense.General(rows, p, left), dense.General(rows, p, s.part)
	if s.stops(rows) {
		return
	}
	if middle, inner := dense.General(p, p, c), dense.General(n, n, s.inner); s.task.G != nil {
		dense.Gemm(blas.NoTrans, blas.NoTrans, 1, middle, from, 0, part)
	} else {
		dense.Gemm(blas.NoTrans, blas.NoTrans, 1, from, middle, 0, part)
		dense.Gemm(blas.NoTrans, blas.Trans, 1, part, from, 0, inner)
		dense.Gemm(blas.NoTrans, blas.NoTrans, 1, inner, from, 0, part)
	}
	if s.stops(rows) {
		return
	}
	for i := range rows { // the diagonal of left' part
		row := s.part[i*p:][:p]
		for j, v := range left[i*p:][:p] {
			dst[j] += float64(v * row[j])
		}
	}
}
