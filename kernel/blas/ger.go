package blas

import (
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
)

// Dger computes A += alpha x y' for an m x n matrix A.
//
// On entry a, x and y hold A, x and y. On return a is overwritten.
func (*routines) Dger(
	m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int,
) {
	if incX > 0 && incY > 0 && gonumAdds[float64](m, n) || !ger(true, m, n, alpha, x, incX, y, incY, a, lda) {
		fallback{}.Dger(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Sger is Dger in float32.
func (*routines) Sger(
	m, n int, alpha float32, x []float32, incX int, y []float32, incY int, a []float32, lda int,
) {
	if incX > 0 && incY > 0 && gonumAdds[float32](m, n) || !ger(true, m, n, alpha, x, incX, y, incY, a, lda) {
		fallback{}.Sger(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// ger computes Dger or Sger and returns true, or returns false where gonum computes it. A product that
// is alone is the whole computation of a caller.
func ger[F tile.Float](
	alone bool, m, n int, alpha F, x []F, incX int, y []F, incY int, a []F, lda int,
) bool {
	if gerWay(m, n, alpha, x, incX, y, incY, a, lda) == byGonum {
		return false
	}
	if m == 1 && incX > 0 && incY > 0 {
		addVector(n, alpha*x[0], y, incY, 1, a, 1)
		return true
	}
	var memory []F
	if incX != 1 || incY != 1 {
		borrowed := borrow[F](m + n)
		defer giveBack(borrowed)
		memory = *borrowed
	}
	xs, row := gather(memory, x, m, incX), gather(memory[min(m, len(memory)):], y, n, incY)
	u := outerProduct[F]{alone, alpha, xs, row, a, lda}
	u.share()
	return true
}

// An outerProduct is A += alpha x y' for the rows of A.
type outerProduct[F tile.Float] struct {
	alone bool // it is the whole computation of a caller
	alpha F
	x, y  []F
	a     []F
	lda   int
}

// share adds the product, on several threads if that pays: they take parts of the rows in turn.
func (u *outerProduct[F]) share() {
	t := teamOver[F](len(u.x)*len(u.y), !u.alone)
	if t.threads == 1 {
		u.add(0, len(u.x))
		return
	}
	of := *u // a copy, so that products on one thread need no memory of the heap
	parts := t.cut(len(u.x), entriesOfAPart/len(u.y), rowsOfAUnit, 0)
	t.run(parts.parts, func(i int) {
		lo, hi := parts.part(i)
		t.backwards(lo, hi, of.add)
	})
}

// add adds the product to rows lo to hi.
func (u *outerProduct[F]) add(lo, hi int) {
	var b [rowsTogether]F
	together := rowsTogether
	if tune().oneStream(outerCaches, len(u.x)*len(u.y)*int(unsafe.Sizeof(u.alpha))) {
		together = 1
	}
	for ; lo < hi; lo += together {
		rows := min(together, hi-lo)
		for k := range rows {
			b[k] = u.alpha * u.x[lo+k]
		}
		tile.AddOuter(u.a[lo*u.lda:], u.lda, b[:], u.y, rows, len(u.y))
	}
}

// gonumAdds reports whether gonum adds an outer product to an m x n matrix in less time. Rows whose length is
// not a multiple of 32 bytes have vectors in two cache lines each.
func gonumAdds[F tile.Float](m, n int) bool {
	switch {
	case n < vectorRow || (m == 1 || kind[F]() == 1) && n < 2*vectorRow:
		return true
	case m == 1:
		return false
	case n%4 == 0 || m == 2 || kind[F]() == 1:
		return m*n < gerEntriesWhole
	}
	return m*n < gerEntriesOdd
}

// gerWay returns how an outer product is added. It leaves nothing with negative increments to gonum v0.17,
// whose assembly reads outside of such vectors.
func gerWay[F tile.Float](m, n int, alpha F, x []F, incX int, y []F, incY int, a []F, lda int) way {
	switch {
	case m <= 0 || n <= 0 || alpha == 0 || !inside(a, m, n, lda) || !holds(x, m, incX) || !holds(y, n, incY):
		return byGonum
	case incX > 0 && incY > 0 && !vectorized():
		return byGonum
	}
	return byTiles
}
