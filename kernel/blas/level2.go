package blas

import (
	"runtime"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

const (
	// Below fewForVectors entries, or shortRow entries of a row, gonum multiplies a matrix by a vector as
	// fast: below twice as many entries, or fewRowsForVectors rows, if the vectors have gaps, and below three
	// times as many for the transpose. In float32 fewer entries are enough.
	fewForVectors     = 512
	shortRow          = 32
	fewRowsForVectors = 8
	// sharedByVectors is the least number of entries of a matrix that several threads multiply by a vector:
	// they exceed the second-level cache of a core.
	sharedByVectors = 1 << 19
	// entriesOfAPart are entries of a matrix that one thread takes together.
	entriesOfAPart = 1 << 17
	// rowsOfATile is the number of rows whose products with a vector one tile computes.
	rowsOfATile = 8
	// rowsTogether is the number of rows whose products with a vector are computed before they are added to
	// y.
	rowsTogether = 64
	// columnsTogether is a number of columns whose sums stay in the first-level cache.
	columnsTogether = 2048
)

// vectorized reports whether the CPU tier in use has tiles for vectors of any length.
func vectorized() bool { return tile.Active() == tile.AVX512 || tile.Active() == tile.AVX2 }

// tooSmall reports whether gonum multiplies a matrix by a vector as fast.
func tooSmall(m, n, incX, incY int) bool {
	return n < shortRow || m <= 0 || m*n < fewForVectors || (incX != 1 || incY != 1) && (m < fewRowsForVectors || m*n < 2*fewForVectors)
}

// holds reports whether n entries, inc apart, are within x. If inc is negative the first of them is at the
// end.
func holds[F tile.Float](x []F, n, inc int) bool { return inc != 0 && len(x) > (n-1)*max(inc, -inc) }

// gather returns n entries of x that are inc apart: x, or a copy in memory.
func gather[F tile.Float](memory, x []F, n, inc int) []F {
	if inc == 1 {
		return x[:n]
	}
	at := max(0, (1-n)*inc)
	for k := range n {
		memory[k] = x[at]
		at += inc
	}
	return memory[:n]
}

// Dgemv computes y = alpha op(A) x + beta y. It reads A once, by rows.
func (i Implementation) Dgemv(tA blas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64, incY int) {
	if tooSmall(m, n, incX, incY) || tA != blas.NoTrans && m*n < 3*fewForVectors || !gemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY) {
		i.Implementation.Dgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// gemv is Dgemv and Sgemv.
func gemv[F tile.Float](tA blas.Transpose, m, n int, alpha F, a []F, lda int, x []F, incX int, beta F, y []F, incY int) bool {
	if !vectorized() || !known(tA) || m <= 0 || n <= 0 || alpha == 0 || !inside(a, m, n, lda) {
		return false
	}
	lenX, lenY := n, m
	if tA != blas.NoTrans {
		lenX, lenY = m, n
	}
	if !holds(x, lenX, incX) || !holds(y, lenY, incY) {
		return false
	}
	v := matrixVector[F]{m: m, n: n, alpha: alpha, a: a, lda: lda, beta: beta}
	var memory []F
	if incX != 1 || incY != 1 {
		borrowed := borrow[F](m + n)
		defer giveBack(borrowed)
		memory = *borrowed
	}
	v.x, v.y = gather(memory, x, lenX, incX), gather(memory[min(lenX, len(memory)):], y, lenY, incY)
	switch {
	case m*n < sharedByVectors:
		v.compute(tA, 0, lenY)
	case tA != blas.NoTrans && n <= columnsTogether:
		v.shareSums()
	case tA != blas.NoTrans:
		v.share(tA, lenY, columnsTogether)
	default:
		v.share(tA, lenY, max(entriesOfAPart/n&^(rowsOfATile-1), rowsOfATile))
	}
	if incY != 1 {
		at := max(0, (1-lenY)*incY)
		for _, s := range v.y {
			y[at] = s
			at += incY
		}
	}
	return true
}

// A matrixVector is y = alpha op(A) x + beta y.
type matrixVector[F tile.Float] struct {
	m, n        int
	alpha, beta F
	a           []F
	lda         int
	x, y        []F
}

// compute computes entries lo to hi of y, lo a multiple of rowsOfATile. Their bits depend on nothing else.
func (v *matrixVector[F]) compute(tA blas.Transpose, lo, hi int) {
	if tA == blas.NoTrans {
		v.rows(lo, hi)
		return
	}
	for ; lo < hi; lo += columnsTogether {
		v.columns(lo, min(lo+columnsTogether, hi))
	}
}

// share computes y on all threads, which take parts of some entries in turn.
func (v *matrixVector[F]) share(tA blas.Transpose, entries, together int) {
	of, parts := *v, (entries+together-1)/together
	inTurn(runtime.GOMAXPROCS(0), parts, false, func(i int) { of.compute(tA, i*together, min((i+1)*together, entries)) })
}

// shareSums computes y for A' on all threads, which take sums over some rows in turn, to be added afterwards.
func (v *matrixVector[F]) shareSums() {
	of, rows := *v, 2*entriesOfAPart/v.n
	parts := (v.m + rows - 1) / rows
	memory := borrow[F](parts * (v.n + 1))
	defer giveBack(memory)
	ones, sums := (*memory)[:parts], (*memory)[parts:]
	inTurn(runtime.GOMAXPROCS(0), parts, false, func(i int) {
		ones[i] = 1
		p := of
		p.m, p.a, p.beta = min(rows, of.m-i*rows), of.a[i*rows*of.lda:], 0
		p.x, p.y = of.x[i*rows:], sums[i*of.n:][:of.n]
		p.compute(blas.Trans, 0, of.n)
	})
	of = matrixVector[F]{m: parts, n: v.n, alpha: 1, beta: v.beta, a: sums, lda: v.n, x: ones, y: v.y}
	of.compute(blas.Trans, 0, v.n)
}

// rows computes entries lo to hi of alpha A x + beta y.
func (v *matrixVector[F]) rows(lo, hi int) {
	var sums [rowsTogether]F
	for ; lo < hi; lo += rowsTogether {
		rows := min(rowsTogether, hi-lo)
		tile.RowDots(sums[:], v.a[lo*v.lda:], v.lda, v.x, rows, v.n)
		for k, s := range sums[:rows] {
			s *= v.alpha
			if v.beta != 0 {
				s += v.beta * v.y[lo+k]
			}
			v.y[lo+k] = s
		}
	}
}

// columns computes entries lo to hi of alpha A' x + beta y.
func (v *matrixVector[F]) columns(lo, hi int) {
	y := v.y[lo:hi]
	switch v.beta {
	case 0:
		clear(y)
	case 1:
	default:
		scaleRow(y, v.beta)
	}
	var b [rowsTogether]F
	for row := 0; row < v.m; row += rowsTogether {
		rows := min(rowsTogether, v.m-row)
		for k := range rows {
			b[k] = v.alpha * v.x[row+k]
		}
		tile.AddRows(y, v.a[row*v.lda+lo:], v.lda, b[:], rows, hi-lo)
	}
}

// Dger computes A += alpha x y'.
func (i Implementation) Dger(m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int) {
	if tooSmall(m, n, incX, incY) && incX > 0 && incY > 0 || !ger(m, n, alpha, x, incX, y, incY, a, lda) {
		i.Implementation.Dger(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// ger is Dger and Sger. It leaves nothing with negative increments to gonum v0.17, whose assembly reads
// outside of such vectors.
func ger[F tile.Float](m, n int, alpha F, x []F, incX int, y []F, incY int, a []F, lda int) bool {
	if !vectorized() && incX > 0 && incY > 0 || m <= 0 || n <= 0 || alpha == 0 || !inside(a, m, n, lda) {
		return false
	}
	if !holds(x, m, incX) || !holds(y, n, incY) {
		return false
	}
	var memory []F
	if incX != 1 || incY != 1 {
		borrowed := borrow[F](m + n)
		defer giveBack(borrowed)
		memory = *borrowed
	}
	xs, row := gather(memory, x, m, incX), gather(memory[min(m, len(memory)):], y, n, incY)
	var b [rowsTogether]F
	for at := 0; at < m; at += rowsTogether {
		rows := min(rowsTogether, m-at)
		for k := range rows {
			b[k] = alpha * xs[at+k]
		}
		tile.AddOuter(a[at*lda:], lda, b[:], row, rows, n)
	}
	return true
}

// fewForSymv is the order below which gonum multiplies a vector by a symmetric matrix as fast.
const fewForSymv = 32

// Dsymv computes y = alpha A x + beta y for a symmetric A with one triangle in a. It reads every entry once
// from memory.
func (i Implementation) Dsymv(ul blas.Uplo, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64, incY int) {
	if !vectorized() || n < fewForSymv || ul != blas.Upper && ul != blas.Lower || alpha == 0 || !inside(a, n, n, lda) ||
		incX <= 0 || incY <= 0 || len(x) <= (n-1)*incX || len(y) <= (n-1)*incY {
		i.Implementation.Dsymv(ul, n, alpha, a, lda, x, incX, beta, y, incY)
		return
	}
	memory := borrow[float64](2 * n)
	defer giveBack(memory)
	v, sums := (*memory)[:n], (*memory)[n:2*n] // alpha x, and A times it
	for k := range n {
		v[k], sums[k] = alpha*x[k*incX], 0
	}
	for row := 0; row < n; row += tile.Width {
		rows := min(tile.Width, n-row)
		i.Implementation.Dsymv(ul, rows, 1, a[row*(lda+1):], lda, v[row:], 1, 1, sums[row:], 1)
		first, last := 0, row // the columns beside the block on the diagonal
		if ul == blas.Upper {
			first, last = row+rows, n
		}
		if first == last {
			continue
		}
		var products [tile.Width]float64
		tile.RowDots(products[:], a[row*lda+first:], lda, v[first:], rows, last-first)
		tile.AddRows(sums[first:], a[row*lda+first:], lda, v[row:], rows, last-first)
		for k, p := range products[:rows] {
			sums[row+k] += p
		}
	}
	for k, sum := range sums {
		if beta != 0 {
			sum += beta * y[k*incY]
		}
		y[k*incY] = sum
	}
}

// fewForTrsv is the order below which gonum solves for one right side as fast.
const fewForTrsv = 32

// Dtrsv solves op(A) x = b for a triangular A and overwrites b, which is in x, with the solution. It
// reads A by rows, Width of them at a time: those of x that are known are subtracted by a tile before
// the triangle of these rows is solved, or, for A', all others are updated behind it.
func (i Implementation) Dtrsv(ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []float64, lda int, x []float64, incX int) {
	if n < fewForTrsv || ul != blas.Upper && ul != blas.Lower || !known(tA) || d != blas.Unit && d != blas.NonUnit ||
		incX != 1 || !inside(a, n, n, lda) || len(x) < n {
		i.Implementation.Dtrsv(ul, tA, d, n, a, lda, x, incX)
		return
	}
	const width = tile.Width
	var sums [width]float64
	// An incomplete block lies where its row of A beside the triangle is longest or shortest, so that
	// all other lengths are multiples of width.
	blocks, short := (n+width-1)/width, 0
	if ul == blas.Upper {
		short = blocks*width - n
	}
	lower := (ul == blas.Lower) == (tA == blas.NoTrans)
	for b := range blocks {
		if !lower {
			b = blocks - 1 - b
		}
		lo, hi := max(b*width-short, 0), min((b+1)*width-short, n)
		first, last := 0, lo // the other columns of these rows
		if ul == blas.Upper {
			first, last = hi, n
		}
		rows, own, others := a[lo*lda+first:], x[lo:hi], x[first:last]
		if tA == blas.NoTrans && len(others) > 0 {
			tile.RowDots(sums[:], rows, lda, others, hi-lo, len(others))
			for k := range own {
				own[k] -= sums[k]
			}
		}
		i.Implementation.Dtrsv(ul, tA, d, hi-lo, a[lo*(lda+1):], lda, own, 1)
		if tA != blas.NoTrans && len(others) > 0 {
			for k, v := range own {
				sums[k] = -v
			}
			tile.AddRows(others, rows, lda, sums[:], hi-lo, len(others))
		}
	}
}
