package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
)

// fewSingles and fewForSger are the numbers of entries of vectors, and of columns of a matrix, below which
// gonum is as fast in float32.
const fewSingles, fewForSger = 128, 64

// Sdot returns x'y.
func (i Implementation) Sdot(n int, x []float32, incX int, y []float32, incY int) float32 {
	if n < fewSingles || incX != 1 || incY != 1 || len(x) < n || len(y) < n {
		return i.Implementation.Sdot(n, x, incX, y, incY)
	}
	var sum [1]float32
	tile.RowDots(sum[:], x, n, y, 1, n)
	return sum[0]
}

// Saxpy adds alpha x to y.
func (i Implementation) Saxpy(n int, alpha float32, x []float32, incX int, y []float32, incY int) {
	if n < fewSingles || incX != 1 || incY != 1 || len(x) < n || len(y) < n || alpha == 0 {
		i.Implementation.Saxpy(n, alpha, x, incX, y, incY)
		return
	}
	v := [1]float32{alpha}
	tile.AddOuter(y, n, v[:], x, 1, n)
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

// Sasum returns the sum of the absolute values of x.
func (i Implementation) Sasum(n int, x []float32, incX int) float32 {
	if n <= 0 || incX != 1 || len(x) < n {
		return i.Implementation.Sasum(n, x, incX)
	}
	abs := func(v float32) float32 { return math.Float32frombits(math.Float32bits(v) &^ (1 << 31)) }
	var s0, s1, s2, s3 float32
	x = x[:n]
	for ; len(x) >= 4; x = x[4:] {
		v := (*[4]float32)(x)
		s0 += abs(v[0])
		s1 += abs(v[1])
		s2 += abs(v[2])
		s3 += abs(v[3])
	}
	for _, v := range x {
		s0 += abs(v)
	}
	return (s0 + s2) + (s1 + s3)
}
