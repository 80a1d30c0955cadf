package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Dtrsm solves op(A) X = alpha B or, with A on the right, X op(A) = alpha B, for a triangular A.
//
// On entry a holds the triangle ul of A, and b the m x n matrix B. On return b holds X.
func (*routines) Dtrsm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int,
	b []float64, ldb int,
) {
	if isNumber(s, d, m, n) && (d == blas.Unit || exactFirst(a)) ||
		gonumAddsRows(s, d, m, n) && isDense(ul, m, a, lda) && (d == blas.Unit || invertible(m, a, lda)) {
		fallback{}.Dtrsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	dtrsm(true, s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
}

// dtrsm is Dtrsm. One that is alone is the whole computation of a caller.
func dtrsm(
	alone bool, s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64,
	a []float64, lda int, b []float64, ldb int,
) {
	switch {
	case isTiny(s, m, n, alpha) && areForms(s, ul, tA, d) && areInside(s, m, n, a, lda, b, ldb):
		tinySystem(false, s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	case !triangular(alone, false, s, ul, tA, d, m, n, alpha, a, lda, b, ldb):
		gonum.Dtrsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Strsm is Dtrsm in float32.
func (*routines) Strsm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float32, a []float32, lda int,
	b []float32, ldb int,
) {
	switch {
	case isNumber(s, d, m, n) && (d == blas.Unit || exactFirst(a)),
		gonumAddsRows(s, d, m, n) && isDense(ul, m, a, lda) && (d == blas.Unit || invertible(m, a, lda)):
		fallback{}.Strsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	case isTiny(s, m, n, alpha) && areForms(s, ul, tA, d) && areInside(s, m, n, a, lda, b, ldb):
		tinySystem(false, s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	case !triangular(true, false, s, ul, tA, d, m, n, alpha, a, lda, b, ldb):
		gonum.Strsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Dtrmm computes B = alpha op(A) B or, with A on the right, B = alpha B op(A), for a triangular A.
//
// On entry a holds the triangle ul of A, and b the m x n matrix B. On return b is overwritten by the product.
func (*routines) Dtrmm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int,
	b []float64, ldb int,
) {
	if isNumber(s, d, m, n) || gonumAddsRows(s, d, m, n) && isDense(ul, m, a, lda) {
		fallback{}.Dtrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	dtrmm(true, s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
}

// dtrmm is Dtrmm. One that is alone is the whole computation of a caller.
func dtrmm(
	alone bool, s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64,
	a []float64, lda int, b []float64, ldb int,
) {
	switch {
	case isTiny(s, m, n, alpha) && areForms(s, ul, tA, d) && areInside(s, m, n, a, lda, b, ldb):
		tinySystem(true, s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	case !triangular(alone, true, s, ul, tA, d, m, n, alpha, a, lda, b, ldb):
		gonum.Dtrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Strmm is Dtrmm in float32.
func (*routines) Strmm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float32, a []float32, lda int,
	b []float32, ldb int,
) {
	switch {
	case isNumber(s, d, m, n), gonumAddsRows(s, d, m, n) && isDense(ul, m, a, lda):
		fallback{}.Strmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	case isTiny(s, m, n, alpha) && areForms(s, ul, tA, d) && areInside(s, m, n, a, lda, b, ldb):
		tinySystem(true, s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	case !triangular(true, true, s, ul, tA, d, m, n, alpha, a, lda, b, ldb):
		gonum.Strmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// isNumber reports whether a triangle on the left is one number, so that gonum multiplies B by it, or by its
// inverse, in no more time.
func isNumber(s blas.Side, d blas.Diag, m, n int) bool {
	return m == 1 && s == blas.Left && (n < numberSides || d == blas.Unit)
}

// gonumAddsRows reports whether gonum takes less time for two or three rows of B: multiples of rows are added
// to others. isDense reports whether gonum adds them all: it skips factors of zero.
func gonumAddsRows(s blas.Side, d blas.Diag, m, n int) bool {
	switch {
	case s != blas.Left || n < pairRowsUnit:
		return false
	case m == 2:
		return n < pairRowsMost && (d == blas.Unit || n >= pairRowsLeast)
	}
	return m == tinyOrder && n > tinySides && n < threeRowsMost
}

func isDense[F tile.Float](ul blas.Uplo, m int, a []F, lda int) bool {
	if lda < m || (m-1)*(lda+1) >= len(a) {
		return false
	}
	if ul == blas.Upper {
		return a[1] != 0 && (m == 2 || a[2] != 0 && a[lda+2] != 0)
	}
	return a[lda] != 0 && (m == 2 || a[2*lda] != 0 && a[2*lda+1] != 0)
}

// exactFirst reports whether the first entry of a triangle has an exact inverse.
func exactFirst[F tile.Float](a []F) bool { return len(a) > 0 && exactInverse(a[0]) }

// triangular solves a system or, to multiply, computes a product, and returns true; or it returns false where
// gonum computes it.
func triangular[F tile.Float](
	alone, multiply bool, s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha F,
	a []F, lda int, b []F, ldb int,
) bool {
	order, sides, right := m, n, s == blas.Right
	if right {
		order, sides = n, m
	}
	if min(m, n) <= 0 || !areForms(s, ul, tA, d) || !areInside(s, m, n, a, lda, b, ldb) {
		return false
	}
	how := triangularWay[F](multiply, right, order, sides)
	if alpha == 0 {
		how = byScaling
	}
	if how == byGonum {
		divides := multiply || d == blas.Unit || invertible(order, a, lda)
		how = withoutTiles(divides && finite(m, n, b, ldb) && finiteTriangle(ul, order, a, lda))
	}
	if how == byGonum {
		return false
	}
	if alpha != 1 {
		scaleRows(m, n, b, ldb, alpha)
	}
	var sys system[F] // set entry by entry: to copy what was just stored in parts takes long
	sys.a.data, sys.a.stride, sys.a.transposed = a, lda, tA != blas.NoTrans
	sys.right, sys.lower = right, (ul == blas.Lower) == (tA == blas.NoTrans)
	sys.unit, sys.multiply = d == blas.Unit, multiply
	switch how {
	case byScaling:
	case byFactor:
		singleTriangle(multiply, a[0], m, n, b, ldb)
	case byLoops:
		sys.loops(order, sides, b, ldb)
	case byVector:
		sys.vectors(order, sides, b, ldb)
	case byCopying:
		sys.copied(0, order, sides, b, ldb)
	case bySolving:
		sys.apply(order, b, ldb, sides)
	default:
		sys.share(alone, order, sides, b, ldb)
	}
	return true
}

// share is compute for the whole triangle, on several threads if that pays: they take right sides in turn.
// Parts begin where a vector and a block of right sides do, so that their number changes no bit.
func (s *system[F]) share(alone bool, order, sides int, b []F, ldb int) {
	t := teamFor[F]((order+sidesOfB)*order*sides/2, !alone)
	parts := t.parts(4, sides/sidesOfAPart)
	if t.threads == 1 || parts == 1 {
		s.compute(0, order, sides, b, ldb)
		return
	}
	of := *s // a copy, so that systems on one thread need no memory of the heap
	t.run(parts, func(i int) {
		lo, hi := cutSides[F](of.right, sides, i, parts), cutSides[F](of.right, sides, i+1, parts)
		step := 1
		if of.right {
			step = ldb
		}
		of.compute(0, order, hi-lo, b[lo*step:], ldb)
	})
}

// sidesOfB is the number of rows of a triangle that take about as long as the copies of B.
const sidesOfB = 24

// sidesOfAPart is about the least number of right sides of a part.
const sidesOfAPart = 48

// cutSides returns the first right side of part i of several parts. It begins a tile, so that the number of
// parts changes no bit: of rows for a triangle on the right, else of columns.
func cutSides[F tile.Float](right bool, sides, i, parts int) int {
	unit := tile.PanelWidth[F]()
	switch {
	case i == parts:
		return sides
	case right:
		unit = tileRows
	}
	return min((i*sides/parts+unit/2)/unit*unit, sides)
}

// triangularWay returns how a system of an order with a number of right sides is solved, or multiplied.
func triangularWay[F tile.Float](multiply, right bool, order, sides int) way {
	switch {
	case !vectorized():
		return byGonum // whose product skips zeros, so that it is right for finite numbers
	case order == 1:
		return byFactor
	case sides == 1 && isTinyTriangle[F](multiply, order):
		return byLoops
	case sides == 1:
		return byVector
	case right && order*order*sides <= triangleLoops, sides <= fewSides && order*order*sides <= fewSidesLoops:
		return byLoops
	case sides <= fewSides && !fewTogether[F](multiply, order, sides):
		return byVector
	case sides <= fewSides, right && order <= turnedTriangle && sides <= sidesTogether:
		return byCopying
	case !right && order <= byRowsUpTo[F]() && sides <= sidesTogether:
		return bySolving
	}
	return byTiles
}

// fewTogether reports whether two or three right sides take less time in a copy than one after the other.
func fewTogether[F tile.Float](multiply bool, order, sides int) bool {
	if sides == 2 {
		return (!multiply || kind[F]() == 1) && order <= byRowsUpTo[F]()
	}
	return order <= turnedTriangle
}

// vectors is compute for one right side after the other.
func (s *system[F]) vectors(order, sides int, b []F, ldb int) {
	unknown, side, t := ldb, 1, *s
	if s.right { // x A = b is A' x' = b'
		unknown, side = 1, ldb
		t.a, t.right, t.lower = s.a.transpose(), false, !s.lower
	}
	for k := range sides {
		t.vector(order, b[k*side:], unknown)
	}
}

// singleTriangle solves a system for a triangle of one entry, or computes a product.
func singleTriangle[F tile.Float](multiply bool, by F, m, n int, b []F, ldb int) {
	if ldb == n { // the rows are one
		m, n = 1, m*n
	}
	for i := range m {
		if row := b[i*ldb:][:n]; multiply {
			multiplyRow(row, by)
		} else {
			divideRow(row, by)
		}
	}
}

// invertible reports whether the inverses of the numbers on the diagonal of a matrix are numbers that
// multiply as exactly as the numbers divide.
func invertible[F tile.Float](n int, a []F, lda int) bool {
	for i := range n {
		if !exactInverse(a[i*(lda+1)]) {
			return false
		}
	}
	return true
}

// exactInverse reports whether the inverse of a number is rounded as other numbers are: it neither
// overflows nor is denormal.
func exactInverse[F tile.Float](v F) bool {
	least, most := 0x1p-1021, 0x1p1021
	if kind[F]() == 1 {
		least, most = 0x1p-125, 0x1p125
	}
	size := math.Abs(float64(v))
	return size >= least && size <= most
}

// A system is op(A) X = B, or X op(A) = B, for a triangular A; or the products op(A) B and B op(A).
type system[F tile.Float] struct {
	a              factor[F]
	right, lower   bool // X op(A); op(A) is a lower triangle
	unit, multiply bool // ones on the diagonal; compute the product
}

// A half is a part of the unknowns of a system, with its right sides.
type half[F tile.Float] struct {
	first, order int
	b            []F
}

// compute overwrites the right sides B, whose number is sides, by X, or by the product. The triangle has an
// order and begins at entry (first, first) of op(A). It belongs to rows of B, or to columns where A is on
// the right.
func (s *system[F]) compute(first, order, sides int, b []F, ldb int) {
	switch {
	case s.right && order <= turnedTriangle:
		s.copied(first, order, sides, b, ldb)
		return
	case order <= byRowsUpTo[F]():
		t := *s
		t.a = s.a.from(first, first)
		t.apply(order, b, ldb, sides)
		return
	}
	cut := (order/2 + wholeLine - 1) &^ (wholeLine - 1)
	known, other := half[F]{first, cut, b}, half[F]{first + cut, order - cut, nil}
	if s.right {
		other.b = b[cut:]
	} else {
		other.b = b[cut*ldb:]
	}
	if s.lower == s.right { // the unknowns at the end are known first
		known, other = other, known
	}
	p := product[F]{update: tile.Update[F]{Alpha: -1, Beta: 1}, part: blas.All, c: other.b, ldc: ldb, k: known.order}
	if s.right {
		p.m, p.n = sides, other.order
		p.a, p.b = factor[F]{known.b, ldb, false}, s.a.from(known.first, other.first)
	} else {
		p.m, p.n = other.order, sides
		p.a, p.b = s.a.from(other.first, known.first), factor[F]{known.b, ldb, false}
	}
	if s.multiply { // the steps of a solution backwards
		p.update.Alpha, known, other = 1, other, known
	}
	s.compute(known.first, known.order, sides, known.b, ldb)
	p.compute()
	s.compute(other.first, other.order, sides, other.b, ldb)
}

// divideRow divides a row by a number.
func divideRow[F tile.Float](row []F, by F) {
	if exactInverse(by) {
		multiplyRow(row, 1/by)
		return
	}
	for i, v := range row {
		row[i] = v / by
	}
}
