package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Zher2k computes a triangle of C = alpha A B* + conj(alpha) B A* + beta C for complex n x k matrices A and
// B and their conjugate transposes. With tA = ConjTrans it computes C = alpha A*B + conj(alpha) B*A + beta C
// for k x n matrices. The number beta is real.
//
// On entry a and b hold A and B, and c the triangle ul of the Hermitian C; the imaginary parts of its
// diagonal are not read. On return the triangle is overwritten, with a real diagonal; the other one is
// neither read nor written.
func (*routines) Zher2k(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha complex128, a []complex128, lda int, b []complex128,
	ldb int, beta float64, c []complex128, ldc int,
) {
	if fewTwice[float64](tA, n, k) || tA == blas.Trans ||
		!zsyr2k(
			true, ul, tA, n, k, alpha, doubles(a), lda, doubles(b), ldb, complex(beta, 0), doubles(c), ldc,
		) {
		fallback{}.Zher2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Cher2k is Zher2k in complex64.
func (*routines) Cher2k(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha complex64, a []complex64, lda int, b []complex64, ldb int,
	beta float32, c []complex64, ldc int,
) {
	if fewTwice[float32](tA, n, k) || tA == blas.Trans ||
		!zsyr2k(
			true, ul, tA, n, k, complex128(alpha), singles(a), lda, singles(b), ldb,
			complex(float64(beta), 0), singles(c), ldc,
		) {
		smallCher2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Zsyr2k computes a triangle of C = alpha A B' + alpha B A' + beta C for complex n x k matrices A and B, or
// with tA = Trans of C = alpha A'B + alpha B'A + beta C for k x n matrices.
//
// On entry a and b hold A and B, and c the triangle ul of the symmetric C. On return the triangle is
// overwritten; the other one is neither read nor written.
func (*routines) Zsyr2k(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha complex128, a []complex128, lda int, b []complex128,
	ldb int, beta complex128, c []complex128, ldc int,
) {
	if fewTwice[float64](tA, n, k) || tA == blas.ConjTrans ||
		!zsyr2k(false, ul, tA, n, k, alpha, doubles(a), lda, doubles(b), ldb, beta, doubles(c), ldc) {
		fallback{}.Zsyr2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Csyr2k is Zsyr2k in complex64.
func (*routines) Csyr2k(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha complex64, a []complex64, lda int, b []complex64, ldb int,
	beta complex64, c []complex64, ldc int,
) {
	if fewTwice[float32](tA, n, k) || tA == blas.ConjTrans ||
		!zsyr2k(
			false, ul, tA, n, k, complex128(alpha), singles(a), lda, singles(b), ldb, complex128(beta),
			singles(c), ldc,
		) {
		smallCsyr2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// smallCher2k and smallCsyr2k are Cher2k and Csyr2k for few rows: gonum's, but where it adds inner products.
func smallCher2k(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha complex64, a []complex64, lda int, b []complex64, ldb int,
	beta float32, c []complex64, ldc int,
) {
	if tA == blas.NoTrans && vectorized() {
		ordered{}.Cher2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	fallback{}.Cher2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

func smallCsyr2k(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha complex64, a []complex64, lda int, b []complex64, ldb int,
	beta complex64, c []complex64, ldc int,
) {
	if tA == blas.NoTrans && vectorized() {
		ordered{}.Csyr2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	fallback{}.Csyr2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// fewTwice reports whether gonum computes a triangle of two products in less time. One term of each is an
// update of rank two.
func fewTwice[F tile.Float](tA blas.Transpose, n, k int) bool {
	switch {
	case kind[F]() == 1 && tA == blas.NoTrans:
		return n*n*k < complexSquares32
	case tA != blas.NoTrans && k == 1:
		return n < updatedTwice
	case tA != blas.NoTrans:
		return n*n*k < twiceTurned
	case n < complexDotsOrder:
		return n*n*k < twiceDots
	}
	return n*n*k < twiceSquares
}

// zsyr2k computes the sum of two products and returns true, or returns false where gonum computes it.
func zsyr2k[F tile.Float](
	hermitian bool, ul blas.Uplo, tA blas.Transpose, n, k int, alpha complex128, a []F, lda int, b []F, ldb int,
	beta complex128, c []F, ldc int,
) bool {
	rows, columns := opShape(tA, n, k)
	switch {
	case !isTriangle(ul) || !known(tA) || min(n, k) <= 0 || alpha == 0 || !vectorized():
		return false
	case !insidePairs(a, rows, columns, lda) || !insidePairs(b, rows, columns, ldb) || !insidePairs(c, n, n, ldc):
		return false
	}
	z := complexProduct[F]{operandOf(tA, a, lda), operandOf(blas.NoTrans, b, ldb), n, n, k, alpha, c, 2 * ldc, ul}
	second := z
	second.a, second.b = operandOf(tA, b, ldb), operandOf(blas.NoTrans, a, lda)
	for _, p := range []*complexProduct[F]{&z, &second} {
		if tA == blas.NoTrans {
			p.b.transposed, p.b.conjugate = true, hermitian
		}
	}
	if hermitian {
		second.alpha = complex(real(alpha), -imag(alpha))
	}
	switch {
	case z.isFewTerms() && beta == 1:
		z.addTerms(hermitian, true)
	case k < complexTwiceDepth && n > joinedOrder+k:
		z.joined(&second, hermitian, beta)
	case n <= complexTwice:
		memory := borrow[F](2 * n * n)
		z.c, z.ldc, z.part = *memory, 2*n, blas.All
		z.computeWith(0)
		if hermitian {
			makeReal(c, ldc, n)
		}
		addBothHalves(hermitian, ul, n, *memory, beta, c, ldc)
		giveBack(memory)
	default:
		z.triangle(hermitian, beta)
		second.compute(false)
		if hermitian {
			makeReal(c, ldc, n)
		}
	}
	return true
}

// triangle computes a triangle of a product plus beta C, with a real diagonal if C is Hermitian.
func (z *complexProduct[F]) triangle(hermitian bool, beta complex128) {
	if z.isDirect() {
		z.directTriangle(hermitian, beta)
		return
	}
	if hermitian { // the imaginary parts of the diagonal are not read
		makeReal(z.c, z.ldc/2, z.n)
	}
	z.computeWith(beta)
	if hermitian {
		makeReal(z.c, z.ldc/2, z.n)
	}
}

// addBothHalves computes a triangle of C = X + X' + beta C or, if C is Hermitian, C = X + X* + beta C, with a
// real diagonal, for an n x n matrix X.
func addBothHalves[F tile.Float](hermitian bool, ul blas.Uplo, n int, x []F, beta complex128, c []F, ldc int) {
	q, sign := paired[F](beta, false), F(1)
	if hermitian {
		sign = -1
	}
	for i := range n {
		from, to := 0, i+1
		if ul == blas.Upper {
			from, to = i, n
		}
		row := c[2*(i*ldc+from) : 2*(i*ldc+to)]
		own, other := x[2*(i*n+from):][:len(row)], 2*(from*n+i)
		if beta == 0 {
			for k := 0; k+1 < len(row); k += 2 {
				pair := x[other:][:2]
				row[k], row[k+1] = own[k]+pair[0], own[k+1]+F(sign*pair[1])
				other += 2 * n
			}
		} else {
			for k := 0; k+1 < len(row); k += 2 {
				pair := x[other:][:2]
				v, w := q.times(row[k], row[k+1])
				row[k], row[k+1] = own[k]+pair[0]+v, own[k+1]+F(sign*pair[1])+w
				other += 2 * n
			}
		}
		if hermitian {
			c[2*i*(ldc+1)+1] = 0
		}
	}
}
