package blas

import (
	"math"
	"sync"

	"github.com/difalt/difalt/kernel/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// smallTriangle is the order up to which a triangle is not cut in two, and chunk how many right sides are solved at once then.
const smallTriangle, chunk = 32, 256

// A system is op(A) X = B, or X op(A) = B, for a triangular A.
type system struct {
	a                  factor
	unit, right, lower bool // the diagonal is one; X op(A); op(A) is a lower triangle
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

// A triangle is a small lower triangle, by rows, with the inverse of its diagonal, and memory for right sides in its order, a row for
// every unknown.
type triangle struct {
	l       [smallTriangle * smallTriangle]float64
	inverse [smallTriangle]float64
	x       [smallTriangle * chunk]float64
}

var triangles = sync.Pool{New: func() any { return new(triangle) }}

// small solves with a small triangle, turned so that it is a lower one on the left.
func (s *system) small(first, n, sides int, b []float64, ldb int) {
	w := triangles.Get().(*triangle)
	defer triangles.Put(w)
	forward := s.lower != s.right
	at := func(k int) int { // the unknown that is solved for as number k
		if forward {
			return k
		}
		return n - 1 - k
	}
	for i := range n {
		for j := range i + 1 {
			row, column := first+at(i), first+at(j)
			if s.right {
				row, column = column, row
			}
			if s.a.transposed {
				row, column = column, row
			}
			w.l[i*smallTriangle+j] = s.a.data[row*s.a.stride+column]
		}
		if w.inverse[i] = 1; !s.unit {
			w.inverse[i] = 1 / w.l[i*smallTriangle+i]
		}
	}
	solve := func(x []float64, ldx, columns int) {
		tile.SolveUpper(x, ldx, w.l[:], smallTriangle, w.inverse[:], columns, n)
	}
	if forward && !s.right {
		solve(b, ldb, sides)
		return
	}
	for side := 0; side < sides; side += chunk {
		columns := min(chunk, sides-side)
		if s.right {
			rows := b[side*ldb:]
			tile.Transpose(w.x[:], chunk, rows, ldb, columns, n)
			w.turn(forward, n, columns)
			solve(w.x[:], chunk, columns)
			w.turn(forward, n, columns)
			tile.Transpose(rows, ldb, w.x[:], chunk, n, columns)
			continue
		}
		for k := range n {
			copy(w.x[k*chunk:][:columns], b[at(k)*ldb+side:])
		}
		solve(w.x[:], chunk, columns)
		for k := range n {
			copy(b[at(k)*ldb+side:][:columns], w.x[k*chunk:])
		}
	}
}

// turn reverses the order of the unknowns, unless they are solved for as they come.
func (w *triangle) turn(forward bool, n, columns int) {
	if forward {
		return
	}
	for i, j := 0, n-1; i < j; i, j = i+1, j-1 {
		a, b := w.x[i*chunk:][:columns], w.x[j*chunk:][:columns]
		for k := range a {
			a[k], b[k] = b[k], a[k]
		}
	}
}

// invertible reports whether no pivot is so small that its inverse may be none.
func invertible(n int, a []float64, lda int) bool {
	for i := range n {
		if math.Abs(a[i*(lda+1)]) < 0x1p-1022 {
			return false
		}
	}
	return true
}

// cholesky is Dpotrf for U: of halves, and small triangles in the end.
func cholesky(n int, a []float64, lda int) bool {
	if n <= smallTriangle {
		return smallCholesky(n, a, lda)
	}
	half := (n/2 + tile.PackWidth - 1) &^ (tile.PackWidth - 1)
	if !cholesky(half, a, lda) {
		return false
	}
	rest := n - half
	// U12 = U11'^-1 A12
	s := system{a: factor{a, lda, true}, lower: true}
	side := a[half:]
	s.solve(0, half, rest, side, lda)
	p := product{
		a: factor{side, lda, true}, b: factor{side, lda, false},
		m: rest, n: rest, k: half, alpha: -1, c: a[half*lda+half:], ldc: lda, part: blas.Upper,
	}
	p.compute()
	return cholesky(rest, p.c, lda)
}

// smallCholesky is cholesky, row after row.
func smallCholesky(n int, a []float64, lda int) bool {
	for j := range n {
		row := a[j*lda+j : j*lda+n]
		pivot := math.Sqrt(row[0])
		if !(row[0] > 0) || math.IsInf(pivot, 0) {
			return false
		}
		row[0] = pivot
		for k := range row[1:] {
			row[k+1] /= pivot
		}
		for i := j + 1; i < n; i++ {
			f := row[i-j]
			c := a[i*lda+i : i*lda+n]
			for k, v := range row[i-j:] {
				c[k] -= f * v
			}
		}
	}
	return true
}
