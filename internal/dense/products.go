package dense

import (
	"github.com/difalt/difalt/kernel/blas"
	gonum "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
)

// The functions of this file are those of gonum's blas64 and lapack64. Package kernel/blas computes them,
// not the implementation that is registered with gonum. Their results have the same bits on all processors.

// Dot returns x'y.
func Dot(x, y blas64.Vector) float64 {
	return blas.Implementation{}.Ddot(x.N, x.Data, x.Inc, y.Data, y.Inc)
}

// Axpy computes y = alpha x + y.
func Axpy(alpha float64, x, y blas64.Vector) {
	blas.Implementation{}.Daxpy(x.N, alpha, x.Data, x.Inc, y.Data, y.Inc)
}

// Gemv computes y = alpha op(A) x + beta y.
func Gemv(t gonum.Transpose, alpha float64, a blas64.General, x blas64.Vector, beta float64, y blas64.Vector) {
	blas.Implementation{}.Dgemv(t, a.Rows, a.Cols, alpha, a.Data, a.Stride, x.Data, x.Inc, beta, y.Data, y.Inc)
}

// Ger computes A = alpha x y' + A.
func Ger(alpha float64, x, y blas64.Vector, a blas64.General) {
	blas.Implementation{}.Dger(a.Rows, a.Cols, alpha, x.Data, x.Inc, y.Data, y.Inc, a.Data, a.Stride)
}

// Symv computes y = alpha A x + beta y.
func Symv(alpha float64, a blas64.Symmetric, x blas64.Vector, beta float64, y blas64.Vector) {
	blas.Implementation{}.Dsymv(a.Uplo, a.N, alpha, a.Data, a.Stride, x.Data, x.Inc, beta, y.Data, y.Inc)
}

// Syr computes A = alpha x x' + A.
func Syr(alpha float64, x blas64.Vector, a blas64.Symmetric) {
	blas.Implementation{}.Dsyr(a.Uplo, a.N, alpha, x.Data, x.Inc, a.Data, a.Stride)
}

// Spmv computes y = alpha A x + beta y for a packed A.
func Spmv(alpha float64, a blas64.SymmetricPacked, x blas64.Vector, beta float64, y blas64.Vector) {
	blas.Implementation{}.Dspmv(a.Uplo, a.N, alpha, a.Data, x.Data, x.Inc, beta, y.Data, y.Inc)
}

// Spr computes A = alpha x x' + A for a packed A.
func Spr(alpha float64, x blas64.Vector, a blas64.SymmetricPacked) {
	blas.Implementation{}.Dspr(a.Uplo, a.N, alpha, x.Data, x.Inc, a.Data)
}

// Gemm computes C = alpha op(A) op(B) + beta C.
func Gemm(tA, tB gonum.Transpose, alpha float64, a, b blas64.General, beta float64, c blas64.General) {
	k := a.Cols
	if tA != gonum.NoTrans {
		k = a.Rows
	}
	blas.Implementation{}.Dgemm(tA, tB, c.Rows, c.Cols, k, alpha, a.Data, a.Stride, b.Data, b.Stride, beta,
		c.Data, c.Stride)
}

// Trmm computes B = alpha op(A) B or, with A on the right, B = alpha B op(A).
func Trmm(s gonum.Side, t gonum.Transpose, alpha float64, a blas64.Triangular, b blas64.General) {
	blas.Implementation{}.Dtrmm(s, a.Uplo, t, a.Diag, b.Rows, b.Cols, alpha, a.Data, a.Stride, b.Data, b.Stride)
}

// Trsm solves op(A) X = alpha B or, with A on the right, X op(A) = alpha B, and overwrites B by X.
func Trsm(s gonum.Side, t gonum.Transpose, alpha float64, a blas64.Triangular, b blas64.General) {
	blas.Implementation{}.Dtrsm(s, a.Uplo, t, a.Diag, b.Rows, b.Cols, alpha, a.Data, a.Stride, b.Data, b.Stride)
}

// Potri overwrites the Cholesky factor of A by the same triangle of A^-1.
func Potri(r blas64.Triangular) (a blas64.Symmetric, ok bool) {
	ok = blas.Lapack{}.Dpotri(r.Uplo, r.N, r.Data, r.Stride)
	return blas64.Symmetric{Uplo: r.Uplo, N: r.N, Stride: r.Stride, Data: r.Data}, ok
}

// Trsv solves op(A) x = b, and overwrites b by x.
func Trsv(t gonum.Transpose, a blas64.Triangular, b blas64.Vector) {
	blas.Implementation{}.Dtrsv(a.Uplo, t, a.Diag, a.N, a.Data, a.Stride, b.Data, b.Inc)
}

// Syrk computes C = alpha A A' + beta C or, with a transposition, C = alpha A'A + beta C.
func Syrk(t gonum.Transpose, alpha float64, a blas64.General, beta float64, c blas64.Symmetric) {
	n, k := a.Rows, a.Cols
	if t != gonum.NoTrans {
		n, k = k, n
	}
	blas.Implementation{}.Dsyrk(c.Uplo, t, n, k, alpha, a.Data, a.Stride, beta, c.Data, c.Stride)
}

// Potrf overwrites a triangle of A by its Cholesky factor. It returns false if A is not positive definite.
func Potrf(a blas64.Symmetric) (r blas64.Triangular, ok bool) {
	ok = blas.Lapack{}.Dpotrf(a.Uplo, a.N, a.Data, a.Stride)
	return blas64.Triangular{Uplo: a.Uplo, Diag: gonum.NonUnit, N: a.N, Stride: a.Stride, Data: a.Data}, ok
}

// Factor overwrites the upper triangle of the n x n matrix a by its Cholesky factor R. It returns false if A
// is not positive definite, or too close to a singular matrix for any digit of a solution.
func Factor(n int, a []float64) (r blas64.Triangular, ok bool) {
	var l blas.Lapack
	work := make([]float64, 3*n)
	size := l.Dlansy(lapack.MaxColumnSum, gonum.Upper, n, a, max(n, 1), work)
	r, ok = Potrf(Symmetric(n, a))
	return r, ok && l.Dpocon(gonum.Upper, n, a, max(n, 1), size, work, make([]int, n)) > 1e-16
}

// Solve overwrites b by the solution of R'R x = b.
func Solve(r blas64.Triangular, b []float64) {
	Trsv(gonum.Trans, r, Vector(b))
	Trsv(gonum.NoTrans, r, Vector(b))
}

// Eigen returns the eigenvalues of the n x n matrix with the upper triangle of a, ascending, and overwrites a
// by its eigenvectors, which are its columns. It returns false if they are not found.
func Eigen(n int, a []float64) (values []float64, ok bool) {
	var l blas.Lapack
	work := make([]float64, 1)
	values = make([]float64, n)
	l.Dsyev(lapack.EVCompute, gonum.Upper, n, a, n, values, work, -1)
	work = make([]float64, int(work[0]))
	return values, l.Dsyev(lapack.EVCompute, gonum.Upper, n, a, n, values, work, len(work))
}
