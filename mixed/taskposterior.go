package mixed

import (
	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// Deviate sets dst to the posterior mean of the deviation: S times the score that Score has computed just
// before. From products it is F (noise I + F'G F)^-1 F'X'(y - X mean), the same: where the noise is small, a
// score is the difference of two large numbers and has no digit left.
func (s *solver) Deviate(dst, score []float64) {
	if s.task.G == nil {
		s.prior.times(dst, score)
		return
	}
	clear(dst)
	if len(s.vector) == 0 {
		return
	}
	dense.Trsv(blas.NoTrans, dense.Upper(len(s.vector), s.factor), dense.Vector(s.a))
	for i, j := range s.own {
		dst[j] = s.prior.Deviations[j] * s.a[i]
	}
	for a := range s.prior.Rank {
		rounded.AddScaled(dst, s.a[len(s.own)+a], s.loadings(a))
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
	s.Deviate(theta, s.b)
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
			s.prior.times(part[i*p:][:p], path[i*p:][:p])
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
		s.prior.times(gain.Data[i*p:][:p], s.half[i*p:][:p])
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
