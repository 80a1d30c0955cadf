package blas

import "github.com/difalt/difalt/internal/tile"

// copied is compute for a copy of B, of its transpose where A is on the right. Its rows have room for whole
// vectors: a part of a vector that was just stored takes long to load.
func (s *system[F]) copied(first, order, sides int, b []F, ldb int) {
	var t system[F] // set entry by entry, as in triangular
	t.a, t.lower, t.unit, t.multiply = s.a.from(first, first), s.lower, s.unit, s.multiply
	if s.right {
		t.a, t.lower = t.a.transpose(), !s.lower
	}
	vector := triangleLanes[F]()
	together := min(sides, sidesTogether)
	stride := oddLines((together + vector - 1) / vector * vector)
	memory := borrow[F](order * stride)
	defer giveBack(memory)
	rows := (*memory)[:order*stride]
	for k := 0; k < sides; k += sidesTogether {
		n := min(sidesTogether, sides-k)
		whole := n
		if n < vector || order > byRowsUpTo[F]() { // the tiles of products take less time for whole vectors
			whole = (n + vector - 1) / vector * vector
		}
		if n < whole {
			clear(rows)
		}
		if s.right {
			tile.Transpose(rows, stride, b[k*ldb:], ldb, n, order)
			t.compute(0, order, whole, rows, stride)
			tile.Transpose(b[k*ldb:], ldb, rows, stride, order, n)
			continue
		}
		copyShort(rows, stride, b[k:], ldb, order, n)
		t.compute(0, order, whole, rows, stride)
		copyShort(b[k:], ldb, rows, stride, order, n)
	}
}

// triangleLanes returns the number of entries of a vector of the tiles of triangles. Those for float32 are
// AVX2's.
func triangleLanes[F tile.Float]() int {
	if kind[F]() == 1 {
		return 32 / 4
	}
	return tune().vectorBytes / 8
}

// copyShort copies a matrix with few columns.
func copyShort[F tile.Float](to []F, ldt int, from []F, ldf, m, n int) {
	for i := range m {
		row, other := to[i*ldt:][:n], from[i*ldf:][:n]
		for j := 0; j < n; j++ {
			row[j] = other[j]
		}
	}
}

// byRowsUpTo returns the largest order of a triangle that is solved row by row.
func byRowsUpTo[F tile.Float]() int {
	if kind[F]() == 1 {
		return smallTriangle32
	}
	return smallTriangle
}

// sidesTogether is the number of right sides that are copied together.
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
			addTimes(-s.a.data[row*down+from*across], b[from*ldb:][:n], solution)
		}
		if !s.unit {
			divideRow(solution, s.a.data[row*(s.a.stride+1)])
		}
	}
}

// loops is compute in plain Go, for few operations.
func (s *system[F]) loops(order, sides int, b []F, ldb int) {
	down, across, apart, side, lower := s.a.stride, 1, ldb, 1, s.lower
	if s.a.transposed {
		down, across = 1, s.a.stride
	}
	if s.right { // x A = b is A' x' = b'
		down, across, apart, side, lower = across, down, 1, ldb, !lower
	}
	corner, first := 0, 0
	if !lower { // the last row is the first one
		last := order - 1
		corner, first = last*(s.a.stride+1), last*apart
		down, across, apart = -down, -across, -apart
	}
	k := 0
	for ; k+2 <= sides; k += 4 {
		var t triangleLoop[F] // set entry by entry, as in triangular
		t.a, t.order, t.corner, t.down, t.across, t.first, t.apart = s.a.data, order, corner, down, across, first, apart
		last := sides - 1 // which is computed more than once where there are fewer than four
		t.fourSides(s.unit, s.multiply, b[k*side:], b[(k+1)*side:], b[min(k+2, last)*side:], b[min(k+3, last)*side:])
	}
	switch {
	case k >= sides:
	case s.multiply:
		multiplyTriangle(s.unit, order, s.a.data, corner, down, across, b[k*side:], first, apart)
	default:
		solveTriangle(s.unit, order, s.a.data, corner, down, across, b[k*side:], first, apart)
	}
}

// solveTriangle overwrites a right side by the solution. Row i of the triangle has entries at corner + i down
// + k across of a, k <= i, and belongs to entry first + i apart of x. The products of a row wait for the
// quotient before it only at their end.
func solveTriangle[F tile.Float](unit bool, order int, a []F, corner, down, across int, x []F, first, apart int) {
	at := first
	for i := range order {
		v, entry, from := x[at], corner, first
		for range i {
			v -= F(a[entry] * x[from])
			entry += across
			from += apart
		}
		if !unit {
			v /= a[entry]
		}
		x[at] = v
		corner += down
		at += apart
	}
}

// multiplyTriangle overwrites a vector by its product with the triangle of solveTriangle, from the last rows
// on, two at a time.
func multiplyTriangle[F tile.Float](unit bool, order int, a []F, corner, down, across int, x []F, first, apart int) {
	i := order - 1
	corner += i * down
	at := first + i*apart
	for ; i > 0; i -= 2 {
		before, entry, from := x[at-apart], corner, first
		v, w := x[at], before
		if !unit {
			v *= a[corner+i*across]
			w *= a[corner-down+(i-1)*across]
		}
		for range i - 1 {
			e := x[from]
			v += F(a[entry] * e)
			w += F(a[entry-down] * e)
			entry += across
			from += apart
		}
		x[at], x[at-apart] = v+F(a[entry]*before), w
		corner -= 2 * down
		at -= 2 * apart
	}
	if i == 0 && !unit {
		x[at] *= a[corner]
	}
}

// A triangleLoop is the triangle of solveTriangle.
type triangleLoop[F tile.Float] struct {
	a                                         []F
	order, corner, down, across, first, apart int
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
			s0 += F(v * b0[from])
			s1 += F(v * b1[from])
			s2 += F(v * b2[from])
			s3 += F(v * b3[from])
			entry += t.across
			from += t.apart
		}
		x0, x1, x2, x3 := b0[at], b1[at], b2[at], b3[at]
		pivot := t.a[entry]
		switch {
		case multiply && !unit:
			x0, x1, x2, x3 = F(x0*pivot)+s0, F(x1*pivot)+s1, F(x2*pivot)+s2, F(x3*pivot)+s3
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
