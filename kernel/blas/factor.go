package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

const (
	// smallFactor is the largest order of a Cholesky factor that is computed by gonum.
	smallFactor = 32
	// narrowFactor is the largest number of columns of an LU factor that gonum computes, one by one.
	narrowFactor = tile.PackWidth
	// fewForFactors and fewForCholesky are the orders below which gonum factors as fast.
	fewForFactors  = 24
	fewForCholesky = 50
	// cachedFactor is the largest order of an LU factor that stays in the first-level cache, with all
	// columns.
	cachedFactor = 64
)

// Dpotrf overwrites a triangle of a positive definite matrix by its Cholesky factor.
func (l Lapack) Dpotrf(ul blas.Uplo, n int, a []float64, lda int) (ok bool) {
	if !vectorized() || ul != blas.Upper && ul != blas.Lower || n < fewForCholesky || !inside(a, n, n, lda) {
		return l.Implementation.Dpotrf(ul, n, a, lda)
	}
	return l.cholesky(ul, n, a, lda)
}

// cholesky computes the factor of the first half, and with it the rows or columns beside it and the other
// half.
func (l Lapack) cholesky(ul blas.Uplo, n int, a []float64, lda int) (ok bool) {
	if n <= smallFactor {
		return l.Dpotf2(ul, n, a, lda)
	}
	half := (n/2 + tile.PackWidth - 1) &^ (tile.PackWidth - 1)
	rest, last := n-half, a[half*(lda+1):]
	if !l.cholesky(ul, half, a, lda) {
		return false
	}
	var i Implementation
	if ul == blas.Upper {
		i.Dtrsm(blas.Left, ul, blas.Trans, blas.NonUnit, half, rest, 1, a, lda, a[half:], lda)
		i.Dsyrk(ul, blas.Trans, rest, half, -1, a[half:], lda, 1, last, lda)
	} else {
		i.Dtrsm(blas.Right, ul, blas.Trans, blas.NonUnit, rest, half, 1, a, lda, a[half*lda:], lda)
		i.Dsyrk(ul, blas.NoTrans, rest, half, -1, a[half*lda:], lda, 1, last, lda)
	}
	return l.cholesky(ul, rest, last, lda)
}

// Dgetrf computes the factors P, L and U of a matrix, in ipiv and a.
func (l Lapack) Dgetrf(m, n int, a []float64, lda int, ipiv []int) (ok bool) {
	if !vectorized() || min(m, n) < fewForFactors || !inside(a, m, n, lda) || len(ipiv) != min(m, n) {
		return l.Implementation.Dgetrf(m, n, a, lda, ipiv)
	}
	return l.eliminate(m, n, a, lda, ipiv)
}

// eliminate factors the left half of the columns, and with it the rows beside it and the rest (Toledo, 1997).
func (l Lapack) eliminate(m, n int, a []float64, lda int, pivots []int) (ok bool) {
	k := min(m, n)
	if n == k && (k <= narrowFactor || m <= cachedFactor) {
		return l.Dgetf2(m, n, a, lda, pivots)
	}
	left := k
	if k > narrowFactor {
		left = (k/2 + narrowFactor - 1) &^ (narrowFactor - 1)
	}
	ok = l.eliminate(m, left, a, lda, pivots[:left])
	rest := n - left
	l.Dlaswp(rest, a[left:], lda, 0, left-1, pivots[:left], 1)
	var i Implementation
	i.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.Unit, left, rest, 1, a, lda, a[left:], lda)
	if left == m {
		return ok
	}
	last := a[left*(lda+1):]
	gemm(false, blas.NoTrans, blas.NoTrans, m-left, rest, left, -1, a[left*lda:], lda, a[left:], lda, 1, last, lda)
	ok = l.eliminate(m-left, rest, last, lda, pivots[left:]) && ok
	l.Dlaswp(left, a[left*lda:], lda, 0, k-left-1, pivots[left:], 1)
	for p := left; p < k; p++ {
		pivots[p] += left
	}
	return ok
}
