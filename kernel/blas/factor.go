package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
)

const (
	// smallFactor is the largest order of a Cholesky factor that is computed row by row.
	smallFactor = 32
	// narrowFactor is the largest number of columns of an LU factor that are computed one by one.
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
	return cholesky(ul, n, a, lda)
}

// cholesky computes the factor of the first half, and with it the rows or columns beside it and the other
// half.
func cholesky(ul blas.Uplo, n int, a []float64, lda int) (ok bool) {
	if n <= smallFactor {
		if ul == blas.Upper {
			return smallCholeskyUpper(n, a, lda)
		}
		return smallCholeskyLower(n, a, lda)
	}
	half := (n/2 + tile.PackWidth - 1) &^ (tile.PackWidth - 1)
	rest, last := n-half, a[half*(lda+1):]
	if !cholesky(ul, half, a, lda) {
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
	return cholesky(ul, rest, last, lda)
}

// pivotRoot replaces the pivot by its root and returns the inverse of the root, or false if it is not
// positive.
func pivotRoot(pivot *float64) (inverse float64, ok bool) {
	if !(*pivot > 0) {
		return 0, false
	}
	*pivot = math.Sqrt(*pivot)
	return 1 / *pivot, true
}

// smallCholeskyUpper subtracts from every row those above it, and scales it.
func smallCholeskyUpper(n int, a []float64, lda int) bool {
	var above [smallFactor]float64
	for j := range n {
		row := a[j*(lda+1):][:n-j]
		for i := range j {
			above[i] = -a[i*lda+j]
		}
		if j > 0 {
			tile.AddRows(row, a[j:], lda, above[:], j, n-j)
		}
		inverse, ok := pivotRoot(&row[0])
		if !ok {
			return false
		}
		for k := range row[1:] {
			row[k+1] *= inverse
		}
	}
	return true
}

// smallCholeskyLower is smallCholeskyUpper for the columns of a lower triangle.
func smallCholeskyLower(n int, a []float64, lda int) bool {
	var sums [smallFactor]float64
	for j := range n {
		tile.RowDots(sums[:], a[j*lda:], lda, a[j*lda:], n-j, j)
		column := a[j*(lda+1):]
		column[0] -= sums[0]
		inverse, ok := pivotRoot(&column[0])
		if !ok {
			return false
		}
		for i := 1; i < n-j; i++ {
			column[i*lda] = (column[i*lda] - sums[i]) * inverse
		}
	}
	return true
}

// Dgetrf computes the factors P, L and U of a matrix, in ipiv and a.
func (l Lapack) Dgetrf(m, n int, a []float64, lda int, ipiv []int) (ok bool) {
	if !vectorized() || min(m, n) < fewForFactors || !inside(a, m, n, lda) || len(ipiv) != min(m, n) {
		return l.Implementation.Dgetrf(m, n, a, lda, ipiv)
	}
	return eliminate(m, n, a, lda, ipiv)
}

// eliminate factors the left half of the columns, and with it the rows beside it and the rest (Toledo, 1997).
func eliminate(m, n int, a []float64, lda int, pivots []int) (ok bool) {
	k := min(m, n)
	if n == k && (k <= narrowFactor || m <= cachedFactor) {
		return eliminateNarrow(m, n, a, lda, pivots)
	}
	left := k
	if k > narrowFactor {
		left = (k/2 + narrowFactor - 1) &^ (narrowFactor - 1)
	}
	ok = eliminate(m, left, a, lda, pivots[:left])
	rest := n - left
	swapRows(rest, a[left:], lda, pivots[:left])
	var i Implementation
	i.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.Unit, left, rest, 1, a, lda, a[left:], lda)
	if left == m {
		return ok
	}
	last := a[left*(lda+1):]
	i.Dgemm(blas.NoTrans, blas.NoTrans, m-left, rest, left, -1, a[left*lda:], lda, a[left:], lda, 1, last, lda)
	ok = eliminate(m-left, rest, last, lda, pivots[left:]) && ok
	swapRows(left, a[left*lda:], lda, pivots[left:])
	for p := left; p < k; p++ {
		pivots[p] += left
	}
	return ok
}

// swapRows swaps the rows k and pivots[k] of a matrix, for all k.
func swapRows(columns int, a []float64, lda int, pivots []int) {
	for k, p := range pivots {
		if p == k {
			continue
		}
		x, y := a[k*lda:][:columns], a[p*lda:][:columns]
		for c, v := range x {
			x[c], y[c] = y[c], v
		}
	}
}

// eliminateNarrow factors a few columns, one after the other.
func eliminateNarrow(m, n int, a []float64, lda int, pivots []int) (ok bool) {
	var factors [rowsTogether]float64
	ok = true
	for j := range pivots {
		p := j + reference.Implementation{}.Idamax(m-j, a[j*(lda+1):], lda)
		pivots[j] = p
		pivot := a[p*lda+j]
		if p != j && pivot != 0 {
			swapRows(n, a[j*lda:], lda, []int{p - j})
		}
		inverse := 1 / pivot
		if pivot == 0 {
			ok, inverse = false, 1
		}
		for row := j + 1; row < m; row += rowsTogether {
			rows := min(rowsTogether, m-row)
			part := a[row*lda+j:]
			for i := range rows {
				v := part[i*lda] * inverse
				if math.Abs(pivot) < safeMin && pivot != 0 {
					v = part[i*lda] / pivot
				}
				part[i*lda], factors[i] = v, -v
			}
			if j+1 < n {
				tile.AddOuter(part[1:], lda, factors[:], a[j*(lda+1)+1:], rows, n-j-1)
			}
		}
	}
	return ok
}
