package blas

import (
	"math"
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
)

// The functions of this file compute with vectors whose entries are not beside each other. Each has checked
// before that all entries are within memory, so that loops need not check again.

// infinity64 and infinity32 are the bits of infinity.
const infinity64, infinity32 = 0x7ff << 52, 0xff << 23

// An apart is the entries of a vector, some bytes from each other: numbers, or pairs of them.
type apart[T any] struct {
	first unsafe.Pointer
	step  int
}

// entriesOf returns n entries of x that are inc apart. x holds them.
func entriesOf[T any](n int, x []T, inc int) apart[T] {
	return apart[T]{unsafe.Pointer(&x[firstEntry(n, inc)]), inc * int(unsafe.Sizeof(x[0]))}
}

// at returns the entry that is some bytes from the first one.
func (a apart[T]) at(bytes int) *T { return (*T)(unsafe.Add(a.first, bytes)) }

// manyApart reports whether n entries of x, inc apart, are many enough for these functions, and in memory.
func manyApart[T any](n int, x []T, inc int) bool {
	return n >= stridedLength && holds(x, n, inc)
}

// dotApart returns x'y, as the sum of four sums.
func dotApart[F tile.Float](n int, x, y apart[F]) F {
	var s0, s1, s2, s3 F
	i, j := 0, 0
	for ; n >= 4; n -= 4 {
		s0 += F(*x.at(i) * *y.at(j))
		i, j = i+x.step, j+y.step
		s1 += F(*x.at(i) * *y.at(j))
		i, j = i+x.step, j+y.step
		s2 += F(*x.at(i) * *y.at(j))
		i, j = i+x.step, j+y.step
		s3 += F(*x.at(i) * *y.at(j))
		i, j = i+x.step, j+y.step
	}
	for range n {
		s0 += F(*x.at(i) * *y.at(j))
		i, j = i+x.step, j+y.step
	}
	return (s0 + s2) + (s1 + s3)
}

// squaresApart returns the sum of the squares of x, as four sums in float64.
func squaresApart(n int, x apart[float32]) float64 {
	var s0, s1, s2, s3 float64
	square := func(i int) float64 { return float64(float64(*x.at(i)) * float64(*x.at(i))) }
	i := 0
	for ; n >= 4; n -= 4 {
		s0 += square(i)
		s1 += square(i + x.step)
		i += 2 * x.step
		s2 += square(i)
		s3 += square(i + x.step)
		i += 2 * x.step
	}
	for range n {
		s0 += square(i)
		i += x.step
	}
	return (s0 + s2) + (s1 + s3)
}

// absolutesApart returns the sum of the absolute values of x, as four sums.
func absolutesApart[F tile.Float](n int, x apart[F]) F {
	var s0, s1, s2, s3 F
	i := 0
	for ; n >= 4; n -= 4 {
		s0 += absolute(*x.at(i))
		s1 += absolute(*x.at(i + x.step))
		i += 2 * x.step
		s2 += absolute(*x.at(i))
		s3 += absolute(*x.at(i + x.step))
		i += 2 * x.step
	}
	for range n {
		s0 += absolute(*x.at(i))
		i += x.step
	}
	return (s0 + s2) + (s1 + s3)
}

// absolute returns the absolute value of a number.
func absolute[F tile.Float](v F) F {
	if kind[F]() == 0 {
		return F(math.Abs(float64(v)))
	}
	return F(math.Float32frombits(math.Float32bits(float32(v)) &^ (1 << 31)))
}

// copyApart copies x to y.
func copyApart[T any](n int, x, y apart[T]) {
	i, j := 0, 0
	for ; n >= 4; n -= 4 {
		*y.at(j) = *x.at(i)
		i, j = i+x.step, j+y.step
		*y.at(j) = *x.at(i)
		i, j = i+x.step, j+y.step
		*y.at(j) = *x.at(i)
		i, j = i+x.step, j+y.step
		*y.at(j) = *x.at(i)
		i, j = i+x.step, j+y.step
	}
	for range n {
		*y.at(j) = *x.at(i)
		i, j = i+x.step, j+y.step
	}
}

// scaleApart multiplies x by a number.
func scaleApart[F tile.Float](n int, x apart[F], by F) {
	i := 0
	for ; n >= 4; n -= 4 {
		*x.at(i) *= by
		*x.at(i + x.step) *= by
		i += 2 * x.step
		*x.at(i) *= by
		*x.at(i + x.step) *= by
		i += 2 * x.step
	}
	for range n {
		*x.at(i) *= by
		i += x.step
	}
}

// exchangeApart exchanges x and y.
func exchangeApart[T any](n int, x, y apart[T]) {
	i, j := 0, 0
	for ; n >= 2; n -= 2 {
		p, q := x.at(i), y.at(j)
		*p, *q = *q, *p
		p, q = x.at(i+x.step), y.at(j+y.step)
		*p, *q = *q, *p
		i, j = i+2*x.step, j+2*y.step
	}
	if n > 0 {
		p, q := x.at(i), y.at(j)
		*p, *q = *q, *p
	}
}

// A turning sets x to xx x + xy y, and y to yx x + yy y.
type turning[F tile.Float] struct{ xx, xy, yx, yy F }

// turnApart changes all entries.
func turnApart[F tile.Float](n int, x, y apart[F], t turning[F]) {
	xx, xy, yx, yy := t.xx, t.xy, t.yx, t.yy
	i, j := 0, 0
	for ; n >= 2; n -= 2 {
		p, q := x.at(i), y.at(j)
		v, w := *p, *q
		*p = F(v*xx) + F(w*xy)
		*q = F(v*yx) + F(w*yy)
		p, q = x.at(i+x.step), y.at(j+y.step)
		v, w = *p, *q
		*p = F(v*xx) + F(w*xy)
		*q = F(v*yx) + F(w*yy)
		i, j = i+2*x.step, j+2*y.step
	}
	if n > 0 {
		p, q := x.at(i), y.at(j)
		v, w := *p, *q
		*p = F(v*xx) + F(w*xy)
		*q = F(v*yx) + F(w*yy)
	}
}

// largestApart returns the index of the first of the largest absolute values in x, whose first entry is a
// number. As in gonum, NaN does not count. Absolute values are compared as integers, whose order is theirs.
func largestApart[B uint32 | uint64](n int, first unsafe.Pointer, step int, infinity B) int {
	sign := ^B(0) >> 1
	size := func(bytes int) B { return *(*B)(unsafe.Add(first, bytes)) & sign }
	most, index := size(0), 0
	at := step
	i := 1
	for ; i+4 <= n; i += 4 {
		two := max(size(at), size(at+step))
		if max(two, size(at+2*step), size(at+3*step)) > most {
			for k := range 4 {
				if v := size(at + k*step); v > most && v <= infinity {
					most, index = v, i+k
				}
			}
		}
		at += 4 * step
	}
	for ; i < n; i++ {
		if v := size(at); v > most && v <= infinity {
			most, index = v, i
		}
		at += step
	}
	return index
}
