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

// A strided vector has entries that are inc apart. If inc is negative the first of them is at the end.
type strided[F tile.Float] struct {
	data       []F
	first, inc int
}

func newStrided[F tile.Float](x []F, n, inc int) strided[F] {
	return strided[F]{data: x, first: max(0, (1-n)*inc), inc: inc}
}

// holds reports whether n entries are within the data.
func (s *strided[F]) holds(n int) bool {
	return s.inc != 0 && len(s.data) > max(s.first, s.first+(n-1)*s.inc)
}

func (s *strided[F]) at(i int) *F { return &s.data[s.first+i*s.inc] }

// gather returns the entries from lo to hi without gaps: the data or, where they have gaps, a copy in memory.
func (s *strided[F]) gather(memory *[]F, lo, hi int) []F {
	if s.inc == 1 {
		return s.data[lo:hi]
	}
	for k := lo; k < hi; k++ {
		(*memory)[k-lo] = *s.at(k)
	}
	return (*memory)[:hi-lo]
}

// borrow returns memory for at least n numbers, of any value; giveBack keeps it for the next caller.
func borrow[F tile.Float](n int) *[]F {
	m := memories[kind[F]()].Get().(*[]F)
	if len(*m) < n {
		*m = make([]F, n)
	}
	return m
}

func giveBack[F tile.Float](m *[]F) { memories[kind[F]()].Put(m) }

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
	v := matrixVector[F]{
		m: m, n: n, alpha: alpha, a: a, lda: lda, beta: beta, x: newStrided(x, lenX, incX), y: newStrided(y, lenY, incY),
	}
	if !v.x.holds(lenX) || !v.y.holds(lenY) {
		return false
	}
	if m*n < sharedByVectors {
		v.compute(tA, 0, lenY)
	} else {
		v.share(tA, lenY)
	}
	return true
}

// A matrixVector is y = alpha op(A) x + beta y.
type matrixVector[F tile.Float] struct {
	m, n        int
	alpha, beta F
	a           []F
	lda         int
	x, y        strided[F]
}

// compute computes entries lo to hi of y, lo a multiple of rowsTogether. Their bits depend on nothing else.
func (v *matrixVector[F]) compute(tA blas.Transpose, lo, hi int) {
	var memory *[]F
	if v.x.inc != 1 || v.y.inc != 1 {
		memory = borrow[F](v.n)
		defer giveBack(memory)
	}
	if tA == blas.NoTrans {
		v.rows(memory, lo, hi)
		return
	}
	for ; lo < hi; lo += columnsTogether {
		v.columns(memory, lo, min(lo+columnsTogether, hi))
	}
}

// share computes y on all threads, which take parts of it in turn.
func (v *matrixVector[F]) share(tA blas.Transpose, entries int) {
	of, threads := *v, runtime.GOMAXPROCS(0)
	const partsOfAThread = 4
	parts := partsOfAThread * threads
	cut := func(i int) int { return min((i*entries/parts+rowsTogether-1)/rowsTogether*rowsTogether, entries) }
	inTurn(threads, parts, func(i int) { of.compute(tA, cut(i), cut(i+1)) })
}

// rows computes entries lo to hi of alpha A x + beta y.
func (v *matrixVector[F]) rows(memory *[]F, lo, hi int) {
	x := v.x.gather(memory, 0, v.n)
	var sums [rowsTogether]F
	for ; lo < hi; lo += rowsTogether {
		rows := min(rowsTogether, hi-lo)
		tile.RowDots(sums[:], v.a[lo*v.lda:], v.lda, x, rows, v.n)
		for k, s := range sums[:rows] {
			s *= v.alpha
			y := v.y.at(lo + k)
			if v.beta != 0 {
				s += v.beta * *y
			}
			*y = s
		}
	}
}

// columns computes entries lo to hi of alpha A' x + beta y.
func (v *matrixVector[F]) columns(memory *[]F, lo, hi int) {
	y := v.y.gather(memory, lo, hi)
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
			b[k] = v.alpha * *v.x.at(row + k)
		}
		tile.AddRows(y, v.a[row*v.lda+lo:], v.lda, b[:], rows, hi-lo)
	}
	if v.y.inc != 1 {
		for k, s := range y {
			*v.y.at(lo + k) = s
		}
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
	xs, ys := newStrided(x, m, incX), newStrided(y, n, incY)
	if !xs.holds(m) || !ys.holds(n) {
		return false
	}
	var memory *[]F
	if incY != 1 {
		memory = borrow[F](n)
		defer giveBack(memory)
	}
	row := ys.gather(memory, 0, n)
	var b [rowsTogether]F
	for at := 0; at < m; at += rowsTogether {
		rows := min(rowsTogether, m-at)
		for k := range rows {
			b[k] = alpha * *xs.at(at + k)
		}
		tile.AddOuter(a[at*lda:], lda, b[:], row, rows, n)
	}
	return true
}
