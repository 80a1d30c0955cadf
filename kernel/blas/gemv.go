package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Dgemv computes y = alpha op(A) x + beta y for an m x n matrix A. It reads A once, by rows.
//
// On entry a, x and y hold A, x and y. On return y is overwritten.
func (*routines) Dgemv(
	tA blas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64,
	y []float64, incY int,
) {
	if max(m, n) <= gemvLoopOrder && gemvByLoops(tA, m, n, a, lda, x, incX, y, incY) && alpha != 0 {
		gemvLoops(tA, m, n, alpha, a, lda, x, beta, y)
		return
	}
	if m*n < dotLength || gonumMultiplies(tA, m, n, incY) ||
		!gemv(true, tA, m, n, alpha, a, lda, x, incX, beta, y, incY) {
		fallback{}.Dgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// gonumMultiplies reports whether gonum takes less time in float64, for dotLength entries or more.
func gonumMultiplies(tA blas.Transpose, m, n, incY int) bool {
	switch {
	case isThin(m, n):
		return false
	case isNarrowVector[float64](tA, m, n):
		return tA == blas.NoTrans && incY != 1
	}
	if tA == blas.NoTrans {
		return n < productRow || m*n < vectorEntries
	}
	if m >= narrowLength && n <= summedColumns {
		return n < summedColumnsLeast && n != 2*tile.Width
	}
	return n < vectorRow || m*n < transposedEntries
}

// Sgemv is Dgemv in float32.
func (*routines) Sgemv(
	tA blas.Transpose, m, n int, alpha float32, a []float32, lda int, x []float32, incX int, beta float32,
	y []float32, incY int,
) {
	if m*n <= gemvLoopEntries32 && gemvByLoops(tA, m, n, a, lda, x, incX, y, incY) && alpha != 0 {
		gemvLoops(tA, m, n, alpha, a, lda, x, beta, y)
		return
	}
	if m*n <= gemvCopies32 && min(m, n) > 1 && alpha != 0 &&
		gemvOfCopies(tA, m, n, alpha, a, lda, x, incX, beta, y, incY) {
		return
	}
	if !gemv(true, tA, m, n, alpha, a, lda, x, incX, beta, y, incY) {
		gonum.Sgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// gemv computes Dgemv or Sgemv and returns true, or returns false where gonum computes it. A product that is
// alone is the whole computation of a caller.
func gemv[F tile.Float](
	alone bool, tA blas.Transpose, m, n int, alpha F, a []F, lda int, x []F, incX int, beta F, y []F, incY int,
) bool {
	if gemvWay(tA, m, n, alpha, a, lda, x, incX, y, incY) == byGonum {
		return false
	}
	if isThin(m, n) {
		thinProduct(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
		return true
	}
	var v matrixVector[F] // a literal would be copied before its stores end
	v.alone, v.m, v.n, v.alpha, v.beta, v.a, v.lda = alone, m, n, alpha, beta, a, lda
	v.multiply(tA, x, incX, y, incY)
	return true
}

// gemvByLoops reports whether gemvLoops computes the product of a few entries: for a matrix and vectors of
// unit increments.
func gemvByLoops[F tile.Float](
	tA blas.Transpose, m, n int, a []F, lda int, x []F, incX int, y []F, incY int,
) bool {
	if tA != blas.NoTrans {
		x, y = y, x
	}
	entries := min(m, n) > 0 && len(x) >= n && len(y) >= m && lda >= n && len(a) >= (m-1)*lda+n
	return entries && incX == 1 && incY == 1 && vectorized() && known(tA)
}

// gemvOfCopies computes the product of a few entries for vectors of other increments and returns true, or
// returns false where others compute it.
func gemvOfCopies(
	tA blas.Transpose, m, n int, alpha float32, a []float32, lda int, x []float32, incX int, beta float32,
	y []float32, incY int,
) bool {
	if gemvWay(tA, m, n, alpha, a, lda, x, incX, y, incY) == byGonum || isThin(m, n) ||
		isNarrowVector[float32](tA, m, n) {
		return false
	}
	lenX, lenY := n, m
	if tA != blas.NoTrans {
		lenX, lenY = m, n
	}
	var memory [2 * gemvCopies32]float32
	from := gather(memory[:gemvCopies32], x, lenX, incX)
	to := gather(memory[gemvCopies32:], y, lenY, incY)
	gemvLoops(tA, m, n, alpha, a, lda, from, beta, to)
	scatter(y, to, incY)
	return true
}

// gemvLoops computes y = alpha op(A) x + beta y in plain Go.
func gemvLoops[F tile.Float](tA blas.Transpose, m, n int, alpha F, a []F, lda int, x []F, beta F, y []F) {
	switch {
	case tA == blas.NoTrans:
	case m > n:
		sumColumns(alpha, a, lda, x[:m], beta, y[:n])
		return
	default:
		sumRows(m, alpha, a, lda, x, beta, y[:n])
		return
	}
	x = x[:n]
	i := 0
	for ; i+2 <= m; i += 2 {
		first, second := a[i*lda:][:len(x)], a[(i+1)*lda:][:len(x)]
		var s0, s1 F
		for j, v := range x {
			s0 += F(first[j] * v)
			s1 += F(second[j] * v)
		}
		s0, s1 = F(alpha*s0), F(alpha*s1)
		if beta != 0 {
			s0 += F(beta * y[i])
			s1 += F(beta * y[i+1])
		}
		y[i], y[i+1] = s0, s1
	}
	if i < m {
		var sum F
		for j, v := range a[i*lda:][:len(x)] {
			sum += F(x[j] * v)
		}
		sum = F(alpha * sum)
		if beta != 0 {
			sum += F(beta * y[i])
		}
		y[i] = sum
	}
}

// sumRows computes y = alpha A'x + beta y, a sum of m rows.
func sumRows[F tile.Float](m int, alpha F, a []F, lda int, x []F, beta F, y []F) {
	by := alpha * x[0]
	for j, v := range a[:len(y)] {
		v = F(by * v)
		if beta != 0 {
			v += F(beta * y[j])
		}
		y[j] = v
	}
	i := 1
	for ; i+2 <= m; i += 2 {
		first, second := a[i*lda:][:len(y)], a[(i+1)*lda:][:len(y)]
		by, next := alpha*x[i], alpha*x[i+1]
		for j, v := range first {
			y[j] = y[j] + F(by*v) + F(next*second[j])
		}
	}
	if i < m {
		by := alpha * x[i]
		for j, v := range a[i*lda:][:len(y)] {
			y[j] += F(by * v)
		}
	}
}

// sumColumns computes y = alpha A'x + beta y, a sum for each column.
func sumColumns[F tile.Float](alpha F, a []F, lda int, x []F, beta F, y []F) {
	for j := range y {
		sum, at := F(0), j
		for _, v := range x {
			sum += F(a[at] * v)
			at += lda
		}
		sum = F(alpha * sum)
		if beta != 0 {
			sum += F(beta * y[j])
		}
		y[j] = sum
	}
}

// gemvWay returns how a matrix is multiplied by a vector. gonum's product skips no zeros.
func gemvWay[F tile.Float](
	tA blas.Transpose, m, n int, alpha F, a []F, lda int, x []F, incX int, y []F, incY int,
) way {
	lenX, lenY := n, m
	if tA != blas.NoTrans {
		lenX, lenY = m, n
	}
	switch {
	case !known(tA) || m <= 0 || n <= 0 || alpha == 0 || !inside(a, m, n, lda):
		return byGonum
	case !holds(x, lenX, incX) || !holds(y, lenY, incY) || !vectorized():
		return byGonum
	// gonum's inner products of float32 depend on addresses.
	case isThin(m, n), kind[F]() == 1, isNarrowVector[F](tA, m, n):
		return byVector
	case (incX != 1 || incY != 1) && (m < rowsOfATile || m*n < 2*vectorEntries):
		return byGonum
	}
	return byVector
}

// A matrixVector is y = alpha op(A) x + beta y.
type matrixVector[F tile.Float] struct {
	alone       bool // it is the whole computation of a caller
	m, n        int
	alpha, beta F
	a           []F
	lda         int
	x, y        []F
}

// multiply computes y from x, with entries incX and incY apart.
func (v *matrixVector[F]) multiply(tA blas.Transpose, x []F, incX int, y []F, incY int) {
	lenX, lenY := v.n, v.m
	if tA != blas.NoTrans {
		lenX, lenY = v.m, v.n
	}
	if isNarrowVector[F](tA, v.m, v.n) {
		v.narrow(tA, x, incX, y, incY)
		return
	}
	var memory []F
	if incX != 1 || incY != 1 {
		borrowed := borrow[F](v.m + v.n)
		defer giveBack(borrowed)
		memory = *borrowed
	}
	v.x, v.y = gather(memory, x, lenX, incX), gather(memory[min(lenX, len(memory)):], y, lenY, incY)
	t := teamOver[F](v.m*v.n, !v.alone)
	switch {
	case tA != blas.NoTrans && v.n <= columnsTogether && v.m*v.n >= sharedByVectors:
		v.shareSums(t)
	case t.threads == 1:
		v.compute(tA, 0, lenY)
	case tA != blas.NoTrans:
		v.share(t, tA, lenY, columnsTogether)
	default:
		v.share(t, tA, lenY, entriesOfAPart/v.n)
	}
	if incY != 1 {
		scatter(y, v.y, incY)
	}
}

// rowsOfATile is the number of rows whose products with a vector one tile computes.
const rowsOfATile = 8

// compute computes entries lo to hi of y; for A itself, lo is a multiple of rowsOfAUnit. Their bits depend on
// nothing else.
func (v *matrixVector[F]) compute(tA blas.Transpose, lo, hi int) {
	if tA == blas.NoTrans {
		v.rows(lo, hi)
		return
	}
	if v.isSummed() {
		v.summed(lo, hi)
		return
	}
	for ; lo < hi; lo += columnsTogether {
		v.columns(lo, min(lo+columnsTogether, hi))
	}
}

// share computes y on several threads, which take parts of up to most of its entries in turn. Parts of sums
// of rows begin a line of a cache.
func (v *matrixVector[F]) share(t team, tA blas.Transpose, entries, most int) {
	of, unit, lead := *v, rowsOfAUnit, 0
	if tA != blas.NoTrans {
		unit, lead = lineOf[F](), lineBefore(v.y)
	}
	parts := t.cut(entries, most, unit, lead)
	t.run(parts.parts, func(i int) {
		lo, hi := parts.part(i)
		of.compute(tA, lo, hi)
	})
}

// shareSums computes y for A' on several threads, which take sums over some rows in turn, to be added
// afterwards. The rows of a sum do not depend on the number of threads.
func (v *matrixVector[F]) shareSums(t team) {
	of, rows := *v, 2*entriesOfAPart/v.n
	parts, apart := (v.m+rows-1)/rows, oddLines(v.n)
	memory := borrow[F](parts * (apart + 1))
	defer giveBack(memory)
	sums, ones := (*memory)[:parts*apart], (*memory)[parts*apart:][:parts]
	t.run(parts, func(i int) {
		ones[i] = 1
		p := of
		p.m, p.a, p.beta = min(rows, of.m-i*rows), of.a[i*rows*of.lda:], 0
		p.x, p.y = of.x[i*rows:], sums[i*apart:][:of.n]
		p.compute(blas.Trans, 0, of.n)
	})
	of = matrixVector[F]{m: parts, n: v.n, alpha: 1, beta: v.beta, a: sums, lda: apart, x: ones, y: v.y}
	of.compute(blas.Trans, 0, v.n)
}

// rows computes entries lo to hi of alpha A x + beta y. Each tile reads a vector that is shorter than a
// register with the numbers before it, see beforeVector.
func (v *matrixVector[F]) rows(lo, hi int) {
	if v.n < tile.Width && hi-lo >= rowsOfATile {
		var room [2 * tile.Width]F
		of := *v
		of.x = room[tile.Width:][:v.n]
		copy(of.x, v.x)
		v = &of
	}
	if v.alpha == 1 && v.beta == 0 {
		tile.RowDots(v.y[lo:hi], v.a[lo*v.lda:], v.lda, v.x, hi-lo, v.n)
		return
	}
	var sums [rowsTogether]F
	for ; lo < hi; lo += rowsTogether {
		rows := min(rowsTogether, hi-lo)
		tile.RowDots(sums[:], v.a[lo*v.lda:], v.lda, v.x, rows, v.n)
		for k, s := range sums[:rows] {
			s = F(s * v.alpha)
			if v.beta != 0 {
				s += F(v.beta * v.y[lo+k])
			}
			v.y[lo+k] = s
		}
	}
}

// columns computes entries lo to hi of alpha A' x + beta y.
func (v *matrixVector[F]) columns(lo, hi int) {
	y := v.y[lo:hi]
	scaleRow(y, v.beta)
	var b [rowsTogether]F
	for row := 0; row < v.m; row += rowsTogether {
		rows := min(rowsTogether, v.m-row)
		for k := range rows {
			b[k] = v.alpha * v.x[row+k]
		}
		tile.AddRows(y, v.a[row*v.lda+lo:], v.lda, b[:], rows, hi-lo)
	}
}
