package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// isSmall reports whether a product needs no blocks: its factors stay in the first-level cache, and so few
// rows read them, or rows so short, that they may share its sets.
func isSmall(m, n, k, lda, ldb int) bool {
	return max(m, n, k) <= smallSize && (m <= fewRows || max(lda, ldb) <= 2*smallSize)
}

// smallProduct computes C = op(A) op(B) + beta C for a small product, panel by panel, from where its factors
// are. It copies only transposed ones. The order of sums is that of compute.
func smallProduct[F tile.Float](tA, tB blas.Transpose, m, n, k int, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int) {
	if tA != blas.NoTrans || tB != blas.NoTrans {
		memory := borrow[F]((m + n) * k)
		defer giveBack(memory)
		left, right := (*memory)[:m*k], (*memory)[m*k:]
		if tA != blas.NoTrans {
			tile.Transpose(left, k, a, lda, k, m)
			a, lda = left, k
		}
		if tB != blas.NoTrans {
			tile.Transpose(right, n, b, ldb, n, k)
			b, ldb = right, n
		}
	}
	if beta != 0 && beta != 1 {
		for i := range m {
			tile.Scale(c[i*ldc:][:n], beta)
		}
	}
	width := tile.PanelWidth[F]()
	for j := 0; j < n; j += width {
		tile.Panel(c[j:], ldc, a, lda, b[j:], ldb, m, k, min(width, n-j), beta != 0, tile.Ahead{})
	}
}

// smallTriangleOf computes a triangle of C = op(A) op(A)' + beta C for a small product, some rows at a time.
// Of the other triangle it computes what lies within these rows.
func smallTriangleOf[F tile.Float](ul blas.Uplo, tA blas.Transpose, n, k int, a []F, lda int, beta F, c []F, ldc int) {
	memory := borrow[F](n*n + n*k)
	defer giveBack(memory)
	all, turned := (*memory)[:n*n], (*memory)[n*n:]
	left, ldl, right, ldr := a, lda, turned, n
	if tA == blas.NoTrans {
		tile.Transpose(turned, n, a, lda, n, k)
	} else {
		tile.Transpose(turned, k, a, lda, k, n)
		left, ldl, right, ldr = turned, k, a, lda
	}
	width := tile.PanelWidth[F]()
	for i := 0; i < n; i += fewRows {
		rows := min(fewRows, n-i)
		from, to := 0, i+rows
		if ul == blas.Upper {
			from, to = i, n
		}
		for j := from; j < to; j += width {
			tile.Panel(all[i*n+j:], n, left[i*ldl:], ldl, right[j:], ldr, rows, k, min(width, to-j), false, tile.Ahead{})
		}
	}
	for i := range n {
		from, to := 0, i+1
		if ul == blas.Upper {
			from, to = i, n
		}
		sums, row := all[i*n+from:i*n+to], c[i*ldc+from:][:to-from]
		if beta == 0 {
			copy(row, sums)
			continue
		}
		for j, v := range sums {
			row[j] = beta*row[j] + v
		}
	}
}
