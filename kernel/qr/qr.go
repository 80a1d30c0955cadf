// Package qr computes the thin QR factorisation of tall matrices over the caller's memory. The diagonal of R
// is positive, so that equal matrices have equal factors: nodes that agree before the projection of Alg. 3,
// line 14, agree after it. R without Q may be updated by new rows.
package qr

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

const (
	badShape = "qr: need a of m x n and r of n x n, m >= n >= 0"
	badSlice = "qr: slice or stride too short"
	badWork  = "qr: work too short"
)

// WorkLen returns the length of the workspace that Factor needs for n columns. It panics if n is negative, or
// beyond the memory of any machine.
func WorkLen(n int) int {
	checkOrder(n)
	return n * (n + 2)
}

// checkOrder panics unless memory may hold n x n matrices.
func checkOrder(n int) {
	const most = math.MaxInt / 64
	if n < 0 {
		panic(badTriangle)
	}
	if float64(n)*float64(n) > most {
		panic(tooLarge)
	}
}

// Factor overwrites the m x n matrix a, m >= n, by the orthonormal factor Q of A = Q R and the n x n matrix r
// by R, with zeros below the diagonal. The diagonal is not negative. work must have WorkLen(n) entries and is
// allocated if it is nil.
//
// Q has orthonormal columns to rounding also when the columns of a are dependent; a zero or dependent column
// shows as a zero or tiny diagonal entry of R. With NaN or Inf in a the result holds NaN.
//
// Columns that are far from dependent, of norms from 1e-50 to 1e50, are factored by the Cholesky factor of
// A'A: once if they are close to orthogonal, as in the iterations of Alg. 3, and else twice. All others are
// factored by the reflectors of LAPACK, which take two to eight times as long. The factors agree to rounding.
//
// Factor allocates nothing else and never forms an m x m matrix. a, r and work must not overlap. It panics
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
	inv, first := work[:n], blas64.GeneralCols{Rows: n, Cols: n, Stride: max(n, 1), Data: work[2*n:]}
	gram(r, a)
	orthogonal := nearlyOrthogonal(r)
	twice := !orthogonal && cholesky(first, r, inv)
	if twice {
		tile.SolveUpper(a.Data, a.Stride, first.Data, first.Stride, inv, a.Rows, n)
		gram(r, a)
		orthogonal = nearlyOrthogonal(r)
	}
	if orthogonal && cholesky(r, r, inv) {
		tile.SolveUpper(a.Data, a.Stride, r.Data, r.Stride, inv, a.Rows, n)
	} else {
		reflectors(a, r, work)
	}
	for j := range n {
		clear(r.Data[j*r.Stride:][j+1 : n])
	}
	if twice {
		multiply(r, first)
	}
}

// multiply replaces r by the product r f of upper triangles, whose entries below the diagonal are zeros.
func multiply(r, f blas64.GeneralCols) {
	for j := r.Cols - 1; j >= 0; j-- {
		column, fj := r.Data[j*r.Stride:][:j+1], f.Data[j*f.Stride:]
		floats.Scale(fj[j], column)
		tile.AddRows(column, r.Data, r.Stride, fj, j, j)
	}
}

func check(a blas64.GeneralCols) {
	if a.Stride < max(1, a.Rows) || a.Rows > 0 && a.Cols > 0 && beyond(a.Cols-1, a.Stride, a.Rows, len(a.Data)) {
		panic(badSlice)
	}
}

// beyond reports whether a slice is too short for the given number of strides and one row or column more.
func beyond(strides, stride, last, length int) bool {
	return length < last || strides > (length-last)/stride
}

// gram computes r = A'A.
func gram(r, a blas64.GeneralCols) {
	const rows = 4 // of the tiles
	whole := a.Rows &^ (tile.Width - 1)
	for i := 0; i < a.Cols; i += rows {
		x := a.Data[i*a.Stride:]
		tile.MulBasis(r.Data[i*r.Stride+i:], r.Stride, x, a.Stride, x, a.Stride, min(rows, a.Cols-i), whole,
			a.Cols-i, nil)
	}
	for j := 0; j < a.Cols && whole < a.Rows; j++ {
		for i := range j + 1 {
			r.Data[j*r.Stride+i] += tile.Dot(a.Data[i*a.Stride+whole:][:a.Rows-whole], a.Data[j*a.Stride+whole:])
		}
	}
}

// cholesky computes the Cholesky factor R of g = A'A, both upper triangles, which may be the same, and the
// inverses of its diagonal. It returns false if a column of A is nearly dependent on earlier ones, or so
// large or small that digits may have been lost. A part of R is written then.
//
// Q = A R^-1 then has the error of A'A times |R^-1|^2: at most three times that of orthonormal columns if A
// was nearly orthogonal, and far less than 1 otherwise, so that a second time makes it orthonormal.
func cholesky(r, g blas64.GeneralCols, inv []float64) bool {
	const (
		smallest, largest = 1e-100, 1e100 // whose squares are numbers
		apart             = 1e-8          // the square of the sine of an angle
	)
	for j := range g.Cols {
		cj, gj := r.Data[j*r.Stride:][:j+1], g.Data[j*g.Stride:][:j+1]
		square := gj[j]
		s := square
		for i := range j {
			v := gj[i]
			for k, w := range r.Data[i*r.Stride:][:i] {
				v -= float64(w * cj[k]) // two roundings on every processor
			}
			cj[i] = v * inv[i]
			s -= float64(cj[i] * cj[i])
		}
		if !(square >= smallest && square <= largest && s > apart*square) { // or NaN
			return false
		}
		cj[j] = math.Sqrt(s)
		inv[j] = 1 / cj[j]
	}
	return true
}

// nearlyOrthogonal reports whether the columns of a matrix A with the upper triangle g of A'A are close to
// orthogonal: whether their cosines c_ij make |C - I| <= 1/2 in the Frobenius norm. All eigenvalues of C then
// lie in [1/2, 3/2]: its condition number is at most 3, and its Cholesky factor exists. That of A'A has the
// same relative errors, however long the columns are.
func nearlyOrthogonal(g blas64.GeneralCols) bool {
	e := 0.0
	for j := range g.Cols {
		s := 0.0
		for i, v := range g.Data[j*g.Stride:][:j] {
			s += v / g.Data[j*g.Stride+j] * v / g.Data[i*g.Stride+i]
		}
		e += 2 * s
	}
	return e <= 0.25
}

// reflectors factors a with LAPACK. For LAPACK the columns of a are the rows of A' = R'Q'.
func reflectors(a, r blas64.GeneralCols, work []float64) {
	n := a.Cols
	tau, work := work[:n], work[n:2*n]
	blas.Lapack{}.Dgelqf(n, a.Rows, a.Data, a.Stride, tau, work, n)
	for k := range n {
		copy(r.Data[k*r.Stride:][:k+1], a.Data[k*a.Stride:])
	}
	blas.Lapack{}.Dorglq(n, a.Rows, n, a.Data, a.Stride, tau, work, n)
	for k := range n {
		if r.Data[k*(r.Stride+1)] >= 0 {
			continue
		}
		floats.Scale(-1, a.Data[k*a.Stride:][:a.Rows])
		for j := k; j < n; j++ {
			r.Data[j*r.Stride+k] *= -1
		}
	}
}
