package evidence

import (
	"math"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// axes are the coordinates in which nodes tell sums of a point: those in which Z'V^-1 Z would be the number of tasks times the unit matrix if
// tasks were alike. So a dither is as large a part of what rows say in all directions, whatever the features and strengths. nil are the
// coordinates of the rows.
type axes struct{ r blas64.Triangular } // rows z become R z, for B = R'R

// axesFor returns those for a prior, by the moments of the rows, which are told as they are; nil if nobody else hears the sums, or before that.
func (r *Rows) axesFor(p *mixedmodel.Prior) *axes {
	if r.released.errors == nil {
		return nil
	}
	b := mat.NewDense(p.W, p.W, p.Covariance())
	b.Add(b, r.released.errors)
	var chol mat.Cholesky
	if !chol.Factorize(symmetric(b)) {
		return nil
	}
	return &axes{chol.RawU().(*mat.TriDense).RawTriangular()}
}

// rows returns rows along the axes.
func (a *axes) rows(z []float64, w int) []float64 {
	if a == nil || len(z) == 0 {
		return z
	}
	out := append([]float64(nil), z...)
	blas64.Trmm(blas.Right, blas.Trans, 1, a.r, mixedmodel.Matrix(out, len(z)/w, w))
	return out
}

// enter turns a matrix Z'XZ to what it is along the axes.
func (a *axes) enter(m *mat.Dense) {
	if a != nil {
		blas64.Trmm(blas.Left, blas.NoTrans, 1, a.r, m.RawMatrix())
		blas64.Trmm(blas.Right, blas.Trans, 1, a.r, m.RawMatrix())
	}
}

// vector turns Z'x to what it is along the axes.
func (a *axes) vector(v []float64) {
	if a != nil {
		blas64.Trmv(blas.NoTrans, a.r, mixedmodel.Vector(v))
	}
}

// leaveVector is the inverse of vector.
func (a *axes) leaveVector(v []float64) {
	if a != nil {
		blas64.Trsv(blas.NoTrans, a.r, mixedmodel.Vector(v))
	}
}

// leave turns a symmetric matrix Z'XZ along the axes to what it is without them.
func (a *axes) leave(m []float64, w int) {
	if a == nil {
		return
	}
	square := mixedmodel.Square(m, w)
	blas64.Trsm(blas.Left, blas.NoTrans, 1, a.r, square)
	blas64.Trsm(blas.Right, blas.Trans, 1, a.r, square)
	for i := range w {
		for j := range i {
			m[i*w+j] = m[j*w+i]
		}
	}
}

// raise raises the eigenvalues of a dithered sum of w x w matrices to what has a digit beside the dither.
func raise(gram []float64, w int) {
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(w, gram), true) {
		return
	}
	values, q := e.Values(nil), new(mat.Dense)
	e.VectorsTo(q)
	least, raised := noDigits*values[w-1], new(mat.Dense)
	if !(least > 0) || values[0] >= least {
		return
	}
	raised.Apply(func(_, j int, v float64) float64 { return v * math.Max(values[j], least) }, q)
	raised.Mul(raised, q.T())
	copy(gram, raised.RawMatrix().Data)
}

// noDigits is how small an eigenvalue of such a sum is, over the largest, that has none.
const noDigits = 1e-2
