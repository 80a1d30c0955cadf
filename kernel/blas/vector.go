package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

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
const fewForTrsv = 24

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
