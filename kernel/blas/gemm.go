package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Dgemm computes C = alpha op(A) op(B) + beta C for an m x k matrix op(A) and a k x n matrix op(B).
//
// On entry a, b and c hold A, B and C by rows. On return c is overwritten.
func (*routines) Dgemm(
	tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int,
	beta float64, c []float64, ldc int,
) {
	if !gemm(true, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		gonum.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Sgemm is Dgemm in float32.
func (*routines) Sgemm(
	tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int,
	beta float32, c []float32, ldc int,
) {
	if !gemm(true, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		gonum.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// gemm computes Dgemm or Sgemm and returns true, or returns false where gonum computes it. A product that is
// alone is the whole computation of a caller.
func gemm[F tile.Float](
	alone bool, tA, tB blas.Transpose, m, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F,
	c []F, ldc int,
) bool {
	how := gemmWay(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	if !alone && (how == byColumns || how == byBoth) {
		how = byTiles // bits of a column do not depend on how many columns a thread takes
	}
	switch how {
	case byGonum:
		return false
	case byLoops:
		gemmLoops(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return true
	case byPanels:
		smallProduct(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return true
	case byVector:
		thinMatrixProduct(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return true
	}
	p := product[F]{
		a: factor[F]{a, lda, tA != blas.NoTrans}, b: factor[F]{b, ldb, tB != blas.NoTrans},
		m: m, n: n, k: k, update: tile.Update[F]{Alpha: alpha, Beta: beta}, c: c, ldc: ldc, part: blas.All,
		alone: alone,
	}
	switch how {
	case byScaling:
		p.scaleC(beta)
	case byEntries:
		p.scaleC(beta)
		p.addNonzeros()
	case byPairs:
		p.byPairs()
	case byTransposing:
		p.byTransposing()
	case byDots:
		p.byDots()
	case byColumns:
		p.byColumns()
	case byBoth:
		p.byBoth()
	default:
		p.compute()
	}
	return true
}

// gemmWay returns how a product is computed.
func gemmWay[F tile.Float](
	tA, tB blas.Transpose, m, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) way {
	rowsA, columnsA := opShape(tA, m, k)
	rowsB, columnsB := opShape(tB, k, n)
	switch {
	case !known(tA) || !known(tB) || min(m, n, k) <= 0 || !inside(a, rowsA, columnsA, lda) ||
		!inside(b, rowsB, columnsB, ldb) || !inside(c, m, n, ldc):
		return byGonum
	case alpha == 0:
		return byScaling
	case !vectorized():
		return withoutTiles(finite(rowsB, columnsB, b, ldb))
	case m*n*k <= thinMultiplications:
		return byLoops
	case isThin(m, n):
		return byVector
	case m*n*k <= loopMultiplications:
		return byLoops
	case tA != blas.NoTrans && isTransposed[F](m, n, k) && isLong(m, k):
		return byTransposing
	case tA == blas.NoTrans && tB != blas.NoTrans && isDots[F](m, n, k):
		return byDots
	case tA == blas.NoTrans && tB == blas.NoTrans && isColumns[F](m, n, k):
		return byColumns
	case tA != blas.NoTrans && tB != blas.NoTrans && isTurned(m, n, k):
		return byTransposing
	case isSmall(m, n, k, lda, ldb), tB == blas.NoTrans && isShort(m, n, k):
		return byPanels
	case m*n*k >= sparseMultiplications && tB == blas.NoTrans && mostlyZero(rowsA, columnsA, a, lda):
		if finite(k, n, b, ldb) {
			return byEntries
		}
	case tA != blas.NoTrans && n <= moreColumns && m*k > largeLeft && isLong(m, k):
		return byTransposing // A is not packed
	case kind[F]() == 0 && tA == blas.NoTrans && alpha == 1 && beta == 0 && isNarrow(m, n, k):
		return byPairs
	case isShallow[F](tA, tB, m, n, k, lda, ldb):
		return byPanels
	case tA == blas.NoTrans && tB == blas.NoTrans && isBoth[F](m, n, k):
		return byBoth
	}
	return byTiles
}

// gemmLoops computes the product entry by entry.
func gemmLoops[F tile.Float](
	tA, tB blas.Transpose, m, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) {
	downA, acrossA := lda, 1
	if tA != blas.NoTrans {
		downA, acrossA = 1, lda
	}
	downB, acrossB := ldb, 1
	if tB != blas.NoTrans {
		downB, acrossB = 1, ldb
	}
	for i := range m {
		row := c[i*ldc:][:n]
		for j := range row {
			sum, left, right := F(0), i*downA, j*acrossB
			for range k {
				sum += F(a[left] * b[right])
				left += acrossA
				right += downB
			}
			sum = F(sum * alpha)
			if beta != 0 {
				sum += F(beta * row[j])
			}
			row[j] = sum
		}
	}
}

// isNarrow reports whether pairs save time: in long and deep products of few columns.
func isNarrow(m, n, k int) bool {
	rows := narrowRows
	if k < narrowTerms {
		rows = narrowRowsShort
	}
	return n <= tile.PairColumns && m >= rows && k >= narrowDepth
}

// byPairs computes C = A B in float64 for a few columns. The last rows, too few for a tile, are a product of
// their own.
func (p *product[F]) byPairs() {
	whole := p.m / tileRows * tileRows
	if whole < p.m {
		rest := *p
		rest.a, rest.c, rest.m = p.a.from(whole, 0), p.c[whole*p.ldc:], p.m-whole
		rest.columns(0, p.n)
	}
	memory := borrow[float64](tile.PairLen(p.k))
	defer giveBack(memory)
	down, across := p.b.steps()
	tile.PackPairs(*memory, as[float64](p.b.data), down, across, p.k, p.n)
	t := teamFor[F](p.m*p.n*p.k, true)
	if t.threads == 1 {
		p.pairRows(*memory, 0, whole)
		return
	}
	of, z := *p, *memory
	parts := t.parts(4, whole/tileRows)
	t.run(parts, func(i int) {
		lo := i * (whole / tileRows) / parts * tileRows
		hi := (i + 1) * (whole / tileRows) / parts * tileRows
		of.pairRows(z, lo, hi)
	})
}

// pairRows computes rows lo to hi of a product by pairs.
func (p *product[F]) pairRows(z []float64, lo, hi int) {
	a, c := as[float64](p.a.data[lo*p.a.stride:]), as[float64](p.c[lo*p.ldc:])
	tile.PairPanel(c, p.ldc, a, p.a.stride, z, hi-lo, p.k, p.n)
}

// isTransposed reports whether A'B of few columns takes less time as the transpose of B'A.
func isTransposed[F tile.Float](m, n, k int) bool {
	most := transposedColumns
	if kind[F]() == 1 {
		most = transposedColumns32
	}
	return n <= fewColumns || n <= most && m*k >= transposedLeft
}

// isLong reports whether the rows of the transpose of a product are long, and A so small that one thread
// computes the product.
func isLong(m, k int) bool { return m >= manyRows && m*k < sharedByVectors }

// isTurned reports whether A'B' takes less time as the transpose of B A, whose factors are where they are.
func isTurned(m, n, k int) bool {
	return min(m, n) <= turnedProduct && k >= turnedDepth && m*n*k <= turnedMultiplications
}

// byTransposing computes C = alpha A'B + beta C for a few columns as the transpose of alpha B'A + beta C',
// whose rows are long.
func (p *product[F]) byTransposing() {
	memory := borrow[F](p.n * p.m)
	defer giveBack(memory)
	rows, left := *memory, p.b.transpose()
	if p.update.Beta != 0 {
		tile.Transpose(rows, p.m, p.c, p.ldc, p.m, p.n)
	}
	depth, width := p.k, tile.PanelWidth[F]()
	if p.m > turnedWhole && p.k > smallSize && p.update.Alpha == 1 { // sums of a part are added term by term
		depth = rowsAtATime
	}
	for at := 0; at < p.k; at += depth {
		w, z, terms := left.from(0, at), p.a.data[at*p.a.stride:], min(depth, p.k-at)
		tile.Panels(rows, p.m, w.data, w.layout(), z, p.a.stride, width, p.n, terms, p.m, p.updateAt(at))
	}
	tile.Transpose(p.c, p.ldc, rows, p.m, p.n, p.m)
}
