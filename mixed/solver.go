package mixed

import (
	"cmp"
	"errors"
	"math"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// errNumeric reports that rounding or overflow leaves a matrix without a Cholesky factor.
var errNumeric = errors.New("the numbers of the task are out of range")

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
	if t.G == nil {
		s.rowCovariance()
		copy(s.half, t.X)
		copy(s.vector, t.Y)
	} else {
		s.productCovariance()
		s.project(s.vector, t.C)
	}
	if s.stops(n) {
		return errNumeric
	}
	if n > 0 {
		r, ok := dense.Potrf(dense.Symmetric(n, s.factor))
		if !ok {
			return errNumeric
		}
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

// productCovariance sets half to F'G and factor to F'G F + noise I.
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
		s.project(s.factor[i*q:][:q], s.half[i*p:][:p])
		s.factor[i*q+i] += s.noise
	}
}

// loadings returns column a of the loadings.
func (s *solver) loadings(a int) []float64 { return s.prior.Loadings[a*s.width():][:s.width()] }

// project sets dst, q entries, to F'x.
func (s *solver) project(dst, x []float64) {
	for i, j := range s.own {
		dst[i] = s.prior.Deviations[j] * x[j]
	}
	for a := range s.prior.Rank {
		dst[len(s.own)+a] = rounded.Dot(x, s.loadings(a))
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

// Deviation sets dst to S score, the posterior mean of the deviation for the score of Score.
func (s *solver) Deviation(dst, score []float64) {
	for j, d := range s.prior.Deviations {
		dst[j] = d * d * score[j]
	}
	for a := range s.prior.Rank {
		rounded.AddScaled(dst, rounded.Dot(s.loadings(a), score), s.loadings(a))
	}
}

// Coefficients sets theta to the posterior mean of the task's coefficients, mean + S X'V^-1 (y - X mean);
// and cov, P x P or nil, to their posterior covariance
//
//	S - S M S + (I - S M) C (I - M S).
//
// Here C, P x P or nil for none, is the covariance of the error of the mean (Henderson 1975).
func (s *solver) Coefficients(theta, cov, mean, c []float64) {
	p := s.width()
	s.b = dense.Grow(s.b, p)
	s.Score(s.b, mean)
	s.Deviation(theta, s.b)
	floats.Add(theta, mean)
	if cov == nil {
		return
	}
	s.inner, s.part = dense.Grow(s.inner, p*p), dense.Grow(s.part, p*p)
	path, part := s.inner[:p*p], s.part[:p*p]
	clear(path)
	clear(part)
	clear(cov)
	if s.task.G != nil {
		s.productPosterior(path, cov)
	} else {
		s.rowPosterior(path, cov)
	}
	if s.stops(p) {
		return
	}
	for j := range p {
		path[j*p+j]++
	}
	square := func(x []float64) blas64.General { return dense.General(p, p, x) }
	if s.task.G == nil {
		for i := range p {
			s.Deviation(part[i*p:][:p], path[i*p:][:p])
		}
	}
	if c != nil {
		dense.Gemm(blas.NoTrans, blas.NoTrans, 1, square(path), square(c), 1, square(part))
	}
	if s.stops(p) {
		return
	}
	dense.Gemm(blas.NoTrans, blas.Trans, 1, square(part), square(path), 1, square(cov))
	for i := range p { // rounding leaves the two triangles apart
		for j := range i {
			v := (cov[i*p+j] + cov[j*p+i]) / 2
			cov[i*p+j], cov[j*p+i] = v, v
		}
	}
}

// rowPosterior sets path to -S M and cov to Noise A A' from rows, where A = S X'V^-1, so that the covariance
// is (I - S M) S (I - M S) + Noise A A' (Joseph's form): rounding in A changes it by its square only.
func (s *solver) rowPosterior(path, cov []float64) {
	n, p := len(s.vector), s.width()
	if n == 0 {
		return
	}
	s.gain = dense.Grow(s.gain, n*p)
	gain := dense.General(n, p, s.gain)
	for i := range n {
		s.Deviation(gain.Data[i*p:][:p], s.half[i*p:][:p])
	}
	dense.Trsm(blas.Left, blas.NoTrans, 1, dense.Upper(n, s.factor), gain)
	dense.Gemm(blas.Trans, blas.NoTrans, -1, gain, dense.General(n, p, s.task.X), 0, dense.General(p, p, path))
	dense.Gemm(blas.Trans, blas.NoTrans, s.noise, gain, gain, 0, dense.General(p, p, cov))
}

// productPosterior sets path to -S M and cov to S - S M S from products. With A = F R^-1 they are -A half and
// Noise A A': differences would lose the digits of a posterior that is narrow in a wide prior.
func (s *solver) productPosterior(path, cov []float64) {
	n, p := len(s.vector), s.width()
	if n == 0 {
		return
	}
	s.gain = dense.Grow(s.gain, n*p)
	clear(s.gain)
	root := dense.General(n, p, s.gain)
	for i, j := range s.own {
		root.Data[i*p+j] = s.prior.Deviations[j]
	}
	copy(root.Data[len(s.own)*p:], s.prior.Loadings)
	dense.Trsm(blas.Left, blas.Trans, 1, dense.Upper(n, s.factor), root)
	dense.Gemm(blas.Trans, blas.NoTrans, -1, root, dense.General(n, p, s.half), 0, dense.General(p, p, path))
	dense.Gemm(blas.Trans, blas.NoTrans, s.noise, root, root, 0, dense.General(p, p, cov))
}
