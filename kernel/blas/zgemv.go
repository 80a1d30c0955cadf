package blas

import (
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Zgemv computes y = alpha op(A) x + beta y for a complex m x n matrix A, where op(A) is A, its transpose
// or its conjugate transpose.
//
// On entry a, x and y hold A, x and y. On return y is overwritten.
func (*routines) Zgemv(
	tA blas.Transpose, m, n int, alpha complex128, a []complex128, lda int, x []complex128, incX int,
	beta complex128, y []complex128, incY int,
) {
	if gemvByGonum[float64](tA, m, n) ||
		!zgemv(tA, m, n, alpha, doubles(a), lda, doubles(x), incX, beta, doubles(y), incY) {
		fallback{}.Zgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// Cgemv is Zgemv in complex64.
func (*routines) Cgemv(
	tA blas.Transpose, m, n int, alpha complex64, a []complex64, lda int, x []complex64, incX int,
	beta complex64, y []complex64, incY int,
) {
	switch {
	case !gemvByGonum[float32](tA, m, n) &&
		zgemv(tA, m, n, complex128(alpha), singles(a), lda, singles(x), incX, complex128(beta), singles(y), incY):
	case tA == blas.NoTrans && rowsOfSingles(m, n, alpha, a, lda, x, incX, beta, y, incY):
	default:
		fallback{}.Cgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// gemvByGonum reports whether gonum multiplies op(A), for A of m x n complex numbers, by a vector as fast. In
// complex64 and not transposed, loops that do not depend on addresses take its place.
func gemvByGonum[F tile.Float](tA blas.Transpose, m, n int) bool {
	switch {
	case n >= complexDot:
		return false
	case tA != blas.NoTrans:
		return m < gemvRowsTransposed || m*n < gemvEntries
	case kind[F]() == 1:
		return m < complexRows || n < complexRow32 || m*n < complexEntries32
	}
	return m < gemvRows || m*n < gemvEntries
}

// zgemv computes Zgemv or Cgemv and returns true, or returns false where gonum computes it: arguments are
// invalid, or alpha is 0.
func zgemv[F tile.Float](
	tA blas.Transpose, m, n int, alpha complex128, a []F, lda int, x []F, incX int, beta complex128, y []F,
	incY int,
) bool {
	if n == 1 && lda == 1 && m > 1 { // a column is also the row of a transpose
		switch tA {
		case blas.NoTrans:
			tA, m, n, lda = blas.Trans, 1, m, m
		case blas.Trans:
			tA, m, n, lda = blas.NoTrans, 1, m, m
		}
	}
	lenX, lenY := n, m
	if tA != blas.NoTrans {
		lenX, lenY = m, n
	}
	switch {
	case !known(tA) || min(m, n) <= 0 || alpha == 0 || !vectorized():
		return false
	case !insidePairs(a, m, n, lda) || !holdsPairs(x, lenX, incX) || !holdsPairs(y, lenY, incY):
		return false
	}
	if isThinVector(m, n) && (tA != blas.NoTrans || !isNarrowPairs[F](n)) {
		v := thinVector[F]{
			m: m, n: n, a: a, lda: 2 * lda, x: x, y: y, incX: incX, incY: incY, alpha: alpha, beta: beta,
			conjugate: tA == blas.ConjTrans,
		}
		v.compute(tA)
		return true
	}
	v := complexVector[F]{m: m, n: n, a: a, lda: 2 * lda, y: y, inc: 2 * incY, conjugate: tA == blas.ConjTrans}
	v.beta, v.add = paired[F](beta, false), beta != 0
	v.start = max(0, (1-lenY)*v.inc)
	streamed := tA == blas.NoTrans && kind[F]() == 0 && m*n >= streamedPairs
	v.byRows = n >= complexDot && (m < turnedRows || streamed)
	v.from, v.incX, v.by = x, incX, alpha
	v.compute(tA)
	return true
}

// A complexVector is y = alpha op(A) x + beta y, for a matrix A of m x n complex numbers.
type complexVector[F tile.Float] struct {
	m, n       int
	by         complex128 // alpha
	beta       pairing[F]
	add        bool // beta is not 0
	a          []F
	lda        int // in reals, as inc and start
	from       []F // x, with entries incX apart
	incX       int
	y          []F
	inc, start int // of the entries of y
	conjugate  bool
	byRows     bool // each row is multiplied, or added, as complex numbers
	complexMemory[F]
}

// A complexMemory has vectors that a thread makes for itself: those of another one would come from the other
// core.
type complexMemory[F tile.Float] struct {
	alpha  pairing[F] // 1 for op(A) other than A
	x      []F        // x, for op(A) other than A alpha x; for A, unless byRows, the conjugates of x
	turned []F        // i times the conjugates: their products with a row are the imaginary part
	sums   []F        // memory for op(A) other than A
}

// compute computes y, on several threads if A is large: they take parts of some entries in turn. Parts of
// sums of rows begin a line of a cache.
func (v *complexVector[F]) compute(tA blas.Transpose) {
	entries, most := v.m, entriesOfAPart/v.n
	if tA != blas.NoTrans {
		entries, most = v.n, columnsOfPairs/2
	}
	t := teamOver[F](2*v.m*v.n, false)
	if t.threads == 1 {
		v.part(tA, 0, entries)
		return
	}
	of, unit, lead := *v, rowsOfAUnit, 0 // a copy, so that products on one thread need no memory of the heap
	switch {
	case tA == blas.NoTrans && v.byRows:
		unit = 1
	case tA != blas.NoTrans && v.addsToY():
		lead = lineBefore(v.y[v.start:]) / 2
	}
	parts := t.cut(entries, most, unit, lead)
	t.run(parts.parts, func(i int) {
		lo, hi := parts.part(i)
		own := of
		own.part(tA, lo, hi)
	})
}

// part computes entries lo to hi of y.
func (v *complexVector[F]) part(tA blas.Transpose, lo, hi int) {
	lenX, sums := v.n, 0
	if tA != blas.NoTrans {
		lenX, sums = v.m, 2*min(hi-lo, columnsOfPairs/2)
	}
	memory := borrow[F](4*lenX + 2*tile.Width + 2*sums)
	defer giveBack(memory)
	switch {
	case tA != blas.NoTrans:
		v.alpha, v.sums = paired[F](1, false), (*memory)[(4*v.m+2*tile.Width-1)&^(2*tile.Width-1):]
		v.x = gatherPairs(*memory, v.from, v.m, v.incX, v.by, false)
		v.columns(lo, hi)
		return
	case v.byRows:
		v.x = gatherPairs(*memory, v.from, v.n, v.incX, 1, false)
	default:
		both := turnedPairs(*memory, v.from, v.n, v.incX, true)
		v.x, v.turned = both[:2*v.n], both[2*v.n:]
	}
	v.alpha = paired[F](v.by, false)
	v.rows(lo, hi)
}

// rowsOfPairs are the rows, or entries of y, that are computed together, a multiple of those of all tiles,
// and columnsOfPairs the reals of sums that stay in the first-level cache.
const rowsOfPairs, columnsOfPairs = 24, 1024

// rows computes entries lo to hi of alpha A x + beta y.
func (v *complexVector[F]) rows(lo, hi int) {
	narrow := !v.byRows && isNarrowPairs[F](v.n)
	if narrow && v.isCopied() {
		tile.NarrowPairs(v.y[2*lo:2*hi], v.a[lo*v.lda:], v.lda, v.x, v.turned, hi-lo, 2*v.n)
		return
	}
	var sums [2 * rowsOfPairs]F
	for ; lo < hi; lo += rowsOfPairs {
		rows := min(rowsOfPairs, hi-lo)
		switch a := v.a[lo*v.lda:]; {
		case v.byRows:
			for i := range rows {
				sums[2*i], sums[2*i+1] = tile.DotComplex(a[i*v.lda:][:2*v.n], v.x, false)
			}
		case narrow:
			tile.NarrowPairs(sums[:], a, v.lda, v.x, v.turned, rows, 2*v.n)
		default:
			tile.RowDotPairs(sums[:], a, v.lda, 0, v.x, v.turned, rows, 2*v.n)
		}
		v.store(lo, sums[:2*rows])
	}
}

// narrowPairColumns is the largest number of columns of a matrix of complex128, not transposed, that is
// multiplied by a vector by the tile for few columns. Zgemv of 12 x 2 to 986 x 60.
const narrowPairColumns = 64

// isNarrowPairs reports whether products of rows of n complex numbers with two vectors take less time by the
// tile for few columns. In complex64 they do for any number.
func isNarrowPairs[F tile.Float](n int) bool {
	least := tile.NarrowBytes / int(2*unsafe.Sizeof(F(0)))
	return n >= least && (n <= narrowPairColumns || kind[F]() == 1)
}

// isCopied reports whether y, whose entries follow each other, becomes the products.
func (v *complexVector[F]) isCopied() bool {
	return v.alpha.re == 1 && v.alpha.im == 0 && !v.add && v.inc == 2
}

// columns computes entries lo to hi of alpha op(A) x + beta y, for op(A) = A' or its conjugate.
func (v *complexVector[F]) columns(lo, hi int) {
	for ; lo < hi; lo += columnsOfPairs / 2 {
		end := min(lo+columnsOfPairs/2, hi)
		if v.byRows {
			v.addRows(lo, end)
			continue
		}
		// Sums by the real parts of x and by the imaginary ones, beside those of the same part: one line with
		// sums of two threads would go from core to core.
		re, im := v.sums[:2*(end-lo)], v.sums[2*(end-lo):4*(end-lo)]
		clear(v.sums[:4*(end-lo)])
		tile.AddRowPairs(re, im, v.a[2*lo:], v.lda, 0, v.x, v.m, 2*(end-lo))
		v.combine(lo, re, im)
	}
}

// addsToY reports whether sums of rows are added where y is: its entries follow each other.
func (v *complexVector[F]) addsToY() bool { return v.byRows && v.inc == 2 }

// addRows is columns by rows, added to beta y where y is if its entries follow each other.
func (v *complexVector[F]) addRows(lo, hi int) {
	inPlace, sums := v.addsToY(), v.sums[:2*(hi-lo)]
	if inPlace {
		sums = v.y[2*lo : 2*hi]
	}
	switch {
	case !inPlace || !v.add:
		clear(sums)
	default:
		v.beta.multiply(sums)
	}
	for i := range v.m {
		tile.AddComplex(sums, v.a[i*v.lda+2*lo:][:2*(hi-lo)], v.x[2*i], v.x[2*i+1], v.conjugate)
	}
	if !inPlace {
		v.store(lo, sums)
	}
}

// combine computes entries of y from lo on, from the sums of rows of A by real and by imaginary parts, which
// it overwrites.
func (v *complexVector[F]) combine(lo int, byRe, byIm []F) {
	combineParts(byRe, byIm, v.conjugate, false)
	v.store(lo, byRe)
}

// store sets entries of y from lo on to products, times alpha, and beta times the entries.
func (v *complexVector[F]) store(lo int, products []F) {
	at := v.start + lo*v.inc
	if v.isCopied() {
		copy(v.y[at:], products)
		return
	}
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
