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
	if n < trsvFrom(ul, tA != blas.NoTrans) || !triangularVector(false, ul, tA, d, n, a, lda, x, incX) {
		fallback{}.Dtrsv(ul, tA, d, n, a, lda, x, incX)
	}
}

// Strsv is Dtrsv in float32.
func (*routines) Strsv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []float32, lda int, x []float32, incX int,
) {
	if !triangularVector(false, ul, tA, d, n, a, lda, x, incX) {
		gonum.Strsv(ul, tA, d, n, a, lda, x, incX)
	}
}

// Dtrmv computes x = op(A) x for a triangular A.
//
// On entry a holds the triangle ul of A. On return x is overwritten by the product.
func (*routines) Dtrmv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []float64, lda int, x []float64, incX int,
) {
	if n < trmvOrder && (incX == 1 || n < loopOrder) || !triangularVector(true, ul, tA, d, n, a, lda, x, incX) {
		fallback{}.Dtrmv(ul, tA, d, n, a, lda, x, incX)
	}
}

// Strmv is Dtrmv in float32.
func (*routines) Strmv(
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []float32, lda int, x []float32, incX int,
) {
	if !triangularVector(true, ul, tA, d, n, a, lda, x, incX) {
		gonum.Strmv(ul, tA, d, n, a, lda, x, incX)
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
	var s system[F] // set entry by entry, as in triangular
	s.a.data, s.a.stride, s.a.transposed = a, lda, tA != blas.NoTrans
	s.lower, s.unit, s.multiply = (ul == blas.Lower) == (tA == blas.NoTrans), d == blas.Unit, multiply
	s.vector(n, x, incX)
	return true
}

// trsvFrom returns the least order of a triangle ul in memory where a solution by rows takes less time than
// gonum.
func trsvFrom(ul blas.Uplo, transposed bool) int {
	if ul == blas.Lower && !transposed {
		return trsvDots
	}
	return trsvOrder
}

// vector overwrites x, with entries inc apart, by the solution or the product.
func (s *system[F]) vector(n int, x []F, inc int) {
	switch {
	case inc == 1:
		s.unitVector(n, x)
	case n < loopOrder && inc > 0:
		s.loops(n, 1, x, inc)
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
	ul, single := blas.Upper, kind[F]() == 1 // the triangle in memory
	if s.lower != s.a.transposed {
		ul = blas.Lower
	}
	from := trsvFrom(ul, s.a.transposed)
	switch {
	case single && s.multiply:
		from = trmvOrder32
	case single:
		from = trsvOrder32
	case s.multiply:
		from = trmvOrder
	}
	switch {
	case n >= from && s.multiply:
		s.byStoredRows(ul, n, x)
	case n >= from:
		s.byRows(n, x)
	case single:
		s.corner(x[:n])
	default:
		s.byGonum(ul, n, as[float64](x))
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

// byGonum is unitVector in float64 for a triangle ul in memory.
func (s *system[F]) byGonum(ul blas.Uplo, n int, x []float64) {
	tA, d := s.form()
	a := as[float64](s.a.data)
	if s.multiply {
		fallback{}.Dtrmv(ul, tA, d, n, a, s.a.stride, x, 1)
		return
	}
	fallback{}.Dtrsv(ul, tA, d, n, a, s.a.stride, x, 1)
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

// corner overwrites x by the solution or the product, for a triangle whose order is the length of x.
func (s *system[F]) corner(x []F) {
	stride := s.a.stride
	if len(x) == together && !s.multiply && s.cornerOfEight(x) {
		return
	}
	for j := range x {
		if s.lower == s.multiply {
			j = len(x) - 1 - j
		}
		row, known := s.a.data[j*stride:][:len(x)], x[:j] // what is beside x[j] in the triangle in memory
		beside := row[:j]
		if s.lower == s.a.transposed {
			beside, known = row[j+1:], x[j+1:]
		}
		v := x[j]
		switch {
		case !s.a.transposed && s.multiply:
			if !s.unit {
				v *= row[j]
			}
			for k, e := range beside {
				v += F(e * known[k])
			}
			x[j] = v
		case !s.a.transposed:
			for k, e := range beside {
				v -= F(e * known[k])
			}
			if !s.unit {
				v /= row[j]
			}
			x[j] = v
		case s.multiply:
			for k, e := range beside {
				known[k] += F(e * v)
			}
			if !s.unit {
				x[j] = v * row[j]
			}
		default:
			if !s.unit {
				v /= row[j]
				x[j] = v
			}
			for k, e := range beside {
				known[k] -= F(e * v)
			}
		}
	}
}

// cornerOfEight is corner for a system of eight unknowns. It returns false where pivots divide.
func (s *system[F]) cornerOfEight(x []F) bool {
	down, across := s.a.steps()
	size, first, step := int(unsafe.Sizeof(F(0))), 0, 1
	if !s.lower {
		first, step = together-1, -1
	}
	var t eight[F] // set entry by entry, as in triangular
	t.x, t.a = unsafe.Pointer(&x[first]), unsafe.Pointer(&s.a.data[first*(s.a.stride+1)])
	t.apart, t.down, t.across, t.unit = step*size, step*down*size, step*across*size, s.unit
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
