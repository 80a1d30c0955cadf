package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Zgemm computes C = alpha op(A) op(B) + beta C for a complex m x k matrix op(A) and a k x n matrix op(B),
// where op(X) is X, its transpose or its conjugate transpose.
//
// On entry a, b and c hold A, B and C by rows. On return c is overwritten.
func (*routines) Zgemm(
	tA, tB blas.Transpose, m, n, k int, alpha complex128, a []complex128, lda int, b []complex128, ldb int,
	beta complex128, c []complex128, ldc int,
) {
	if gonumMultipliesPairs(tB, m, n, k) ||
		!zgemm(tA, tB, m, n, k, alpha, doubles(a), lda, doubles(b), ldb, beta, doubles(c), ldc) {
		fallback{}.Zgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Cgemm is Zgemm in complex64.
func (*routines) Cgemm(
	tA, tB blas.Transpose, m, n, k int, alpha complex64, a []complex64, lda int, b []complex64, ldb int,
	beta complex64, c []complex64, ldc int,
) {
	if gonumMultipliesPairs(tB, m, n, k) ||
		!zgemm(
			tA, tB, m, n, k, complex128(alpha), singles(a), lda, singles(b), ldb, complex128(beta),
			singles(c), ldc,
		) {
		gonum.Cgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// gonumMultipliesPairs reports whether gonum takes less time for a complex product: up to more
// multiplications for a transposed B.
func gonumMultipliesPairs(tB blas.Transpose, m, n, k int) bool {
	if tB != blas.NoTrans {
		return m*n*k < complexMultiplicationsTurned
	}
	return m*n*k < complexMultiplications
}

// zgemm computes Zgemm or Cgemm and returns true, or returns false where gonum computes it.
func zgemm[F tile.Float](
	tA, tB blas.Transpose, m, n, k int, alpha complex128, a []F, lda int, b []F, ldb int, beta complex128,
	c []F, ldc int,
) bool {
	z := complexProduct[F]{operandOf(tA, a, lda), operandOf(tB, b, ldb), m, n, k, alpha, c, 2 * ldc, blas.All}
	switch z.way(tA, tB, lda, ldb, ldc) {
	case byGonum:
		return false
	case byScaling:
		if beta != 1 {
			z.scaleTriangle(beta)
		}
		return true
	case byVector:
		return zgemmByRows(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
	if n == 1 && tB != blas.ConjTrans && m*k > thinPairs {
		inc, rows, columns := ldb, m, k
		if tB == blas.Trans {
			inc = 1
		}
		if tA != blas.NoTrans {
			rows, columns = k, m
		}
		if !gemvByGonum[F](tA, rows, columns) &&
			zgemv(tA, rows, columns, alpha, a, lda, b, inc, beta, c, ldc) {
			return true
		}
	}
	z.computeWith(beta)
	return true
}

// way returns how a product is computed. gonum's product skips no zeros, and with alpha = 0 reads no factor.
func (z *complexProduct[F]) way(tA, tB blas.Transpose, lda, ldb, ldc int) way {
	const scaledPairs = 32 // columns from which vectors multiply C by beta in less time
	rowsA, columnsA := opShape(tA, z.m, z.k)
	rowsB, columnsB := opShape(tB, z.k, z.n)
	switch {
	case !known(tA) || !known(tB) || min(z.m, z.n, z.k) <= 0 || !vectorized():
		return byGonum
	case !insidePairs(z.a.data, rowsA, columnsA, lda) || !insidePairs(z.b.data, rowsB, columnsB, ldb) ||
		!insidePairs(z.c, z.m, z.n, ldc):
		return byGonum
	}
	switch inner := z.b.transposed && z.k > thinTerms*z.n; { // few inner products
	case z.alpha == 0 && z.n < scaledPairs:
		return byGonum
	case z.alpha == 0:
		return byScaling
	case z.m == 1 && (inner || z.n*z.k > thinPairs) && !z.a.conjugate && !z.b.conjugate:
		return byVector
	}
	return byTiles
}

// zgemmByRows computes a product of few rows: each row of C is op(B)' times a row of op(A). It returns false,
// before it computes anything, where gonum multiplies a matrix by a vector as fast.
func zgemmByRows[F tile.Float](
	tA, tB blas.Transpose, m, n, k int, alpha complex128, a []F, lda int, b []F, ldb int, beta complex128,
	c []F, ldc int,
) bool {
	turned := blas.Trans
	if tB != blas.NoTrans {
		turned = blas.NoTrans
	}
	next, inc := lda, 1 // from row to row of op(A), and from entry to entry
	if tA != blas.NoTrans {
		next, inc = 1, lda
	}
	rows, columns := opShape(tB, k, n)
	if gemvByGonum[F](turned, rows, columns) {
		return false
	}
	for i := range m {
		if !zgemv(turned, rows, columns, alpha, b, ldb, a[2*i*next:], inc, beta, c[2*i*ldc:], 1) {
			return false
		}
	}
	return true
}
