// Package qr computes the thin QR factorisation of tall matrices over the
// caller's memory, with the sign convention that the diffusion iteration needs:
// the diagonal of R is positive, so that equal matrices have equal factors and
// nodes that agree before the projection agree after it (Alg. 3, line 14).
package qr

import (
	"math"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
)

const (
	badShape = "qr: need a of m x n and r of n x n, m >= n >= 0"
	badSlice = "qr: slice or stride too short"
	badWork  = "qr: work too short"
)

// WorkLen returns the length of the workspace that Factor needs for n columns.
func WorkLen(n int) int { return n }

// Factor overwrites the m x n matrix a, m >= n, by the orthonormal factor Q of A = Q R and the n x n matrix r
// by R, with zeros below the diagonal. The diagonal is not negative. work must have WorkLen(n) entries and is
// allocated if it is nil.
//
// Q has orthonormal columns to rounding also when the columns of a are dependent; a zero or dependent column
// shows as a zero or tiny diagonal entry of R. Columns must be zero or have norms from 1e-140 to 1e150, since
// squares are summed. With NaN or Inf in a the result holds NaN.
//
// Columns that are close to orthogonal, as in the iterations of Alg. 3, are factored by the Cholesky factor
// of A'A: half of the operations of Householder reflectors, on several columns at a time. All others are
// factored by reflectors. The two agree to rounding.
//
// Factor allocates nothing else and never forms the m x m matrix. a, r and work must not overlap. It panics
// when a shape does not fit.
func Factor(a, r blas64.GeneralCols, work []float64) {
	n := a.Cols
	if n < 0 || a.Rows < n || r.Rows != n || r.Cols != n {
		panic(badShape)
	}
	check(a)
	check(r)
	if work == nil {
		work = make([]float64, WorkLen(n))
	}
	if len(work) < WorkLen(n) {
		panic(badWork)
	}
	done := cholesky(a, r, work)
	if !done {
		reflectors(a, r, work)
		formQ(a, work)
	}
	for k := range n {
		clear(r.Data[k*r.Stride+k+1 : k*r.Stride+n])
		if done || r.Data[k*r.Stride+k] >= 0 {
			continue
		}
		q := a.Data[k*a.Stride:][:a.Rows]
		for i := range q {
			q[i] = -q[i]
		}
		for j := k; j < n; j++ {
			r.Data[j*r.Stride+k] = -r.Data[j*r.Stride+k]
		}
	}
}

func check(a blas64.GeneralCols) {
	if a.Stride < max(1, a.Rows) || a.Cols > 0 && len(a.Data) < (a.Cols-1)*a.Stride+a.Rows {
		panic(badSlice)
	}
}

// gram computes r = A'A.
func gram(r, a blas64.GeneralCols) {
	const rows = 4 // of the tiles
	whole := a.Rows &^ (tile.Width - 1)
	for i := 0; i < a.Cols; i += rows {
		x := a.Data[i*a.Stride:]
		tile.MulBasis(r.Data[i*r.Stride+i:], r.Stride, x, a.Stride, x, a.Stride, min(rows, a.Cols-i), whole, a.Cols-i, tile.Hint{})
	}
	for j := 0; j < a.Cols && whole < a.Rows; j++ {
		for i := range j + 1 {
			r.Data[j*r.Stride+i] += dense.Dot(a.Data[i*a.Stride+whole:][:a.Rows-whole], a.Data[j*a.Stride+whole:])
		}
	}
}

// cholesky factors a by CholeskyQR, R'R = A'A and Q = A R^-1, if its columns are close to orthogonal.
// Otherwise it returns false and has changed only r.
//
// The error of Q'Q is that of A'A times |R^-1|^2, which is at most three times that of orthonormal columns:
// see nearlyOrthogonal.
func cholesky(a, r blas64.GeneralCols, inv []float64) bool {
	n := a.Cols
	gram(r, a)
	if !nearlyOrthogonal(r) {
		return false
	}
	for j := range n {
		cj := r.Data[j*r.Stride:][:j+1]
		for i := range j {
			s := cj[i]
			for k, v := range r.Data[i*r.Stride:][:i] {
				s -= v * cj[k]
			}
			cj[i] = s * inv[i]
		}
		s := cj[j]
		for _, v := range cj[:j] {
			s -= v * v
		}
		cj[j] = math.Sqrt(s)
		inv[j] = 1 / cj[j]
	}
	tile.SolveUpper(a.Data, a.Stride, r.Data, r.Stride, inv, a.Rows, n)
	return true
}

// nearlyOrthogonal reports whether the columns of a matrix A with the upper triangle g of A'A are close to
// orthogonal: whether their cosines c_ij make |C - I| <= 1/2 in the Frobenius norm. All eigenvalues of C then
// lie in [1/2, 3/2]: its condition number is at most 3, and its Cholesky factor exists. That of A'A has the
// same relative errors, however long the columns are.
func nearlyOrthogonal(g blas64.GeneralCols) bool {
	const smallest, largest = 1e-100, 1e100 // whose squares are numbers
	e := 0.0
	for j := range g.Cols {
		d := g.Data[j*g.Stride+j]
		if !(d >= smallest && d <= largest) { // or NaN
			return false
		}
		s := 0.0
		for i, v := range g.Data[j*g.Stride:][:j] {
			s += v / d * v / g.Data[i*g.Stride+i]
		}
		e += 2 * s
	}
	return e <= 0.25
}
