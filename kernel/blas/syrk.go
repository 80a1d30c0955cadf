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
func (*routines) Dsyrk(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64,
	c []float64, ldc int,
) {
	switch {
	case isShortRow(tA, n, k, a, beta):
		fallback{}.Dsyrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
		return
	case isFewRows(ul, tA, n, k, alpha) && inside(a, n, k, lda) && inside(c, n, n, ldc):
		dotsOfRows(ul, n, k, alpha, a, lda, beta, c, ldc)
		return
	case isFewColumns(ul, tA, n, k, alpha) && inside(a, k, n, lda) && inside(c, n, n, ldc):
		rankColumns(false, ul, n, k, alpha, a, lda, a, lda, beta, c, ldc)
		return
	}
	if !syrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc) {
		fallback{}.Dsyrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Ssyrk is Dsyrk in float32.
func (*routines) Ssyrk(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha float32, a []float32, lda int, beta float32,
	c []float32, ldc int,
) {
	if isFewRows(ul, tA, n, k, alpha) && inside(a, n, k, lda) && inside(c, n, n, ldc) && vectorized() {
		dotsOfRows(ul, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	if isFewColumns(ul, tA, n, k, alpha) && inside(a, k, n, lda) && inside(c, n, n, ldc) {
		rankColumns(false, ul, n, k, alpha, a, lda, a, lda, beta, c, ldc)
		return
	}
	if !syrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc) {
		gonum.Ssyrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Dsyr2k computes a triangle of C = alpha A B' + alpha B A' + beta C for n x k matrices A and B, or with
// tA = Trans of C = alpha A'B + alpha B'A + beta C for k x n matrices.
//
// On entry a and b hold A and B, and c the triangle ul of the symmetric C. On return the triangle is
// overwritten; the other one is neither read nor written.
func (*routines) Dsyr2k(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int,
	beta float64, c []float64, ldc int,
) {
	if isFewColumns(ul, tA, n, k, alpha) && inside(a, k, n, lda) && inside(b, k, n, ldb) && inside(c, n, n, ldc) {
		rankColumns(true, ul, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	few := n*n*k <= syrkRows // gonum's inner products skip no zeros
	if tA == blas.NoTrans && few || !syr2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		fallback{}.Dsyr2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Ssyr2k is Dsyr2k in float32.
func (*routines) Ssyr2k(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int,
	beta float32, c []float32, ldc int,
) {
	if isFewColumns(ul, tA, n, k, alpha) && inside(a, k, n, lda) && inside(b, k, n, ldb) && inside(c, n, n, ldc) {
		rankColumns(true, ul, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	if tA == blas.NoTrans && n*n*k <= syrkRows || !syr2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		fallback{}.Ssyr2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// syrk computes Dsyrk or Ssyrk and returns true, or returns false where gonum computes it.
func syrk[F tile.Float](
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha F, a []F, lda int, beta F, c []F, ldc int,
) bool {
	how := rankWay(ul, tA, n, k, alpha, a, lda, a, lda, c, ldc)
	switch how {
	case byGonum:
		clearForGonum(ul, tA, n, k, a, lda, a, lda, beta, c, ldc)
		return false
	case byLoops:
		rankLoops(false, ul, n, k, alpha, a, lda, a, lda, beta, c, ldc)
		return true
	case byDots:
		rankDots(ul, n, k, alpha, a, lda, beta, c, ldc)
		return true
	case byTiles:
		small := isSmall(n, n, k, lda, lda)
		switch {
		case k == 1 && !small && vectorized():
			rankOneTriangle(ul, tA, n, alpha, a, lda, beta, c, ldc)
			return true
		case beta == 1 && k <= tile.OuterVectors && n >= fewRanksOrder && n*n*k < updateMultiplications && vectorized():
			addFewRanks(ul, tA, n, k, alpha, a, lda, c, ldc)
			return true
		case small || k <= fewUpdates && n*n*k < updateMultiplications:
			smallTriangleOf(ul, tA, n, k, alpha, a, lda, a, lda, beta, c, ldc)
			return true
		}
	}
	p := rankProduct(ul, tA, n, k, alpha, a, lda, a, lda, beta, c, ldc)
	switch how {
	case byScaling:
		p.scaleC(beta)
	case byEntries:
		p.scaleC(beta)
		p.addSquares()
	default:
		p.compute()
	}
	return true
}

// rankOneTriangle is syrk for one column, or row, of A.
func rankOneTriangle[F tile.Float](
	ul blas.Uplo, tA blas.Transpose, n int, alpha F, a []F, lda int, beta F, c []F, ldc int,
) {
	p := product[F]{m: n, n: n, c: c, ldc: ldc, part: ul}
	p.scaleC(beta)
	s := triangleRows(ul, n, c, ldc)
	inc := lda
	if tA != blas.NoTrans {
		inc = 1
	}
	s.addRankOne(alpha, a, inc)
}

// addFewRanks is syrk for a few columns, or rows, of A and beta = 1. It adds multiples of them to the rows of
// the triangle, and needs no copy of the squares on the diagonal.
func addFewRanks[F tile.Float](
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha F, a []F, lda int, c []F, ldc int,
) {
	long, ranks := tile.Pad(n), k
	if k == 3 {
		ranks = 4 // one is of zeros
	}
	memory := borrow[F](ranks * (long + n))
	defer giveBack(memory)
	vectors, by := (*memory)[:ranks*long], (*memory)[ranks*long:][:ranks*n]
	clear(vectors)
	if tA == blas.NoTrans {
		tile.Transpose(vectors, long, a, lda, n, k)
	}
	for l := 0; tA != blas.NoTrans && l < k; l++ {
		copy(vectors[l*long:][:n], a[l*lda:])
	}
	if tA == blas.NoTrans && k == ranks && lda == k {
		copy(by, a)
	} else {
		tile.Transpose(by, ranks, vectors, long, ranks, n)
	}
	if alpha != 1 {
		tile.Scale(by, alpha)
	}
	s := triangleRows(ul, n, c, ldc)
	s.addVectors(by, vectors, ranks)
}

// syr2k computes Dsyr2k or Ssyr2k and returns true, or returns false where gonum computes it.
func syr2k[F tile.Float](
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) bool {
	how := rankWay(ul, tA, n, k, alpha, a, lda, b, ldb, c, ldc)
	switch how {
	case byGonum:
		clearForGonum(ul, tA, n, k, a, lda, b, ldb, beta, c, ldc)
		return false
	case byLoops:
		rankLoops(true, ul, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return true
	}
	p := rankProduct(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	switch {
	case how == byScaling:
		p.scaleC(beta)
	case k == 1:
		p.scaleC(beta)
		inc, incB := 1, 1
		if tA == blas.NoTrans {
			inc, incB = lda, ldb
		}
		syr2Of(ul, n, alpha, a, inc, b, incB, c, ldc)
	case n <= rankTwoWhole && (n <= max(3*k, rankTwoRows) || 2*k > fewUpdates) && vectorized():
		rankTwoSum(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	case k <= rankTwoFew && vectorized():
		rankTwoJoined(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	case isSmall(n, n, k, max(lda, ldb), max(lda, ldb)):
		smallTriangleOf(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		smallTriangleOf(ul, tA, n, k, alpha, b, ldb, a, lda, 1, c, ldc)
	default:
		p.compute()
		p = rankProduct(ul, tA, n, k, alpha, b, ldb, a, lda, 1, c, ldc)
		p.compute()
	}
	return true
}

// rankProduct returns a triangle of the product C = alpha op(A) op(B)' + beta C.
func rankProduct[F tile.Float](
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) product[F] {
	return product[F]{
		a: factor[F]{a, lda, tA != blas.NoTrans}, b: factor[F]{b, ldb, tA == blas.NoTrans},
		m: n, n: n, k: k, update: tile.Update[F]{Alpha: alpha, Beta: beta}, c: c, ldc: ldc, part: ul,
		alone: true, // a Cholesky factor of 50 to 500 rows takes as long with it
	}
}

// rankWay returns how a triangle of a product is computed.
func rankWay[F tile.Float](
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha F, a []F, lda int, b []F, ldb int, c []F, ldc int,
) way {
	rows, columns := opShape(tA, n, k)
	one := len(a) > 0 && len(b) > 0 && &a[0] == &b[0] // A A' or A'A
	switch {
	case !isTriangle(ul) || !known(tA) || min(n, k) <= 0:
		return byGonum
	case !inside(a, rows, columns, lda) || !inside(b, rows, columns, ldb) || !inside(c, n, n, ldc):
		return byGonum
	case alpha == 0:
		return byScaling
	case !vectorized():
		return withoutTiles(finite(rows, columns, a, lda) && finite(rows, columns, b, ldb))
	case tA == blas.NoTrans && one && n <= syrkOrder && k >= syrkDepth:
		return byDots
	case tA == blas.NoTrans && one && n <= syrkOrder && k >= dotLength/4 && kind[F]() == 0:
		return byGonum // whose inner products skip no zeros
	case tA == blas.NoTrans && (one && n <= syrkOrder || n*n*k <= syrkRows):
		return byLoops
	case tA == blas.NoTrans:
		return byTiles
	case one && n*n*k >= sparseMultiplications && mostlyZero(rows, columns, a, lda):
		return byEntries
	}
	return byTiles
}

// isFewColumns reports whether rankColumns takes less time than tiles.
func isFewColumns[F tile.Float](ul blas.Uplo, tA blas.Transpose, n, k int, alpha F) bool {
	few := (tA == blas.Trans || tA == blas.ConjTrans) && n*n*k <= syrkColumns && n*k <= syrkEntries
	return few && min(n, k) > 0 && alpha != 0 && isTriangle(ul) && vectorized()
}

// rankColumns computes the triangle of alpha A'B + beta C for matrices of k rows, or with two of
// alpha A'B + alpha B'A + beta C, row by row in plain Go.
func rankColumns[F tile.Float](
	two bool, ul blas.Uplo, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) {
	if two && n <= rankTwoOrder {
		rankTwoColumns(ul, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	for i := range n {
		from, to := 0, i+1
		if ul == blas.Upper {
			from, to = i, n
		}
		row := c[i*ldc+from : i*ldc+to]
		by, x := alpha*a[i], b[from:][:len(row)]
		for j, v := range x {
			v = F(by * v)
			if beta != 0 {
				v += F(beta * row[j])
			}
			row[j] = v
		}
		for l := 1; l < k; l++ {
			by, x := alpha*a[l*lda+i], b[l*ldb+from:][:len(row)]
			for j, v := range x {
				row[j] += F(by * v)
			}
		}
		for l := 0; two && l < k; l++ {
			by, x := alpha*b[l*ldb+i], a[l*lda+from:][:len(row)]
			for j, v := range x {
				row[j] += F(by * v)
			}
		}
	}
}

// rankLoops computes the triangle of alpha A A' + beta C, or of the two products of A and B, by plain loops.
func rankLoops[F tile.Float](
	two bool, ul blas.Uplo, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) {
	for i := range n {
		from, to := 0, i+1
		if ul == blas.Upper {
			from, to = i, n
		}
		row := c[i*ldc+from : i*ldc+to]
		scaleShort(row, beta)
		addProducts(row, alpha, a[i*lda:], b[from*ldb:], ldb, k)
		if two {
			addProducts(row, alpha, b[i*ldb:], a[from*lda:], lda, k)
		}
	}
}

// scaleShort is scaleRow for a short row.
func scaleShort[F tile.Float](row []F, by F) {
	for j := range row {
		if by == 0 {
			row[j] = 0
		} else {
			row[j] *= by
		}
	}
}

// isFewRows reports whether inner products of two rows of k entries take less time than of all rows with one.
func isFewRows[F tile.Float](ul blas.Uplo, tA blas.Transpose, n, k int, alpha F) bool {
	pairs := kind[F]() == 0 && n <= syrkPairs
	few := tA == blas.NoTrans && n <= syrkOrder && (pairs || k < syrkDepth)
	return few && min(n, k) > 0 && alpha != 0 && isTriangle(ul)
}

// dotsOfRows computes the triangle of alpha A A' + beta C by inner products of two rows.
func dotsOfRows[F tile.Float](ul blas.Uplo, n, k int, alpha F, a []F, lda int, beta F, c []F, ldc int) {
	for i := range n {
		from, to := 0, i+1
		if ul == blas.Upper {
			from, to = i, n
		}
		x, row := a[i*lda:][:k], c[i*ldc+from:i*ldc+to]
		for j := range row {
			v, y := F(0), a[(from+j)*lda:][:len(x)]
			switch {
			case k <= callLength:
				for l, e := range x {
					v += F(e * y[l])
				}
			case kind[F]() == 0:
				v = F(rowDot(as[float64](x), as[float64](y)))
			default:
				v = F(tile.InnerProduct(as[float32](x), as[float32](y)))
			}
			v = F(alpha * v)
			if beta != 0 {
				v += F(beta * row[j])
			}
			row[j] = v
		}
	}
}

// rankDots computes the triangle of alpha A A' + beta C by inner products of rows, up to syrkOrder.
func rankDots[F tile.Float](ul blas.Uplo, n, k int, alpha F, a []F, lda int, beta F, c []F, ldc int) {
	var sums [syrkOrder]F
	for i := range n {
		from, to := 0, i+1
		if ul == blas.Upper {
			from, to = i, n
		}
		tile.RowDots(sums[:], a[from*lda:], lda, a[i*lda:][:k], to-from, k)
		row := c[i*ldc+from : i*ldc+to]
		for j, v := range sums[:len(row)] {
			v = F(alpha * v)
			if beta != 0 {
				v += F(beta * row[j])
			}
			row[j] = v
		}
	}
}

// addProducts adds the inner products of a row of A and rows of B, of k entries, times alpha, to a row.
func addProducts[F tile.Float](row []F, alpha F, a, b []F, ldb, k int) {
	x, j := a[:k], 0
	for ; j+2 <= len(row); j += 2 {
		y0, y1 := b[j*ldb:][:len(x)], b[(j+1)*ldb:][:len(x)]
		var s0, s1 F
		for l, v := range x {
			s0 += F(v * y0[l])
			s1 += F(v * y1[l])
		}
		row[j] += F(alpha * s0)
		row[j+1] += F(alpha * s1)
	}
	if j < len(row) {
		var sum F
		for l, v := range b[j*ldb:][:len(x)] {
			sum += F(v * x[l])
		}
		row[j] += F(alpha * sum)
	}
}
