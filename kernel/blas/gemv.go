package blas

import (
	"runtime"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

const (
	// Below fewForVectors entries, or shortRow entries of a row, or with fewRowsForVectors rows and vectors
	// that have gaps, gonum multiplies a matrix by a vector as fast. In float32 fewer entries are enough.
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
	return n < shortRow || m <= 0 || m*n < fewForVectors || m < fewRowsForVectors && (incX != 1 || incY != 1)
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
	if tooSmall(m, n, incX, incY) || !gemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY) {
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
		for k := range y {
			y[k] *= v.beta
		}
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
