package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
)

// unitStride reports whether the tiles compute with n entries of vectors: of unit increments, and in memory.
func unitStride[F tile.Float](n int, x []F, incX int, y []F, incY int) bool {
	return vectorized() && incX == 1 && incY == 1 && len(x) >= n && len(y) >= n
}

// dot returns x'y by one row of a product with a vector.
func dot[F tile.Float](n int, x, y []F) F {
	var sum [1]F
	tile.RowDots(sum[:], x, n, y, 1, n)
	return sum[0]
}

// axpy adds alpha x to y.
func axpy[F tile.Float](n int, alpha F, x, y []F) {
	by := [1]F{alpha}
	tile.AddOuter(y, n, by[:], x, 1, n)
}

// Ddot returns x'y.
func (i Implementation) Ddot(n int, x []float64, incX int, y []float64, incY int) float64 {
	if n >= dotLength && unitStride(n, x, incX, y, incY) {
		return dot(n, x, y)
	}
	return i.Implementation.Ddot(n, x, incX, y, incY)
}

// Sdot returns x'y in float32.
func (i Implementation) Sdot(n int, x []float32, incX int, y []float32, incY int) float32 {
	switch {
	case n > 0 && n < dotLength/8 && unitStride(n, x, incX, y, incY):
		return tile.Dot(x[:n], y[:n]) // bits of gonum's depend on addresses
	case n > 0 && unitStride(n, x, incX, y, incY):
		return dot(n, x, y)
	}
	return i.Implementation.Sdot(n, x, incX, y, incY)
}

// Daxpy adds alpha x to y.
func (i Implementation) Daxpy(n int, alpha float64, x []float64, incX int, y []float64, incY int) {
	if n >= dotLength && alpha != 0 && unitStride(n, x, incX, y, incY) {
		axpy(n, alpha, x, y)
		return
	}
	i.Implementation.Daxpy(n, alpha, x, incX, y, incY)
}

// Saxpy adds alpha x to y in float32.
func (i Implementation) Saxpy(n int, alpha float32, x []float32, incX int, y []float32, incY int) {
	if n >= 4*dotLength && alpha != 0 && unitStride(n, x, incX, y, incY) {
		axpy(n, alpha, x, y)
		return
	}
	i.Implementation.Saxpy(n, alpha, x, incX, y, incY)
}

// Dnrm2 returns the Euclidean norm of x. gonum, which scales, computes the norms of entries whose squares
// are not safe from overflow and underflow.
func (i Implementation) Dnrm2(n int, x []float64, incX int) float64 {
	if n >= dotLength/4 && unitStride(n, x, incX, x, incX) {
		squares := dot(n, x, x)
		if squares >= 0x1p-900 && squares <= 0x1p1000 {
			return math.Sqrt(squares)
		}
	}
	return i.Implementation.Dnrm2(n, x, incX)
}

// Snrm2 returns the Euclidean norm of x. The squares of float32 neither overflow nor underflow in float64.
func (i Implementation) Snrm2(n int, x []float32, incX int) float32 {
	if n < 2 || incX != 1 || len(x) < n {
		return i.Implementation.Snrm2(n, x, incX)
	}
	var s0, s1, s2, s3 float64
	x = x[:n]
	for ; len(x) >= 4; x = x[4:] {
		v := (*[4]float32)(x)
		s0 += float64(v[0]) * float64(v[0])
		s1 += float64(v[1]) * float64(v[1])
		s2 += float64(v[2]) * float64(v[2])
		s3 += float64(v[3]) * float64(v[3])
	}
	for _, v := range x {
		s0 += float64(v) * float64(v)
	}
	return float32(math.Sqrt((s0 + s2) + (s1 + s3)))
}
