package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// isNarrowVector reports whether op(A) x for an m x n matrix A takes less time by loops: A' of a few columns
// and many rows. Several threads share larger ones.
func isNarrowVector[F tile.Float](tA blas.Transpose, m, n int) bool {
	most := narrowColumns
	if kind[F]() == 1 {
		most = narrowColumns32
	}
	return tA != blas.NoTrans && n > 1 && n <= most && m >= narrowLength && m*n < sharedByVectors
}

// narrow computes y = alpha A'x + beta y for two to four columns, with entries of x and y incX and
// incY apart. A sum is that of the products of every other row from the first one on, and of the others.
func (v *matrixVector[F]) narrow(x []F, incX int, y []F, incY int) {
	var sums [narrowColumns32]F
	from := firstEntry(v.m, incX)
	switch v.n {
	case 2:
		sums[0], sums[1] = v.twoColumns(0, x, from, incX)
	case 3:
		sums[0], sums[1], sums[2] = v.threeColumns(x, from, incX)
	default:
		sums[0], sums[1] = v.twoColumns(0, x, from, incX)
		sums[2], sums[3] = v.twoColumns(2, x, from, incX)
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

// twoColumns returns the sums of narrow of two columns, from column j on.
func (v *matrixVector[F]) twoColumns(j int, x []F, at, inc int) (F, F) {
	var first, second, others, otherSecond F
	k, row := j, 0
	for ; row+1 < v.m; row += 2 {
		by, next := x[at], x[at+inc]
		a, b := v.a[k:k+2:k+2], v.a[k+v.lda:k+v.lda+2:k+v.lda+2]
		first += F(by * a[0])
		second += F(by * a[1])
		others += F(next * b[0])
		otherSecond += F(next * b[1])
		at += 2 * inc
		k += 2 * v.lda
	}
	if row < v.m {
		first += F(x[at] * v.a[k])
		second += F(x[at] * v.a[k+1])
	}
	return first + others, second + otherSecond
}

// threeColumns returns the sums of narrow of three columns.
func (v *matrixVector[F]) threeColumns(x []F, at, inc int) (F, F, F) {
	var first, second, third, others, otherSecond, otherThird F
	k, row := 0, 0
	for ; row+1 < v.m; row += 2 {
		by, next := x[at], x[at+inc]
		a, b := v.a[k:k+3:k+3], v.a[k+v.lda:k+v.lda+3:k+v.lda+3]
		first += F(by * a[0])
		second += F(by * a[1])
		third += F(by * a[2])
		others += F(next * b[0])
		otherSecond += F(next * b[1])
		otherThird += F(next * b[2])
		at += 2 * inc
		k += 2 * v.lda
	}
	if row < v.m {
		first += F(x[at] * v.a[k])
		second += F(x[at] * v.a[k+1])
		third += F(x[at] * v.a[k+2])
	}
	return first + others, second + otherSecond, third + otherThird
}
