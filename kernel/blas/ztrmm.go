package blas

import "gonum.org/v1/gonum/blas"

// Ztrmm computes B = alpha op(A) B or, with A on the right, B = alpha B op(A), for a complex triangular
// matrix A.
//
// On entry a holds the triangle ul of A, with ones on its diagonal that are not read if d is Unit, and b
// the m x n matrix B. On return b is overwritten by the product; the other triangle of A is not read. Zero
// by NaN or infinity is NaN.
func (*routines) Ztrmm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha complex128, a []complex128,
	lda int, b []complex128, ldb int,
) {
	if leavesPairs(true, s, d, m, n, doubles(a), lda) ||
		!triangularPairs(true, s, ul, tA, d, m, n, alpha, doubles(a), lda, doubles(b), ldb) {
		fallback{}.Ztrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Ctrmm is Ztrmm in complex64.
func (*routines) Ctrmm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha complex64, a []complex64,
	lda int, b []complex64, ldb int,
) {
	if leavesPairs(true, s, d, m, n, singles(a), lda) ||
		!triangularPairs(true, s, ul, tA, d, m, n, complex128(alpha), singles(a), lda, singles(b), ldb) {
		fallback{}.Ctrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}
