package blas

import (
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
)

// An eight is a triangular system of up to eight unknowns, with all of them in registers. Unknown k needs
// those before it. Distances are in bytes, and negative for unknowns from the last row on.
type eight[F tile.Float] struct {
	x, a                 unsafe.Pointer // unknown 0, and its pivot
	n                    int            // the number of unknowns
	apart                int            // the distance of the unknowns
	down, growth, across int            // of the rows of A; how much it grows from row to row; of the columns
	unit                 bool
}

// inverses returns the inverses of the pivots in to, and reports whether they multiply as exactly as the
// pivots divide.
func (s *eight[F]) inverses(to *[together]F) bool {
	exact, pivot, down := true, s.a, s.down+s.across
	for k := range to[:s.n] {
		v := *(*F)(pivot)
		exact = exact && exactInverse(v)
		to[k] = 1 / v
		if k < s.n-1 {
			pivot = unsafe.Add(pivot, down)
			down += s.growth
		}
	}
	return exact
}

// solve overwrites the unknowns by the solution. It returns false, and leaves them, if pivots have no exact
// inverses. A step waits for a product with an inverse a third as long as for a quotient.
func (s *eight[F]) solve() bool {
	var inverses [together]F
	if !s.unit && !s.inverses(&inverses) {
		return false
	}
	x, apart, unit, left := s.x, s.apart, s.unit, s.n
	row, down, growth, across := s.a, s.down, s.growth, s.across
	at := func(k int) *F { return (*F)(unsafe.Add(x, k*apart)) }
	entry := func(k int) F { return *(*F)(unsafe.Add(row, k*across)) }
	isLast := func() bool { // or go to the next row
		if left--; left == 0 {
			return true
		}
		row = unsafe.Add(row, down)
		down += growth
		return false
	}
	known := func(k int, v F) F {
		if !unit {
			v *= inverses[k]
		}
		*at(k) = v
		return v
	}
	x0 := known(0, *at(0))
	if isLast() {
		return true
	}
	x1 := known(1, *at(1)-F(entry(0)*x0))
	if isLast() {
		return true
	}
	x2 := known(2, *at(2)-F(entry(0)*x0)-F(entry(1)*x1))
	if isLast() {
		return true
	}
	x3 := known(3, *at(3)-F(entry(0)*x0)-F(entry(1)*x1)-F(entry(2)*x2))
	if isLast() {
		return true
	}
	x4 := known(4, *at(4)-F(entry(0)*x0)-F(entry(1)*x1)-F(entry(2)*x2)-F(entry(3)*x3))
	if isLast() {
		return true
	}
	x5 := known(5, *at(5)-F(entry(0)*x0)-F(entry(1)*x1)-F(entry(2)*x2)-F(entry(3)*x3)-F(entry(4)*x4))
	if isLast() {
		return true
	}
	x6 := known(6, *at(6)-F(entry(0)*x0)-F(entry(1)*x1)-F(entry(2)*x2)-F(entry(3)*x3)-
		F(entry(4)*x4)-F(entry(5)*x5))
	if !isLast() {
		known(7, *at(7)-F(entry(0)*x0)-F(entry(1)*x1)-F(entry(2)*x2)-F(entry(3)*x3)-
			F(entry(4)*x4)-F(entry(5)*x5)-F(entry(6)*x6))
	}
	return true
}

// addCorner adds the products of a triangle of eight rows and seven numbers to eight sums: row k has columns
// k to 6. The numbers are at s.x, the first entry is at s.a, and the sums are as far apart as the numbers.
func (s *eight[F]) addCorner(sums unsafe.Pointer) {
	x, apart, row, down, across := s.x, s.apart, s.a, s.down, s.across
	at := func(k int) F { return *(*F)(unsafe.Add(x, k*apart)) }
	sum := func(k int) *F { return (*F)(unsafe.Add(sums, k*apart)) }
	entry := func(k int) F { return *(*F)(unsafe.Add(row, k*across)) }
	x0, x1, x2, x3, x4, x5, x6 := at(0), at(1), at(2), at(3), at(4), at(5), at(6)
	*sum(0) += F(entry(0)*x0) + F(entry(1)*x1) + F(entry(2)*x2) + F(entry(3)*x3) + F(entry(4)*x4) +
		F(entry(5)*x5) + F(entry(6)*x6)
	row = unsafe.Add(row, down)
	*sum(1) += F(entry(1)*x1) + F(entry(2)*x2) + F(entry(3)*x3) + F(entry(4)*x4) + F(entry(5)*x5) +
		F(entry(6)*x6)
	row = unsafe.Add(row, down)
	*sum(2) += F(entry(2)*x2) + F(entry(3)*x3) + F(entry(4)*x4) + F(entry(5)*x5) + F(entry(6)*x6)
	row = unsafe.Add(row, down)
	*sum(3) += F(entry(3)*x3) + F(entry(4)*x4) + F(entry(5)*x5) + F(entry(6)*x6)
	row = unsafe.Add(row, down)
	*sum(4) += F(entry(4)*x4) + F(entry(5)*x5) + F(entry(6)*x6)
	row = unsafe.Add(row, down)
	*sum(5) += F(entry(5)*x5) + F(entry(6)*x6)
	row = unsafe.Add(row, down)
	*sum(6) += F(entry(6) * x6)
}
