package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Zherk computes a triangle of C = alpha A A* + beta C for a complex n x k matrix A and its conjugate
// transpose A*, or with tA = ConjTrans of C = alpha A*A + beta C for a k x n matrix A. The numbers alpha
// and beta are real.
//
// On entry a holds A, and c the triangle ul of the Hermitian C; the imaginary parts of its diagonal are not
// read. On return the triangle is overwritten, with a real diagonal; the other one is neither read nor
// written.
func (*routines) Zherk(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha float64, a []complex128, lda int, beta float64,
	c []complex128, ldc int,
) {
	tA, lda = columnAsRow(blas.ConjTrans, tA, n, k, lda)
	if tA == blas.Trans || tA == blas.NoTrans && isFewSquares[float64](tA, n, k) ||
		!zsyrk(true, ul, tA, n, k, complex(alpha, 0), doubles(a), lda, complex(beta, 0), doubles(c), ldc) {
		fallback{}.Zherk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Cherk is Zherk in complex64.
func (*routines) Cherk(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha float32, a []complex64, lda int, beta float32,
	c []complex64, ldc int,
) {
	tA, lda = columnAsRow(blas.ConjTrans, tA, n, k, lda)
	if tA == blas.Trans ||
		!zsyrk(
			true, ul, tA, n, k, complex(float64(alpha), 0), singles(a), lda, complex(float64(beta), 0),
			singles(c), ldc,
		) {
		smallCherk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Zsyrk computes a triangle of C = alpha A A' + beta C for a complex n x k matrix A, or with tA = Trans of
// C = alpha A'A + beta C for a k x n matrix A.
//
// On entry a holds A, and c the triangle ul of the symmetric C. On return the triangle is overwritten; the
// other one is neither read nor written.
func (*routines) Zsyrk(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha complex128, a []complex128, lda int, beta complex128,
	c []complex128, ldc int,
) {
	tA, lda = columnAsRow(blas.Trans, tA, n, k, lda)
	if tA == blas.ConjTrans || tA == blas.NoTrans && isFewSquares[float64](tA, n, k) ||
		!zsyrk(false, ul, tA, n, k, alpha, doubles(a), lda, beta, doubles(c), ldc) {
		fallback{}.Zsyrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Csyrk is Zsyrk in complex64.
func (*routines) Csyrk(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha complex64, a []complex64, lda int, beta complex64,
	c []complex64, ldc int,
) {
	tA, lda = columnAsRow(blas.Trans, tA, n, k, lda)
	if tA == blas.ConjTrans ||
		!zsyrk(false, ul, tA, n, k, complex128(alpha), singles(a), lda, complex128(beta), singles(c), ldc) {
		smallCsyrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// smallCherk and smallCsyrk are Cherk and Csyrk for few rows: gonum's, but where it adds inner products.
func smallCherk(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha float32, a []complex64, lda int, beta float32, c []complex64,
	ldc int,
) {
	if tA == blas.NoTrans && vectorized() {
		ordered{}.Cherk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	fallback{}.Cherk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
}

func smallCsyrk(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha complex64, a []complex64, lda int, beta complex64, c []complex64,
	ldc int,
) {
	if tA == blas.NoTrans && vectorized() {
		ordered{}.Csyrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	fallback{}.Csyrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
}

// columnAsRow returns the form and the stride of a matrix of one column, whose numbers follow each other, as
// a row. The product of a row and its transpose, or its conjugate transpose, is that of the column.
func columnAsRow(turned, tA blas.Transpose, n, k, lda int) (blas.Transpose, int) {
	if tA == turned && n == 1 && lda == 1 && k > 0 {
		return blas.NoTrans, k
	}
	return tA, lda
}

// zsyrk computes a Hermitian or a symmetric product and returns true, or returns false where gonum computes
// it.
func zsyrk[F tile.Float](
	hermitian bool, ul blas.Uplo, tA blas.Transpose, n, k int, alpha complex128, a []F, lda int,
	beta complex128, c []F, ldc int,
) bool {
	if zsyrkWay(ul, tA, n, k, alpha, a, lda, c, ldc) == byGonum {
		return false
	}
	left, right := operandOf(tA, a, lda), operandOf(blas.NoTrans, a, lda)
	if tA == blas.NoTrans {
		right.transposed, right.conjugate = true, hermitian
	}
	z := complexProduct[F]{left, right, n, n, k, alpha, c, 2 * ldc, ul}
	if z.isFewTerms() && beta == 1 {
		z.addTerms(hermitian, false)
	} else {
		z.triangle(hermitian, beta)
	}
	return true
}

// makeReal clears the imaginary parts of the diagonal.
func makeReal[F tile.Float](c []F, ldc, n int) {
	for i := range n {
		c[2*i*(ldc+1)+1] = 0
	}
}

// isFewSquares reports whether gonum computes a triangle of a product in less time. Its inner products skip
// no zeros, and one term is an update of rank one. Inner products of complex64 depend on addresses, and
// ordered ones take longer.
func isFewSquares[F tile.Float](tA blas.Transpose, n, k int) bool {
	switch {
	case tA != blas.NoTrans && k == 1:
		return n < updatedOnce
	case tA != blas.NoTrans:
		return n*n*k < complexSquaresTurned
	case kind[F]() == 1:
		return n*n*k < complexSquares32
	case n < complexDotsOrder:
		return n*n*k < complexDots
	}
	return n <= complexSquaresOrder && n*n*k < complexSquares
}

// zsyrkWay returns how a triangle of a product is computed.
func zsyrkWay[F tile.Float](
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha complex128, a []F, lda int, c []F, ldc int,
) way {
	rows, columns := opShape(tA, n, k)
	switch {
	case !isTriangle(ul) || !known(tA) || min(n, k) <= 0 || alpha == 0:
		return byGonum
	case !insidePairs(a, rows, columns, lda) || !insidePairs(c, n, n, ldc):
		return byGonum
	case !vectorized() || isFewSquares[F](tA, n, k):
		return withoutTiles(tA == blas.NoTrans || finite(rows, 2*columns, a, 2*lda))
	}
	return byTiles
}
