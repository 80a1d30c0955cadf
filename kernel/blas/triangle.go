package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
)

// smallTriangle is the largest order of a triangle that is computed row by row. A larger one is cut in two,
// and the block beside the halves is a factor of a product.
const smallTriangle = tile.PackWidth

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
		p.m, p.n, p.a, p.b = sides, other.order, factor[F]{known.b, ldb, false}, s.a.from(known.first, other.first)
	} else {
		p.m, p.n, p.a, p.b = other.order, sides, s.a.from(other.first, known.first), factor[F]{known.b, ldb, false}
	}
	if s.multiply { // what solves undoes, step by step
		p.alpha, known, other = 1, other, known
	}
	s.compute(known.first, known.order, sides, known.b, ldb)
	p.compute()
	s.compute(other.first, other.order, sides, other.b, ldb)
}

// small is compute for an order of at most smallTriangle, by rows of B. With A on the right it transposes B
// for that.
func (s *system[F]) small(first, order, sides int, b []F, ldb int) {
	t := system[F]{s.a.from(first, first), s.right, s.lower, s.unit, s.multiply}
	if !s.right {
		for k := 0; k < sides; k += sidesTogether {
			t.apply(order, b[k:], ldb, min(sidesTogether, sides-k))
		}
		return
	}
	t.a.transposed, t.lower = !t.a.transposed, !t.lower
	w := buffersOf[F]()
	defer giveBuffers(w)
	for k := 0; k < sides; k += sidesTogether {
		n := min(sidesTogether, sides-k)
		tile.Transpose(w.left[:], leftStride, b[k*ldb:], ldb, n, order)
		t.apply(order, w.left[:], leftStride, n)
		tile.Transpose(b[k*ldb:], ldb, w.left[:], leftStride, order, n)
	}
}

// sidesTogether is the number of right sides that stay in the first-level cache.
const sidesTogether = blockDepth

// fewUnknowns reports whether gonum solves for m x n unknowns, or multiplies them, as fast.
func fewUnknowns(multiply bool, s blas.Side, m, n int) bool {
	switch {
	case s == blas.Right:
		return n < 8 || n < smallTriangle && (multiply || m < 4)
	case m%smallTriangle == 0:
		return n < 16 && m == smallTriangle
	}
	return m < 6 || m < 22 && n < 22
}

// apply overwrites n columns of B, on the right of A, by the solution or the product, for an order of at most
// smallTriangle. To a row it adds multiples of the rows that are solved, or not yet multiplied.
func (s *system[F]) apply(order int, b []F, ldb, n int) {
	var factors [smallTriangle]F
	down, across := s.a.steps()
	sign := F(-1)
	if s.multiply {
		sign = 1
	}
	for i := range order {
		if s.lower == s.multiply {
			i = order - 1 - i
		}
		from, end := 0, i
		if !s.lower {
			from, end = i+1, order
		}
		row, pivot := b[i*ldb:][:n], s.a.data[i*(s.a.stride+1)]
		if s.multiply && !s.unit {
			scaleRow(row, pivot)
		}
		if from < end {
			entries := s.a.data[i*down+from*across:]
			for k := range end - from {
				factors[k] = sign * entries[k*across]
			}
			tile.AddRows(row, b[from*ldb:], ldb, factors[:], end-from, n)
		}
		if !s.multiply && !s.unit {
			scaleRow(row, 1/pivot)
		}
	}
}

// scaleRow multiplies a row by a number.
func scaleRow[F tile.Float](row []F, by F) {
	if kind[F]() == 0 {
		reference.Implementation{}.Dscal(len(row), float64(by), as[float64](row), 1)
		return
	}
	reference.Implementation{}.Sscal(len(row), float32(by), as[float32](row), 1)
}
