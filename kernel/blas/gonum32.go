package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// fewSingles and fewForSger are the numbers of entries of vectors, and of columns of a matrix, below which
// gonum is as fast in float32.
const fewSingles, fewForSger = 128, 64

// Sgemm computes C = alpha op(A) op(B) + beta C.
func (i Implementation) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	if m*n*k < worthwhile || !gemm(true, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
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
