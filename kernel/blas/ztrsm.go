package blas

import "gonum.org/v1/gonum/blas"

// Ztrsm solves op(A) X = alpha B or, with A on the right, X op(A) = alpha B, for a complex triangular
// matrix A.
//
// On entry a holds the triangle ul of A, with ones on its diagonal that are not read if d is Unit, and b
// the m x n matrix B. On return b holds X; the other triangle of A is not read. Zero by NaN or infinity is
// NaN.
func (*routines) Ztrsm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha complex128, a []complex128,
	lda int, b []complex128, ldb int,
) {
	if leavesPairs(false, s, d, m, n, doubles(a), lda) ||
		!triangularPairs(false, s, ul, tA, d, m, n, alpha, doubles(a), lda, doubles(b), ldb) {
		fallback{}.Ztrsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Ctrsm is Ztrsm in complex64.
func (*routines) Ctrsm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha complex64, a []complex64,
	lda int, b []complex64, ldb int,
) {
	if leavesPairs(false, s, d, m, n, singles(a), lda) ||
		!triangularPairs(false, s, ul, tA, d, m, n, complex128(alpha), singles(a), lda, singles(b), ldb) {
		fallback{}.Ctrsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}
