package blas

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// A bandTriangle is a triangular matrix of order n with k diagonals beside the main one, as the BLAS stores
// it: row i of a begins with the diagonal if it is an upper triangle, and ends with it otherwise.
type bandTriangle struct {
	ul     blas.Uplo
	diag   blas.Diag
	n, k   int
	a      []float64
	stride int
}

// solveBandByRows reports whether the rows of all right sides are combined, rather than one side after the
// other solved. BandCholesky.Solve of 4 x 1 to 350 x 350.
func solveBandByRows(sides int) bool { return sides >= fewBandSides }

// fits reports whether the operands are valid, and some unknown is to be computed.
func (t *bandTriangle) fits(b []float64, ldb, sides int) bool {
	return isTriangle(t.ul) && (t.diag == blas.Unit || t.diag == blas.NonUnit) && t.n > 0 && t.k >= 0 && sides > 0 &&
		inside(t.a, t.n, t.k+1, t.stride) && inside(b, t.n, sides, ldb)
}

// diagonal returns the index of the diagonal entry of row i.
func (t *bandTriangle) diagonal(i int) int {
	if t.ul == blas.Lower {
		return i*t.stride + t.k
	}
	return i * t.stride
}

// singular reports whether an entry of the diagonal is zero.
func (t *bandTriangle) singular() bool {
	for i := range t.n {
		if t.diag == blas.NonUnit && t.a[t.diagonal(i)] == 0 {
			return true
		}
	}
	return false
}

// solve overwrites B, of the given number of columns, by the solution X of T X = B or T'X = B. Row i of X is
// row i of B less the rows that are known times entries of the triangle, over the diagonal.
func (t *bandTriangle) solve(transposed bool, b []float64, ldb, sides int) {
	var impl Implementation
	descending := (t.ul == blas.Upper) != transposed
	for step := range t.n {
		i, known := step, max(0, step-t.k) // known is the first row that row i depends on
		if descending {
			i = t.n - 1 - step
			known = i + 1
		}
		at, apart := t.diagonal(i), 1 // of row i of T; in T' its entries lie along the diagonals of memory
		if transposed {
			apart = t.stride - 1
		}
		row, count := b[i*ldb:][:sides], min(step, t.k)
		if count > 0 {
			from := at + apart
			if !descending {
				from = at - count*apart
			}
			impl.Dgemv(blas.Trans, count, sides, -1, b[known*ldb:], ldb, t.a[from:], apart, 1, row, 1)
		}
		if t.diag == blas.NonUnit {
			divideRow(row, t.a[at])
		}
	}
}

// Dpbtrs solves A X = B, where ab holds the Cholesky factor of the band matrix A, as Dpbtrf leaves it. On
// return b holds X.
func (*solvers) Dpbtrs(ul blas.Uplo, n, kd, nrhs int, ab []float64, ldab int, b []float64, ldb int) {
	t := bandTriangle{ul, blas.NonUnit, n, kd, ab, ldab}
	if !solveBandByRows(nrhs) || !t.fits(b, ldb, nrhs) {
		own.Implementation.Dpbtrs(ul, n, kd, nrhs, ab, ldab, b, ldb)
		return
	}
	t.solve(ul == blas.Upper, b, ldb, nrhs)
	t.solve(ul == blas.Lower, b, ldb, nrhs)
}

// Dtbtrs solves op(T) X = B for a triangular band matrix T, which a holds. On return b holds X. Dtbtrs
// returns false, and no solution, if an entry of the diagonal is zero.
func (*solvers) Dtbtrs(
	ul blas.Uplo, tA blas.Transpose, diag blas.Diag, n, kd, nrhs int, a []float64, lda int, b []float64, ldb int,
) (ok bool) {
	t := bandTriangle{ul, diag, n, kd, a, lda}
	if !known(tA) || !solveBandByRows(nrhs) || !t.fits(b, ldb, nrhs) {
		return own.Implementation.Dtbtrs(ul, tA, diag, n, kd, nrhs, a, lda, b, ldb)
	}
	if t.singular() {
		return false
	}
	t.solve(tA != blas.NoTrans, b, ldb, nrhs)
	return true
}

// Dpbcon estimates the reciprocal of the condition number of a band matrix with its Cholesky factor in ab.
func (*solvers) Dpbcon(
	ul blas.Uplo, n, kd int, ab []float64, ldab int, anorm float64, work []float64, iwork []int,
) float64 {
	if isTriangle(ul) && kd >= 0 && inside(ab, n, kd+1, ldab) && !plain(n, anorm, work, iwork) {
		factor := triangle{ul, blas.NoTrans, blas.NonUnit, ab, ldab, kd}
		if r, ok := own.reciprocal(lapack.MaxColumnSum, n, anorm, work, iwork, factor.timesTransposed()...); ok {
			return r
		}
	}
	return orOne(own.Implementation.Dpbcon(ul, n, kd, ab, ldab, anorm, work, iwork))
}
