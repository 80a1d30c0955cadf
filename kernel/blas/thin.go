package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// A matrix of one row or one column is a vector. Routines for matrices give it to those for a matrix and a
// vector, and these to those for two vectors, by the functions of this file.

// isThin reports whether a matrix has one row or one column.
func isThin(m, n int) bool { return m == 1 || n == 1 }

// thinProduct computes y = alpha op(A) x + beta y for a thin m x n matrix A.
func thinProduct[F tile.Float](
	tA blas.Transpose, m, n int, alpha F, a []F, lda int, x []F, incX int, beta F, y []F, incY int,
) {
	entries, inc, results := n, 1, m
	if n == 1 {
		entries, inc = m, lda
	}
	if tA != blas.NoTrans {
		results = n
	}
	if results > 1 {
		addVector(entries, alpha*x[0], a, inc, beta, y, incY)
		return
	}
	sum := F(alpha * dotOf(entries, a, inc, x, incX))
	if beta != 0 {
		sum += F(beta * y[0])
	}
	y[0] = sum
}

// dotOf returns x'y.
func dotOf[F tile.Float](n int, x []F, incX int, y []F, incY int) F {
	if kind[F]() == 1 {
		return F(Implementation{}.Sdot(n, as[float32](x), incX, as[float32](y), incY))
	}
	return F(Implementation{}.Ddot(n, as[float64](x), incX, as[float64](y), incY))
}

// addVector computes y = alpha x + beta y. Zero by NaN or infinity is NaN.
func addVector[F tile.Float](n int, alpha F, x []F, incX int, beta F, y []F, incY int) {
	if incX == 1 && incY == 1 && n >= 2*shortRow {
		y = y[:n]
		scaleRow(y, beta)
		addTimes(alpha, x[:n], y)
		return
	}
	at, to := firstEntry(n, incX), firstEntry(n, incY)
	for range n {
		v := F(alpha * x[at])
		if beta != 0 {
			v += F(beta * y[to])
		}
		y[to] = v
		at, to = at+incX, to+incY
	}
}

// thinMatrixProduct computes C = alpha op(A) op(B) + beta C for a thin C.
func thinMatrixProduct[F tile.Float](
	tA, tB blas.Transpose, m, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) {
	t, rows, incX, incY := tA, m, ldb, ldc // C = op(A) b
	if tB != blas.NoTrans {
		incX = 1
	}
	if n > 1 { // C' = op(B)' a
		t, rows, incX, incY = blas.Trans, n, 1, 1
		if tB != blas.NoTrans {
			t = blas.NoTrans
		}
		if tA != blas.NoTrans {
			incX = lda
		}
		a, lda, b = b, ldb, a
	}
	columns := k
	if t != blas.NoTrans {
		rows, columns = k, rows
	}
	if kind[F]() == 1 {
		Implementation{}.Sgemv(t, rows, columns, float32(alpha), as[float32](a), lda, as[float32](b), incX,
			float32(beta), as[float32](c), incY)
		return
	}
	Implementation{}.Dgemv(t, rows, columns, float64(alpha), as[float64](a), lda, as[float64](b), incX,
		float64(beta), as[float64](c), incY)
}

// thinSymmetric computes C = alpha A B + beta C or, with A on the right, C = alpha B A + beta C, for a
// symmetric A of order 1, or a thin C.
func thinSymmetric[F tile.Float](
	s blas.Side, ul blas.Uplo, m, n int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) {
	const plain = blas.NoTrans
	order, incX, incY := m, ldb, ldc
	if s == blas.Right {
		order, incX, incY = n, 1, 1
	}
	switch {
	case order == 1 && s == blas.Left: // A is a general matrix
		thinMatrixProduct(plain, plain, m, n, 1, alpha, a, lda, b, ldb, beta, c, ldc)
	case order == 1:
		thinMatrixProduct(plain, plain, m, n, 1, alpha, b, ldb, a, lda, beta, c, ldc)
	case kind[F]() == 1:
		Implementation{}.Ssymv(ul, order, float32(alpha), as[float32](a), lda, as[float32](b), incX, float32(beta),
			as[float32](c), incY)
	default:
		Implementation{}.Dsymv(ul, order, float64(alpha), as[float64](a), lda, as[float64](b), incX, float64(beta),
			as[float64](c), incY)
	}
}

// syr2Of computes Dsyr2 or Ssyr2.
func syr2Of[F tile.Float](ul blas.Uplo, n int, alpha F, x []F, incX int, y []F, incY int, a []F, lda int) {
	if kind[F]() == 1 {
		Implementation{}.Ssyr2(ul, n, float32(alpha), as[float32](x), incX, as[float32](y), incY, as[float32](a), lda)
		return
	}
	Implementation{}.Dsyr2(ul, n, float64(alpha), as[float64](x), incX, as[float64](y), incY, as[float64](a), lda)
}
