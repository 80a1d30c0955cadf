package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Dsyrk computes a triangle of C = alpha A A' + beta C for an n x k matrix A, or with tA = Trans of
// C = alpha A'A + beta C for a k x n matrix A.
//
// On entry a holds A, and c the triangle ul of the symmetric C. On return the triangle is overwritten; the
// other one is neither read nor written.
func (i Implementation) Dsyrk(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, c []float64, ldc int) {
	if !syrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc) {
		i.Implementation.Dsyrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Ssyrk is Dsyrk in float32.
func (i Implementation) Ssyrk(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float32, a []float32, lda int, beta float32, c []float32, ldc int) {
	if !syrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc) {
		i.Implementation.Ssyrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Dsyr2k computes a triangle of C = alpha A B' + alpha B A' + beta C for n x k matrices A and B, or with
// tA = Trans of C = alpha A'B + alpha B'A + beta C for k x n matrices.
//
// On entry a and b hold A and B, and c the triangle ul of the symmetric C. On return the triangle is
// overwritten; the other one is neither read nor written.
func (i Implementation) Dsyr2k(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	if !syr2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		i.Implementation.Dsyr2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Ssyr2k is Dsyr2k in float32.
func (i Implementation) Ssyr2k(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	if !syr2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		i.Implementation.Ssyr2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// syrk computes Dsyrk or Ssyrk and returns true, or returns false where gonum computes it.
func syrk[F tile.Float](ul blas.Uplo, tA blas.Transpose, n, k int, alpha F, a []F, lda int, beta F, c []F, ldc int) bool {
	how := rankWay(ul, tA, n, k, alpha, a, lda, a, lda, c, ldc)
	p := rankProduct(ul, tA, n, k, alpha, a, lda, a, lda, c, ldc)
	switch how {
	case byGonum:
		if beta == 0 && isTriangle(ul) && n > 0 && inside(c, n, n, ldc) {
			p.scaleC(0) // some forms of gonum's read C
		}
		return false
	case byScaling:
		p.scaleC(beta)
	case byLoops:
		p.scaleC(beta)
		p.addByLoops()
	case byEntries:
		p.scaleC(beta)
		p.addSquares()
	default:
		p.scale(beta)
		p.compute()
	}
	return true
}

// syr2k computes Dsyr2k or Ssyr2k and returns true, or returns false where gonum computes it.
func syr2k[F tile.Float](ul blas.Uplo, tA blas.Transpose, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int) bool {
	p := rankProduct(ul, tA, n, k, alpha, a, lda, b, ldb, c, ldc)
	switch rankWay(ul, tA, n, k, alpha, a, lda, b, ldb, c, ldc) {
	case byGonum:
		if beta == 0 && isTriangle(ul) && n > 0 && inside(c, n, n, ldc) {
			p.scaleC(0)
		}
		return false
	case byScaling:
		p.scaleC(beta)
	case byLoops:
		p.scaleC(beta)
		p.addByLoops()
		p = rankProduct(ul, tA, n, k, alpha, b, ldb, a, lda, c, ldc)
		p.addByLoops()
	default:
		p.scale(beta)
		p.compute()
		p = rankProduct(ul, tA, n, k, alpha, b, ldb, a, lda, c, ldc)
		p.compute()
	}
	return true
}

// rankProduct returns a triangle of the product C += alpha op(A) op(B)'.
func rankProduct[F tile.Float](ul blas.Uplo, tA blas.Transpose, n, k int, alpha F, a []F, lda int, b []F, ldb int, c []F, ldc int) product[F] {
	return product[F]{
		a: factor[F]{a, lda, tA != blas.NoTrans}, b: factor[F]{b, ldb, tA == blas.NoTrans},
		m: n, n: n, k: k, alpha: alpha, c: c, ldc: ldc, part: ul,
	}
}

// rankWay returns how a triangle of a product is computed.
func rankWay[F tile.Float](ul blas.Uplo, tA blas.Transpose, n, k int, alpha F, a []F, lda int, b []F, ldb int, c []F, ldc int) way {
	rows, columns := opShape(tA, n, k)
	switch {
	case !isTriangle(ul) || !known(tA) || min(n, k) <= 0 || !inside(a, rows, columns, lda) || !inside(b, rows, columns, ldb) || !inside(c, n, n, ldc):
		return byGonum
	case alpha == 0:
		return byScaling
	case !vectorized():
		return withoutTiles(finite(rows, columns, a, lda) && finite(rows, columns, b, ldb))
	case n*n*k <= syrkMultiplications && tA != blas.NoTrans:
		return byLoops
	case n*n*k <= syrkMultiplications && kind[F]() == 0: // by gonum's inner products, which skip no zeros
		return byGonum
	case &a[0] == &b[0] && tA != blas.NoTrans && n*n*k >= sparseMultiplications && mostlyZero(rows, columns, a, lda) && finite(rows, columns, a, lda):
		return byEntries
	}
	return byTiles
}

// addByLoops adds the triangle of a product A'B to C in plain Go, for few multiplications.
func (p *product[F]) addByLoops() {
	for l := range p.k { // row after row of A and B
		left, right := p.a.data[l*p.a.stride:][:p.n], p.b.data[l*p.b.stride:][:p.n]
		for i, v := range left {
			from, to := p.span(i)
			by, row := p.alpha*v, p.c[i*p.ldc+from:i*p.ldc+to]
			for j, w := range right[from:to] {
				row[j] += by * w
			}
		}
	}
}
