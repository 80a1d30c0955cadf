package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
)

// unitStride reports whether the tiles compute with n entries of vectors: of unit increments, and in memory.
func unitStride[F tile.Float](n int, x []F, incX int, y []F, incY int) bool {
	return vectorized() && incX == 1 && incY == 1 && len(x) >= n && len(y) >= n
}

// axpy adds alpha x to y.
func axpy[F tile.Float](n int, alpha F, x, y []F) {
	by := [1]F{alpha}
	tile.AddOuter(y, n, by[:], x, 1, n)
}

// shortRow is the length below which a loop takes less time than a call of assembly.
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

// Ddot returns x'y.
func (i Implementation) Ddot(n int, x []float64, incX int, y []float64, incY int) float64 {
	switch {
	case n >= dotLength && unitStride(n, x, incX, y, incY):
		return tile.InnerProduct(x[:n], y[:n])
	case n > 0 && n <= callLength && incX == 1 && incY == 1 && len(x) >= n && len(y) >= n:
		sum := 0.0
		for k, v := range x[:n] {
			sum += float64(v * y[k])
		}
		return sum
	case n >= stridedLength && (incX != 1 || incY != 1) && vectorized() && holds(x, n, incX) && holds(y, n, incY):
		return stridedDot(n, x, incX, y, incY)
	}
	return fallback{}.Ddot(n, x, incX, y, incY)
}

// stridedDot returns x'y for entries that are not beside each other, as the sum of four sums.
func stridedDot[F tile.Float](n int, x []F, incX int, y []F, incY int) F {
	var s0, s1, s2, s3 F
	at, with := firstEntry(n, incX), firstEntry(n, incY)
	for ; n >= 4; n -= 4 {
		s0 += F(x[at] * y[with])
		s1 += F(x[at+incX] * y[with+incY])
		at, with = at+2*incX, with+2*incY
		s2 += F(x[at] * y[with])
		s3 += F(x[at+incX] * y[with+incY])
		at, with = at+2*incX, with+2*incY
	}
	for range n {
		s0 += F(x[at] * y[with])
		at, with = at+incX, with+incY
	}
	return (s0 + s2) + (s1 + s3)
}

// Sdot returns x'y in float32.
func (i Implementation) Sdot(n int, x []float32, incX int, y []float32, incY int) float32 {
	if n > 0 && unitStride(n, x, incX, y, incY) { // bits of gonum's depend on addresses
		if n <= callLength {
			sum := float32(0)
			for k, v := range x[:n] {
				sum += float32(v * y[k])
			}
			return sum
		}
		return tile.InnerProduct(x[:n], y[:n])
	}
	return fallback{}.Sdot(n, x, incX, y, incY)
}

// Daxpy adds alpha x to y.
func (i Implementation) Daxpy(n int, alpha float64, x []float64, incX int, y []float64, incY int) {
	switch {
	case n >= dotLength && alpha != 0 && unitStride(n, x, incX, y, incY):
		axpy(n, alpha, x, y)
		return
	case n > 0 && n <= callLength && alpha != 0 && incX == 1 && incY == 1 && len(x) >= n && len(y) >= n:
		for k, v := range x[:n] {
			y[k] += float64(alpha * v)
		}
		return
	}
	fallback{}.Daxpy(n, alpha, x, incX, y, incY)
}

// Saxpy adds alpha x to y in float32.
func (i Implementation) Saxpy(n int, alpha float32, x []float32, incX int, y []float32, incY int) {
	if n >= 4*dotLength && alpha != 0 && unitStride(n, x, incX, y, incY) {
		axpy(n, alpha, x, y)
		return
	}
	fallback{}.Saxpy(n, alpha, x, incX, y, incY)
}

// Dnrm2 returns the Euclidean norm of x. gonum, which scales, computes the norms of entries whose squares
// are not safe from overflow and underflow.
func (i Implementation) Dnrm2(n int, x []float64, incX int) float64 {
	if n >= stridedLength && incX > 1 && holds(x, n, incX) && vectorized() {
		if squares := stridedDot(n, x, incX, x, incX); safeSquares(squares) {
			return math.Sqrt(squares)
		}
	}
	if n > 1 && unitStride(n, x, incX, x, incX) {
		var squares float64
		switch {
		case n <= callLength:
			for _, v := range x[:n] {
				squares += float64(v * v)
			}
		case n < dotLength/4:
			squares = tile.Dot(x[:n], x[:n])
		default:
			squares = tile.InnerProduct(x[:n], x[:n])
		}
		if safeSquares(squares) {
			return math.Sqrt(squares)
		}
	}
	return fallback{}.Dnrm2(n, x, incX)
}

// safeSquares reports whether no square of a sum has overflown, and none that counts has underflown.
func safeSquares(sum float64) bool { return sum >= 0x1p-900 && sum <= 0x1p1000 }

// Snrm2 returns the Euclidean norm of x. The squares of float32 neither overflow nor underflow in float64.
func (i Implementation) Snrm2(n int, x []float32, incX int) float32 {
	if n < 2 || incX != 1 || len(x) < n {
		return fallback{}.Snrm2(n, x, incX)
	}
	return float32(math.Sqrt(tile.Squares(x[:n])))
}

// Dasum returns the sum of the absolute values of x.
func (i Implementation) Dasum(n int, x []float64, incX int) float64 {
	switch {
	case n <= 0 || !unitStride(n, x, incX, x, incX):
		return i.Implementation.Dasum(n, x, incX)
	case n < dotLength/4:
		return sumOfSizes(x[:n])
	}
	return tile.Absolutes(x[:n])
}

// Sasum returns the sum of the absolute values of x in float32.
func (i Implementation) Sasum(n int, x []float32, incX int) float32 {
	if n < dotLength/2 || !unitStride(n, x, incX, x, incX) {
		return i.Implementation.Sasum(n, x, incX)
	}
	return tile.Absolutes(x[:n])
}

// Dscal multiplies x by alpha. As in gonum, alpha = 0 clears x.
func (i Implementation) Dscal(n int, alpha float64, x []float64, incX int) {
	if n >= dotLength/2 && alpha != 0 && unitStride(n, x, incX, x, incX) {
		tile.Scale(x[:n], alpha)
		return
	}
	i.Implementation.Dscal(n, alpha, x, incX)
}

// Sscal multiplies x by alpha in float32. As in gonum, alpha = 0 clears x.
func (i Implementation) Sscal(n int, alpha float32, x []float32, incX int) {
	if n >= dotLength/2 && alpha != 0 && unitStride(n, x, incX, x, incX) {
		tile.Scale(x[:n], alpha)
		return
	}
	i.Implementation.Sscal(n, alpha, x, incX)
}

// Idamax returns the index of the first of the largest absolute values in x. As in gonum, NaN counts as the
// first entry only.
func (i Implementation) Idamax(n int, x []float64, incX int) int {
	if n < largestLength || !unitStride(n, x, incX, x, incX) || x[0] != x[0] {
		return i.Implementation.Idamax(n, x, incX)
	}
	return tile.LargestIndex(x[:n])
}

// Isamax is Idamax in float32.
func (i Implementation) Isamax(n int, x []float32, incX int) int {
	if n < largestLength || !unitStride(n, x, incX, x, incX) || x[0] != x[0] {
		return i.Implementation.Isamax(n, x, incX)
	}
	return tile.LargestIndex(x[:n])
}

// Drot sets x to c x + s y, and y to c y - s x.
func (i Implementation) Drot(n int, x []float64, incX int, y []float64, incY int, c, s float64) {
	if n < rotationLength || !unitStride(n, x, incX, y, incY) {
		i.Implementation.Drot(n, x, incX, y, incY, c, s)
		return
	}
	tile.PlaneRotation(x[:n], y[:n], c, s)
}

// Srot is Drot in float32.
func (i Implementation) Srot(n int, x []float32, incX int, y []float32, incY int, c, s float32) {
	if n < rotationLength || !unitStride(n, x, incX, y, incY) {
		i.Implementation.Srot(n, x, incX, y, incY, c, s)
		return
	}
	tile.PlaneRotation(x[:n], y[:n], c, s)
}

// Dswap exchanges x and y.
func (i Implementation) Dswap(n int, x []float64, incX int, y []float64, incY int) {
	if n < dotLength/2 || !unitStride(n, x, incX, y, incY) {
		i.Implementation.Dswap(n, x, incX, y, incY)
		return
	}
	exchange(x[:n], y[:n])
}

// Sswap exchanges x and y.
func (i Implementation) Sswap(n int, x []float32, incX int, y []float32, incY int) {
	if n < dotLength/2 || !unitStride(n, x, incX, y, incY) {
		i.Implementation.Sswap(n, x, incX, y, incY)
		return
	}
	exchange(x[:n], y[:n])
}

// exchange exchanges vectors of one length, a part at a time.
func exchange[T any](x, y []T) {
	var part [64]T
	for len(x) > 0 {
		n := copy(part[:], x)
		copy(x, y[:n])
		copy(y, part[:n])
		x, y = x[n:], y[n:]
	}
}
