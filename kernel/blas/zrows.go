package blas

import "gonum.org/v1/gonum/blas"

// The routines of complex numbers here read or change each row of a triangle or a band once, by vectors.
// gonum computes them where rows are short.

// Zher adds alpha x x* to a Hermitian n x n matrix A, for a real alpha.
//
// On entry a holds the triangle ul of A, and x the vector. On return the triangle is overwritten, with a real
// diagonal.
func (*routines) Zher(
	ul blas.Uplo, n int, alpha float64, x []complex128, incX int, a []complex128, lda int,
) {
	if n >= fromComplexRows.rankOne {
		if s := pairTriangle(ul, n, doubles(a), lda); s.rankOne(alpha, doubles(x), incX) {
			return
		}
	}
	gonum.Zher(ul, n, alpha, x, incX, a, lda)
}

// Cher is Zher in complex64.
func (*routines) Cher(
	ul blas.Uplo, n int, alpha float32, x []complex64, incX int, a []complex64, lda int,
) {
	if n >= fromComplexRows.rankOne {
		if s := pairTriangle(ul, n, singles(a), lda); s.rankOne(alpha, singles(x), incX) {
			return
		}
	}
	gonum.Cher(ul, n, alpha, x, incX, a, lda)
}

// Zhpr is Zher for a packed triangle.
func (*routines) Zhpr(
	ul blas.Uplo, n int, alpha float64, x []complex128, incX int, a []complex128,
) {
	if n >= fromComplexRows.rankOne {
		if s := packedPairs(ul, n, doubles(a)); s.rankOne(alpha, doubles(x), incX) {
			return
		}
	}
	gonum.Zhpr(ul, n, alpha, x, incX, a)
}

// Chpr is Zhpr in complex64.
func (*routines) Chpr(
	ul blas.Uplo, n int, alpha float32, x []complex64, incX int, a []complex64,
) {
	if n >= fromComplexRows.rankOne {
		if s := packedPairs(ul, n, singles(a)); s.rankOne(alpha, singles(x), incX) {
			return
		}
	}
	gonum.Chpr(ul, n, alpha, x, incX, a)
}

// Zher2 adds alpha x y* + conj(alpha) y x* to a Hermitian n x n matrix A.
//
// On entry a holds the triangle ul of A, x and y the vectors. On return the triangle is overwritten, with a
// real diagonal.
func (*routines) Zher2(
	ul blas.Uplo, n int, alpha complex128, x []complex128, incX int, y []complex128, incY int, a []complex128, lda int,
) {
	if n >= fromComplexRows.rankTwo {
		if s := pairTriangle(ul, n, doubles(a), lda); s.rankTwo(alpha, doubles(x), incX, doubles(y), incY) {
			return
		}
	}
	gonum.Zher2(ul, n, alpha, x, incX, y, incY, a, lda)
}

// Cher2 is Zher2 in complex64.
func (*routines) Cher2(
	ul blas.Uplo, n int, alpha complex64, x []complex64, incX int, y []complex64, incY int, a []complex64, lda int,
) {
	if n >= fromComplexRows.rankTwo {
		if s := pairTriangle(ul, n, singles(a), lda); s.rankTwo(complex128(alpha), singles(x), incX, singles(y), incY) {
			return
		}
	}
	gonum.Cher2(ul, n, alpha, x, incX, y, incY, a, lda)
}

// Zhpr2 is Zher2 for a packed triangle.
func (*routines) Zhpr2(
	ul blas.Uplo, n int, alpha complex128, x []complex128, incX int, y []complex128, incY int, a []complex128,
) {
	if n >= fromComplexRows.rankTwo {
		if s := packedPairs(ul, n, doubles(a)); s.rankTwo(alpha, doubles(x), incX, doubles(y), incY) {
			return
		}
	}
	gonum.Zhpr2(ul, n, alpha, x, incX, y, incY, a)
}

// Chpr2 is Zhpr2 in complex64.
func (*routines) Chpr2(
	ul blas.Uplo, n int, alpha complex64, x []complex64, incX int, y []complex64, incY int, a []complex64,
) {
	if n >= fromComplexRows.rankTwo {
		if s := packedPairs(ul, n, singles(a)); s.rankTwo(complex128(alpha), singles(x), incX, singles(y), incY) {
			return
		}
	}
	gonum.Chpr2(ul, n, alpha, x, incX, y, incY, a)
}

// Zhemv computes y = alpha A x + beta y for a Hermitian n x n matrix A.
//
// On entry a holds the triangle ul of A, x and y the vectors. On return y is overwritten.
func (*routines) Zhemv(
	ul blas.Uplo, n int, alpha complex128, a []complex128, lda int, x []complex128, incX int, beta complex128,
	y []complex128, incY int,
) {
	if n >= fromComplexRows.symmetric {
		if s := pairTriangle(ul, n, doubles(a), lda); s.hermitian(alpha, doubles(x), incX, beta, doubles(y), incY) {
			return
		}
	}
	gonum.Zhemv(ul, n, alpha, a, lda, x, incX, beta, y, incY)
}

// Chemv is Zhemv in complex64.
func (*routines) Chemv(
	ul blas.Uplo, n int, alpha complex64, a []complex64, lda int, x []complex64, incX int, beta complex64,
	y []complex64, incY int,
) {
	if n >= fromComplexRows.symmetric {
		s := pairTriangle(ul, n, singles(a), lda)
		if s.hermitian(complex128(alpha), singles(x), incX, complex128(beta), singles(y), incY) {
			return
		}
	}
	gonum.Chemv(ul, n, alpha, a, lda, x, incX, beta, y, incY)
}

// Zhpmv is Zhemv for a packed triangle.
func (*routines) Zhpmv(
	ul blas.Uplo, n int, alpha complex128, a []complex128, x []complex128, incX int, beta complex128,
	y []complex128, incY int,
) {
	if n >= fromComplexRows.symmetric {
		if s := packedPairs(ul, n, doubles(a)); s.hermitian(alpha, doubles(x), incX, beta, doubles(y), incY) {
			return
		}
	}
	gonum.Zhpmv(ul, n, alpha, a, x, incX, beta, y, incY)
}

// Chpmv is Zhpmv in complex64.
func (*routines) Chpmv(
	ul blas.Uplo, n int, alpha complex64, a []complex64, x []complex64, incX int, beta complex64, y []complex64,
	incY int,
) {
	if n >= fromComplexRows.symmetric {
		s := packedPairs(ul, n, singles(a))
		if s.hermitian(complex128(alpha), singles(x), incX, complex128(beta), singles(y), incY) {
			return
		}
	}
	gonum.Chpmv(ul, n, alpha, a, x, incX, beta, y, incY)
}

// Zhbmv is Zhemv for a band of k diagonals on each side of the main one.
func (*routines) Zhbmv(
	ul blas.Uplo, n, k int, alpha complex128, a []complex128, lda int, x []complex128, incX int, beta complex128,
	y []complex128, incY int,
) {
	if k >= fromComplexDiagonals.symmetric && n*k >= entriesOfComplexBands.symmetric(ul) {
		if s := bandedPairs(ul, n, k, doubles(a), lda); s.hermitian(alpha, doubles(x), incX, beta, doubles(y), incY) {
			return
		}
	}
	gonum.Zhbmv(ul, n, k, alpha, a, lda, x, incX, beta, y, incY)
}

// Chbmv is Zhbmv in complex64.
func (*routines) Chbmv(
	ul blas.Uplo, n, k int, alpha complex64, a []complex64, lda int, x []complex64, incX int, beta complex64,
	y []complex64, incY int,
) {
	if k >= fromComplexDiagonals.symmetric && n*k >= entriesOfComplexBands.symmetric(ul) {
		s := bandedPairs(ul, n, k, singles(a), lda)
		if s.hermitian(complex128(alpha), singles(x), incX, complex128(beta), singles(y), incY) {
			return
		}
	}
	gonum.Chbmv(ul, n, k, alpha, a, lda, x, incX, beta, y, incY)
}

// Ztrmv computes x = op(A) x for a triangular n x n matrix A.
//
// On entry a holds the triangle ul of A, and x the vector. On return x is overwritten.
func (*routines) Ztrmv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []complex128, lda int, x []complex128, incX int,
) {
	if n >= fromComplexRows.product.of(tA) {
		if s := pairTriangle(ul, n, doubles(a), lda); s.triangular(true, tA, d, doubles(x), incX) {
			return
		}
	}
	gonum.Ztrmv(ul, tA, d, n, a, lda, x, incX)
}

// Ctrmv is Ztrmv in complex64.
func (*routines) Ctrmv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []complex64, lda int, x []complex64, incX int,
) {
	if n >= fromComplexRows.product.of(tA) {
		if s := pairTriangle(ul, n, singles(a), lda); s.triangular(true, tA, d, singles(x), incX) {
			return
		}
	}
	gonum.Ctrmv(ul, tA, d, n, a, lda, x, incX)
}

// Ztpmv is Ztrmv for a packed triangle.
func (*routines) Ztpmv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []complex128, x []complex128, incX int,
) {
	if n >= fromComplexPacked.product.of(tA) {
		if s := packedPairs(ul, n, doubles(a)); s.triangular(true, tA, d, doubles(x), incX) {
			return
		}
	}
	gonum.Ztpmv(ul, tA, d, n, a, x, incX)
}

// Ctpmv is Ztpmv in complex64.
func (*routines) Ctpmv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []complex64, x []complex64, incX int,
) {
	if n >= fromComplexPacked32.product.of(tA) {
		if s := packedPairs(ul, n, singles(a)); s.triangular(true, tA, d, singles(x), incX) {
			return
		}
	}
	gonum.Ctpmv(ul, tA, d, n, a, x, incX)
}

// Ztbmv is Ztrmv for a band of k diagonals beside the main one.
func (*routines) Ztbmv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n, k int, a []complex128, lda int, x []complex128, incX int,
) {
	if k >= fromComplexDiagonals.product.of(tA) && n*k >= entriesOfComplexBands.product {
		if s := bandedPairs(ul, n, k, doubles(a), lda); s.triangular(true, tA, d, doubles(x), incX) {
			return
		}
	}
	gonum.Ztbmv(ul, tA, d, n, k, a, lda, x, incX)
}

// Ctbmv is Ztbmv in complex64.
func (*routines) Ctbmv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n, k int, a []complex64, lda int, x []complex64, incX int,
) {
	if k >= fromComplexDiagonals.product.of(tA) && n*k >= entriesOfComplexBands.product {
		if s := bandedPairs(ul, n, k, singles(a), lda); s.triangular(true, tA, d, singles(x), incX) {
			return
		}
	}
	gonum.Ctbmv(ul, tA, d, n, k, a, lda, x, incX)
}

// Ztrsv solves op(A) x = b for a triangular n x n matrix A.
//
// On entry a holds the triangle ul of A, and x the vector. On return x is overwritten.
func (*routines) Ztrsv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []complex128, lda int, x []complex128, incX int,
) {
	if n >= fromComplexRows.solution.of(tA) {
		if s := pairTriangle(ul, n, doubles(a), lda); s.triangular(false, tA, d, doubles(x), incX) {
			return
		}
	}
	gonum.Ztrsv(ul, tA, d, n, a, lda, x, incX)
}

// Ctrsv is Ztrsv in complex64.
func (*routines) Ctrsv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []complex64, lda int, x []complex64, incX int,
) {
	if n >= fromComplexRows.solution.of(tA) {
		if s := pairTriangle(ul, n, singles(a), lda); s.triangular(false, tA, d, singles(x), incX) {
			return
		}
	}
	gonum.Ctrsv(ul, tA, d, n, a, lda, x, incX)
}

// Ztpsv is Ztrsv for a packed triangle.
func (*routines) Ztpsv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []complex128, x []complex128, incX int,
) {
	if n >= fromComplexPacked.solution.of(tA) {
		if s := packedPairs(ul, n, doubles(a)); s.triangular(false, tA, d, doubles(x), incX) {
			return
		}
	}
	gonum.Ztpsv(ul, tA, d, n, a, x, incX)
}

// Ctpsv is Ztpsv in complex64.
func (*routines) Ctpsv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []complex64, x []complex64, incX int,
) {
	if n >= fromComplexPacked32.solution.of(tA) {
		if s := packedPairs(ul, n, singles(a)); s.triangular(false, tA, d, singles(x), incX) {
			return
		}
	}
	gonum.Ctpsv(ul, tA, d, n, a, x, incX)
}

// Ztbsv is Ztrsv for a band of k diagonals beside the main one.
func (*routines) Ztbsv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n, k int, a []complex128, lda int, x []complex128, incX int,
) {
	if k >= fromComplexDiagonals.solution.of(tA) && n*k >= entriesOfComplexBands.solution {
		if s := bandedPairs(ul, n, k, doubles(a), lda); s.triangular(false, tA, d, doubles(x), incX) {
			return
		}
	}
	gonum.Ztbsv(ul, tA, d, n, k, a, lda, x, incX)
}

// Ctbsv is Ztbsv in complex64.
func (*routines) Ctbsv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n, k int, a []complex64, lda int, x []complex64, incX int,
) {
	if k >= fromComplexDiagonals.solution.of(tA) && n*k >= entriesOfComplexBands.solution {
		if s := bandedPairs(ul, n, k, singles(a), lda); s.triangular(false, tA, d, singles(x), incX) {
			return
		}
	}
	gonum.Ctbsv(ul, tA, d, n, k, a, lda, x, incX)
}

// Zgbmv computes y = alpha op(A) x + beta y for an m x n matrix A with kL diagonals below the main one, and
// kU above it.
//
// On entry a holds the band of A, x and y the vectors. On return y is overwritten.
func (*routines) Zgbmv(
	tA blas.Transpose, m, n, kL, kU int, alpha complex128, a []complex128, lda int, x []complex128, incX int,
	beta complex128, y []complex128, incY int,
) {
	if hasEntries(m, n, kL, kU, fromComplexDiagonals.general, entriesOfComplexBands.general.of(tA)) {
		s := bandOfPairs(m, n, kL, kU, doubles(a), lda)
		if s.general(tA, alpha, doubles(x), incX, beta, doubles(y), incY) {
			return
		}
	}
	gonum.Zgbmv(tA, m, n, kL, kU, alpha, a, lda, x, incX, beta, y, incY)
}

// Cgbmv is Zgbmv in complex64.
func (*routines) Cgbmv(
	tA blas.Transpose, m, n, kL, kU int, alpha complex64, a []complex64, lda int, x []complex64, incX int,
	beta complex64, y []complex64, incY int,
) {
	if hasEntries(m, n, kL, kU, fromComplexDiagonals.general, entriesOfComplexBands.general.of(tA)) {
		s := bandOfPairs(m, n, kL, kU, singles(a), lda)
		if s.general(tA, complex128(alpha), singles(x), incX, complex128(beta), singles(y), incY) {
			return
		}
	}
	gonum.Cgbmv(tA, m, n, kL, kU, alpha, a, lda, x, incX, beta, y, incY)
}
