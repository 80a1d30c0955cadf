package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// A triangle of at most inverseRows rows is inverted, or multiplied by its transpose, row by row; larger ones
// are cut at multiples of inverseBlock. Inverse and Cholesky.Inverse, 2 to 50.
const inverseRows, inverseBlock = 24, tile.PackWidth

// gonumInverse is the largest order of a matrix that gonum inverts from its factors in less time. Getri 1 to
// 14.
const gonumInverse = 2

// Dtrtri overwrites a triangular matrix by its inverse.
//
// On entry a holds the triangle ul of the matrix. On return it holds the triangle of the inverse. Dtrtri
// returns false, and does nothing, if an entry on the diagonal is zero.
func (*solvers) Dtrtri(ul blas.Uplo, diag blas.Diag, n int, a []float64, lda int) (ok bool) {
	if !inverts(ul, n, a, lda) || diag != blas.NonUnit && diag != blas.Unit {
		return own.Implementation.Dtrtri(ul, diag, n, a, lda)
	}
	if diag == blas.NonUnit {
		for i := range n {
			if a[i*(lda+1)] == 0 {
				return false
			}
		}
	}
	invert(ul, diag, n, a, lda)
	return true
}

// inverts reports whether a triangle is inverted here. Without tiles gonum needs less time for larger ones.
func inverts(ul blas.Uplo, n int, a []float64, lda int) bool {
	return isTriangle(ul) && n > 0 && inside(a, n, n, lda) && (vectorized() || n <= inverseBlock)
}

// invert inverts a triangle by halves, an upper one from its first half and a lower one from its last. The
// block between the halves is multiplied by the inverse of one and divided by the other.
func invert(ul blas.Uplo, diag blas.Diag, n int, a []float64, lda int) {
	if n <= inverseRows {
		if ul == blas.Upper {
			invertUpper(diag, n, a, lda)
		} else {
			invertLower(diag, n, a, lda)
		}
		return
	}
	half := (n/2 + inverseBlock - 1) / inverseBlock * inverseBlock
	rest, last := n-half, a[half*(lda+1):]
	if ul == blas.Upper {
		invert(ul, diag, half, a, lda)
		dtrmm(false, blas.Left, ul, blas.NoTrans, diag, half, rest, -1, a, lda, a[half:], lda)
		dtrsm(false, blas.Right, ul, blas.NoTrans, diag, half, rest, 1, last, lda, a[half:], lda)
		invert(ul, diag, rest, last, lda)
		return
	}
	invert(ul, diag, rest, last, lda)
	dtrmm(false, blas.Left, ul, blas.NoTrans, diag, rest, half, -1, last, lda, a[half*lda:], lda)
	dtrsm(false, blas.Right, ul, blas.NoTrans, diag, rest, half, 1, a, lda, a[half*lda:], lda)
	invert(ul, diag, half, a, lda)
}

// invertUpper inverts an upper triangle from the last row up: row i of the inverse X is row i of U without
// its diagonal, times the rows of X below, over -U[i,i].
func invertUpper(diag blas.Diag, n int, a []float64, lda int) {
	var sums [inverseRows]float64
	for i := n - 1; i >= 0; i-- {
		row, by := a[i*lda+i+1:i*lda+n], -1.0
		if diag == blas.NonUnit {
			a[i*(lda+1)] = 1 / a[i*(lda+1)]
			by = -a[i*(lda+1)]
		}
		clear(sums[:len(row)])
		for k, u := range row {
			from := a[(i+1+k)*(lda+1):][:len(row)-k]
			to := sums[k:][:len(from)]
			if diag == blas.Unit {
				to[0] += u
				from, to = from[1:], to[1:]
			}
			for j, x := range from {
				to[j] += float64(u * x)
			}
		}
		for j := range row {
			row[j] = by * sums[j]
		}
	}
}

// invertLower inverts a lower triangle from the first row down.
func invertLower(diag blas.Diag, n int, a []float64, lda int) {
	var sums [inverseRows]float64
	for i := range n {
		row, by := a[i*lda:i*lda+i], -1.0
		if diag == blas.NonUnit {
			a[i*(lda+1)] = 1 / a[i*(lda+1)]
			by = -a[i*(lda+1)]
		}
		clear(sums[:len(row)])
		for k, u := range row {
			from := a[k*lda:][:k+1]
			if diag == blas.Unit {
				sums[k] += u
				from = from[:k]
			}
			to := sums[:len(from)]
			for j, x := range from {
				to[j] += float64(u * x)
			}
		}
		for j := range row {
			row[j] = by * sums[j]
		}
	}
}

// Dlauum overwrites the triangle U or L in a by the triangle of U U' or L'L.
func (*solvers) Dlauum(ul blas.Uplo, n int, a []float64, lda int) {
	if !inverts(ul, n, a, lda) {
		own.Implementation.Dlauum(ul, n, a, lda)
		return
	}
	square(ul, n, a, lda)
}

// square multiplies the halves of a triangle, and the block next to them, by their transposes.
func square(ul blas.Uplo, n int, a []float64, lda int) {
	if n <= inverseRows {
		if ul == blas.Upper {
			squareUpper(n, a, lda)
		} else {
			squareLower(n, a, lda)
		}
		return
	}
	half := (n/2 + inverseBlock - 1) / inverseBlock * inverseBlock
	rest, last := n-half, a[half*(lda+1):]
	var i Implementation
	square(ul, half, a, lda)
	if ul == blas.Upper {
		i.Dsyrk(ul, blas.NoTrans, half, rest, 1, a[half:], lda, 1, a, lda)
		dtrmm(false, blas.Right, ul, blas.Trans, blas.NonUnit, half, rest, 1, last, lda, a[half:], lda)
	} else {
		i.Dsyrk(ul, blas.Trans, half, rest, 1, a[half*lda:], lda, 1, a, lda)
		dtrmm(false, blas.Left, ul, blas.Trans, blas.NonUnit, rest, half, 1, last, lda, a[half*lda:], lda)
	}
	square(ul, rest, last, lda)
}

// squareUpper overwrites U by the upper triangle of U U'.
func squareUpper(n int, a []float64, lda int) {
	for i := range n {
		row := a[i*lda:][:n]
		j := i
		for ; j+1 < n; j += 2 { // two products together, to share the waiting for sums
			known := row[j+1:]
			first, second := a[j*lda+j+1:][:len(known)], a[(j+1)*lda+j+1:][:len(known)]
			sum, next := row[j]*a[j*(lda+1)], 0.0
			for k, v := range known {
				sum += float64(v * first[k])
				next += float64(v * second[k])
			}
			row[j], row[j+1] = sum, next
		}
		if j < n {
			row[j] *= a[j*(lda+1)]
		}
	}
}

// squareLower overwrites L by the lower triangle of L'L.
func squareLower(n int, a []float64, lda int) {
	for i := range n {
		row := a[i*lda:][:i+1]
		by := row[i]
		for j := range row {
			row[j] *= by
		}
		for k := i + 1; k < n; k++ {
			other := a[k*lda:][:i+1]
			by := other[i]
			for j, v := range other {
				row[j] += float64(by * v)
			}
		}
	}
}

// Dpotri overwrites the Cholesky factor of a matrix by the triangle of its inverse.
//
// On entry a holds the factor U or L in the triangle ul. On return it holds that triangle of the inverse.
// Dpotri returns false, and does nothing, if an entry on the diagonal is zero.
func (*solvers) Dpotri(ul blas.Uplo, n int, a []float64, lda int) (ok bool) {
	if !inverts(ul, n, a, lda) {
		return own.Implementation.Dpotri(ul, n, a, lda)
	}
	if !own.Dtrtri(ul, blas.NonUnit, n, a, lda) {
		return false
	}
	square(ul, n, a, lda)
	return true
}

// Dgetri overwrites the factors P, L and U of a matrix by its inverse.
//
// On entry a holds L and U, and ipiv P, as Dgetrf leaves them. On return a holds the inverse, and work[0] the
// best length of work. Dgetri returns false, and does nothing, if U is singular.
func (*solvers) Dgetri(n int, a []float64, lda int, ipiv []int, work []float64, lwork int) (ok bool) {
	if n <= gonumInverse || !inverts(blas.Upper, n, a, lda) || lwork < n || len(work) < lwork || len(ipiv) != n {
		return own.Implementation.Dgetri(n, a, lda, ipiv, work, lwork)
	}
	if !own.Dtrtri(blas.Upper, blas.NonUnit, n, a, lda) {
		return false
	}
	memory := borrow[float64](n * rowStride(n))
	defer giveBack(memory)
	lower, stride := *memory, rowStride(n)
	for i := range n {
		row := a[i*lda:][:i]
		copy(lower[i*stride:], row)
		clear(row)
	}
	// X L = 1/U.
	dtrsm(false, blas.Right, blas.Lower, blas.NoTrans, blas.Unit, n, n, 1, lower, stride, a, lda)
	for i := range n {
		row := a[i*lda:][:n]
		for j := n - 2; j >= 0; j-- {
			row[j], row[ipiv[j]] = row[ipiv[j]], row[j]
		}
	}
	own.Implementation.Dgetri(n, a, lda, ipiv, work, -1) // sets work[0]
	return true
}
