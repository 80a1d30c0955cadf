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
//
// testdata/gorgonia_test.go is an example, which scripts/gorgonia.sh runs in a module of its own. With tensor
// v0.9.24 and Go 1.26 a program must require a newer go4.org/unsafe/assume-no-moving-gc, as the script does.
package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
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
// else, and small problems, are gonum's, which are called one to three nanoseconds later than without this
// package. It passes gonum's own suites, which are for float64 (TestSuitesOfGonum).
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
	if (max(m, n, k) > tiny || !loops(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)) &&
		(m*n*k < worthwhile || !gemm(true, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)) {
		i.Implementation.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Dsyrk computes a triangle of C = alpha op(A) op(A)' + beta C.
func (i Implementation) Dsyrk(ul blas.Uplo, t blas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, c []float64, ldc int) {
	if n*n*k < 4*worthwhile || !rankK(ul, t, n, k, alpha, a, lda, a, lda, beta, c, ldc) {
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
	if fewUnknowns(false, s, m, n) || !trsm(false, s, ul, t, d, m, n, alpha, a, lda, b, ldb) {
		i.Implementation.Dtrsm(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Dtrmm computes B = alpha op(A) B, or B = alpha B op(A), for a triangular A.
func (i Implementation) Dtrmm(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	if fewUnknowns(true, s, m, n) || !trsm(true, s, ul, t, d, m, n, alpha, a, lda, b, ldb) {
		i.Implementation.Dtrmm(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Dsymm computes C = alpha A B + beta C, or C = alpha B A + beta C, for a symmetric A.
func (i Implementation) Dsymm(s blas.Side, ul blas.Uplo, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	if m*n*min(m, n) < worthwhile || !symm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc) {
		i.Implementation.Dsymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// fewSingles and fewForSger are the numbers of entries of vectors, and of columns of a matrix, below which
// gonum is as fast in float32.
const fewSingles, fewForSger = 128, 64

// Sgemm computes C = alpha op(A) op(B) + beta C.
func (i Implementation) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	if (max(m, n, k) > tiny || !loops(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)) &&
		(m*n*k < worthwhile || !gemm(true, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)) {
		i.Implementation.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Ssyrk computes a triangle of C = alpha op(A) op(A)' + beta C.
func (i Implementation) Ssyrk(ul blas.Uplo, t blas.Transpose, n, k int, alpha float32, a []float32, lda int, beta float32, c []float32, ldc int) {
	if n*n*k < 4*worthwhile || !rankK(ul, t, n, k, alpha, a, lda, a, lda, beta, c, ldc) {
		i.Implementation.Ssyrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Strsm solves op(A) X = alpha B, or X op(A) = alpha B, for a triangular A, and leaves X in B.
func (i Implementation) Strsm(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha float32, a []float32, lda int, b []float32, ldb int) {
	if fewUnknowns(false, s, m, n) || !trsm(false, s, ul, t, d, m, n, alpha, a, lda, b, ldb) {
		i.Implementation.Strsm(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Sgemv computes y = alpha op(A) x + beta y.
func (i Implementation) Sgemv(tA blas.Transpose, m, n int, alpha float32, a []float32, lda int, x []float32, incX int, beta float32, y []float32, incY int) {
	if m*n < fewForVectors/4 || tA != blas.NoTrans && m*n < fewForVectors || !gemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY) {
		i.Implementation.Sgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// Sger computes A += alpha x y'.
func (i Implementation) Sger(m, n int, alpha float32, x []float32, incX int, y []float32, incY int, a []float32, lda int) {
	if n < fewForSger && incX > 0 && incY > 0 || !ger(m, n, alpha, x, incX, y, incY, a, lda) {
		i.Implementation.Sger(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Saxpy adds alpha x to y.
func (i Implementation) Saxpy(n int, alpha float32, x []float32, incX int, y []float32, incY int) {
	if n < fewSingles || incX != 1 || incY != 1 || len(x) < n || len(y) < n || alpha == 0 {
		i.Implementation.Saxpy(n, alpha, x, incX, y, incY)
		return
	}
	v := [1]float32{alpha}
	tile.AddOuter(y, n, v[:], x, 1, n)
}

// Snrm2 returns the Euclidean norm of x. The squares of float32 neither overflow nor underflow in float64.
func (i Implementation) Snrm2(n int, x []float32, incX int) float32 {
	if n < 2 || incX != 1 || len(x) < n {
		return i.Implementation.Snrm2(n, x, incX)
	}
	var s0, s1, s2, s3 float64
	x = x[:n]
	for ; len(x) >= 4; x = x[4:] {
		v := (*[4]float32)(x)
		s0 += float64(v[0]) * float64(v[0])
		s1 += float64(v[1]) * float64(v[1])
		s2 += float64(v[2]) * float64(v[2])
		s3 += float64(v[3]) * float64(v[3])
	}
	for _, v := range x {
		s0 += float64(v) * float64(v)
	}
	return float32(math.Sqrt((s0 + s2) + (s1 + s3)))
}

// Lapack is gonum's lapack.Float64. It computes the factors of LU, Cholesky and QR, the eigenvectors of
// symmetric matrices, singular vectors, norms, and estimates of condition numbers, which package mat requests
// for every solution; all else is gonum's. Differences from gonum are those of Implementation, and
//
//   - a matrix that Dpotrf finds not positive definite is left in another state;
//   - infinity or NaN in a matrix for Dgeqrf makes more of its factors NaN;
//   - Dgeqrf leaves the best length of work in work[0].
type Lapack struct{ lapackreference.Implementation }
