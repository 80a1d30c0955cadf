package blas

import (
	"sync"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// fewForSymv is the order below which gonum multiplies a vector by a symmetric matrix as fast.
const fewForSymv = 32

// sides are a vector and what it is multiplied to, without gaps.
type sides struct {
	x, y []float64
	sums [tile.Width]float64
}

var sidesPool = sync.Pool{New: func() any { return new(sides) }}

// Dsymv computes y = alpha A x + beta y for the symmetric matrix of which a holds a triangle. It reads every entry once
// from memory.
func (i Implementation) Dsymv(ul blas.Uplo, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64, incY int) {
	if n < fewForSymv || ul != blas.Upper && ul != blas.Lower || alpha == 0 || incX <= 0 || incY <= 0 ||
		!inside(a, n, n, lda) || len(x) <= (n-1)*incX || len(y) <= (n-1)*incY {
		i.Implementation.Dsymv(ul, n, alpha, a, lda, x, incX, beta, y, incY)
		return
	}
	w := sidesPool.Get().(*sides)
	defer sidesPool.Put(w)
	if len(w.x) < n {
		w.x, w.y = make([]float64, n), make([]float64, n)
	}
	for k := range n {
		w.x[k], w.y[k] = alpha*x[k*incX], 0
	}
	for row := 0; row < n; row += tile.Width {
		rows := min(tile.Width, n-row)
		w.diagonal(ul, a[row*lda+row:], lda, row, rows)
		if ul == blas.Lower {
			w.beside(a[row*lda:], lda, row, rows, 0, row)
		} else if next := row + rows; next < n {
			w.beside(a[row*lda+next:], lda, row, rows, next, n-next)
		}
	}
	for k := range n {
		v := w.y[k]
		if beta != 0 {
			v += beta * y[k*incY]
		}
		y[k*incY] = v
	}
}

// diagonal multiplies by a block on the diagonal.
func (w *sides) diagonal(ul blas.Uplo, a []float64, lda, row, rows int) {
	x, y := w.x[row:][:rows], w.y[row:][:rows]
	for i := range rows {
		from, to := i, rows
		if ul == blas.Lower {
			from, to = 0, i+1
		}
		for j := from; j < to; j++ {
			v := a[i*lda+j]
			if y[i] += v * x[j]; i != j {
				y[j] += v * x[i]
			}
		}
	}
}

// beside multiplies by some rows of a triangle beside the diagonal, and by their transpose.
func (w *sides) beside(a []float64, lda, row, rows, column, columns int) {
	whole := columns &^ (tile.Width - 1)
	clear(w.sums[:])
	if whole > 0 {
		tile.MulBasis(w.sums[:], tile.Width, a, lda, w.x[column:], whole, rows, whole, 1, tile.Hint{})
		tile.RankUpdate(w.y[column:], whole, a, lda, w.x[row:], 1, rows, whole, 1)
	}
	for i := range rows {
		sum, v := w.sums[i], w.x[row+i]
		for j := whole; j < columns; j++ {
			sum += a[i*lda+j] * w.x[column+j]
			w.y[column+j] += a[i*lda+j] * v
		}
		w.y[row+i] += sum
	}
}
