package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// rankTwoSum computes a triangle of C = alpha (op(A) op(B)' + op(B) op(A)') + beta C as a product of whole
// rows that is added to its transpose.
func rankTwoSum[F tile.Float](
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) {
	stride := rowStride(n)
	memory := borrow[F](2 * n * stride)
	defer giveBack(memory)
	sums, turned, tB := (*memory)[:n*stride], (*memory)[n*stride:], blas.Trans
	if tA != blas.NoTrans {
		tB = blas.NoTrans
	}
	gemm(true, tA, tB, n, n, k, alpha, a, lda, b, ldb, 0, sums, stride)
	tile.Transpose(turned, stride, sums, stride, n, n)
	stored := product[F]{n: n, part: ul}
	for i := range n {
		from, end := stored.span(i)
		row, x, y := c[i*ldc+from:i*ldc+end], sums[i*stride+from:][:end-from], turned[i*stride+from:][:end-from]
		if beta == 0 {
			for j, v := range x {
				row[j] = v + y[j]
			}
			continue
		}
		for j, v := range x {
			row[j] = F(beta*row[j]) + (v + y[j])
		}
	}
}

// rankTwoJoined computes a triangle of C = alpha (op(A) op(B)' + op(B) op(A)') + beta C for few terms as the
// product of [A B] and [B A]'.
func rankTwoJoined[F tile.Float](
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) {
	memory := borrow[F](4 * n * k)
	defer giveBack(memory)
	left, right, stride, rows, columns, second := (*memory)[:2*n*k], (*memory)[2*n*k:], 2*k, n, k, k
	if tA != blas.NoTrans {
		stride, rows, columns, second = n, k, n, n*k
	}
	for i := range rows {
		x, y := a[i*lda:][:columns], b[i*ldb:][:columns]
		copy(left[i*stride:], x)
		copy(left[i*stride+second:], y)
		copy(right[i*stride:], y)
		copy(right[i*stride+second:], x)
	}
	if 2*k <= fewUpdates && n*n*k < updateMultiplications {
		smallTriangleOf(ul, tA, n, 2*k, alpha, left, stride, right, stride, beta, c, ldc)
		return
	}
	p := rankProduct(ul, tA, n, 2*k, alpha, left, stride, right, stride, beta, c, ldc)
	p.compute()
}
