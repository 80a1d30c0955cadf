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
		row, x := c[i*ldc+from:i*ldc+end], sums[i*stride+from:]
		y := turned[i*stride+from:][:len(row)]
		x = x[:len(row)]
		if beta == 0 {
			for j := range row {
				row[j] = x[j] + y[j]
			}
			continue
		}
		for j, v := range row {
			row[j] = F(beta*v) + (x[j] + y[j])
		}
	}
}

// rankTwoJoined computes a triangle of C = alpha (op(A) op(B)' + op(B) op(A)') + beta C for few terms as the
// product of [A B] and [B A]', which are the columns of a matrix [A B A] that is stored by columns.
func rankTwoJoined[F tile.Float](
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) {
	memory := borrow[F](3 * n * k)
	defer giveBack(memory)
	left, right := *memory, (*memory)[n*k:]
	if tA == blas.NoTrans {
		tile.Transpose(left, n, a, lda, n, k)
		tile.Transpose(right, n, b, ldb, n, k)
	} else {
		for i := range k {
			copy(left[i*n:], a[i*lda:][:n])
			copy(right[i*n:], b[i*ldb:][:n])
		}
	}
	copy(right[n*k:], left[:n*k])
	if 2*k <= fewUpdates && n*n*k < updateMultiplications {
		smallTriangleOf(ul, blas.Trans, n, 2*k, alpha, left, n, right, n, beta, c, ldc)
		return
	}
	p := rankProduct(ul, blas.Trans, n, 2*k, alpha, left, n, right, n, beta, c, ldc)
	p.compute()
}

// rankTwoColumns is rankColumns of two products for few columns, entry by entry.
func rankTwoColumns[F tile.Float](
	ul blas.Uplo, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) {
	for i := range n {
		from, to := 0, i+1
		if ul == blas.Upper {
			from, to = i, n
		}
		row := c[i*ldc:][:to]
		for j := from; j < len(row); j++ {
			var first, second F
			at, with := 0, 0
			for range k {
				first += F(a[at+i] * b[with+j])
				second += F(b[with+i] * a[at+j])
				at += lda
				with += ldb
			}
			v := F(alpha * (first + second))
			if beta != 0 {
				v += F(beta * row[j])
			}
			row[j] = v
		}
	}
}

// isShortRow reports whether A is one row, whose multiples gonum adds to C in less time. gonum skips zeros,
// so the row must be finite.
func isShortRow(tA blas.Transpose, n, k int, a []float64, beta float64) bool {
	short := k == 1 && tA != blas.NoTrans && n >= leastShortRow && n <= mostShortRow && beta != 0
	return short && len(a) >= n && finiteRow(a[:n])
}

// clearForGonum clears the triangle of C for beta = 0, unless gonum refuses the arguments: some forms of
// gonum's read it.
func clearForGonum[F tile.Float](
	ul blas.Uplo, tA blas.Transpose, n, k int, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) {
	if beta != 0 || !isTriangle(ul) || !known(tA) || min(n, k) < 0 {
		return
	}
	rows, columns := opShape(tA, n, k)
	if !inside(a, rows, columns, lda) || !inside(b, rows, columns, ldb) || !inside(c, n, n, ldc) {
		return
	}
	for i := range n {
		from, to := 0, i+1
		if ul == blas.Upper {
			from, to = i, n
		}
		for j := from; j < to; j++ {
			c[i*ldc+j] = 0
		}
	}
}
