package blas

import "gonum.org/v1/gonum/blas"

// The routines here read or change each row of a triangle or a band once, by vectors. gonum computes them
// where rows are short.

// A byTranspose has a size for each form of a matrix.
type byTranspose struct{ none, transposed, conjugate int }

// of returns the size for op(A), and the size for the transpose where the form does not exist.
func (b *byTranspose) of(t blas.Transpose) int {
	switch t {
	case blas.NoTrans:
		return b.none
	case blas.ConjTrans:
		return b.conjugate
	}
	return b.transposed
}

// A ranksFrom has the least orders of a real symmetric matrix where rows by vectors change it in less time
// than gonum's loops: of the upper and of the lower triangle for vectors of unit increments, and for others.
type ranksFrom struct{ upper, lower, strided int }

// of returns the order for a triangle ul, and vectors that are strided or not.
func (r *ranksFrom) of(ul blas.Uplo, strided bool) int {
	switch {
	case strided:
		return r.strided
	case ul == blas.Lower:
		return r.lower
	}
	return r.upper
}

// Dsyr adds alpha x x' to a symmetric n x n matrix A.
//
// On entry a holds the triangle ul of A, and x the vector. On return the triangle is overwritten.
func (*routines) Dsyr(
	ul blas.Uplo, n int, alpha float64, x []float64, incX int, a []float64, lda int,
) {
	if n >= rankOneFrom.of(ul, incX != 1) {
		if s := triangleRows(ul, n, a, lda); s.rankOne(alpha, x, incX) {
			return
		}
	}
	fallback{}.Dsyr(ul, n, alpha, x, incX, a, lda)
}

// Ssyr is Dsyr in float32.
func (*routines) Ssyr(
	ul blas.Uplo, n int, alpha float32, x []float32, incX int, a []float32, lda int,
) {
	if n >= rankOneFrom.of(ul, incX != 1) {
		if s := triangleRows(ul, n, a, lda); s.rankOne(alpha, x, incX) {
			return
		}
	}
	fallback{}.Ssyr(ul, n, alpha, x, incX, a, lda)
}

// Dspr is Dsyr for a packed triangle.
func (*routines) Dspr(
	ul blas.Uplo, n int, alpha float64, x []float64, incX int, a []float64,
) {
	if n >= packedRankOneFrom.of(ul, incX != 1) {
		if s := packedTriangle(ul, n, a); s.rankOne(alpha, x, incX) {
			return
		}
	}
	fallback{}.Dspr(ul, n, alpha, x, incX, a)
}

// Sspr is Dspr in float32.
func (*routines) Sspr(
	ul blas.Uplo, n int, alpha float32, x []float32, incX int, a []float32,
) {
	if n >= packedRankOneFrom.of(ul, incX != 1) {
		if s := packedTriangle(ul, n, a); s.rankOne(alpha, x, incX) {
			return
		}
	}
	fallback{}.Sspr(ul, n, alpha, x, incX, a)
}

// Dsyr2 adds alpha (x y' + y x') to a symmetric n x n matrix A.
//
// On entry a holds the triangle ul of A, x and y the vectors. On return the triangle is overwritten.
func (*routines) Dsyr2(
	ul blas.Uplo, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int,
) {
	if n >= rankTwoFrom.of(ul, incX != 1 || incY != 1) {
		if s := triangleRows(ul, n, a, lda); s.rankTwo(alpha, x, incX, y, incY) {
			return
		}
	}
	fallback{}.Dsyr2(ul, n, alpha, x, incX, y, incY, a, lda)
}

// Ssyr2 is Dsyr2 in float32.
func (*routines) Ssyr2(
	ul blas.Uplo, n int, alpha float32, x []float32, incX int, y []float32, incY int, a []float32, lda int,
) {
	if n >= rankTwoFrom.of(ul, incX != 1 || incY != 1) {
		if s := triangleRows(ul, n, a, lda); s.rankTwo(alpha, x, incX, y, incY) {
			return
		}
	}
	fallback{}.Ssyr2(ul, n, alpha, x, incX, y, incY, a, lda)
}

// Dspr2 is Dsyr2 for a packed triangle.
func (*routines) Dspr2(
	ul blas.Uplo, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64,
) {
	if n >= packedRankTwoFrom.of(ul, incX != 1 || incY != 1) {
		if s := packedTriangle(ul, n, a); s.rankTwo(alpha, x, incX, y, incY) {
			return
		}
	}
	fallback{}.Dspr2(ul, n, alpha, x, incX, y, incY, a)
}

// Sspr2 is Dspr2 in float32.
func (*routines) Sspr2(
	ul blas.Uplo, n int, alpha float32, x []float32, incX int, y []float32, incY int, a []float32,
) {
	if n >= packedRankTwoFrom.of(ul, incX != 1 || incY != 1) {
		if s := packedTriangle(ul, n, a); s.rankTwo(alpha, x, incX, y, incY) {
			return
		}
	}
	fallback{}.Sspr2(ul, n, alpha, x, incX, y, incY, a)
}

// Dspmv computes y = alpha A x + beta y for a symmetric n x n matrix A.
//
// On entry a holds the packed triangle ul of A, x and y the vectors. On return y is overwritten.
func (*routines) Dspmv(
	ul blas.Uplo, n int, alpha float64, a []float64, x []float64, incX int, beta float64, y []float64, incY int,
) {
	if n >= fromRows.symmetric {
		if s := packedTriangle(ul, n, a); s.symmetric(alpha, x, incX, beta, y, incY) {
			return
		}
	}
	fallback{}.Dspmv(ul, n, alpha, a, x, incX, beta, y, incY)
}

// Sspmv is Dspmv in float32.
func (*routines) Sspmv(
	ul blas.Uplo, n int, alpha float32, a []float32, x []float32, incX int, beta float32, y []float32, incY int,
) {
	if n >= fromRows.symmetric {
		if s := packedTriangle(ul, n, a); s.symmetric(alpha, x, incX, beta, y, incY) {
			return
		}
	}
	fallback{}.Sspmv(ul, n, alpha, a, x, incX, beta, y, incY)
}

// Dsbmv computes y = alpha A x + beta y for a symmetric n x n matrix A with k diagonals on each side of the
// main one.
//
// On entry a holds the triangle ul of the band of A, x and y the vectors. On return y is overwritten.
func (*routines) Dsbmv(
	ul blas.Uplo, n, k int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64,
	incY int,
) {
	if k >= fromDiagonals.symmetric && n*k >= entriesOfBands.symmetric(ul) {
		if s := bandedTriangle(ul, n, k, a, lda); s.symmetric(alpha, x, incX, beta, y, incY) {
			return
		}
	}
	gonum.Dsbmv(ul, n, k, alpha, a, lda, x, incX, beta, y, incY)
}

// Ssbmv is Dsbmv in float32.
func (*routines) Ssbmv(
	ul blas.Uplo, n, k int, alpha float32, a []float32, lda int, x []float32, incX int, beta float32, y []float32,
	incY int,
) {
	if k >= fromDiagonals.symmetric && n*k >= entriesOfBands.symmetric(ul) {
		if s := bandedTriangle(ul, n, k, a, lda); s.symmetric(alpha, x, incX, beta, y, incY) {
			return
		}
	}
	gonum.Ssbmv(ul, n, k, alpha, a, lda, x, incX, beta, y, incY)
}

// Dgbmv computes y = alpha op(A) x + beta y for an m x n matrix A with kL diagonals below the main one, and
// kU above it.
//
// On entry a holds the band of A, x and y the vectors. On return y is overwritten.
func (*routines) Dgbmv(
	tA blas.Transpose, m, n, kL, kU int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64,
	y []float64, incY int,
) {
	if hasEntries(m, n, kL, kU, fromDiagonals.general, entriesOfBands.general.of(tA)) {
		if s := band(m, n, kL, kU, a, lda); s.general(tA, alpha, x, incX, beta, y, incY) {
			return
		}
	}
	gonum.Dgbmv(tA, m, n, kL, kU, alpha, a, lda, x, incX, beta, y, incY)
}

// Sgbmv is Dgbmv in float32.
func (*routines) Sgbmv(
	tA blas.Transpose, m, n, kL, kU int, alpha float32, a []float32, lda int, x []float32, incX int, beta float32,
	y []float32, incY int,
) {
	if hasEntries(m, n, kL, kU, fromDiagonals.general, entriesOfBands.general.of(tA)) {
		if s := band(m, n, kL, kU, a, lda); s.general(tA, alpha, x, incX, beta, y, incY) {
			return
		}
	}
	gonum.Sgbmv(tA, m, n, kL, kU, alpha, a, lda, x, incX, beta, y, incY)
}

// Dtpmv computes x = op(A) x for a triangular n x n matrix A.
//
// On entry a holds the packed triangle ul of A, and x the vector. On return x is overwritten.
func (*routines) Dtpmv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []float64, x []float64, incX int,
) {
	if n >= fromRows.product.of(tA) {
		if s := packedTriangle(ul, n, a); s.triangular(true, tA, d, x, incX) {
			return
		}
	}
	gonum.Dtpmv(ul, tA, d, n, a, x, incX)
}

// Stpmv is Dtpmv in float32.
func (*routines) Stpmv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []float32, x []float32, incX int,
) {
	if n >= fromRows.product.of(tA) {
		if s := packedTriangle(ul, n, a); s.triangular(true, tA, d, x, incX) {
			return
		}
	}
	gonum.Stpmv(ul, tA, d, n, a, x, incX)
}

// Dtpsv solves op(A) x = b for a triangular n x n matrix A.
//
// On entry a holds the packed triangle ul of A, and x the vector. On return x is overwritten.
func (*routines) Dtpsv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []float64, x []float64, incX int,
) {
	if n >= fromRows.solution.of(tA) {
		if s := packedTriangle(ul, n, a); s.triangular(false, tA, d, x, incX) {
			return
		}
	}
	gonum.Dtpsv(ul, tA, d, n, a, x, incX)
}

// Stpsv is Dtpsv in float32.
func (*routines) Stpsv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []float32, x []float32, incX int,
) {
	if n >= fromRows.solution.of(tA) {
		if s := packedTriangle(ul, n, a); s.triangular(false, tA, d, x, incX) {
			return
		}
	}
	gonum.Stpsv(ul, tA, d, n, a, x, incX)
}

// Dtbmv computes x = op(A) x for a triangular n x n matrix A with k diagonals beside the main one.
//
// On entry a holds the triangle ul of the band of A, and x the vector. On return x is overwritten.
func (*routines) Dtbmv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n, k int, a []float64, lda int, x []float64, incX int,
) {
	if k >= fromDiagonals.product.of(tA) && n*k >= entriesOfBands.product {
		if s := bandedTriangle(ul, n, k, a, lda); s.triangular(true, tA, d, x, incX) {
			return
		}
	}
	gonum.Dtbmv(ul, tA, d, n, k, a, lda, x, incX)
}

// Stbmv is Dtbmv in float32.
func (*routines) Stbmv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n, k int, a []float32, lda int, x []float32, incX int,
) {
	if k >= fromDiagonals.product.of(tA) && n*k >= entriesOfBands.product {
		if s := bandedTriangle(ul, n, k, a, lda); s.triangular(true, tA, d, x, incX) {
			return
		}
	}
	gonum.Stbmv(ul, tA, d, n, k, a, lda, x, incX)
}

// Dtbsv solves op(A) x = b for a triangular n x n matrix A with k diagonals beside the main one.
//
// On entry a holds the triangle ul of the band of A, and x the vector. On return x is overwritten.
func (*routines) Dtbsv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n, k int, a []float64, lda int, x []float64, incX int,
) {
	if n*k >= narrowEntries && solveBand(ul, tA, d, n, k, a, lda, x, incX) {
		return
	}
	gonum.Dtbsv(ul, tA, d, n, k, a, lda, x, incX)
}

// Stbsv is Dtbsv in float32.
func (*routines) Stbsv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n, k int, a []float32, lda int, x []float32, incX int,
) {
	if n*k >= narrowEntries && solveBand(ul, tA, d, n, k, a, lda, x, incX) {
		return
	}
	gonum.Stbsv(ul, tA, d, n, k, a, lda, x, incX)
}
