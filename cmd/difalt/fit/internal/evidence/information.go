package evidence

import (
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// maxJoint is the number of entries of the loadings up to which their uncertainty is that
// of all entries together; beyond, columns count as independent of one another.
const maxJoint = 400

// jointly reports whether columns of the loadings depend on one another.
func jointly(w, rank int) bool { return w*rank <= maxJoint }

// information returns the Fisher information of one task (half the expected second derivatives of -2 log likelihood) about a prior, by A = B^-1: about the loadings, by
// columns, and the logarithms of intercept and spread. That about two changes D and E of the covariance of deviations is tr(A D A E) / 2.
func information(p *mixedmodel.Prior, a []float64) *mat.SymDense {
	w, r := p.W, p.Rank
	n, c := w*r, w-1
	info, am, l := mat.NewSymDense(n+2, nil), mat.NewDense(w, w, a), mat.NewDense(max(r, 1), w, nil)
	copy(l.RawMatrix().Data, p.Loadings)
	slopes := mat.NewDiagDense(w, nil) // their variances
	for j := range c {
		slopes.SetDiag(j, p.Slope(j))
	}
	var al, b, adal mat.Dense // (A L)', L'A L, and (A D A L)' for the variances D of slopes
	al.Mul(l, am)
	b.Mul(&al, l.T())
	adal.Product(&al, slopes, am)
	for i := range n {
		for j := i; j < n; j++ {
			if p, q := i/w, j/w; p == q || jointly(w, r) {
				info.SetSym(i, j, b.At(p, q)*am.At(i%w, j%w)+al.At(q, i%w)*al.At(p, j%w))
			}
		}
		info.SetSym(i, n, p.Intercept*al.At(i/w, c)*am.At(c, i%w))
		info.SetSym(i, n+1, adal.At(i/w, i%w))
	}
	squares, constant := 0.0, 0.0
	for i := range c {
		constant += p.Slope(i) * am.At(c, i) * am.At(c, i)
		for j := range c {
			squares += p.Slope(i) * p.Slope(j) * am.At(i, j) * am.At(i, j)
		}
	}
	info.SetSym(n, n, p.Intercept*p.Intercept*am.At(c, c)*am.At(c, c)/2)
	info.SetSym(n, n+1, p.Intercept*constant/2)
	info.SetSym(n+1, n+1, squares/2)
	return info
}

// curvature returns A = G - G C G for G = Z'V^-1 Z of a task, w x w.
func (pt *Point) curvature(gram []float64) []float64 {
	w := pt.W
	gc, a := mixedmodel.Square(make([]float64, w*w), w), append([]float64(nil), gram...)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, mixedmodel.Square(gram, w), mixedmodel.Square(pt.MeanCovariance, w), 0, gc)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, -1, gc, mixedmodel.Square(gram, w), 1, mixedmodel.Square(a, w))
	return a
}

// Uncertainty returns the covariance of the loadings, by columns, and of the logarithms of
// intercept and spread: the inverse of the information, with the prior of the loadings and
// a weak one, of standard deviation 2, of the logarithms. nil if rounding leaves none. It takes the place of the information, which may be
// as large as the table.
func Uncertainty(info *mat.SymDense, variances []float64, w int) *mat.SymDense {
	h := info.RawSymmetric()
	n := h.N
	for i := range n {
		v := 0.25
		if i < n-2 {
			v = 1 / variances[i/w]
		}
		h.Data[i*h.Stride+i] += v
	}
	norm := lapack64.Lansy(lapack.MaxColumnSum, h, make([]float64, n))
	r, ok := lapack64.Potrf(h)
	if !ok || lapack64.Pocon(h, norm, make([]float64, 3*n), make([]int, n)) < 1/mat.ConditionTolerance {
		return nil
	}
	lapack64.Potri(r)
	return info
}
