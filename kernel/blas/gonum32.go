package blas

import "gonum.org/v1/gonum/blas"

// Sgemm computes C = alpha op(A) op(B) + beta C.
func (i Implementation) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	if m*n*k < worthwhile || !gemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		i.Implementation.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Ssyrk computes a triangle of C = alpha op(A) op(A)' + beta C.
func (i Implementation) Ssyrk(ul blas.Uplo, t blas.Transpose, n, k int, alpha float32, a []float32, lda int, beta float32, c []float32, ldc int) {
	if n*n*k < worthwhile || !rankK(ul, t, n, k, alpha, a, lda, a, lda, beta, c, ldc) {
		i.Implementation.Ssyrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Strsm solves op(A) X = alpha B, or X op(A) = alpha B, for a triangular A, and leaves X in B.
func (i Implementation) Strsm(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha float32, a []float32, lda int, b []float32, ldb int) {
	if fewUnknowns(s, m, n, 4) || !trsm(false, s, ul, t, d, m, n, alpha, a, lda, b, ldb) {
		i.Implementation.Strsm(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Sgemv computes y = alpha op(A) x + beta y.
func (i Implementation) Sgemv(tA blas.Transpose, m, n int, alpha float32, a []float32, lda int, x []float32, incX int, beta float32, y []float32, incY int) {
	if m*n < fewForVectors/4 || !gemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY) {
		i.Implementation.Sgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// Sger computes A += alpha x y'.
func (i Implementation) Sger(m, n int, alpha float32, x []float32, incX int, y []float32, incY int, a []float32, lda int) {
	if n < fewForSger && incX > 0 && incY > 0 || !ger(m, n, alpha, x, incX, y, incY, a, lda) {
		i.Implementation.Sger(m, n, alpha, x, incX, y, incY, a, lda)
	}
}
