package blas

import (
	"unsafe"

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

// isShallow reports whether a product has few terms, so that blocks take longer to set up than they gain. Its
// factors can be read where they are, or as a copy of the transpose of B, and one thread computes it.
func isShallow[F tile.Float](tA, tB blas.Transpose, m, n, k, lda, ldb int) bool {
	if tB != blas.NoTrans {
		ldb = n
	}
	if k > shallowDepth || !staysNear[F](k, ldb, nearRight) || tune().products.shares(m*n*k>>kind[F]()) {
		return false
	}
	if tA != blas.NoTrans {
		return staysNear[F](k, lda, nearLeft)
	}
	return lda*int(unsafe.Sizeof(F(0)))%wayBytes != 0
}

// tinyFactor is the largest number of entries of a matrix that is transposed by way of the stack.
const tinyFactor = 64

// smallProduct computes C = alpha op(A) op(B) + beta C for a small product. It reads the factors where they
// are, and copies only a transposed B. The sums have the order of compute.
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

// smallTriangleOf computes a triangle of C = alpha op(A) op(B)' + beta C for a small product: squares on its
// diagonal in separate memory, and the entries beside them in C.
func smallTriangleOf[F tile.Float](
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) {
	memory := borrow[F](n*oneSquare + n*k)
	defer giveBack(memory)
	squares, right, ldr := (*memory)[:n*oneSquare], b, ldb
	if tA == blas.NoTrans {
		right, ldr = (*memory)[n*oneSquare:], n
		tile.Transpose(right, n, b, ldb, n, k)
	}
	at, update := factor[F]{a, lda, tA != blas.NoTrans}.layout(), tile.Update[F]{Alpha: alpha, Beta: beta}
	if n <= oneSquare {
		tile.Panels(squares, n, a, at, right, ldr, tile.PanelWidth[F](), n, k, n, tile.Update[F]{Alpha: alpha})
		addSquare(ul, c, ldc, beta, squares, n, n)
		return
	}
	tile.TriangleOf(ul == blas.Upper, c, ldc, squares, a, at, right, ldr, n, k, update)
	const side = tile.SquareRows
	for i := 0; i < n; i += side {
		addSquare(ul, c[i*ldc+i:], ldc, beta, squares[i*side:], side, min(side, n-i))
	}
}

// oneSquare is the largest order of a triangle that is computed as one square. SymOuterK 7 to 13.
const oneSquare = 12

// addSquare sets a triangle of the square C to beta C and the sums, whose rows are lds apart.
func addSquare[F tile.Float](ul blas.Uplo, c []F, ldc int, beta F, sums []F, lds, n int) {
	for i := range n {
		from, to := 0, i+1
		if ul == blas.Upper {
			from, to = i, n
		}
		row, of := c[i*ldc+from:i*ldc+to], sums[i*lds+from:][:to-from]
		if beta == 0 {
			copy(row, of)
			continue
		}
		for j, v := range of {
			row[j] = F(beta*row[j]) + v
		}
	}
}
