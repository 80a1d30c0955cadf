package blas

import (
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
)

// Dger computes A += alpha x y' for an m x n matrix A.
//
// On entry a, x and y hold A, x and y. On return a is overwritten.
func (i Implementation) Dger(
	m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int,
) {
	few := n < vectorRow || m*n < vectorEntries
	if few && incX > 0 && incY > 0 || !ger(m, n, alpha, x, incX, y, incY, a, lda) {
		fallback{}.Dger(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Sger is Dger in float32.
func (i Implementation) Sger(
	m, n int, alpha float32, x []float32, incX int, y []float32, incY int, a []float32, lda int,
) {
	few := n < 2*vectorRow
	if few && incX > 0 && incY > 0 || !ger(m, n, alpha, x, incX, y, incY, a, lda) {
		fallback{}.Sger(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// ger computes Dger or Sger and returns true, or returns false where gonum computes it.
func ger[F tile.Float](m, n int, alpha F, x []F, incX int, y []F, incY int, a []F, lda int) bool {
	if gerWay(m, n, alpha, x, incX, y, incY, a, lda) == byGonum {
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
	together := rowsTogether
	if tune().oneStream(outerCaches, m*n*int(unsafe.Sizeof(alpha))) {
		together = 1
	}
	for at := 0; at < m; at += together {
		rows := min(together, m-at)
		for k := range rows {
			b[k] = alpha * xs[at+k]
		}
		tile.AddOuter(a[at*lda:], lda, b[:], row, rows, n)
	}
	return true
}

// gerWay returns how an outer product is added. It leaves nothing with negative increments to gonum v0.17,
// whose assembly reads outside of such vectors.
func gerWay[F tile.Float](m, n int, alpha F, x []F, incX int, y []F, incY int, a []F, lda int) way {
	gonum := incX > 0 && incY > 0
	few := n < vectorRow || m*n < vectorEntries || (incX != 1 || incY != 1) && m*n < 2*vectorEntries
	if kind[F]() == 1 {
		few = n < 2*vectorRow
	}
	switch {
	case m <= 0 || n <= 0 || alpha == 0 || !inside(a, m, n, lda) || !holds(x, m, incX) || !holds(y, n, incY):
		return byGonum
	case gonum && (few || !vectorized()):
		return byGonum
	}
	return byTiles
}
