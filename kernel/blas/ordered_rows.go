package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// This file has gonum's routines of few rows of a triangle, which may be packed, with every product rounded
// before it is added: see ordered.

// A rowsInOrder is a triangle of a symmetric matrix by rows: of stride entries, or packed where stride is 0.
type rowsInOrder[F tile.Float] struct {
	ul     blas.Uplo
	n      int
	data   []F
	stride int
}

// valid reports whether all entries of the triangle and of a vector are in memory.
func (t *rowsInOrder[F]) valid(x []F, incX int) bool {
	if !isTriangle(t.ul) || t.n <= 0 || !holds(x, t.n, incX) {
		return false
	}
	if t.stride == 0 {
		return len(t.data) >= t.n*(t.n+1)/2
	}
	return inside(t.data, t.n, t.n, t.stride)
}

// row returns row i of the triangle, and the column of its first entry.
func (t *rowsInOrder[F]) row(i int) (row []F, from int) {
	at, count := i*t.stride, i+1
	if t.stride == 0 {
		at = i * (i + 1) / 2
	}
	if t.ul == blas.Upper {
		from, count = i, t.n-i
		at += i
		if t.stride == 0 {
			at = i * (2*t.n - i + 1) / 2
		}
	}
	return t.data[at:][:count], from
}

// addOne adds alpha x x'.
func (t *rowsInOrder[F]) addOne(alpha F, x []F, incX int) {
	first := firstEntry(t.n, incX)
	for i := range t.n {
		row, from := t.row(i)
		by := F(alpha * x[first+i*incX])
		at := first + from*incX
		for j := range row {
			row[j] += F(by * x[at])
			at += incX
		}
	}
}

// addTwo adds alpha (x y' + y x').
func (t *rowsInOrder[F]) addTwo(alpha F, x []F, incX int, y []F, incY int) {
	firstX, firstY := firstEntry(t.n, incX), firstEntry(t.n, incY)
	for i := range t.n {
		row, from := t.row(i)
		xi, yi := x[firstX+i*incX], y[firstY+i*incY]
		at, with := firstX+from*incX, firstY+from*incY
		for j := range row {
			row[j] += F(alpha * (F(xi*y[with]) + F(x[at]*yi)))
			at += incX
			with += incY
		}
	}
}

// multiply computes y = alpha A x + beta y.
func (t *rowsInOrder[F]) multiply(alpha F, x []F, incX int, beta F, y []F, incY int) {
	firstX, firstY := firstEntry(t.n, incX), firstEntry(t.n, incY)
	for k, at := 0, firstY; k < t.n && beta != 1; k, at = k+1, at+incY {
		if beta == 0 {
			y[at] = 0
		} else {
			y[at] *= beta
		}
	}
	if t.n == 1 {
		y[0] += F(F(alpha*t.data[0]) * x[0])
		return
	}
	for i := range t.n {
		row, from := t.row(i)
		own, to := x[firstX+i*incX], firstY+i*incY
		by, sum := F(alpha*own), F(0)
		beside, at, with := row[:len(row)-1], firstX, firstY
		diagonal := F(row[len(row)-1] * own)
		if t.ul == blas.Upper {
			beside, at, with = row[1:], firstX+(from+1)*incX, firstY+(from+1)*incY
			diagonal = F(row[0] * own)
			sum = diagonal
		}
		for _, v := range beside {
			sum += F(v * x[at])
			y[with] += F(v * by)
			at += incX
			with += incY
		}
		if t.ul == blas.Lower {
			sum += diagonal
		}
		y[to] += F(alpha * sum)
	}
}

// Dsyr adds alpha x x' to a symmetric matrix.
func (o ordered) Dsyr(ul blas.Uplo, n int, alpha float64, x []float64, incX int, a []float64, lda int) {
	t := rowsInOrder[float64]{ul, n, a, lda}
	if lda <= 0 || alpha == 0 || !t.valid(x, incX) {
		o.Implementation.Dsyr(ul, n, alpha, x, incX, a, lda)
		return
	}
	t.addOne(alpha, x, incX)
}

// Ssyr is Dsyr in float32.
func (o ordered) Ssyr(ul blas.Uplo, n int, alpha float32, x []float32, incX int, a []float32, lda int) {
	t := rowsInOrder[float32]{ul, n, a, lda}
	if lda <= 0 || alpha == 0 || !t.valid(x, incX) {
		o.Implementation.Ssyr(ul, n, alpha, x, incX, a, lda)
		return
	}
	t.addOne(alpha, x, incX)
}

// Dspr is Dsyr for a packed triangle.
func (o ordered) Dspr(ul blas.Uplo, n int, alpha float64, x []float64, incX int, a []float64) {
	t := rowsInOrder[float64]{ul: ul, n: n, data: a}
	if alpha == 0 || !t.valid(x, incX) {
		o.Implementation.Dspr(ul, n, alpha, x, incX, a)
		return
	}
	t.addOne(alpha, x, incX)
}

// Sspr is Dspr in float32.
func (o ordered) Sspr(ul blas.Uplo, n int, alpha float32, x []float32, incX int, a []float32) {
	t := rowsInOrder[float32]{ul: ul, n: n, data: a}
	if alpha == 0 || !t.valid(x, incX) {
		o.Implementation.Sspr(ul, n, alpha, x, incX, a)
		return
	}
	t.addOne(alpha, x, incX)
}

// Dsyr2 adds alpha (x y' + y x') to a symmetric matrix.
func (o ordered) Dsyr2(
	ul blas.Uplo, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int,
) {
	t := rowsInOrder[float64]{ul, n, a, lda}
	if lda <= 0 || alpha == 0 || !t.valid(x, incX) || !holds(y, n, incY) {
		o.Implementation.Dsyr2(ul, n, alpha, x, incX, y, incY, a, lda)
		return
	}
	t.addTwo(alpha, x, incX, y, incY)
}

// Ssyr2 is Dsyr2 in float32.
func (o ordered) Ssyr2(
	ul blas.Uplo, n int, alpha float32, x []float32, incX int, y []float32, incY int, a []float32, lda int,
) {
	t := rowsInOrder[float32]{ul, n, a, lda}
	if lda <= 0 || alpha == 0 || !t.valid(x, incX) || !holds(y, n, incY) {
		o.Implementation.Ssyr2(ul, n, alpha, x, incX, y, incY, a, lda)
		return
	}
	t.addTwo(alpha, x, incX, y, incY)
}

// Dspr2 is Dsyr2 for a packed triangle.
func (o ordered) Dspr2(
	ul blas.Uplo, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64,
) {
	t := rowsInOrder[float64]{ul: ul, n: n, data: a}
	if alpha == 0 || !t.valid(x, incX) || !holds(y, n, incY) {
		o.Implementation.Dspr2(ul, n, alpha, x, incX, y, incY, a)
		return
	}
	t.addTwo(alpha, x, incX, y, incY)
}

// Sspr2 is Dspr2 in float32.
func (o ordered) Sspr2(
	ul blas.Uplo, n int, alpha float32, x []float32, incX int, y []float32, incY int, a []float32,
) {
	t := rowsInOrder[float32]{ul: ul, n: n, data: a}
	if alpha == 0 || !t.valid(x, incX) || !holds(y, n, incY) {
		o.Implementation.Sspr2(ul, n, alpha, x, incX, y, incY, a)
		return
	}
	t.addTwo(alpha, x, incX, y, incY)
}

// Dspmv computes y = alpha A x + beta y for a packed symmetric matrix A.
func (o ordered) Dspmv(
	ul blas.Uplo, n int, alpha float64, a []float64, x []float64, incX int, beta float64, y []float64, incY int,
) {
	t := rowsInOrder[float64]{ul: ul, n: n, data: a}
	if alpha == 0 || !t.valid(x, incX) || !holds(y, n, incY) {
		o.Implementation.Dspmv(ul, n, alpha, a, x, incX, beta, y, incY)
		return
	}
	t.multiply(alpha, x, incX, beta, y, incY)
}

// Sspmv is Dspmv in float32.
func (o ordered) Sspmv(
	ul blas.Uplo, n int, alpha float32, a []float32, x []float32, incX int, beta float32, y []float32, incY int,
) {
	t := rowsInOrder[float32]{ul: ul, n: n, data: a}
	if alpha == 0 || !t.valid(x, incX) || !holds(y, n, incY) {
		o.Implementation.Sspmv(ul, n, alpha, a, x, incX, beta, y, incY)
		return
	}
	t.multiply(alpha, x, incX, beta, y, incY)
}
