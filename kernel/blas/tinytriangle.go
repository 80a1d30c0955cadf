package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// tinyOrder is the largest order of a triangle for tinySystem.
const tinyOrder = 3

// isTiny reports whether tinySystem takes less time than other ways for a triangle of m or n rows.
func isTiny[F tile.Float](s blas.Side, m, n int, alpha F) bool {
	few := m <= tinyOrder && s == blas.Left || n <= tinyOrder && s == blas.Right && m*n <= tinyStepsRight
	return few && min(m, n) > 0 && alpha != 0 && vectorized()
}

// areForms reports whether the forms of a triangle exist.
func areForms(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag) bool {
	return isSide(s) && isTriangle(ul) && known(tA) && isDiagonal(d)
}

// areInside reports whether a and b have all entries of a triangle and of an m x n matrix B with entries.
func areInside[F tile.Float](s blas.Side, m, n int, a []F, lda int, b []F, ldb int) bool {
	order := m
	if s == blas.Right {
		order = n
	}
	return inside(a, order, order, lda) && inside(b, m, n, ldb)
}

// tinySystem solves a system with a triangle of up to tinyOrder rows and right sides times alpha, or computes
// a product, with all of the triangle in registers.
func tinySystem[F tile.Float](
	multiply bool, s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha F, a []F, lda int,
	b []F, ldb int,
) {
	order, sides, apart, side, turned := m, n, ldb, 1, tA != blas.NoTrans
	if s == blas.Right { // x A = b is A' x' = b'
		order, sides, apart, side, turned = n, m, 1, ldb, !turned
	} else if n > tinySides {
		rowByRow(multiply, ul == blas.Lower, turned, d == blas.Unit, m, n, alpha, a, lda, b, ldb)
		return
	}
	corner, at, down, across := 0, 0, lda, 1 // of the unknowns in the order of the solution
	if turned {
		down, across = 1, lda
	}
	if (ul == blas.Lower) == turned {
		corner, at = (order-1)*(lda+1), (order-1)*apart
		down, across, apart = -down, -across, -apart
	}
	var t tinyTriangle[F]
	t.set(d == blas.Unit, order, a, corner, down, across)
	if !multiply && d == blas.NonUnit && !t.invert(order) {
		divideTiny(order, sides, alpha, a, corner, down, across, b, at, apart, side)
		return
	}
	switch {
	case order == 1:
		for range sides {
			b[at] = F(alpha*b[at]) * t.d0
			at += side
		}
	case multiply:
		t.multiply(order, alpha, b, at, apart, side, sides)
	default:
		t.solve(order, alpha, b, at, apart, side, sides)
	}
}

// A tinyTriangle is a triangle of up to three rows in the order of a solution: numbers on the diagonal, their
// inverses for a solution, and the entries beside them by rows and columns.
type tinyTriangle[F tile.Float] struct{ d0, d1, d2, e10, e20, e21 F }

// set sets the entries from those of a matrix, from corner on.
func (t *tinyTriangle[F]) set(unit bool, order int, a []F, corner, down, across int) {
	t.d0, t.d1, t.d2 = 1, 1, 1
	if order > 1 {
		t.e10 = a[corner+down]
	}
	if order > 2 {
		t.e20, t.e21 = a[corner+2*down], a[corner+2*down+across]
	}
	if unit {
		return
	}
	t.d0 = a[corner]
	if order > 1 {
		t.d1 = a[corner+down+across]
	}
	if order > 2 {
		t.d2 = a[corner+2*(down+across)]
	}
}

// invert inverts the numbers on the diagonal and returns true, or returns false if an inverse is not exact.
func (t *tinyTriangle[F]) invert(order int) bool {
	if !exactInverse(t.d0) || !exactInverse(t.d1) || !exactInverse(t.d2) {
		return false
	}
	t.d0 = 1 / t.d0
	if order > 1 {
		t.d1, t.d2 = 1/t.d1, 1/t.d2
	}
	return true
}

// solve overwrites right sides by alpha times the solution. The unknowns of the first side begin at entry at,
// apart from each other.
func (t *tinyTriangle[F]) solve(order int, alpha F, b []F, at, apart, side, sides int) {
	d0, d1, d2, e10, e20, e21 := t.d0, t.d1, t.d2, t.e10, t.e20, t.e21
	at1, at2 := at+apart, at+2*apart
	if order == 2 {
		for range sides {
			v := F(alpha*b[at]) * d0
			b[at], b[at1] = v, (F(alpha*b[at1])-F(v*e10))*d1
			at, at1 = at+side, at1+side
		}
		return
	}
	for range sides {
		v := F(alpha*b[at]) * d0
		w := (F(alpha*b[at1]) - F(v*e10)) * d1
		b[at], b[at1], b[at2] = v, w, (F(alpha*b[at2])-F(v*e20)-F(w*e21))*d2
		at, at1, at2 = at+side, at1+side, at2+side
	}
}

// multiply is solve for the product.
func (t *tinyTriangle[F]) multiply(order int, alpha F, b []F, at, apart, side, sides int) {
	d0, d1, d2, e10, e20, e21 := t.d0, t.d1, t.d2, t.e10, t.e20, t.e21
	at1, at2 := at+apart, at+2*apart
	if order == 2 {
		for range sides {
			v, w := F(alpha*b[at]), F(alpha*b[at1])
			b[at], b[at1] = v*d0, F(w*d1)+F(v*e10)
			at, at1 = at+side, at1+side
		}
		return
	}
	for range sides {
		v, w, z := F(alpha*b[at]), F(alpha*b[at1]), F(alpha*b[at2])
		b[at], b[at1], b[at2] = v*d0, F(w*d1)+F(v*e10), F(z*d2)+F(v*e20)+F(w*e21)
		at, at1, at2 = at+side, at1+side, at2+side
	}
}

// divideTiny is tinySystem for a solution with pivots that have no exact inverses.
func divideTiny[F tile.Float](
	order, sides int, alpha F, a []F, corner, down, across int, b []F, first, apart, side int,
) {
	for k := range sides {
		x := b[k*side:]
		at := first
		for range order {
			x[at] *= alpha
			at += apart
		}
		solveTriangle(false, order, a, corner, down, across, x, first, apart)
	}
}

// rowByRow solves op(A) X = alpha B, or computes the product, with a pass over a row of B for each entry of
// the triangle.
func rowByRow[F tile.Float](
	multiply, lower, transposed, unit bool, order, n int, alpha F, a []F, lda int, b []F, ldb int,
) {
	next := 1 // from one unknown of the solution to the next one
	if lower == transposed {
		next = -1
	}
	down, across := lda, 1
	if transposed {
		down, across = 1, lda
	}
	if alpha != 1 {
		scaleRows(order, n, b, ldb, alpha)
	}
	for step := range order {
		i := step
		if multiply { // the steps of a solution backwards
			i = order - 1 - step
		}
		at := i
		if next < 0 {
			at = order - 1 - i
		}
		row, diagonal := b[at*ldb:][:n], a[at*(lda+1)]
		if multiply && !unit {
			multiplyRow(row, diagonal)
		}
		for k := 1; k <= i; k++ {
			from := at - k*next
			by := a[at*down+from*across]
			if !multiply {
				by = -by
			}
			addTimes(by, b[from*ldb:][:n], row)
		}
		if !multiply && !unit {
			divideRow(row, diagonal)
		}
	}
}
