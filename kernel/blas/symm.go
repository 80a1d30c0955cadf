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
	case byVectors:
		symmVectors(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
		return true
	}
	p := product[F]{m: m, n: n, k: order, c: c, ldc: ldc, part: blas.All, alone: true}
	p.update = tile.Update[F]{Alpha: alpha, Beta: beta}
	if how == byScaling {
		p.scaleC(beta)
		return true
	}
	if s == blas.Left && order >= symmRowsOrder && n <= symmSides {
		p.b = factor[F]{b, ldb, false}
		p.mirroredRows(ul, a, lda)
		return true
	}
	stride := rowStride(order)
	memory := borrow[F](order * stride)
	defer giveBack(memory)
	mirror(*memory, stride, a, lda, order, ul)
	x, ldx, y, ldy := *memory, stride, b, ldb
	if s == blas.Right {
		x, ldx, y, ldy = y, ldy, x, ldx
	}
	if isSmall(m, n, order, ldx, ldy) {
		smallProduct(blas.NoTrans, blas.NoTrans, m, n, order, alpha, x, ldx, y, ldy, beta, c, ldc)
		return true
	}
	if order <= shallowDepth {
		return gemm(true, blas.NoTrans, blas.NoTrans, m, n, order, alpha, x, ldx, y, ldy, beta, c, ldc)
	}
	p.a, p.b = factor[F]{x, ldx, false}, factor[F]{y, ldy, false}
	p.compute()
	return true
}

// symmVectors is symm for one row or column of B and C after the other.
func symmVectors[F tile.Float](
	s blas.Side, ul blas.Uplo, m, n int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) {
	order, sides, incB, incC, nextB, nextC := m, n, ldb, ldc, 1, 1
	if s == blas.Right {
		order, sides, incB, incC, nextB, nextC = n, m, 1, 1, ldb, ldc
	}
	for k := range sides {
		symv(ul, order, alpha, a, lda, b[k*nextB:], incB, beta, c[k*nextC:], incC)
	}
}

// mirroredRows computes a product with a symmetric matrix on the left, whose triangle a holds, some of its
// rows at a time: a whole copy would leave the second-level cache. Several threads take the rows in turn if
// that pays.
func (p *product[F]) mirroredRows(ul blas.Uplo, a []F, lda int) {
	t := teamFor[F](p.m*p.n*p.k, false)
	of := *p // a copy, so that products on one thread need no memory of the heap
	parts := (p.m + mirrored - 1) / mirrored
	if t.threads == 1 {
		for i := range parts {
			of.mirroredPart(ul, a, lda, i)
		}
		return
	}
	t.run(parts, func(i int) { of.mirroredPart(ul, a, lda, i) })
}

// mirroredPart computes part i of the rows.
func (p *product[F]) mirroredPart(ul blas.Uplo, a []F, lda, i int) {
	lo, hi := i*mirrored, min((i+1)*mirrored, p.m)
	stride := oddLines(p.m)
	memory := borrow[F]((hi - lo) * stride)
	defer giveBack(memory)
	wholeRows(*memory, stride, a, lda, p.m, ul, lo, hi)
	part := *p
	part.a, part.c, part.m = factor[F]{*memory, stride, false}, p.c[lo*p.ldc:], hi-lo
	part.columns(0, p.n)
}

// wholeRows copies rows lo to hi of a symmetric matrix, all columns of them, at most mirrored.
func wholeRows[F tile.Float](to []F, ldt int, a []F, lda, n int, ul blas.Uplo, lo, hi int) {
	mirrorSquare(to[lo:], ldt, a[lo*(lda+1):], lda, hi-lo, ul)
	from, end, other, last := 0, lo, hi, n // the stored columns of these rows, and the other ones
	if ul == blas.Upper {
		from, end, other, last = hi, n, 0, lo
	}
	for i := lo; i < hi; i++ {
		copy(to[(i-lo)*ldt+from:(i-lo)*ldt+end], a[i*lda+from:])
	}
	for j := other; j < last; j += mirrored {
		tile.Transpose(to[j:], ldt, a[j*lda+lo:], lda, min(mirrored, last-j), hi-lo)
	}
}

// mirrorSquare copies a triangle of a symmetric matrix to both triangles.
func mirrorSquare[F tile.Float](to []F, ldt int, a []F, lda, n int, ul blas.Uplo) {
	tile.Transpose(to, ldt, a, lda, n, n)
	stored := product[F]{n: n, part: ul}
	for i := range n {
		from, end := stored.span(i)
		copy(to[i*ldt+from:], a[i*lda+from:i*lda+end])
	}
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
	case order == 1 || isThin(m, n) && order >= symvFrom(ul):
		return byVector
	case symmBySides[F](s == blas.Right, order, m*n/order):
		return byVectors
	}
	return byTiles
}

// symmBySides reports whether a product of a symmetric matrix of an order, with a few right sides, takes less
// time one side after the other: a copy of both triangles takes as long as some sides.
func symmBySides[F tile.Float](right bool, order, sides int) bool {
	few := sides * (sides - 1)
	switch {
	case kind[F]() == 0:
		return sides <= symmVectorSides && order >= symmVectorOrder*few
	case right:
		return sides == 2 && order >= 3*symmVectorOrder*few
	}
	return sides < symmVectorSides && order >= 3*symmVectorOrder*few
}

// mirrored is the order of the squares of a symmetric matrix that are transposed together.
const mirrored = 64

// mirror copies the triangle of a symmetric matrix to both triangles of another one. Several threads take
// parts of the rows in turn if that pays.
func mirror[F tile.Float](to []F, ldt int, a []F, lda, n int, ul blas.Uplo) {
	t := teamOver[F](2*n*n, false)
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
