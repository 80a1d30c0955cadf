package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// isTinyPairs reports whether plain loops take less time than other ways for a complex triangle beside an
// m x n matrix.
func isTinyPairs(right bool, m, n int) bool {
	if right {
		m, n = n, m
	}
	return m*m*n <= complexSteps && (right || n <= fewPairSides)
}

// leavesPairs reports whether gonum takes less time than loops do for a complex triangle beside an m x n
// matrix. For a solution it also needs pivots with exact inverses.
func leavesPairs[F tile.Float](multiply bool, s blas.Side, d blas.Diag, m, n int, a []F, lda int) bool {
	switch {
	case s != blas.Left || m > fewPairSides || m*m*n > complexSteps || min(m, n) <= 0:
		return false
	case multiply || d == blas.Unit:
		return true
	}
	return n > fewPairSides && insidePairs(a, m, m, lda) && invertiblePairs(m, a, lda)
}

// tinyPairs overwrites an m x n matrix by the solution of a complex system, or by the product, in plain Go.
func tinyPairs[F tile.Float](
	multiply, right, lower bool, tA blas.Transpose, unit bool, m, n int, a []F, lda int, b []F, ldb int,
) {
	var t tinyPairTriangle[F] // set entry by entry, as in triangular
	t.a, t.b, t.down, t.across, t.apart, t.side, t.sides = a, b, 2*lda, 2, 2*ldb, 2, n
	t.conjugate, t.multiply, t.unit = tA == blas.ConjTrans, multiply, unit
	order, turned := m, tA != blas.NoTrans
	if right { // x A = b is A' x' = b'
		order, turned, t.apart, t.side, t.sides = n, !turned, 2, 2*ldb, m
	}
	if turned {
		t.down, t.across = 2, 2*lda
	}
	corner, first := 0, 0
	if lower == (tA != blas.NoTrans) == !right { // the last row is the first one
		last := order - 1
		corner, first = last*(t.down+t.across), last*t.apart
		t.down, t.across, t.apart = -t.down, -t.across, -t.apart
	}
	for i := range order {
		if multiply { // the steps of a solution backwards
			i = order - 1 - i
		}
		t.row(i, corner+i*t.down, first+i*t.apart)
	}
}

// A tinyPairTriangle is a complex triangle, and right sides: distances of its rows and columns, of unknowns,
// and of sides, in reals.
type tinyPairTriangle[F tile.Float] struct {
	a, b                             []F
	down, across, apart, side, sides int
	conjugate, multiply, unit        bool
}

// row overwrites an unknown of all sides, at a place of b, given how many are before it and the place of its
// row.
func (t *tinyPairTriangle[F]) row(before, corner, at int) {
	a, b, sign := t.a, t.b, F(1)
	if t.conjugate {
		sign = -1
	}
	re, im, exact := F(1), F(0), true
	if !t.unit {
		pivot := a[corner+before*t.across:][:2]
		re, im = pivot[0], sign*pivot[1]
		if !t.multiply {
			var x, y F
			if x, y, exact = pairInverse(re, im); exact {
				re, im = x, y
			}
		}
	}
	for range t.sides {
		var sum, sumIm F
		entry, from := corner, at-before*t.apart
		for range before {
			e, x := a[entry:][:2], b[from:][:2]
			v := sign * e[1]
			sum += F(e[0]*x[0]) - F(v*x[1])
			sumIm += F(e[0]*x[1]) + F(v*x[0])
			entry += t.across
			from += t.apart
		}
		x := b[at:][:2]
		v, w := x[0], x[1]
		if !t.multiply {
			v, w = v-sum, w-sumIm
		}
		switch {
		case t.unit:
		case exact:
			v, w = F(v*re)-F(w*im), F(v*im)+F(w*re)
		default:
			v, w = quotient(v, w, re, im)
		}
		if t.multiply {
			v, w = v+sum, w+sumIm
		}
		x[0], x[1] = v, w
		at += t.side
	}
}
