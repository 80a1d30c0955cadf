package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
)

// fewSingles and fewForSger are the numbers of entries of vectors, and of columns of a matrix, below which
// gonum is as fast in float32.
const fewSingles, fewForSger = 128, 64

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
