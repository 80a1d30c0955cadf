package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// isNarrowVector reports whether op(A) x for an m x n matrix A takes less time by loops: A' of a few columns
// and many rows. Several threads share larger ones.
func isNarrowVector[F tile.Float](tA blas.Transpose, m, n int) bool {
	return tA != blas.NoTrans && n > 1 && n <= narrowMost[F]() && m >= narrowLength && m*n < sharedByVectors
}

// narrowMost returns the largest number of columns of a narrow matrix.
func narrowMost[F tile.Float]() int {
	if kind[F]() == 1 {
		return narrowColumns32
	}
	return narrowColumns
}

// narrow computes y = alpha A'x + beta y for few columns, with entries of x and y incX and incY apart.
func (v *matrixVector[F]) narrow(x []F, incX int, y []F, incY int) {
	var sums [narrowColumns32]F
	most := narrowMost[F]() / 2
	for j := 0; j < v.n; j += most {
		columns := min(most, v.n-j)
		tile.NarrowColumns(sums[j:], v.a[j:], v.lda, x, firstEntry(v.m, incX), incX, v.m, columns)
	}
	at := firstEntry(v.n, incY)
	for _, s := range sums[:v.n] {
		s = F(v.alpha * s)
		if v.beta != 0 {
			s += F(v.beta * y[at])
		}
		y[at] = s
		at += incY
	}
}
