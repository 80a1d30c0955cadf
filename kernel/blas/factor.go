package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// Dpotrf overwrites a triangle of a positive definite matrix by its Cholesky factor.
func (*solvers) Dpotrf(ul blas.Uplo, n int, a []float64, lda int) (ok bool) {
	switch {
	case !isTriangle(ul) || n <= 0 || !inside(a, n, n, lda):
		return own.Implementation.Dpotrf(ul, n, a, lda)
	case n < fewForCholesky:
		return own.Dpotf2(ul, n, a, lda)
	case !vectorized():
		return own.Implementation.Dpotrf(ul, n, a, lda)
	}
	return own.cholesky(ul, n, a, lda)
}

// cholesky computes the factor of the first half, and with it the rows or columns beside it and the other
// half.
func (*solvers) cholesky(ul blas.Uplo, n int, a []float64, lda int) (ok bool) {
	if n <= smallFactor {
		return own.Dpotf2(ul, n, a, lda)
	}
	half := (n/2 + tile.PackWidth - 1) &^ (tile.PackWidth - 1)
	rest, last := n-half, a[half*(lda+1):]
	if !own.cholesky(ul, half, a, lda) {
		return false
	}
	var i Implementation
	if ul == blas.Upper {
		dtrsm(false, blas.Left, ul, blas.Trans, blas.NonUnit, half, rest, 1, a, lda, a[half:], lda)
		i.Dsyrk(ul, blas.Trans, rest, half, -1, a[half:], lda, 1, last, lda)
	} else {
		dtrsm(false, blas.Right, ul, blas.Trans, blas.NonUnit, rest, half, 1, a, lda, a[half*lda:], lda)
		i.Dsyrk(ul, blas.NoTrans, rest, half, -1, a[half*lda:], lda, 1, last, lda)
	}
	return own.cholesky(ul, rest, last, lda)
}

// Dgetrf computes the factors P, L and U of a matrix, in ipiv and a.
func (*solvers) Dgetrf(m, n int, a []float64, lda int, ipiv []int) (ok bool) {
	if !vectorized() || min(m, n) < fewForFactors || !inside(a, m, n, lda) || len(ipiv) != min(m, n) {
		return own.Implementation.Dgetrf(m, n, a, lda, ipiv)
	}
	return own.eliminate(m, n, a, lda, ipiv)
}

// eliminate factors the left half of the columns, and then the right half (Toledo, 1997).
func (*solvers) eliminate(m, n int, a []float64, lda int, pivots []int) (ok bool) {
	k := min(m, n)
	if n == k && (k <= narrowFactor || m <= cachedFactor) {
		return own.Dgetf2(m, n, a, lda, pivots)
	}
	left := k
	if k > narrowFactor {
		left = (k/2 + narrowFactor - 1) &^ (narrowFactor - 1)
	}
	ok = own.eliminate(m, left, a, lda, pivots[:left])
	rest := n - left
	own.Dlaswp(rest, a[left:], lda, 0, left-1, pivots[:left], 1)
	dtrsm(false, blas.Left, blas.Lower, blas.NoTrans, blas.Unit, left, rest, 1, a, lda, a[left:], lda)
	if left == m {
		return ok
	}
	last := a[left*(lda+1):]
	gemm(false, blas.NoTrans, blas.NoTrans, m-left, rest, left, -1, a[left*lda:], lda, a[left:], lda, 1, last, lda)
	ok = own.eliminate(m-left, rest, last, lda, pivots[left:]) && ok
	own.Dlaswp(left, a[left*lda:], lda, 0, k-left-1, pivots[left:], 1)
	for p := left; p < k; p++ {
		pivots[p] += left
	}
	return ok
}

// A triangle is a factor op(T) of a matrix, for the estimate of its condition number.
type triangle struct {
	ul   blas.Uplo
	t    blas.Transpose
	diag blas.Diag
	a    []float64
	lda  int
	band int // the diagonals beside the main one of a band, or wholeTriangle
}

// wholeTriangle is the band of a triangle that is stored as a square matrix.
const wholeTriangle = -1

// solve overwrites x by the solution of the triangle, or its transpose, times it.
func (f *triangle) solve(tA blas.Transpose, x []float64) {
	var i Implementation
	if f.band == wholeTriangle {
		i.Dtrsv(f.ul, tA, f.diag, len(x), f.a, f.lda, x, 1)
		return
	}
	i.Dtbsv(f.ul, tA, f.diag, len(x), f.band, f.a, f.lda, x, 1)
}

// timesTransposed returns the factors of a positive definite matrix with this Cholesky factor.
func (f *triangle) timesTransposed() []triangle {
	first, second := *f, *f
	if f.ul == blas.Upper {
		first.t = blas.Trans
	} else {
		second.t = blas.Trans
	}
	return []triangle{first, second}
}

// reciprocal returns 1 / (anorm |A^-1|) for a norm and the product A of some factors, by Higham's estimate
// (Dlacn2). It returns false where a solution comes near overflow, for which gonum scales. work gets 2n
// entries.
func (*solvers) reciprocal(
	norm lapack.MatrixNorm, n int, anorm float64, work []float64, iwork []int, factors ...triangle,
) (float64, bool) {
	const most = 0x1p960
	var state [3]int
	size := 0.0
	for kase := 0; ; {
		if size, kase = own.Dlacn2(n, work[n:], work, iwork, size, kase, &state); kase == 0 {
			return orOne(1 / size / anorm), size != 0
		}
		transposed := (kase == 2) == (norm == lapack.MaxColumnSum)
		for k := range factors {
			if transposed {
				k = len(factors) - 1 - k
			}
			f, tA := &factors[k], blas.NoTrans
			if transposed == (f.t == blas.NoTrans) {
				tA = blas.Trans
			}
			f.solve(tA, work[:n])
			if !(tile.MaxAbs(work[:n]) <= most) {
				return 0, false
			}
		}
	}
}

// orOne returns a reciprocal of a condition number, or 1 where 1 / |A^-1| has overflown: then the norm of A
// is near the largest number, and its product with |A^-1| near 1.
func orOne(r float64) float64 {
	if math.IsInf(r, 1) {
		return 1
	}
	return r
}

// safeMin is the least number whose inverse is a number.
const safeMin = 0x1p-1022

// plain reports whether the arguments of a condition estimate are ones that gonum answers by itself: with a
// panic, or without a computation.
func plain(n int, anorm float64, work []float64, iwork []int) bool {
	return n <= 0 || len(work) < 3*n || len(iwork) < n || !(anorm > 0 && anorm <= math.MaxFloat64)
}

// Dgecon estimates the reciprocal of the condition number of a matrix with the factors L and U in a.
func (*solvers) Dgecon(
	norm lapack.MatrixNorm, n int, a []float64, lda int, anorm float64, work []float64, iwork []int,
) float64 {
	sums := norm == lapack.MaxColumnSum || norm == lapack.MaxRowSum
	if sums && inside(a, n, n, lda) && !plain(n, anorm, work, iwork) && len(work) >= 4*n {
		lower := triangle{blas.Lower, blas.NoTrans, blas.Unit, a, lda, wholeTriangle}
		upper := triangle{blas.Upper, blas.NoTrans, blas.NonUnit, a, lda, wholeTriangle}
		if r, ok := own.reciprocal(norm, n, anorm, work, iwork, lower, upper); ok {
			return r
		}
	}
	return orOne(own.Implementation.Dgecon(norm, n, a, lda, anorm, work, iwork))
}

// Dpocon estimates the reciprocal of the condition number of a matrix with its Cholesky factor in a.
func (*solvers) Dpocon(ul blas.Uplo, n int, a []float64, lda int, anorm float64, work []float64, iwork []int) float64 {
	if inside(a, n, n, lda) && !plain(n, anorm, work, iwork) && (ul == blas.Upper || ul == blas.Lower) {
		factor := triangle{ul, blas.NoTrans, blas.NonUnit, a, lda, wholeTriangle}
		if r, ok := own.reciprocal(lapack.MaxColumnSum, n, anorm, work, iwork, factor.timesTransposed()...); ok {
			return r
		}
	}
	return orOne(own.Implementation.Dpocon(ul, n, a, lda, anorm, work, iwork))
}

// Dtrcon estimates the reciprocal of the condition number of a triangular matrix.
func (*solvers) Dtrcon(
	norm lapack.MatrixNorm, ul blas.Uplo, diag blas.Diag, n int, a []float64, lda int, work []float64,
	iwork []int,
) float64 {
	if inside(a, n, n, lda) && !plain(n, 1, work, iwork) && (norm == lapack.MaxColumnSum || norm == lapack.MaxRowSum) &&
		(ul == blas.Upper || ul == blas.Lower) && (diag == blas.Unit || diag == blas.NonUnit) {
		anorm := own.Dlantr(norm, ul, diag, n, n, a, lda, work)
		r, ok := own.reciprocal(norm, n, anorm, work, iwork, triangle{ul, blas.NoTrans, diag, a, lda, wholeTriangle})
		if ok && anorm > 0 {
			return r
		}
	}
	return orOne(own.Implementation.Dtrcon(norm, ul, diag, n, a, lda, work, iwork))
}

// Dlansy returns a norm of a symmetric matrix: the largest entry and the Frobenius norm as gonum does.
func (*solvers) Dlansy(norm lapack.MatrixNorm, ul blas.Uplo, n int, a []float64, lda int, work []float64) float64 {
	if !vectorized() || norm != lapack.MaxRowSum && norm != lapack.MaxColumnSum ||
		ul != blas.Upper && ul != blas.Lower ||
		n < fewForSymmetricNorms || !inside(a, n, n, lda) || len(work) < n {
		return own.Implementation.Dlansy(norm, ul, n, a, lda, work)
	}
	sums := work[:n]
	clear(sums)
	for i := range n {
		diagonal, row, beside := a[i*(lda+1)], a[i*lda:][:i], sums[:i]
		if ul == blas.Upper {
			row, beside = a[i*lda:][i+1:n], sums[i+1:]
		}
		sums[i] += math.Abs(diagonal) + addSizesBoth(beside, row)
	}
	return tile.MaxAbs(sums)
}
