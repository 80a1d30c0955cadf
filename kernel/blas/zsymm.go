package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Zhemm computes C = alpha A B + beta C or, with A on the right, C = alpha B A + beta C, for a Hermitian A.
//
// On entry a holds the triangle ul of A, b and c hold the m x n matrices B and C. On return c is
// overwritten. The other triangle of A and the imaginary parts of its diagonal are not read.
func (*routines) Zhemm(
	s blas.Side, ul blas.Uplo, m, n int, alpha complex128, a []complex128, lda int, b []complex128, ldb int,
	beta complex128, c []complex128, ldc int,
) {
	if fewSymmetric(s, m, n) ||
		!zsymm(true, s, ul, m, n, alpha, doubles(a), lda, doubles(b), ldb, beta, doubles(c), ldc) {
		fallback{}.Zhemm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Chemm is Zhemm in complex64.
func (*routines) Chemm(
	s blas.Side, ul blas.Uplo, m, n int, alpha complex64, a []complex64, lda int, b []complex64, ldb int,
	beta complex64, c []complex64, ldc int,
) {
	if fewSymmetric(s, m, n) ||
		!zsymm(
			true, s, ul, m, n, complex128(alpha), singles(a), lda, singles(b), ldb, complex128(beta),
			singles(c), ldc,
		) {
		fallback{}.Chemm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Zsymm computes C = alpha A B + beta C or, with A on the right, C = alpha B A + beta C, for a symmetric A.
//
// On entry a holds the triangle ul of A, b and c hold the m x n matrices B and C. On return c is
// overwritten; the other triangle of A is not read.
func (*routines) Zsymm(
	s blas.Side, ul blas.Uplo, m, n int, alpha complex128, a []complex128, lda int, b []complex128, ldb int,
	beta complex128, c []complex128, ldc int,
) {
	if fewSymmetric(s, m, n) ||
		!zsymm(false, s, ul, m, n, alpha, doubles(a), lda, doubles(b), ldb, beta, doubles(c), ldc) {
		fallback{}.Zsymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Csymm is Zsymm in complex64.
func (*routines) Csymm(
	s blas.Side, ul blas.Uplo, m, n int, alpha complex64, a []complex64, lda int, b []complex64, ldb int,
	beta complex64, c []complex64, ldc int,
) {
	if fewSymmetric(s, m, n) ||
		!zsymm(
			false, s, ul, m, n, complex128(alpha), singles(a), lda, singles(b), ldb, complex128(beta),
			singles(c), ldc,
		) {
		fallback{}.Csymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// fewSymmetric reports whether gonum multiplies a symmetric matrix by an m x n matrix as fast. On the left it
// adds a row for each entry.
func fewSymmetric(s blas.Side, m, n int) bool {
	if s == blas.Left {
		return m == 1 || m <= complexSidesOrder && m*m*n <= complexSides
	}
	return m == 1 && n < pairSidesOrder || m*n*n <= complexSidesRight
}

// zsymm computes a product with a Hermitian or symmetric matrix and returns true, or returns false where
// gonum computes it.
func zsymm[F tile.Float](
	hermitian bool, s blas.Side, ul blas.Uplo, m, n int, alpha complex128, a []F, lda int, b []F, ldb int,
	beta complex128, c []F, ldc int,
) bool {
	order := m
	if s == blas.Right {
		order = n
	}
	if zsymmWay(s, ul, m, n, order, alpha, a, lda, b, ldb, c, ldc) == byGonum {
		return false
	}
	if sides := m + n - order; sides <= pairSides && order >= max(pairSidesOrder, symmVectorOrder*sides*(sides-1)) {
		t := pairTriangle(ul, order, a, lda)
		t.eachSide(mirroring{hermitian, hermitian && s == blas.Right}, s, sides, alpha, b, ldb, beta, c, ldc)
		return true
	}
	stride := rowStride(2 * order)
	memory := borrow[F]((order + 1) * stride)
	defer giveBack(memory)
	mirrorPairs(*memory, stride, a, 2*lda, order, ul, hermitian)
	left, right := operand[F]{factor[F]{*memory, stride, false}, false}, operandOf(blas.NoTrans, b, ldb)
	if s == blas.Right {
		left, right = right, left
	}
	z := complexProduct[F]{left, right, m, n, order, alpha, c, 2 * ldc, blas.All}
	z.computeWith(beta)
	return true
}

// eachSide computes a product with the matrix of a triangle, one column after the other or, on the right, one
// row, which the transpose of the matrix multiplies. Several threads take the sides in turn if that pays.
func (t *storedPairs[F]) eachSide(
	how mirroring, s blas.Side, sides int, alpha complex128, b []F, ldb int, beta complex128, c []F, ldc int,
) {
	nextB, incB, nextC, incC := 2, ldb, 2, ldc
	if s == blas.Right {
		nextB, incB, nextC, incC = 2*ldb, 1, 2*ldc, 1
	}
	by := teamFor[F](2*t.n*t.n*sides, true)
	if by.threads == 1 {
		for i := range sides {
			t.mirrored(how, alpha, b[i*nextB:], incB, beta, c[i*nextC:], incC)
		}
		return
	}
	of := *t // a copy, so that products on one thread need no memory of the heap
	by.run(sides, func(i int) { of.mirrored(how, alpha, b[i*nextB:], incB, beta, c[i*nextC:], incC) })
}

// zsymmWay returns how a product with a Hermitian or symmetric matrix is computed.
func zsymmWay[F tile.Float](
	s blas.Side, ul blas.Uplo, m, n, order int, alpha complex128, a []F, lda int, b []F, ldb int, c []F,
	ldc int,
) way {
	switch {
	case !isSide(s) || !isTriangle(ul) || min(m, n) <= 0 || alpha == 0 || !vectorized():
		return byGonum
	case !insidePairs(a, order, order, lda) || !insidePairs(b, m, n, ldb) || !insidePairs(c, m, n, ldc):
		return byGonum
	}
	return byTiles
}

// mirrorPairs copies the triangle of a Hermitian or symmetric matrix to both triangles of another one, which
// has memory for a row behind its last one. Strides are in reals.
func mirrorPairs[F tile.Float](to []F, ldt int, a []F, lda, n int, ul blas.Uplo, hermitian bool) {
	if n <= mirrorLoops {
		mirrorEach(to, ldt, a, lda, n, ul, hermitian)
		return
	}
	tile.TransposeComplex(to, ldt, a, lda, n, n) // both triangles, and then the stored one over its half
	stored := product[F]{n: 2 * n, part: ul, pairs: pairing[F]{on: true}}
	conjugates, swapped := tile.NewPairSigns[F](1, -1, 1, 1), to[n*ldt:] // these are not used
	for i := range n {
		from, end := stored.span(i)
		row := to[i*ldt:][:2*n]
		if hermitian {
			tile.TurnPairs(row[:from], swapped, row[:from], &conjugates)
			tile.TurnPairs(row[end:], swapped, row[end:], &conjugates)
		}
		copy(row[from:end], a[i*lda+from:i*lda+end])
		if hermitian {
			row[2*i+1] = 0
		}
	}
}

// mirrorEach is mirrorPairs for a few entries, one after the other.
func mirrorEach[F tile.Float](to []F, ldt int, a []F, lda, n int, ul blas.Uplo, hermitian bool) {
	sign := F(1)
	if hermitian {
		sign = -1
	}
	for i := range n {
		from, end := 0, i
		if ul == blas.Upper {
			from, end = i+1, n
		}
		row, own, other := a[i*lda+2*from:i*lda+2*end], to[i*ldt+2*from:], 2*i+from*ldt
		own = own[:len(row)]
		for k := 0; k+1 < len(row); k += 2 {
			re, im := row[k], row[k+1]
			own[k], own[k+1] = re, im
			pair := to[other:][:2]
			pair[0], pair[1] = re, F(sign*im)
			other += ldt
		}
		at, of := i*(ldt+2), i*(lda+2)
		to[at], to[at+1] = a[of], a[of+1]
		if hermitian {
			to[at+1] = 0
		}
	}
}
