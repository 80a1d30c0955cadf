package blas

import (
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Dtrsv solves op(A) x = b for a triangular A.
//
// On entry a holds the triangle ul of A, and x the vector b. On return x holds the solution.
func (*routines) Dtrsv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []float64, lda int, x []float64, incX int,
) {
	if gonumSolves(ul, tA, d, n) || !triangularVector(false, ul, tA, d, n, a, lda, x, incX) {
		fallback{}.Dtrsv(ul, tA, d, n, a, lda, x, incX)
	}
}

// Strsv is Dtrsv in float32.
func (*routines) Strsv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []float32, lda int, x []float32, incX int,
) {
	if gonumSolves(ul, tA, d, n) || !triangularVector(false, ul, tA, d, n, a, lda, x, incX) {
		fallback{}.Strsv(ul, tA, d, n, a, lda, x, incX)
	}
}

// gonumSolves reports whether gonum solves a triangular system in no more time. Its loops are slow for an
// upper triangle that is not transposed. Without divisions the unknowns wait for little.
func gonumSolves(ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int) bool {
	switch {
	case n >= trsvUnit || n <= 3:
		return n <= 3
	case ul == blas.Upper && tA == blas.NoTrans:
		return false
	}
	return d == blas.Unit || n < trsvDots && ul == blas.Lower && tA == blas.NoTrans
}

// Dtrmv computes x = op(A) x for a triangular A.
//
// On entry a holds the triangle ul of A. On return x is overwritten by the product.
func (*routines) Dtrmv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []float64, lda int, x []float64, incX int,
) {
	leave := n <= 2 || n > tinyFactors && n < trmvOrder && (incX == 1 || n < loopOrder)
	if leave || !triangularVector(true, ul, tA, d, n, a, lda, x, incX) {
		fallback{}.Dtrmv(ul, tA, d, n, a, lda, x, incX)
	}
}

// Strmv is Dtrmv in float32.
func (*routines) Strmv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []float32, lda int, x []float32, incX int,
) {
	leave := n == 1 || tA != blas.NoTrans && n >= trmvTurned32 && n < trmvOrder32
	if leave || !triangularVector(true, ul, tA, d, n, a, lda, x, incX) {
		fallback{}.Strmv(ul, tA, d, n, a, lda, x, incX)
	}
}

// triangularVector solves a triangular system or, to multiply, computes a product with a vector, and returns
// true; or it returns false where gonum computes it.
func triangularVector[F tile.Float](
	multiply bool, ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []F, lda int, x []F, incX int,
) bool {
	switch {
	case !isTriangle(ul) || !known(tA) || !isDiagonal(d) || n <= 0:
		return false
	case !inside(a, n, n, lda) || !holds(x, n, incX) || !vectorized():
		return false
	}
	lower := (ul == blas.Lower) == (tA == blas.NoTrans)
	if !isTinyTriangle[F](multiply, n) {
		var s system[F] // set entry by entry, as in triangular
		s.a.data, s.a.stride, s.a.transposed = a, lda, tA != blas.NoTrans
		s.lower, s.unit, s.multiply = lower, d == blas.Unit, multiply
		s.vector(n, x, incX)
		return true
	}
	corner, first, down, across := 0, max(0, (1-n)*incX), lda, 1
	if tA != blas.NoTrans {
		down, across = 1, lda
	}
	if !lower { // the last unknown is known first
		corner, first = (n-1)*(lda+1), first+(n-1)*incX
		down, across, incX = -down, -across, -incX
	}
	if multiply {
		multiplyTriangle(d == blas.Unit, n, a, corner, down, across, x, first, incX)
	} else {
		solveTriangle(d == blas.Unit, n, a, corner, down, across, x, first, incX)
	}
	return true
}

// isTinyTriangle reports whether loops solve a system of a triangle and one right side, or multiply by a
// vector, in less time than other ways. Systems of eight unknowns stay in registers.
func isTinyTriangle[F tile.Float](multiply bool, order int) bool {
	switch {
	case !multiply:
		return order <= tinyUnknowns && order != together
	case kind[F]() == 1:
		return order <= tinyFactors32
	}
	return order <= tinyFactors
}

// vector overwrites x, with entries inc apart, by the solution or the product.
func (s *system[F]) vector(n int, x []F, inc int) {
	loops := isTinyTriangle[F](s.multiply, n) || inc != 1 && n < loopOrder
	switch {
	case loops && inc > 0:
		s.loops(n, 1, x, inc)
	case inc == 1:
		s.unitVector(n, x)
	default:
		memory := borrow[F](n)
		copied := gather(*memory, x, n, inc)
		s.unitVector(n, copied)
		scatter(x, copied, inc)
		giveBack(memory)
	}
}

// unitVector is vector for entries beside each other.
func (s *system[F]) unitVector(n int, x []F) {
	ul := blas.Upper // the triangle in memory
	if s.lower != s.a.transposed {
		ul = blas.Lower
	}
	switch {
	case !s.multiply && n == together:
		s.corner(x[:n])
	case !s.multiply:
		s.byRows(n, x)
	case n >= trmvOrder || kind[F]() == 1:
		s.byStoredRows(ul, n, x)
	default:
		tA, d := s.form()
		fallback{}.Dtrmv(ul, tA, d, n, as[float64](s.a.data), s.a.stride, as[float64](x), 1)
	}
}

// form returns the transpose that makes op(A) of the triangle in memory, and the kind of its diagonal.
func (s *system[F]) form() (blas.Transpose, blas.Diag) {
	tA, d := blas.NoTrans, blas.NonUnit
	if s.a.transposed {
		tA = blas.Trans
	}
	if s.unit {
		d = blas.Unit
	}
	return tA, d
}

// byStoredRows overwrites x by its product with a triangle ul in memory.
func (s *system[F]) byStoredRows(ul blas.Uplo, n int, x []F) {
	rows := triangleRows(ul, n, s.a.data, s.a.stride)
	tA, d := s.form()
	rows.triangular(true, tA, d, x, 1)
}

// byRows overwrites x by the solution. It reads A by rows, Width of them at a time. A tile subtracts the
// products of these rows with the known part of x before their triangle is solved. For A' it updates the
// unknown part of x after that.
func (s *system[F]) byRows(n int, x []F) {
	const width = tile.Width
	var sums [width]F
	// An incomplete block lies where its row of A beside the triangle is longest or shortest, so that
	// all other lengths are multiples of width.
	upper := s.lower == s.a.transposed // the triangle in memory
	blocks, short := (n+width-1)/width, 0
	if upper {
		short = blocks*width - n
	}
	var corner system[F] // set entry by entry, as in triangular
	corner.a.stride, corner.a.transposed = s.a.stride, s.a.transposed
	corner.lower, corner.unit = s.lower, s.unit
	for b := range blocks {
		if !s.lower {
			b = blocks - 1 - b
		}
		lo, hi := max(b*width-short, 0), min((b+1)*width-short, n)
		first, last := 0, lo // the other columns of these rows
		if upper {
			first, last = hi, n
		}
		rows, own, others := s.a.data[lo*s.a.stride+first:], x[lo:hi], x[first:last]
		corner.a.data = s.a.data[lo*(s.a.stride+1):]
		dots, adds := len(others) > 0 && !s.a.transposed, len(others) > 0 && s.a.transposed
		if dots {
			tile.RowDots(sums[:], rows, s.a.stride, others, hi-lo, len(others))
			for k := range own {
				own[k] -= sums[k]
			}
		}
		corner.corner(own)
		if adds {
			for k, v := range own {
				sums[k] = -v
			}
			tile.AddRows(others, rows, s.a.stride, sums[:], hi-lo, len(others))
		}
	}
}

// corner overwrites x by the solution, for a triangle whose order is the length of x.
func (s *system[F]) corner(x []F) {
	if s.cornerOfEight(x) {
		return
	}
	stride := s.a.stride
	for j := range x {
		if !s.lower {
			j = len(x) - 1 - j
		}
		row, known := s.a.data[j*stride:][:len(x)], x[:j] // what is beside x[j] in the triangle in memory
		beside := row[:j]
		if s.lower == s.a.transposed {
			beside, known = row[j+1:], x[j+1:]
		}
		v := x[j]
		if s.a.transposed {
			if !s.unit {
				v /= row[j]
				x[j] = v
			}
			for k, e := range beside {
				known[k] -= F(e * v)
			}
			continue
		}
		for k, e := range beside {
			v -= F(e * known[k])
		}
		if !s.unit {
			v /= row[j]
		}
		x[j] = v
	}
}

// cornerOfEight is corner for a system of up to eight unknowns. It returns false where pivots divide.
func (s *system[F]) cornerOfEight(x []F) bool {
	down, across := s.a.steps()
	size, first, step := int(unsafe.Sizeof(F(0))), 0, 1
	if !s.lower {
		first, step = len(x)-1, -1
	}
	var t eight[F] // set entry by entry, as in triangular
	t.x, t.a = unsafe.Pointer(&x[first]), unsafe.Pointer(&s.a.data[first*(s.a.stride+1)])
	t.n, t.apart, t.down, t.across, t.unit = len(x), step*size, step*down*size, step*across*size, s.unit
	return t.solve()
}

// gather returns n entries of x that are inc apart: x, or a copy in memory.
func gather[F tile.Float](memory, x []F, n, inc int) []F {
	if inc == 1 {
		return x[:n]
	}
	at := max(0, (1-n)*inc)
	for k := range n {
		memory[k] = x[at]
		at += inc
	}
	return memory[:n]
}

// scatter copies the entries of a vector to x, inc apart.
func scatter[F tile.Float](x, from []F, inc int) {
	if inc == 1 {
		copy(x, from)
		return
	}
	at := max(0, (1-len(from))*inc)
	for _, v := range from {
		x[at] = v
		at += inc
	}
}
