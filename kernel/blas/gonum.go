// Package blas is a BLAS and LAPACK for gonum, computed by the tiles of the CPU tier in use. Use
// registers it for the whole program, so that package mat and everything above it computes with the tiles:
//
//	blas.Use()
//
// On one thread, package mat takes these shares of its time with gonum's own implementation:
//
//	                                        AVX-512       AVX2
//	products of matrices                    1/9 to 1/13   1/6
//	LU, Cholesky, QR, order 300 and more    1/5 to 1/8    1/4 to 1/5
//	eigenvectors, singular vectors          1/4           1/3
//	LU, Cholesky, QR, order 50 to 100       1/2 to 5/8    3/5
//	a matrix from memory by a vector        1/2           2/3
//	a matrix from a cache by a vector       4/5           4/5
//	systems of order 10                     4/5           7/8
//
// BENCHMARKS.md has the table, beside OpenBLAS. A processor without AVX2 computes as gonum does.
//
// Package gorgonia.org/tensor has a registration of its own, for which Use does nothing:
//
//	import "github.com/difalt/difalt/kernel/blas"
//
//	tensor.Use(blas.Implementation{})
package blas

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	reference "gonum.org/v1/gonum/blas/gonum"
	lapackreference "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// Use registers Implementation and Lapack with gonum's blas32, blas64 and lapack64, and so with package mat,
// for the whole program.
func Use() {
	blas32.Use(Implementation{})
	blas64.Use(Implementation{})
	lapack64.Use(Lapack{})
}

// An Implementation is gonum's blas.Float64 and blas.Float32. The tiles compute Dgemm, Dsyrk, Dsyr2k, Dtrsm,
// Dtrmm, Dsymm, Dgemv, Dger, Dsymv and Dtrsv, and Sgemm, Ssyrk, Strsm, Sgemv, Sger, Saxpy and Snrm2; all
// else, and small problems, are gonum's. It passes gonum's own suites, which are for float64
// (TestSuitesOfGonum).
//
// Matrices are stored by rows. Arguments, results and panics are gonum's, but for
//
//   - rounding, by the order of sums. The order depends on the shapes alone, and not on the number of
//     threads that share large products;
//   - products of zero by infinity or NaN, which are NaN as in other BLAS;
//   - Dsyrk and Ssyrk with beta = 0, which overwrite NaN in C as BLAS requires;
//   - infinite alpha, which is multiplied into a factor: a sum of +Inf and -Inf is NaN then.
//
// Memory for blocks is kept: calls on one thread allocate none after the first ones. Large products are
// shared by goroutines that end 50 us after the last of them.
type Implementation struct{ reference.Implementation }

// Dgemm computes C = alpha op(A) op(B) + beta C.
func (i Implementation) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	if m*n*k < worthwhile || !gemm(true, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		i.Implementation.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Dsyrk computes a triangle of C = alpha op(A) op(A)' + beta C.
func (i Implementation) Dsyrk(ul blas.Uplo, t blas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, c []float64, ldc int) {
	if n*n*k < worthwhile || !rankK(ul, t, n, k, alpha, a, lda, a, lda, beta, c, ldc) {
		i.Implementation.Dsyrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Dsyr2k computes a triangle of C = alpha op(A) op(B)' + alpha op(B) op(A)' + beta C.
func (i Implementation) Dsyr2k(ul blas.Uplo, t blas.Transpose, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	if n*n*k < 4*worthwhile || !rankK(ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc) || !rankK(ul, t, n, k, alpha, b, ldb, a, lda, 1, c, ldc) {
		i.Implementation.Dsyr2k(ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Dtrsm solves op(A) X = alpha B, or X op(A) = alpha B, for a triangular A, and leaves X in B.
func (i Implementation) Dtrsm(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	if fewUnknowns(s, m, n, 0) || !trsm(false, s, ul, t, d, m, n, alpha, a, lda, b, ldb) {
		i.Implementation.Dtrsm(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Dtrmm computes B = alpha op(A) B, or B = alpha B op(A), for a triangular A.
func (i Implementation) Dtrmm(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	if fewUnknowns(s, m, n, 0) || !trsm(true, s, ul, t, d, m, n, alpha, a, lda, b, ldb) {
		i.Implementation.Dtrmm(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Dsymm computes C = alpha A B + beta C, or C = alpha B A + beta C, for a symmetric A.
func (i Implementation) Dsymm(s blas.Side, ul blas.Uplo, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	if m*n*min(m, n) < worthwhile || !symm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc) {
		i.Implementation.Dsymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Lapack is gonum's lapack.Float64. It computes the factors of LU, Cholesky and QR, the eigenvectors of
// symmetric matrices, singular vectors, norms, and estimates of condition numbers, which package mat requests
// for every solution; all else is gonum's. Differences from gonum are those of Implementation, and two more:
// a matrix that Dpotrf finds not positive definite is left in another state, and infinity or NaN in a matrix
// for Dgeqrf makes more of its factors NaN.
type Lapack struct{ lapackreference.Implementation }
