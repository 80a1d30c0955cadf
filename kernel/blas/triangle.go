package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
)

// smallTriangle is the order up to which gonum solves: a larger triangle is cut in two, and what is beside the halves is a product.
const smallTriangle = tile.PackWidth

// A system is op(A) X = B, or X op(A) = B, for a triangular A.
type system struct {
	side         blas.Side
	ul           blas.Uplo
	diag         blas.Diag
	a            factor
	right, lower bool // X op(A); op(A) is a lower triangle
}

// solve overwrites so many right sides B by X, for the triangle of an order from entry (first, first) of op(A) on: rows of B, or
// columns where A is on the right.
func (s *system) solve(first, order, sides int, b []float64, ldb int) {
	if order <= smallTriangle {
		s.small(first, order, sides, b, ldb)
		return
	}
	half := (order/2 + tile.PackWidth - 1) &^ (tile.PackWidth - 1)
	rest := order - half
	p := product{alpha: -1, part: blas.All, ldc: ldb}
	from := func(k int) []float64 { // the right sides from unknown k of the triangle on
		if s.right {
			return b[k:]
		}
		return b[k*ldb:]
	}
	// What is known first stands left of the diagonal of the rest in a lower triangle, and above it in an upper one.
	if s.lower != s.right {
		s.solve(first, half, sides, b, ldb)
		p.c = from(half)
		if s.right {
			p.m, p.n, p.k, p.a, p.b = sides, rest, half, factor{b, ldb, false}, s.a.from(first, first+half)
		} else {
			p.m, p.n, p.k, p.a, p.b = rest, sides, half, s.a.from(first+half, first), factor{b, ldb, false}
		}
		p.compute()
		s.solve(first+half, rest, sides, from(half), ldb)
		return
	}
	s.solve(first+half, rest, sides, from(half), ldb)
	p.c = b
	if s.right {
		p.m, p.n, p.k, p.a, p.b = sides, half, rest, factor{from(half), ldb, false}, s.a.from(first+half, first)
	} else {
		p.m, p.n, p.k, p.a, p.b = half, sides, rest, s.a.from(first, first+half), factor{from(half), ldb, false}
	}
	p.compute()
	s.solve(first, half, sides, b, ldb)
}

// small is solve by gonum.
func (s *system) small(first, order, sides int, b []float64, ldb int) {
	m, n, t := order, sides, blas.NoTrans
	if s.right {
		m, n = n, m
	}
	if s.a.transposed {
		t = blas.Trans
	}
	reference.Implementation{}.Dtrsm(s.side, s.ul, t, s.diag, m, n, 1, s.a.data[first*(s.a.stride+1):], s.a.stride, b, ldb)
}
