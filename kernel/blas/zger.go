package blas

import (
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Zgeru computes A += alpha x y' for a complex m x n matrix A.
//
// On entry a, x and y hold A, x and y. On return a is overwritten.
func (*routines) Zgeru(
	m, n int, alpha complex128, x []complex128, incX int, y []complex128, incY int, a []complex128, lda int,
) {
	if m*n < complexEntries || !zger(blas.Trans, m, n, alpha, doubles(x), incX, doubles(y), incY, doubles(a), lda) {
		fallback{}.Zgeru(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Cgeru is Zgeru in complex64.
func (*routines) Cgeru(
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
func (*routines) Zgerc(
	m, n int, alpha complex128, x []complex128, incX int, y []complex128, incY int, a []complex128, lda int,
) {
	if m*n < complexEntries || !zger(blas.ConjTrans, m, n, alpha, doubles(x), incX, doubles(y), incY, doubles(a), lda) {
		fallback{}.Zgerc(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Cgerc is Zgerc in complex64.
func (*routines) Cgerc(
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
	case m < complexRows && n < complexWide || n < complexRow || alpha == 0 || !vectorized():
		return false
	case !insidePairs(a, m, n, lda) || !holdsPairs(x, m, incX) || !holdsPairs(y, n, incY):
		return false
	}
	u := outerPairs[F]{m: m, n: n, alpha: alpha, conjugate: tY == blas.ConjTrans, a: a, lda: lda}
	u.x, u.incX, u.y, u.incY = x, incX, y, incY
	u.share()
	return true
}

// outerPairs adds a column alpha x times a row y, or its conjugate, to an m x n matrix A of complex numbers.
type outerPairs[F tile.Float] struct {
	m, n      int
	alpha     complex128
	conjugate bool
	x         []F
	incX      int
	y         []F
	incY      int
	a         []F
	lda       int
}

// share adds the product, on several threads if that pays: they take parts of the rows in turn.
func (u *outerPairs[F]) share() {
	t := teamOver[F](2*u.m*u.n, false)
	if t.threads == 1 {
		u.part(t, 0, u.m)
		return
	}
	of := *u // a copy, so that products on one thread need no memory of the heap
	parts := t.cut(u.m, entriesOfAPart/2/u.n, rowsOfAUnit, 0)
	t.run(parts.parts, func(i int) {
		lo, hi := parts.part(i)
		of.part(t, lo, hi)
	})
}

// part adds the product to rows lo to hi, from vectors that the thread makes for itself: those of another one
// would come from the other core.
func (u *outerPairs[F]) part(t team, lo, hi int) {
	memory := borrow[F](2*(hi-lo) + 4*u.n)
	defer giveBack(memory)
	by := gatherPairs(*memory, someOf(u.x, u.m, u.incX, lo, hi), hi-lo, u.incX, u.alpha, false)
	rows := turnedPairs((*memory)[len(by):], u.y, u.n, u.incY, u.conjugate) // op(y), and i times it
	t.backwards(lo, hi, func(from, to int) { u.add(from, to, by[2*(from-lo):], rows) })
}

// add adds numbers of a column times a row, with i times the row behind it, to rows lo to hi.
func (u *outerPairs[F]) add(lo, hi int, by, row []F) {
	if !tune().oneStream(complexOuterCaches, 2*u.m*u.n*int(unsafe.Sizeof(u.a[0]))) {
		tile.AddOuterPairs(u.a[2*lo*u.lda:], 2*u.lda, by, row[:2*u.n], row[2*u.n:], hi-lo, 2*u.n)
		return
	}
	for i := range hi - lo { // the same sums
		tile.AddComplex(u.a[2*(lo+i)*u.lda:][:2*u.n], row, by[2*i], by[2*i+1], false)
	}
}
