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

// tinyFactor is the largest number of entries of a matrix that is transposed by way of the stack.
const tinyFactor = 64

// smallProduct computes C = alpha op(A) op(B) + beta C for a small product, panel by panel, from where its
// factors are. It copies only a transposed B, and a left factor that alpha multiplies. The sums have the
// order of compute.
func smallProduct[F tile.Float](
	tA, tB blas.Transpose, m, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) {
	if beta != 0 && beta != 1 {
		for i := range m {
			tile.Scale(c[i*ldc:][:n], beta)
		}
	}
	add := beta != 0
	switch {
	case alpha != 1:
		scaledProduct(tA, tB, m, n, k, alpha, a, lda, b, ldb, add, c, ldc)
	case tB == blas.NoTrans:
		smallPanels(m, n, k, a, layoutOf(tA, lda), b, ldb, add, c, ldc)
	case n*k <= tinyFactor:
		var right [tinyFactor]F
		tile.Transpose(right[:], n, b, ldb, n, k)
		smallPanels(m, n, k, a, layoutOf(tA, lda), right[:], n, add, c, ldc)
	default:
		memory := borrow[F](n * k)
		tile.Transpose(*memory, n, b, ldb, n, k)
		smallPanels(m, n, k, a, layoutOf(tA, lda), *memory, n, add, c, ldc)
		giveBack(memory)
	}
}

// scaledProduct computes C = alpha op(A) op(B), or adds alpha op(A) op(B) to C, for a small product.
func scaledProduct[F tile.Float](
	tA, tB blas.Transpose, m, n, k int, alpha F, a []F, lda int, b []F, ldb int, add bool, c []F, ldc int,
) {
	memory := borrow[F]((m + n) * k)
	defer giveBack(memory)
	left, right := (*memory)[:m*k], (*memory)[m*k:]
	copyScaled(tA, left, alpha, a, lda, m, k)
	if tB != blas.NoTrans {
		tile.Transpose(right, n, b, ldb, n, k)
		b, ldb = right, n
	}
	smallPanels(m, n, k, left, tile.ByRows(k), b, ldb, add, c, ldc)
}

// copyScaled sets the m x k matrix to, with rows beside each other, to alpha op(A).
func copyScaled[F tile.Float](tA blas.Transpose, to []F, alpha F, a []F, lda, m, k int) {
	if tA != blas.NoTrans {
		tile.Transpose(to, k, a, lda, k, m)
	} else {
		for i := range m {
			copy(to[i*k:][:k], a[i*lda:])
		}
	}
	tile.Scale(to[:m*k], alpha)
}

// layoutOf returns the layout of op(A).
func layoutOf(tA blas.Transpose, lda int) tile.Layout {
	if tA == blas.NoTrans {
		return tile.ByRows(lda)
	}
	return tile.ByColumns(lda)
}

// smallPanels computes C = op(A) B, or adds op(A) B to C, panel by panel.
func smallPanels[F tile.Float](
	m, n, k int, a []F, at tile.Layout, b []F, ldb int, add bool, c []F, ldc int,
) {
	width := tile.PanelWidth[F]()
	for j := 0; j < n; j += width {
		tile.Panel(c[j:], ldc, a, at, b[j:], ldb, m, k, min(width, n-j), add, tile.Ahead{})
	}
}

// smallTriangleOf computes a triangle of C = alpha op(A) op(B)' + beta C for a small product, some rows at a
// time: their square on the diagonal in separate memory, and their other columns in C.
func smallTriangleOf[F tile.Float](
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) {
	memory := borrow[F](tileRows*tileRows + 2*n*k)
	defer giveBack(memory)
	square, copies := (*memory)[:tileRows*tileRows], (*memory)[tileRows*tileRows:]
	left, at, right, ldr := a, layoutOf(tA, lda), b, ldb
	if alpha != 1 {
		left, at = copies[:n*k], tile.ByRows(k)
		copyScaled(tA, left, alpha, a, lda, n, k)
	}
	if tA == blas.NoTrans {
		right, ldr = copies[n*k:], n
		tile.Transpose(right, n, b, ldb, n, k)
	}
	width := tile.PanelWidth[F]()
	for i := 0; i < n; i += tileRows {
		rows := min(tileRows, n-i)
		tile.Panel(square, tileRows, left[i*at.Down:], at, right[i:], ldr, rows, k, rows, false, tile.Ahead{})
		addSquare(ul, c[i*ldc+i:], ldc, beta, square, rows)
		from, to := 0, i
		if ul == blas.Upper {
			from, to = i+rows, n
		}
		if beta != 0 && beta != 1 {
			for r := i; r < i+rows; r++ {
				tile.Scale(c[r*ldc+from:r*ldc+to], beta)
			}
		}
		for j := from; j < to; j += width {
			sums, columns := c[i*ldc+j:], min(width, to-j)
			tile.Panel(sums, ldc, left[i*at.Down:], at, right[j:], ldr, rows, k, columns, beta != 0, tile.Ahead{})
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
