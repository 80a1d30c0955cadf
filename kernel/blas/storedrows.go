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
	below, above int // how many diagonals below and above the main one are stored
}

// triangleRows returns the rows of a triangle of an n x n matrix. ok is false if its arguments are ones for
// which gonum panics.
func triangleRows[F tile.Float](ul blas.Uplo, n int, a []F, lda int) (s storedRows[F], ok bool) {
	s = storedRows[F]{data: a, m: n, n: n, stride: lda}
	s.setTriangle(ul, n)
	return s, isTriangle(ul) && n > 0 && inside(a, n, n, lda)
}

// packedTriangle is triangleRows for packed rows.
func packedTriangle[F tile.Float](ul blas.Uplo, n int, a []F) (s storedRows[F], ok bool) {
	s = storedRows[F]{data: a, m: n, n: n, layout: packedRows}
	s.setTriangle(ul, n)
	return s, isTriangle(ul) && n > 0 && len(a) >= n*(n+1)/2
}

// bandedTriangle is triangleRows for a band of k diagonals beside the main one.
func bandedTriangle[F tile.Float](ul blas.Uplo, n, k int, a []F, lda int) (s storedRows[F], ok bool) {
	s = storedRows[F]{data: a, m: n, n: n, layout: bandedRows, stride: lda}
	s.setTriangle(ul, k)
	return s, isTriangle(ul) && n > 0 && k >= 0 && lda > k && len(a) >= (n-1)*lda+k+1
}

func (s *storedRows[F]) setTriangle(ul blas.Uplo, diagonals int) {
	if ul == blas.Upper {
		s.above = diagonals
	} else {
		s.below = diagonals
	}
}

// row returns the entries of row i that are stored, and the column of the first of them.
func (s *storedRows[F]) row(i int) (first int, entries []F) {
	first, at, count := s.span(i)
	return first, s.data[at : at+count]
}

// span returns the column of the first entry of row i that is stored, its index, and the number of entries.
func (s *storedRows[F]) span(i int) (first, at, count int) {
	first, end := max(0, i-s.below), min(s.n, i+s.above+1)
	switch {
	case s.layout == bandedRows:
		at = i*s.stride + first - i + s.below
	case s.layout == byStride:
		at = i*s.stride + first
	case s.above > 0:
		at = i * (2*s.n - i + 1) / 2
	default:
		at = i * (i + 1) / 2
	}
	return first, at, end - first
}

// beside returns the entries of row i of a triangle beside the diagonal, the column of the first of them, and
// the entry on the diagonal.
func (s *storedRows[F]) beside(i int) (first int, entries []F, diagonal F) {
	first, entries = s.row(i)
	if s.above > 0 {
		return first + 1, entries[1:], entries[0]
	}
	last := len(entries) - 1
	return first, entries[:last], entries[last]
}

// shortRow is the number of entries of a row below which a loop takes less time than a call of assembly.
const shortRow = 8

// innerProduct returns the inner product of two vectors of one length.
func innerProduct[F tile.Float](x, y []F) (sum F) {
	if len(x) >= shortRow {
		return tile.InnerProduct(x, y)
	}
	y = y[:len(x)]
	for k, v := range x {
		sum += F(v * y[k])
	}
	return sum
}

// addMultiple adds x times a number to y. Their lengths are equal.
func addMultiple[F tile.Float](y []F, by F, x []F) {
	if len(x) >= shortRow {
		axpy(len(x), by, x, y)
		return
	}
	y = y[:len(x)]
	for k, v := range x {
		y[k] += F(by * v)
	}
}

// rowsOfAnUpdate is the number of rows of a triangle that are updated together.
const rowsOfAnUpdate = 4

// addSquares adds alpha x x' to a triangle.
func (s *storedRows[F]) addSquares(alpha F, x []F) {
	for lo := 0; lo < s.n; lo += rowsOfAnUpdate {
		s.addOuter(lo, min(lo+rowsOfAnUpdate, s.n), alpha, x, x)
	}
}

// addProducts adds alpha (x y' + y x') to a triangle.
func (s *storedRows[F]) addProducts(alpha F, x, y []F) {
	for lo := 0; lo < s.n; lo += rowsOfAnUpdate {
		hi := min(lo+rowsOfAnUpdate, s.n)
		s.addOuter(lo, hi, alpha, x, y)
		s.addOuter(lo, hi, alpha, y, x)
	}
}

// addOuter adds alpha x y' to rows lo to hi of a triangle: to the square on the diagonal row by row, and to
// the columns beside it together if rows are a stride apart.
func (s *storedRows[F]) addOuter(lo, hi int, alpha F, x, y []F) {
	var multiples [rowsOfAnUpdate]F
	for i := lo; i < hi; i++ {
		multiples[i-lo] = alpha * x[i]
		first, row := s.row(i)
		if s.layout == byStride {
			from := max(first, lo)
			first, row = from, row[from-first:min(first+len(row), hi)-first]
		}
		addMultiple(row, multiples[i-lo], y[first:][:len(row)])
	}
	from, end := 0, lo
	if s.above > 0 {
		from, end = hi, s.n
	}
	if s.layout == byStride && from < end {
		tile.AddOuter(s.data[lo*s.stride+from:], s.stride, multiples[:], y[from:end], hi-lo, end-from)
	}
}

// addSymmetric adds the product of the symmetric matrix of a triangle and x to y.
func (s *storedRows[F]) addSymmetric(y, x []F) {
	for i, v := range x {
		first, row, diagonal := s.beside(i)
		sum := innerProduct(row, x[first:][:len(row)])
		addMultiple(y[first:][:len(row)], v, row)
		y[i] += sum + F(diagonal*v)
	}
}

// addTransposed adds the product of the transposed matrix and x to y.
func (s *storedRows[F]) addTransposed(y, x []F) {
	for i := range min(s.m, s.n+s.below) {
		first, row := s.row(i)
		addMultiple(y[first:][:len(row)], x[i], row)
	}
}

// multiply overwrites x by op(A) x, for a triangle A.
func (s *storedRows[F]) multiply(transposed, unit bool, x []F) {
	for k := range x {
		i := k
		if (s.above > 0) == transposed {
			i = len(x) - 1 - k
		}
		first, row, diagonal := s.beside(i)
		if unit {
			diagonal = 1
		}
		v, others := x[i], x[first:][:len(row)]
		if transposed {
			addMultiple(others, v, row)
			x[i] = v * diagonal
		} else {
			x[i] = F(v*diagonal) + innerProduct(row, others)
		}
	}
}

// solve overwrites x by the solution of op(A) times it, for a triangle A. Rows of A that are not transposed
// wait for the unknowns of a few rows before them only.
func (s *storedRows[F]) solve(transposed, unit bool, x []F) {
	if !transposed {
		s.solveByBlocks(unit, x)
		return
	}
	for k := range x {
		i := k
		if s.above == 0 {
			i = len(x) - 1 - k
		}
		first, row, diagonal := s.beside(i)
		if !unit {
			x[i] /= diagonal
		}
		addMultiple(x[first:][:len(row)], -x[i], row)
	}
}

// solveByBlocks is solve for A as it is stored.
func (s *storedRows[F]) solveByBlocks(unit bool, x []F) {
	const together = tile.Width
	blocks := (len(x) + together - 1) / together
	for b := range blocks {
		if s.above > 0 {
			b = blocks - 1 - b
		}
		lo, hi := b*together, min((b+1)*together, len(x))
		for i := lo; i < hi; i++ {
			first, row := s.row(i)
			if cut := max(hi-first, 0); s.above > 0 && cut < len(row) {
				x[i] -= innerProduct(row[cut:], x[hi:][:len(row)-cut])
			} else if s.above == 0 && first < lo {
				x[i] -= innerProduct(row[:lo-first], x[first:lo])
			}
		}
		for k := range hi - lo {
			i := lo + k
			if s.above > 0 {
				i = hi - 1 - k
			}
			s.solveInBlock(unit, i, lo, hi, x)
		}
	}
}

// solveInBlock solves for unknown i, whose products with the unknowns out of a block are subtracted.
func (s *storedRows[F]) solveInBlock(unit bool, i, lo, hi int, x []F) {
	first, row, diagonal := s.beside(i)
	from, end := max(first, lo), min(first+len(row), hi)
	v := x[i]
	if from < end {
		known := x[from:end]
		for k, e := range row[from-first:][:len(known)] {
			v -= F(e * known[k])
		}
	}
	if !unit {
		v /= diagonal
	}
	x[i] = v
}

// triangular solves op(A) x = b or, to multiply, computes op(A) x, for a triangle A and a vector of n
// entries, inc apart. It returns false where gonum does.
func (s *storedRows[F]) triangular(multiply bool, tA blas.Transpose, d blas.Diag, x []F, inc int) bool {
	if !known(tA) || !isDiagonal(d) || !holds(x, s.n, inc) || !vectorized() {
		return false
	}
	work := x[:min(s.n, len(x))]
	if inc != 1 {
		memory := borrow[F](s.n)
		defer giveBack(memory)
		work = gather(*memory, x, s.n, inc)
	}
	if multiply {
		s.multiply(tA != blas.NoTrans, d == blas.Unit, work)
	} else {
		s.solve(tA != blas.NoTrans, d == blas.Unit, work)
	}
	if inc != 1 {
		scatter(x, work, inc)
	}
	return true
}

// symmetric computes y = alpha A x + beta y for the symmetric matrix A of a triangle. It returns false where
// gonum does.
func (s *storedRows[F]) symmetric(alpha F, x []F, incX int, beta F, y []F, incY int) bool {
	if alpha == 0 || !holds(x, s.n, incX) || !holds(y, s.n, incY) || !vectorized() {
		return false
	}
	memory := borrow[F](3 * s.n)
	defer giveBack(memory)
	sums, multiples, old := (*memory)[:s.n], (*memory)[s.n:2*s.n], (*memory)[2*s.n:]
	clear(sums)
	for k, v := range gather(old, x, s.n, incX) {
		multiples[k] = alpha * v
	}
	s.addSymmetric(sums, multiples)
	if beta != 0 {
		for k, v := range gather(old, y, s.n, incY) {
			sums[k] += F(beta * v)
		}
	}
	scatter(y, sums, incY)
	return true
}

// general computes y = alpha op(A) x + beta y for an m x n matrix A with a band. It returns false where gonum
// does.
func (s *storedRows[F]) general(tA blas.Transpose, alpha F, x []F, incX int, beta F, y []F, incY int) bool {
	lenX, lenY := opShape(tA, s.n, s.m)
	if !known(tA) || alpha == 0 || !holds(x, lenX, incX) || !holds(y, lenY, incY) || !vectorized() {
		return false
	}
	memory := borrow[F](2*lenX + 2*lenY)
	defer giveBack(memory)
	sums, rest := (*memory)[:lenY], (*memory)[lenY:]
	xs, multiples := gather(rest, x, lenX, incX), rest[lenX:2*lenX]
	clear(sums)
	if tA == blas.NoTrans {
		for i := range min(s.m, s.n+s.below) {
			first, row := s.row(i)
			sums[i] = alpha * innerProduct(row, xs[first:][:len(row)])
		}
	} else {
		for k, v := range xs {
			multiples[k] = alpha * v
		}
		s.addTransposed(sums, multiples)
	}
	if beta != 0 {
		for k, v := range gather(rest[2*lenX:], y, lenY, incY) {
			sums[k] += F(beta * v)
		}
	}
	scatter(y, sums, incY)
	return true
}

// rankOne adds alpha x x' to a triangle, and rankTwo alpha (x y' + y x'). They return false where gonum does.
func (s *storedRows[F]) rankOne(alpha F, x []F, incX int) bool {
	if alpha == 0 || !holds(x, s.n, incX) || !vectorized() {
		return false
	}
	s.addRankOne(alpha, x, incX)
	return true
}

// addRankOne is rankOne where the tiles compute.
func (s *storedRows[F]) addRankOne(alpha F, x []F, incX int) {
	var memory []F
	if incX != 1 {
		borrowed := borrow[F](s.n)
		defer giveBack(borrowed)
		memory = *borrowed
	}
	s.addSquares(alpha, gather(memory, x, s.n, incX))
}

func (s *storedRows[F]) rankTwo(alpha F, x []F, incX int, y []F, incY int) bool {
	if alpha == 0 || !holds(x, s.n, incX) || !holds(y, s.n, incY) || !vectorized() {
		return false
	}
	var memory []F
	if incX != 1 || incY != 1 {
		borrowed := borrow[F](2 * s.n)
		defer giveBack(borrowed)
		memory = *borrowed
	}
	xs, ys := gather(memory, x, s.n, incX), gather(memory[min(s.n, len(memory)):], y, s.n, incY)
	s.addProducts(alpha, xs, ys)
	return true
}
