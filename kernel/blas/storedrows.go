package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// A layout is how the rows of a matrix are stored.
type layout uint8

const (
	// byStride: rows are a stride apart.
	byStride layout = iota
	// packedRows: the parts of rows in a triangle follow each other.
	packedRows
	// bandedRows: the parts of rows in a band are a stride apart.
	bandedRows
)

// storedRows are the rows of a triangle or a band of an m x n matrix. Those entries of a row that are stored
// are beside each other.
type storedRows[F tile.Float] struct {
	data         []F
	m, n         int
	layout       layout
	stride       int
	below, above int  // how many diagonals below and above the main one are stored
	sound        bool // the shape and the length of data are right; otherwise gonum panics
}

// triangleRows returns the rows of a triangle of an n x n matrix.
func triangleRows[F tile.Float](ul blas.Uplo, n int, a []F, lda int) storedRows[F] {
	s := storedRows[F]{data: a, m: n, n: n, stride: lda}
	s.setTriangle(ul, n)
	s.sound = isTriangle(ul) && n > 0 && inside(a, n, n, lda)
	return s
}

// packedTriangle is triangleRows for packed rows.
func packedTriangle[F tile.Float](ul blas.Uplo, n int, a []F) storedRows[F] {
	s := storedRows[F]{data: a, m: n, n: n, layout: packedRows}
	s.setTriangle(ul, n)
	s.sound = isTriangle(ul) && n > 0 && len(a) >= n*(n+1)/2
	return s
}

// bandedTriangle is triangleRows for a band of k diagonals beside the main one.
func bandedTriangle[F tile.Float](ul blas.Uplo, n, k int, a []F, lda int) storedRows[F] {
	s := storedRows[F]{data: a, m: n, n: n, layout: bandedRows, stride: lda}
	s.setTriangle(ul, k)
	s.sound = isTriangle(ul) && n > 0 && k >= 0 && lda > k && len(a) >= (n-1)*lda+k+1
	return s
}

// band returns the rows of a band of an m x n matrix, with kL diagonals below the main one and kU above it.
func band[F tile.Float](m, n, kL, kU int, a []F, lda int) storedRows[F] {
	s := storedRows[F]{data: a, m: m, n: n, layout: bandedRows, stride: lda, below: kL, above: kU}
	s.sound = min(kL, kU) >= 0 && min(m, n) > 0 && lda > kL+kU && len(a) > lda*(min(m, n+kL)-1)+kL+kU
	return s
}

func (s *storedRows[F]) setTriangle(ul blas.Uplo, diagonals int) {
	if ul == blas.Upper {
		s.above = diagonals
	} else {
		s.below = diagonals
	}
}

// upper reports whether a triangle, or a band of one, is the upper one.
func (s *storedRows[F]) upper() bool { return s.above > 0 }

// origin returns the index of column 0 of row i, had it one. growth returns the distance of two rows less
// the distance of the two rows before them.
func (s *storedRows[F]) origin(i int) int {
	switch {
	case s.layout == bandedRows:
		return i*(s.stride-1) + s.below
	case s.layout == byStride:
		return i * s.stride
	case s.upper():
		return i * (2*s.n - i - 1) / 2
	default:
		return i * (i + 1) / 2
	}
}

func (s *storedRows[F]) growth() int {
	switch {
	case s.layout != packedRows:
		return 0
	case s.upper():
		return -1
	default:
		return 1
	}
}

// A part selects the stored entries of a row for an operation.
type part uint8

const (
	// whole: all entries.
	whole part = iota
	// strict: the entries next to the diagonal, without it.
	strict
)

// columns returns the first column of a part of row i, and the column behind its last.
func (s *storedRows[F]) columns(i int, of part) (first, end int) {
	first, end = max(0, i-s.below), min(s.n, i+s.above+1)
	switch {
	case of == whole:
	case s.upper():
		first++
	default:
		end--
	}
	return first, end
}

// runs are the rows at which a band changes its shape: between two of them, the first columns of rows, and
// the last columns, are the same or move by one from row to row.
type runs [4]int

func (s *storedRows[F]) runs() runs {
	rows := min(s.m, s.n+s.below) // others are zero
	wider, narrower := min(s.below, rows), min(max(0, s.n-s.above), rows)
	return runs{0, min(wider, narrower), max(wider, narrower), rows}
}

// within returns the parts of runs in rows lo to hi.
func (r runs) within(lo, hi int) runs {
	for k := range r {
		r[k] = min(max(r[k], lo), hi)
	}
	return r
}

// spans returns the rows of run k, the last one first if they are to be taken backwards. ok is false for an
// empty run.
func (s *storedRows[F]) spans(r *runs, k int, of part, backwards bool) (rows tile.Spans[F], ok bool) {
	if backwards {
		k = len(r) - 2 - k
	}
	lo, hi := r[k], r[k+1]
	if lo == hi {
		return rows, false
	}
	from, next := lo, min(lo+1, hi-1)
	rows.Growth = s.growth()
	if backwards {
		from, next = hi-1, max(hi-2, lo)
	}
	first, end := s.columns(from, of)
	after, behind := s.columns(next, of)
	rows.A, rows.At, rows.Rows = s.data, s.origin(from), hi-lo
	rows.Step = s.origin(next) - rows.At
	rows.First, rows.Forward, rows.End, rows.Ahead = first, after-first, end, behind-end
	return rows, true
}

// padded copies n entries of x, inc apart, times alpha to memory, which it returns in the length of whole
// vectors of the tiles.
func padded[F tile.Float](memory []F, alpha F, x []F, n, inc int) []F {
	memory = memory[:tile.Pad(n)]
	switch {
	case inc != 1:
		gather(memory, x, n, inc)
	case alpha == 1:
		copy(memory, x[:n])
	}
	switch {
	case alpha == 1:
	case inc == 1:
		for k, v := range x[:n] {
			memory[k] = alpha * v
		}
	default:
		for k := range memory[:n] {
			memory[k] *= alpha
		}
	}
	clear(memory[n:])
	return memory
}

// cleared returns as many zeros in memory.
func cleared[F tile.Float](memory []F, n int) []F {
	memory = memory[:tile.Pad(n)]
	clear(memory)
	return memory
}

// diagonal copies the diagonal of a triangle to memory, the last entry first if it is to be taken backwards.
func (s *storedRows[F]) diagonal(memory []F, backwards bool) []F {
	d, at, step, growth := memory[:s.n], s.origin(0), s.origin(1)-s.origin(0)+1, s.growth()
	for i := range d {
		k := i
		if backwards {
			k = s.n - 1 - i
		}
		d[k] = s.data[at]
		at += step
		step += growth
	}
	return d
}

// rankOne adds alpha x x' to a triangle, and rankTwo alpha (x y' + y x'). They return false where gonum does.
func (s *storedRows[F]) rankOne(alpha F, x []F, incX int) bool {
	if !s.sound || alpha == 0 || !holds(x, s.n, incX) || !vectorized() {
		return false
	}
	s.addRankOne(alpha, x, incX)
	return true
}

// addRankOne is rankOne where the tiles compute.
func (s *storedRows[F]) addRankOne(alpha F, x []F, incX int) {
	memory := borrow[F](2 * tile.Pad(s.n))
	xs := padded(*memory, 1, x, s.n, incX)
	by := (*memory)[len(xs):][:s.n]
	for k := range by {
		by[k] = alpha * xs[k]
	}
	s.addVectors(by, xs, 1)
	giveBack(memory)
}

func (s *storedRows[F]) rankTwo(alpha F, x []F, incX int, y []F, incY int) bool {
	if !s.sound || alpha == 0 || !holds(x, s.n, incX) || !holds(y, s.n, incY) || !vectorized() {
		return false
	}
	memory := borrow[F](4 * tile.Pad(s.n))
	ys := padded(*memory, 1, y, s.n, incY)
	xs := padded((*memory)[len(ys):], 1, x, s.n, incX)
	both, by := (*memory)[:2*len(xs)], (*memory)[2*len(xs):][:2*s.n]
	for k := range s.n {
		by[2*k], by[2*k+1] = alpha*xs[k], alpha*ys[k]
	}
	s.addVectors(by, both, 2)
	giveBack(memory)
	return true
}

// symmetric computes y = alpha A x + beta y for the symmetric matrix A of a triangle. It returns false where
// gonum does.
func (s *storedRows[F]) symmetric(alpha F, x []F, incX int, beta F, y []F, incY int) bool {
	if !s.sound || alpha == 0 || !holds(x, s.n, incX) || !holds(y, s.n, incY) || !vectorized() {
		return false
	}
	memory := borrow[F](4 * tile.Pad(s.n))
	xs := padded(*memory, alpha, x, s.n, incX)
	sums := cleared((*memory)[len(xs):], s.n)
	own := (*memory)[2*len(xs):][:s.n]
	s.addSums(dotsAndSums[F]{of: strict, own: own, x: xs}, sums)
	for i, d := range s.diagonal((*memory)[3*len(xs):], false) {
		sums[i] += own[i] + F(d*xs[i])
	}
	scatterSum(y, sums[:s.n], incY, beta)
	giveBack(memory)
	return true
}

// scatterSum sets entries of y, inc apart, to sums and beta times what they were, which is not read for
// beta = 0.
func scatterSum[F tile.Float](y, sums []F, inc int, beta F) {
	if beta == 0 {
		scatter(y, sums, inc)
		return
	}
	at := firstEntry(len(sums), inc)
	for _, v := range sums {
		y[at] = v + F(beta*y[at])
		at += inc
	}
}

// general computes y = alpha op(A) x + beta y for an m x n matrix A with a band. It returns false where gonum
// does.
func (s *storedRows[F]) general(tA blas.Transpose, alpha F, x []F, incX int, beta F, y []F, incY int) bool {
	lenX, lenY := opShape(tA, s.n, s.m)
	if !s.sound || !known(tA) || alpha == 0 || !holds(x, lenX, incX) || !holds(y, lenY, incY) || !vectorized() {
		return false
	}
	memory := borrow[F](tile.Pad(lenX) + tile.Pad(lenY))
	xs := padded(*memory, alpha, x, lenX, incX)
	sums := cleared((*memory)[len(xs):], lenY)
	if tA == blas.NoTrans {
		s.dots(whole, sums, xs)
	} else {
		s.addSums(dotsAndSums[F]{of: whole, x: xs}, sums)
	}
	scatterSum(y, sums[:lenY], incY, beta)
	giveBack(memory)
	return true
}

// triangular solves op(A) x = b or, to multiply, computes op(A) x, for a triangle A and a vector of n
// entries, inc apart. It returns false where gonum does.
func (s *storedRows[F]) triangular(multiply bool, tA blas.Transpose, d blas.Diag, x []F, inc int) bool {
	if !s.sound || !known(tA) || !isDiagonal(d) || !holds(x, s.n, inc) || !vectorized() {
		return false
	}
	memory := borrow[F](3 * tile.Pad(s.n))
	xs, rest := padded(*memory, 1, x, s.n, inc), (*memory)[tile.Pad(s.n):]
	switch {
	case multiply && tA == blas.NoTrans:
		xs = s.multiply(d == blas.Unit, xs, rest)
	case multiply:
		xs = s.multiplyTransposed(d == blas.Unit, xs, rest)
	default:
		s.solve(tA != blas.NoTrans, d == blas.Unit, xs, rest)
	}
	scatter(x, xs[:s.n], inc)
	giveBack(memory)
	return true
}

// multiply returns A x, in memory. A unit diagonal adds x.
func (s *storedRows[F]) multiply(unit bool, x, memory []F) []F {
	sums, of := memory[:s.n], whole
	if unit {
		of = strict
	}
	s.dots(of, sums, x)
	if unit {
		for i, v := range x[:s.n] {
			sums[i] += v
		}
	}
	return sums
}

// multiplyTransposed is multiply for the transpose of A.
func (s *storedRows[F]) multiplyTransposed(unit bool, x, memory []F) []F {
	sums, of := cleared(memory, s.n), whole
	if unit {
		of = strict
		copy(sums, x)
	}
	s.addSums(dotsAndSums[F]{of: of, x: x}, sums)
	return sums
}
