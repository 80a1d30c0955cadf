package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Zgeru computes A += alpha x y' for a complex m x n matrix A.
//
// On entry a, x and y hold A, x and y. On return a is overwritten.
func (i Implementation) Zgeru(m, n int, alpha complex128, x []complex128, incX int, y []complex128, incY int, a []complex128, lda int) {
	if m*n < complexEntries || !zger(blas.Trans, m, n, alpha, doubles(x), incX, doubles(y), incY, doubles(a), lda) {
		i.Implementation.Zgeru(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Cgeru is Zgeru in complex64.
func (i Implementation) Cgeru(m, n int, alpha complex64, x []complex64, incX int, y []complex64, incY int, a []complex64, lda int) {
	if m*n < complexEntries || !zger(blas.Trans, m, n, complex128(alpha), singles(x), incX, singles(y), incY, singles(a), lda) {
		i.Implementation.Cgeru(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Zgerc computes A += alpha x y* for a complex m x n matrix A, where y* is the conjugate transpose of y.
//
// On entry a, x and y hold A, x and y. On return a is overwritten.
func (i Implementation) Zgerc(m, n int, alpha complex128, x []complex128, incX int, y []complex128, incY int, a []complex128, lda int) {
	if m*n < complexEntries || !zger(blas.ConjTrans, m, n, alpha, doubles(x), incX, doubles(y), incY, doubles(a), lda) {
		i.Implementation.Zgerc(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Cgerc is Zgerc in complex64.
func (i Implementation) Cgerc(m, n int, alpha complex64, x []complex64, incX int, y []complex64, incY int, a []complex64, lda int) {
	if m*n < complexEntries || !zger(blas.ConjTrans, m, n, complex128(alpha), singles(x), incX, singles(y), incY, singles(a), lda) {
		i.Implementation.Cgerc(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// zger adds the product of a column x and a row op(y), and returns true, or returns false where gonum does:
// the reals of op(y) by the real parts of alpha x, and those of i op(y) by the imaginary ones.
func zger[F tile.Float](tY blas.Transpose, m, n int, alpha complex128, x []F, incX int, y []F, incY int, a []F, lda int) bool {
	switch {
	case m < complexRows || n < complexRow || alpha == 0 || !vectorized():
		return false
	case !insidePairs(a, m, n, lda) || !holdsPairs(x, m, incX) || !holdsPairs(y, n, incY):
		return false
	}
	memory := borrow[F](2*m + 4*n)
	defer giveBack(memory)
	re, im := splitPairs(*memory, x, m, incX, alpha)
	pairs, turned := turnedPairs((*memory)[2*m:], y, n, incY, tY == blas.ConjTrans)
	for at := 0; at < m; at += rowsOfPairs {
		rows, block := min(rowsOfPairs, m-at), a[2*at*lda:]
		tile.AddOuter(block, 2*lda, re[at:], pairs, rows, 2*n)
		tile.AddOuter(block, 2*lda, im[at:], turned, rows, 2*n)
	}
	return true
}
