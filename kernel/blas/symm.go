package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Dsymm computes C = alpha A B + beta C or, with A on the right, C = alpha B A + beta C, for a symmetric A.
//
// On entry a holds the triangle ul of A, b and c hold the m x n matrices B and C. On return c is
// overwritten; the other triangle of A is not read.
func (*routines) Dsymm(
	s blas.Side, ul blas.Uplo, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int,
	beta float64, c []float64, ldc int,
) {
	if gonumMultipliesSymmetric(s, m, n) || !symm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc) {
		fallback{}.Dsymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Ssymm is Dsymm in float32.
func (*routines) Ssymm(
	s blas.Side, ul blas.Uplo, m, n int, alpha float32, a []float32, lda int, b []float32, ldb int,
	beta float32, c []float32, ldc int,
) {
	if gonumMultipliesSymmetric(s, m, n) || !symm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc) {
		fallback{}.Ssymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// gonumMultipliesSymmetric reports whether gonum takes less time: on the left, where it adds rows, for few
// short ones, and on the right for few multiplications and entries.
func gonumMultipliesSymmetric(s blas.Side, m, n int) bool {
	if s == blas.Left {
		return m <= symmRows && n <= symmColumns
	}
	return m*n*(n+3) < symmMultiplications
}

// symm computes Dsymm or Ssymm and returns true, or returns false where gonum computes it.
func symm[F tile.Float](
	s blas.Side, ul blas.Uplo, m, n int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) bool {
	order := m
	if s == blas.Right {
		order = n
	}
	how := symmWay(s, ul, m, n, order, alpha, a, lda, b, ldb, c, ldc)
	switch how {
	case byGonum:
		return false
	case byVector:
		thinSymmetric(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
		return true
	}
	p := product[F]{m: m, n: n, k: order, c: c, ldc: ldc, part: blas.All, alone: true}
	p.update = tile.Update[F]{Alpha: alpha, Beta: beta}
	if how == byScaling {
		p.scaleC(beta)
		return true
	}
	stride := rowStride(order)
	memory := borrow[F](order * stride)
	defer giveBack(memory)
	mirror(*memory, stride, a, lda, order, ul)
	if isSmall(m, n, order, stride, max(ldb, stride)) {
		x, ldx, y, ldy := *memory, stride, b, ldb
		if s == blas.Right {
			x, ldx, y, ldy = y, ldy, x, ldx
		}
		smallProduct(blas.NoTrans, blas.NoTrans, m, n, order, alpha, x, ldx, y, ldy, beta, c, ldc)
		return true
	}
	p.a, p.b = factor[F]{*memory, stride, false}, factor[F]{b, ldb, false}
	if s == blas.Right {
		p.a, p.b = p.b, p.a
	}
	p.compute()
	return true
}

// symmWay returns how a product with a symmetric matrix is computed.
func symmWay[F tile.Float](
	s blas.Side, ul blas.Uplo, m, n, order int, alpha F, a []F, lda int, b []F, ldb int, c []F, ldc int,
) way {
	switch {
	case !isSide(s) || !isTriangle(ul) || min(m, n) <= 0:
		return byGonum
	case !inside(a, order, order, lda) || !inside(b, m, n, ldb) || !inside(c, m, n, ldc):
		return byGonum
	case alpha == 0:
		return byScaling
	case !vectorized():
		return byGonum // whose product skips no zeros
	case order == 1 || isThin(m, n) && order >= symvOrder:
		return byVector
	}
	return byTiles
}

// mirrored is the order of the squares of a symmetric matrix that are transposed together.
const mirrored = 64

// mirror copies the triangle of a symmetric matrix to both triangles of another one. Several threads take
// parts of the rows in turn if that pays.
func mirror[F tile.Float](to []F, ldt int, a []F, lda, n int, ul blas.Uplo) {
	t := teamOver[F](2 * n * n)
	if t.threads == 1 {
		mirrorRows(to, ldt, a, lda, n, ul, 0, n)
		return
	}
	t.run((n+mirrored-1)/mirrored, func(i int) {
		mirrorRows(to, ldt, a, lda, n, ul, i*mirrored, min((i+1)*mirrored, n))
	})
}

// mirrorRows is mirror for rows from to end of the triangle, from a multiple of mirrored.
func mirrorRows[F tile.Float](to []F, ldt int, a []F, lda, n int, ul blas.Uplo, start, stop int) {
	stored := product[F]{n: n, part: ul}
	for lo := start; lo < stop; lo += mirrored {
		size := min(mirrored, n-lo)
		from, end := 0, lo // the columns beside the square on the diagonal
		if ul == blas.Upper {
			from, end = lo+size, n
		}
		for j := from; j < end; j += mirrored {
			tile.Transpose(to[j*ldt+lo:], ldt, a[lo*lda+j:], lda, size, min(mirrored, end-j))
		}
		tile.Transpose(to[lo*(ldt+1):], ldt, a[lo*(lda+1):], lda, size, size) // both triangles of the square
		for i := lo; i < lo+size; i++ {
			from, end := stored.span(i)
			copy(to[i*ldt+from:], a[i*lda+from:i*lda+end])
		}
	}
}
