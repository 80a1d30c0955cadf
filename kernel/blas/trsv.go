package blas

import (
	"sync"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
)

// fewForTrsv is the order below which gonum solves for one right side as fast.
const fewForTrsv = 24

var blockSums = sync.Pool{New: func() any { return new([tile.Width]float64) }}

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
	sums := blockSums.Get().(*[width]float64) // on the stack it would escape: NEON tiles are called by pointers
	defer blockSums.Put(sums)
	// An incomplete block lies where its row of A beside the triangle is longest or shortest, so that
	// all other lengths are multiples of width.
	blocks, short := (n+width-1)/width, 0
	if ul == blas.Upper {
		short = blocks*width - n
	}
	forward := (ul == blas.Lower) == (tA == blas.NoTrans)
	for b := range blocks {
		if !forward {
			b = blocks - 1 - b
		}
		lo, hi := max(b*width-short, 0), min((b+1)*width-short, n)
		first, last := 0, lo // the other columns of these rows
		if ul == blas.Upper {
			first, last = hi, n
		}
		rows, own, others := a[lo*lda+first:], x[lo:hi], x[first:last]
		if tA == blas.NoTrans && len(others) > 0 {
			tile.MulBasis(sums[:], width, rows, lda, others, len(others), hi-lo, len(others), 1, tile.Hint{})
			for k := range own {
				own[k] -= sums[k]
			}
		}
		reference.Implementation{}.Dtrsv(ul, tA, d, hi-lo, a[lo*(lda+1):], lda, own, 1)
		if tA != blas.NoTrans && len(others) > 0 {
			for k, v := range own {
				sums[k] = -v
			}
			tile.RankUpdate(others, len(others), rows, lda, sums[:], 1, hi-lo, len(others), 1)
		}
	}
}
