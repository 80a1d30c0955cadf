package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Zgemv computes y = alpha op(A) x + beta y for a complex m x n matrix A, where op(A) is A, its transpose
// or its conjugate transpose.
//
// On entry a, x and y hold A, x and y. On return y is overwritten.
func (i Implementation) Zgemv(
	tA blas.Transpose, m, n int, alpha complex128, a []complex128, lda int, x []complex128, incX int,
	beta complex128, y []complex128, incY int,
) {
	if m*n < complexEntriesOf(tA) ||
		!zgemv(tA, m, n, alpha, doubles(a), lda, doubles(x), incX, beta, doubles(y), incY) {
		fallback{}.Zgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// Cgemv is Zgemv in complex64.
func (i Implementation) Cgemv(
	tA blas.Transpose, m, n int, alpha complex64, a []complex64, lda int, x []complex64, incX int,
	beta complex64, y []complex64, incY int,
) {
	from := complexEntries
	if tA == blas.NoTrans {
		from = complexEntries32
	}
	switch {
	case m*n >= from &&
		zgemv(tA, m, n, complex128(alpha), singles(a), lda, singles(x), incX, complex128(beta), singles(y), incY):
	case tA == blas.NoTrans && rowsOfSingles(m, n, alpha, a, lda, x, incX, beta, y, incY):
	default:
		fallback{}.Cgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// complexEntriesOf returns the number of entries of a matrix below which gonum multiplies op(A) by a vector.
func complexEntriesOf(tA blas.Transpose) int {
	if tA == blas.NoTrans {
		return 2 * complexEntries
	}
	return complexEntries
}

// zgemv computes Zgemv or Cgemv and returns true, or returns false where gonum computes it.
func zgemv[F tile.Float](
	tA blas.Transpose, m, n int, alpha complex128, a []F, lda int, x []F, incX int, beta complex128, y []F,
	incY int,
) bool {
	lenX, lenY := n, m
	if tA != blas.NoTrans {
		lenX, lenY = m, n
	}
	switch {
	case !known(tA) || min(m, n) <= 0 || alpha == 0 || !vectorized():
		return false
	case !insidePairs(a, m, n, lda) || !holdsPairs(x, lenX, incX) || !holdsPairs(y, lenY, incY):
		return false
	case n < complexRow && (kind[F]() == 0 || tA != blas.NoTrans) || n < complexRow32 || m < complexRows:
		return false
	}
	memory := borrow[F](4*lenX + 4*lenY)
	defer giveBack(memory)
	v := complexVector[F]{m: m, n: n, a: a, lda: 2 * lda, y: y, inc: 2 * incY}
	v.alpha, v.beta, v.add = paired[F](alpha, false), paired[F](beta, false), beta != 0
	v.start = max(0, (1-lenY)*v.inc)
	if tA == blas.NoTrans {
		both := turnedPairs(*memory, x, n, incX, true)
		v.re, v.im = both[:2*n], both[2*n:]
	} else {
		v.conjugate, v.sums = tA == blas.ConjTrans, (*memory)[4*m:]
		v.alpha = paired[F](1, false)
		v.by = gatherPairs(*memory, x, m, incX, alpha, false)
	}
	v.compute(tA)
	return true
}

// A complexVector is y = alpha op(A) x + beta y, for a matrix A of m x n complex numbers.
type complexVector[F tile.Float] struct {
	m, n       int
	alpha      pairing[F] // 1 for op(A) other than A
	beta       pairing[F]
	add        bool // beta is not 0
	a          []F
	lda        int // in reals, as inc and start
	y          []F
	inc, start int // of the entries of y
	conjugate  bool
	re, im     []F // for A: the reals whose products with rows are the parts of y
	by, sums   []F // for op(A) other than A: alpha x, and memory
}

// compute computes y, on several threads if A is large: they take parts of some entries in turn.
func (v *complexVector[F]) compute(tA blas.Transpose) {
	entries, most := v.m, entriesOfAPart/v.n
	if tA != blas.NoTrans {
		entries, most = v.n, columnsOfPairs/2
	}
	t := teamFor(passOver[F](2*v.m*v.n), false)
	if t.threads == 1 {
		v.part(tA, 0, entries)
		return
	}
	of := *v // a copy, so that products on one thread need no memory of the heap
	together := t.together(entries, most, rowsOfPairs)
	parts := (entries + together - 1) / together
	t.run(parts, func(i int) { of.part(tA, i*together, min((i+1)*together, entries)) })
}

// part computes entries lo to hi of y.
func (v *complexVector[F]) part(tA blas.Transpose, lo, hi int) {
	if tA == blas.NoTrans {
		v.rows(lo, hi)
	} else {
		v.columns(lo, hi)
	}
}

// rowsOfPairs are the rows, or entries of y, that are computed together, a multiple of those of all tiles,
// and columnsOfPairs the reals of sums that stay in the first-level cache.
const rowsOfPairs, columnsOfPairs = 24, 1024

// rows computes entries lo to hi of alpha A x + beta y.
func (v *complexVector[F]) rows(lo, hi int) {
	var sums [2 * rowsOfPairs]F
	for ; lo < hi; lo += rowsOfPairs {
		rows := min(rowsOfPairs, hi-lo)
		tile.RowDotPairs(sums[:], v.a[lo*v.lda:], v.lda, v.re, v.im, rows, 2*v.n)
		v.store(lo, sums[:2*rows])
	}
}

// columns computes entries lo to hi of alpha op(A) x + beta y, for op(A) = A' or its conjugate: sums of
// rows of A by the real parts of alpha x, and by the imaginary ones.
func (v *complexVector[F]) columns(lo, hi int) {
	re, im := v.sums[:2*v.n], v.sums[2*v.n:4*v.n]
	clear(re[2*lo : 2*hi])
	clear(im[2*lo : 2*hi])
	for ; lo < hi; lo += columnsOfPairs / 2 {
		end := min(lo+columnsOfPairs/2, hi)
		tile.AddRowPairs(re[2*lo:2*end], im[2*lo:2*end], v.a[2*lo:], v.lda, v.by, v.m, 2*(end-lo))
		v.combine(lo, re[2*lo:2*end], im[2*lo:2*end])
	}
}

// combine computes entries of y from lo on, from the sums of rows of A by real and by imaginary parts.
func (v *complexVector[F]) combine(lo int, byRe, byIm []F) {
	var sums [2 * rowsOfPairs]F
	for len(byRe) > 0 {
		count := min(rowsOfPairs, len(byRe)/2)
		for k := range count {
			x, y := byIm[2*k], byIm[2*k+1]
			if v.conjugate {
				sums[2*k], sums[2*k+1] = byRe[2*k]+y, x-byRe[2*k+1]
			} else {
				sums[2*k], sums[2*k+1] = byRe[2*k]-y, x+byRe[2*k+1]
			}
		}
		v.store(lo, sums[:2*count])
		lo, byRe, byIm = lo+count, byRe[2*count:], byIm[2*count:]
	}
}

// store sets entries of y from lo on to products, times alpha, and beta times the entries.
func (v *complexVector[F]) store(lo int, products []F) {
	at := v.start + lo*v.inc
	for ; len(products) >= 2; products = products[2:] {
		x, y := v.alpha.times(products[0], products[1])
		to := v.y[at:][:2]
		if v.add {
			before, beforeIm := v.beta.times(to[0], to[1])
			x, y = x+before, y+beforeIm
		}
		to[0], to[1] = x, y
		at += v.inc
	}
}
