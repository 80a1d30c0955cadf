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

// zger adds the product of a column alpha x and a row op(y), and returns true, or returns false where gonum
// computes it.
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
	z := outerPairs[F]{m: m, n: n, a: a, lda: 2 * lda}
	z.rows = turnedPairs((*memory)[2*m:], y, n, incY, tY == blas.ConjTrans)
	u := tune()
	switch {
	case 2*m*n*int(unsafe.Sizeof(z.a[0])) > u.secondLevel:
		z.addByRows(gatherPairs(*memory, x, m, incX, alpha, false))
	case u.vectorBytes == 64:
		z.addByPanels(gatherPairs(*memory, x, m, incX, alpha, false))
	default:
		z.addTwice(splitPairs(*memory, x, m, incX, alpha))
	}
	return true
}

// An outerPairs is A += x op(y) for m x n complex numbers: the rows of op(y), and of i times it, by the real
// and the imaginary parts of x. All ways add the first product to an entry, and then the second.
type outerPairs[F tile.Float] struct {
	m, n int
	rows []F // both, of 2n reals
	a    []F
	lda  int // in reals
}

// addByRows adds to one row of A after the other, which each leaves the memory once.
func (z *outerPairs[F]) addByRows(x []F) {
	for i := range z.m {
		tile.AddRows(z.a[i*z.lda:], z.rows, 2*z.n, x[2*i:], 2, 2*z.n)
	}
}

// addByPanels adds a product of depth 2.
func (z *outerPairs[F]) addByPanels(x []F) {
	width := tile.PanelWidth[F]()
	for at := 0; at < z.m; at += fewRows {
		rows, block := min(fewRows, z.m-at), z.a[at*z.lda:]
		for j := 0; j < 2*z.n; j += width {
			columns := min(width, 2*z.n-j)
			tile.Panel(block[j:], z.lda, x[2*at:], 2, z.rows[j:], 2*z.n, rows, 2, columns, true, tile.Ahead{})
		}
	}
}

// addTwice adds both products to a few rows of A, the second in the first-level cache.
func (z *outerPairs[F]) addTwice(re, im []F) {
	const together = 4
	for at := 0; at < z.m; at += together {
		rows, block := min(together, z.m-at), z.a[at*z.lda:]
		tile.AddOuter(block, z.lda, re[at:], z.rows, rows, 2*z.n)
		tile.AddOuter(block, z.lda, im[at:], z.rows[2*z.n:], rows, 2*z.n)
	}
}
