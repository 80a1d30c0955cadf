package blas

import (
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// isNarrowVector reports whether op(A) x for an m x n matrix A of few columns and many rows takes less time
// by the tiles for these. Several threads share larger ones.
func isNarrowVector[F tile.Float](tA blas.Transpose, m, n int) bool {
	most := narrowMost[F]()
	if kind[F]() == 1 && tA != blas.NoTrans { // takes the columns in two parts
		most *= 2
	}
	return n > 1 && n <= most && m >= narrowLength && m*n < sharedByVectors
}

// narrowMost returns the largest number of columns that a tile takes.
func narrowMost[F tile.Float]() int { return tile.NarrowBytes / int(unsafe.Sizeof(F(0))) }

// narrow computes y = alpha op(A) x + beta y for few columns, with entries of x and y incX and incY apart.
func (v *matrixVector[F]) narrow(tA blas.Transpose, x []F, incX int, y []F, incY int) {
	if tA != blas.NoTrans {
		var sums [2 * tile.NarrowBytes / 4]F
		for j, most := 0, narrowMost[F](); j < v.n; j += most {
			columns := min(most, v.n-j)
			tile.NarrowColumns(sums[j:], v.a[j:], v.lda, x, firstEntry(v.m, incX), incX, v.m, columns)
		}
		v.set(y, firstEntry(v.n, incY), incY, sums[:v.n])
		return
	}
	var copied [tile.NarrowBytes / 4]F
	var sums [rowsTogether]F
	with, at := gather(copied[:], x, v.n, incX), firstEntry(v.m, incY)
	if v.alpha == 1 && v.beta == 0 && incY == 1 {
		tile.NarrowRows(y, v.a, v.lda, with, v.m, v.n)
		return
	}
	for i := 0; i < v.m; i += rowsTogether {
		rows := min(rowsTogether, v.m-i)
		tile.NarrowRows(sums[:], v.a[i*v.lda:], v.lda, with, rows, v.n)
		v.set(y, at+i*incY, incY, sums[:rows])
	}
}

// isSummed reports whether a product of the transpose takes four sums for each column: with few columns one
// would wait for the sum before.
func (v *matrixVector[F]) isSummed() bool {
	most := summedColumns
	if kind[F]() == 1 {
		most = summedColumns32
	}
	return v.n <= most && v.m >= narrowLength
}

// summed computes entries lo to hi of alpha A'x + beta y.
func (v *matrixVector[F]) summed(lo, hi int) {
	var sums [tile.SumBytes / 4]F
	tile.SumColumns(sums[:], v.a[lo:], v.lda, v.x, v.m, hi-lo)
	v.set(v.y, lo, 1, sums[:hi-lo])
}

// set sets entries of y, inc apart from entry at on, to alpha times sums, and beta times what they were.
func (v *matrixVector[F]) set(y []F, at, inc int, sums []F) {
	alpha, beta := v.alpha, v.beta
	if beta == 0 {
		for _, s := range sums {
			y[at] = F(alpha * s)
			at += inc
		}
		return
	}
	for _, s := range sums {
		y[at] = F(alpha*s) + F(beta*y[at])
		at += inc
	}
}
