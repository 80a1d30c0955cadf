package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// A way is how a call is computed. Each routine chooses one from its arguments, before it computes anything.
//
// All ways follow one rule for special values. With beta = 0 the result is overwritten and not read. With
// alpha = 0 the factors are not read. Otherwise every product of two entries counts: zero by NaN or
// infinity is NaN. gonum skips factors that are zero, so gonum computes only where nothing that it could
// skip is NaN or infinite.
type way uint8

const (
	// byGonum: gonum's implementation computes, or panics because of the arguments.
	byGonum way = iota
	// byScaling: alpha is 0, and the result is beta C.
	byScaling
	// byLoops: a few operations, in Go.
	byLoops
	// byFactor: a product with one number, or a division by it.
	byFactor
	// byVector: a product of a matrix and a vector.
	byVector
	// byVectors: products of a matrix and one vector after the other.
	byVectors
	// byEntries: a product with a factor of zeros, but for a few entries.
	byEntries
	// byPairs: a product with few columns, two steps of a sum at a time.
	byPairs
	// byTransposing: a product with few columns, as the transpose of one with few rows.
	byTransposing
	// byDots: a product of few entries, as inner products.
	byDots
	// byColumns: a product of few columns, as inner products with a copy of these.
	byColumns
	// byBoth: the last columns of a product by byColumns, and those before them by byTiles.
	byBoth
	// byPanels: the tiles of a small product, without blocks.
	byPanels
	// byCopying: right sides of a triangle in memory of their own, for tiles of whole vectors.
	byCopying
	// bySolving: one tile for all of a triangle.
	bySolving
	// byTiles: blocks of the operands, by the tiles of the CPU tier; on tiers without them by their
	// definition in Go, which is slower than gonum.
	byTiles
)

// vectorized reports whether the CPU tier in use has tiles for vectors of any length.
func vectorized() bool { return tile.Active() != tile.Generic }

// withoutTiles returns the way of a tier without tiles: gonum's, unless it would lose NaN or infinity or,
// with pivots, divide wrongly.
func withoutTiles(sound bool) way {
	if sound {
		return byGonum
	}
	return byTiles
}

// inside reports whether data has all entries of a matrix stored by rows.
func inside[F tile.Float](data []F, rows, columns, stride int) bool {
	return stride >= max(1, columns) && (rows == 0 || len(data) >= (rows-1)*stride+columns)
}

// holds reports whether n entries, inc apart, are within x. If inc is negative the first of them is at the
// end.
func holds[T any](x []T, n, inc int) bool { return inc != 0 && len(x) > (n-1)*max(inc, -inc) }

// known reports whether t is a kind of transposition, isTriangle whether ul is a triangle, isSide whether s
// is a side, and isDiagonal whether d is a kind of diagonal.
func known(t blas.Transpose) bool { return t == blas.NoTrans || t == blas.Trans || t == blas.ConjTrans }

func isTriangle(ul blas.Uplo) bool { return ul == blas.Upper || ul == blas.Lower }

func isSide(s blas.Side) bool { return s == blas.Left || s == blas.Right }

func isDiagonal(d blas.Diag) bool { return d == blas.Unit || d == blas.NonUnit }

// opShape returns the numbers of rows and columns of a matrix M for which op(M) has m rows and n columns.
func opShape(t blas.Transpose, m, n int) (rows, columns int) {
	if t != blas.NoTrans {
		return n, m
	}
	return m, n
}

// finite reports whether a matrix has neither NaN nor infinity.
func finite[F tile.Float](m, n int, a []F, lda int) bool {
	if lda == n {
		return finiteRow(a[:m*n])
	}
	for i := range m {
		if !finiteRow(a[i*lda:][:n]) {
			return false
		}
	}
	return true
}

// finiteRow reports whether numbers are neither NaN nor infinite.
func finiteRow[F tile.Float](row []F) bool {
	var z0, z1, z2, z3 F
	for ; len(row) >= 4; row = row[4:] {
		v := (*[4]F)(row)
		z0 += F(v[0] * 0)
		z1 += F(v[1] * 0)
		z2 += F(v[2] * 0)
		z3 += F(v[3] * 0)
	}
	for _, v := range row {
		z0 += F(v * 0)
	}
	return z0+z1+z2+z3 == 0
}

// finiteTriangle reports whether a triangle of a matrix has neither NaN nor infinity.
func finiteTriangle[F tile.Float](ul blas.Uplo, n int, a []F, lda int) bool {
	for i := range n {
		row := a[i*lda : i*lda+i+1]
		if ul == blas.Upper {
			row = a[i*(lda+1) : i*lda+n]
		}
		if !finiteRow(row) {
			return false
		}
	}
	return true
}
