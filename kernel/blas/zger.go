package blas

import (
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Zgeru computes A += alpha x y' for a complex m x n matrix A.
//
// On entry a, x and y hold A, x and y. On return a is overwritten.
func (i Implementation) Zgeru(
	m, n int, alpha complex128, x []complex128, incX int, y []complex128, incY int, a []complex128, lda int,
) {
	if m*n < complexEntries || !zger(blas.Trans, m, n, alpha, doubles(x), incX, doubles(y), incY, doubles(a), lda) {
		fallback{}.Zgeru(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Cgeru is Zgeru in complex64.
func (i Implementation) Cgeru(
	m, n int, alpha complex64, x []complex64, incX int, y []complex64, incY int, a []complex64, lda int,
) {
	if m*n < complexEntries ||
		!zger(blas.Trans, m, n, complex128(alpha), singles(x), incX, singles(y), incY, singles(a), lda) {
		fallback{}.Cgeru(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Zgerc computes A += alpha x y* for a complex m x n matrix A, where y* is the conjugate transpose of y.
//
// On entry a, x and y hold A, x and y. On return a is overwritten.
func (i Implementation) Zgerc(
	m, n int, alpha complex128, x []complex128, incX int, y []complex128, incY int, a []complex128, lda int,
) {
	if m*n < complexEntries || !zger(blas.ConjTrans, m, n, alpha, doubles(x), incX, doubles(y), incY, doubles(a), lda) {
		fallback{}.Zgerc(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Cgerc is Zgerc in complex64.
func (i Implementation) Cgerc(
	m, n int, alpha complex64, x []complex64, incX int, y []complex64, incY int, a []complex64, lda int,
) {
	if m*n < complexEntries ||
		!zger(blas.ConjTrans, m, n, complex128(alpha), singles(x), incX, singles(y), incY, singles(a), lda) {
		fallback{}.Cgerc(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// zger adds the product of a column alpha x and a row op(y). It returns false, and adds nothing, where gonum
// is to compute it.
func zger[F tile.Float](
	tY blas.Transpose, m, n int, alpha complex128, x []F, incX int, y []F, incY int, a []F, lda int,
) bool {
	switch {
	case m < complexRows || n < complexRow || alpha == 0 || !vectorized():
		return false
	case !insidePairs(a, m, n, lda) || !holdsPairs(x, m, incX) || !holdsPairs(y, n, incY):
		return false
	}
	memory := borrow[F](2*m + 4*n)
	defer giveBack(memory)
	rows := turnedPairs((*memory)[2*m:], y, n, incY, tY == blas.ConjTrans) // op(y), and i times it
	by := gatherPairs(*memory, x, m, incX, alpha, false)
	if !tune().oneStream(complexOuterCaches, 2*m*n*int(unsafe.Sizeof(a[0]))) {
		tile.AddOuterPairs(a, 2*lda, by, rows[:2*n], rows[2*n:], m, 2*n)
		return true
	}
	for i := range m { // the same sums
		tile.AddComplex(a[2*i*lda:][:2*n], rows, by[2*i], by[2*i+1], false)
	}
	return true
}
