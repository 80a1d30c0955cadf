package blas

import (
	"math"
	"runtime"
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
)

// Dtrsm solves op(A) X = alpha B or, with A on the right, X op(A) = alpha B, for a triangular A.
//
// On entry a holds the triangle ul of A, and b the m x n matrix B. On return b holds X.
func (i Implementation) Dtrsm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	if !triangular(false, s, ul, tA, d, m, n, alpha, a, lda, b, ldb) {
		i.Implementation.Dtrsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Strsm is Dtrsm in float32.
func (i Implementation) Strsm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float32, a []float32, lda int, b []float32, ldb int) {
	if !triangular(false, s, ul, tA, d, m, n, alpha, a, lda, b, ldb) {
		i.Implementation.Strsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Dtrmm computes B = alpha op(A) B or, with A on the right, B = alpha B op(A), for a triangular A.
//
// On entry a holds the triangle ul of A, and b the m x n matrix B. On return b is overwritten by the product.
func (i Implementation) Dtrmm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	if !triangular(true, s, ul, tA, d, m, n, alpha, a, lda, b, ldb) {
		i.Implementation.Dtrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Strmm is Dtrmm in float32.
func (i Implementation) Strmm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float32, a []float32, lda int, b []float32, ldb int) {
	if !triangular(true, s, ul, tA, d, m, n, alpha, a, lda, b, ldb) {
		i.Implementation.Strmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// triangular solves a system or, to multiply, computes a product, and returns true; or it returns false where
// gonum computes it.
func triangular[F tile.Float](multiply bool, s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha F, a []F, lda int, b []F, ldb int) bool {
	order, sides := m, n
	if s == blas.Right {
		order, sides = n, m
	}
	if !isSide(s) || !isTriangle(ul) || !known(tA) || d != blas.Unit && d != blas.NonUnit || min(m, n) <= 0 ||
		!inside(a, order, order, lda) || !inside(b, m, n, ldb) {
		return false
	}
	how := triangularWay(s == blas.Right, order, sides)
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
		p := product[F]{m: m, n: n, part: blas.All, c: b, ldc: ldb}
		p.scaleC(alpha)
	}
	var sys system[F] // set entry by entry: to copy what was just stored in parts takes long
	sys.a.data, sys.a.stride, sys.a.transposed = a, lda, tA != blas.NoTrans
	sys.right, sys.lower = s == blas.Right, (ul == blas.Lower) == (tA == blas.NoTrans)
	sys.unit, sys.multiply = d == blas.Unit, multiply
	switch how {
	case byScaling:
	case byLoops:
		sys.loops(order, sides, b, ldb)
	case byVector:
		sys.vectors(order, sides, b, ldb)
	default:
		sys.share(order, sides, b, ldb)
	}
	return true
}

// share is compute for the whole triangle, on several threads if that pays: they take right sides in turn.
// Parts begin where a vector and a block of right sides do, so that their number changes no bit.
func (s *system[F]) share(order, sides int, b []F, ldb int) {
	threads := runtime.GOMAXPROCS(0)
	parts := min(4*threads, sides/sidesOfAPart)
	if threads == 1 || parts < 2 || order*order*sides>>kind[F]() < 2*tune().parallelMultiplications {
		s.compute(0, order, sides, b, ldb)
		return
	}
	of := *s // a copy, so that systems on one thread need no memory of the heap
	inTurn(threads, parts, false, func(i int) {
		lo, hi := i*sides/parts/sidesOfAPart*sidesOfAPart, (i+1)*sides/parts/sidesOfAPart*sidesOfAPart
		if i == parts-1 {
			hi = sides
		}
		step := 1
		if of.right {
			step = ldb
		}
		of.compute(0, order, hi-lo, b[lo*step:], ldb)
	})
}

// sidesOfAPart is the least number of right sides of a part.
const sidesOfAPart = 48

// triangularWay returns how a system of an order with a number of right sides is solved, or multiplied.
func triangularWay(right bool, order, sides int) way {
	switch {
	case !vectorized():
		return byGonum // whose product skips zeros, so that it is right for finite numbers
	case sides <= fewSides && order < trsvOrder, order*order*sides <= fewSteps:
		return byLoops
	case right && sides < manySides && order*order*sides <= triangleLoops: // others are transposed
		return byLoops
	case sides <= fewSides:
		return byVector
	}
	return byTiles
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

// compute overwrites the right sides B, whose number is sides, by X, or by the product, for the triangle of
// an order from entry (first, first) of op(A) on: rows of B, or columns where A is on the right.
func (s *system[F]) compute(first, order, sides int, b []F, ldb int) {
	if order <= smallTriangle {
		s.small(first, order, sides, b, ldb)
		return
	}
	cut := (order/2 + tile.PackWidth - 1) &^ (tile.PackWidth - 1)
	known, other := half[F]{first, cut, b}, half[F]{first + cut, order - cut, nil}
	if s.right {
		other.b = b[cut:]
	} else {
		other.b = b[cut*ldb:]
	}
	if s.lower == s.right { // the unknowns at the end are known first
		known, other = other, known
	}
	p := product[F]{alpha: -1, part: blas.All, c: other.b, ldc: ldb, k: known.order}
	if s.right {
		p.m, p.n = sides, other.order
		p.a, p.b = factor[F]{known.b, ldb, false}, s.a.from(known.first, other.first)
	} else {
		p.m, p.n = other.order, sides
		p.a, p.b = s.a.from(other.first, known.first), factor[F]{known.b, ldb, false}
	}
	if s.multiply { // the steps of a solution backwards
		p.alpha, known, other = 1, other, known
	}
	s.compute(known.first, known.order, sides, known.b, ldb)
	p.compute()
	s.compute(other.first, other.order, sides, other.b, ldb)
}

// small is compute for an order of at most smallTriangle, by rows of B. With A on the right it transposes B
// for that, to whole vectors: a part of a vector that was just stored takes long to load.
func (s *system[F]) small(first, order, sides int, b []F, ldb int) {
	var t system[F]
	t.a, t.lower, t.unit, t.multiply = s.a.from(first, first), s.lower, s.unit, s.multiply
	if !s.right {
		t.apply(order, b, ldb, sides)
		return
	}
	t.a.transposed, t.lower = !t.a.transposed, !t.lower
	w := buffersOf[F]()
	defer giveBuffers(w)
	vector := tune().vectorBytes / int(unsafe.Sizeof(F(0)))
	for k := 0; k < sides; k += sidesTogether {
		n := min(sidesTogether, sides-k)
		whole := (n + vector - 1) / vector * vector
		for i := range order {
			clear(w.left[i*leftStride+n : i*leftStride+whole])
		}
		tile.Transpose(w.left[:], leftStride, b[k*ldb:], ldb, n, order)
		t.apply(order, w.left[:], leftStride, whole)
		tile.Transpose(b[k*ldb:], ldb, w.left[:], leftStride, order, n)
	}
}

// sidesTogether is the number of right sides that are transposed together.
const sidesTogether = 192

// apply overwrites n columns of B, on the right of A, by the solution or the product, for an order of at most
// smallTriangle.
func (s *system[F]) apply(order int, b []F, ldb, n int) {
	down, across := s.a.steps()
	var factors [smallTriangle]F // the pivots or their inverses, in the order of the rows
	d := factors[:order]
	for i := range d {
		pivot := s.a.data[s.row(order, i)*(s.a.stride+1)]
		switch {
		case s.multiply:
			d[i] = pivot
		case s.unit:
		case !exactInverse(pivot):
			s.divide(order, b, ldb, n)
			return
		default:
			d[i] = 1 / pivot
		}
	}
	if s.unit {
		d = nil
	}
	if !s.lower {
		down, across, ldb = -down, -across, -ldb
	}
	if s.multiply {
		tile.MultiplyRows(b, ldb, s.a.data, down, across, d, order, n)
	} else {
		tile.SolveRows(b, ldb, s.a.data, down, across, d, order, n)
	}
}

// row returns the row of op(A) that needs i others.
func (s *system[F]) row(order, i int) int {
	if s.lower {
		return i
	}
	return order - 1 - i
}

// divide is apply for a solution whose pivots have no exact inverses.
func (s *system[F]) divide(order int, b []F, ldb, n int) {
	down, across := s.a.steps()
	for i := range order {
		row := s.row(order, i)
		solution := b[row*ldb:][:n]
		for k := range i {
			from := s.row(order, k)
			factor := [1]F{-s.a.data[row*down+from*across]}
			tile.AddRows(solution, b[from*ldb:], ldb, factor[:], 1, n)
		}
		divideRow(solution, s.a.data[row*(s.a.stride+1)])
	}
}

// loops is compute in plain Go, for few operations: four right sides together, and the last few one by one.
func (s *system[F]) loops(order, sides int, b []F, ldb int) {
	t := triangleLoop[F]{a: s.a.data, order: order, down: s.a.stride, across: 1, apart: ldb}
	if s.a.transposed != s.right { // x A = b is A' x' = b'
		t.down, t.across = 1, s.a.stride
	}
	side, lower := 1, s.lower != s.right
	if s.right {
		t.apart, side = 1, ldb
	}
	if !lower { // the last row is the first one
		last := order - 1
		t.corner, t.first = last*(s.a.stride+1), last*t.apart
		t.down, t.across, t.apart = -t.down, -t.across, -t.apart
	}
	for k := 0; k < sides; k++ {
		if k+4 <= sides && order > 1 {
			t.fourSides(s.unit, s.multiply, b[k*side:], b[(k+1)*side:], b[(k+2)*side:], b[(k+3)*side:])
			k += 3
			continue
		}
		if s.multiply {
			t.product(s.unit, b[k*side:])
		} else {
			t.solution(s.unit, b[k*side:])
		}
	}
}

// A triangleLoop is a triangle whose row i has entries at corner + i down + k across, k <= i, and belongs to
// entry first + i apart of a right side.
type triangleLoop[F tile.Float] struct {
	a                                         []F
	order, corner, down, across, first, apart int
}

// solution overwrites a right side by the solution. The products of a row do not wait for the quotient before
// it, but for the last one.
func (t *triangleLoop[F]) solution(unit bool, x []F) {
	a, down, across, apart := t.a, t.down, t.across, t.apart
	row, at := t.corner, t.first
	for i := range t.order {
		v, entry, from := x[at], row, t.first
		for range i {
			v -= a[entry] * x[from]
			entry += across
			from += apart
		}
		if !unit {
			v /= a[entry]
		}
		x[at] = v
		row += down
		at += apart
	}
}

// product overwrites a right side by the product, from its last row on.
func (t *triangleLoop[F]) product(unit bool, x []F) {
	a, across, apart := t.a, t.across, t.apart
	row, at := t.corner+(t.order-1)*t.down, t.first+(t.order-1)*apart
	for i := t.order - 1; i >= 0; i-- {
		v, entry, from := x[at], row, t.first
		if !unit {
			v *= a[row+i*across]
		}
		for range i {
			v += a[entry] * x[from]
			entry += across
			from += apart
		}
		x[at] = v
		row -= t.down
		at -= apart
	}
}

// fourSides overwrites four right sides by the solution or the product.
func (t *triangleLoop[F]) fourSides(unit, multiply bool, b0, b1, b2, b3 []F) {
	for step := range t.order {
		i := step
		if multiply {
			i = t.order - 1 - step
		}
		var s0, s1, s2, s3 F // products with what is solved, or not yet multiplied
		entry, from, at := t.corner+i*t.down, t.first, t.first+i*t.apart
		for range i {
			v := t.a[entry]
			s0 += v * b0[from]
			s1 += v * b1[from]
			s2 += v * b2[from]
			s3 += v * b3[from]
			entry += t.across
			from += t.apart
		}
		x0, x1, x2, x3 := b0[at], b1[at], b2[at], b3[at]
		pivot := t.a[entry]
		switch {
		case multiply && !unit:
			x0, x1, x2, x3 = x0*pivot+s0, x1*pivot+s1, x2*pivot+s2, x3*pivot+s3
		case multiply:
			x0, x1, x2, x3 = x0+s0, x1+s1, x2+s2, x3+s3
		case unit:
			x0, x1, x2, x3 = x0-s0, x1-s1, x2-s2, x3-s3
		case exactInverse(pivot):
			by := 1 / pivot
			x0, x1, x2, x3 = (x0-s0)*by, (x1-s1)*by, (x2-s2)*by, (x3-s3)*by
		default:
			x0, x1, x2, x3 = (x0-s0)/pivot, (x1-s1)/pivot, (x2-s2)/pivot, (x3-s3)/pivot
		}
		b0[at], b1[at], b2[at], b3[at] = x0, x1, x2, x3
	}
}

// scaleRow multiplies a row by a number.
func scaleRow[F tile.Float](row []F, by F) {
	if by == 0 { // which gonum takes for a call to clear
		for i, v := range row {
			row[i] = v * by
		}
		return
	}
	if kind[F]() == 0 {
		reference.Implementation{}.Dscal(len(row), float64(by), as[float64](row), 1)
		return
	}
	reference.Implementation{}.Sscal(len(row), float32(by), as[float32](row), 1)
}

// divideRow divides a row by a number.
func divideRow[F tile.Float](row []F, by F) {
	if exactInverse(by) {
		scaleRow(row, 1/by)
		return
	}
	for i, v := range row {
		row[i] = v / by
	}
}
