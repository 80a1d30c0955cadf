package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// isSmall reports whether a product needs no blocks. Its factors then stay in the first-level cache. Few
// rows, or short ones, read them, so that factors may share sets of the cache.
func isSmall(m, n, k, lda, ldb int) bool {
	return max(m, n, k) <= smallSize && (m <= fewRows || max(lda, ldb) <= 2*smallSize)
}

// isShort reports whether a product has few rows and terms, so that blocks take longer to set up than they
// gain. Wide ones may be shared by threads.
func isShort(m, n, k int) bool { return m <= shortRows && k <= shortDepth && n <= shortWidth }

// tinyFactor is the largest number of entries of a matrix that is transposed by way of the stack.
const tinyFactor = 64

// smallProduct computes C = alpha op(A) op(B) + beta C for a small product, from where its factors are. It
// copies only a transposed B. The sums have the order of compute.
func smallProduct[F tile.Float](
	tA, tB blas.Transpose, m, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) {
	at, width := factor[F]{a, lda, tA != blas.NoTrans}.layout(), tile.PanelWidth[F]()
	update := tile.Update[F]{Alpha: alpha, Beta: beta}
	switch {
	case tB == blas.NoTrans:
		tile.Panels(c, ldc, a, at, b, ldb, width, m, k, n, update)
	case n*k <= tinyFactor:
		var right [tinyFactor]F
		tile.Transpose(right[:], n, b, ldb, n, k)
		tile.Panels(c, ldc, a, at, right[:], n, width, m, k, n, update)
	default:
		memory := borrow[F](n * k)
		tile.Transpose(*memory, n, b, ldb, n, k)
		tile.Panels(c, ldc, a, at, *memory, n, width, m, k, n, update)
		giveBack(memory)
	}
}

// smallTriangleOf computes a triangle of C = alpha op(A) op(B)' + beta C for a small product, some rows at a
// time: their square on the diagonal in separate memory, and their other columns in C.
func smallTriangleOf[F tile.Float](
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) {
	memory := borrow[F](tileRows*tileRows + n*k)
	defer giveBack(memory)
	square, right, ldr := (*memory)[:tileRows*tileRows], b, ldb
	if tA == blas.NoTrans {
		right, ldr = (*memory)[tileRows*tileRows:], n
		tile.Transpose(right, n, b, ldb, n, k)
	}
	at, width := factor[F]{a, lda, tA != blas.NoTrans}.layout(), tile.PanelWidth[F]()
	for i := 0; i < n; i += tileRows {
		rows, left := min(tileRows, n-i), a[i*at.Down:]
		tile.Panels(square, tileRows, left, at, right[i:], ldr, width, rows, k, rows, tile.Update[F]{Alpha: alpha})
		addSquare(ul, c[i*ldc+i:], ldc, beta, square, rows)
		from, to := 0, i
		if ul == blas.Upper {
			from, to = i+rows, n
		}
		if from < to {
			u := tile.Update[F]{Alpha: alpha, Beta: beta}
			tile.Panels(c[i*ldc+from:], ldc, left, at, right[from:], ldr, width, rows, k, to-from, u)
		}
	}
}

// addSquare sets a triangle of the square C to beta C and the sums.
func addSquare[F tile.Float](ul blas.Uplo, c []F, ldc int, beta F, sums []F, n int) {
	for i := range n {
		from, to := 0, i+1
		if ul == blas.Upper {
			from, to = i, n
		}
		row, of := c[i*ldc+from:i*ldc+to], sums[i*tileRows+from:][:to-from]
		if beta == 0 {
			copy(row, of)
			continue
		}
		for j, v := range of {
			row[j] = F(beta*row[j]) + v
		}
	}
}
