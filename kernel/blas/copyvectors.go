package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Dcopy copies x to y.
func (*routines) Dcopy(n int, x []float64, incX int, y []float64, incY int) {
	switch {
	case inRow(n, x, incX) && inRow(n, y, incY):
		copy(y[:n], x[:n])
	case manyApart(n, x, incX) && holds(y, n, incY):
		copyApart(n, entriesOf(n, x, incX), entriesOf(n, y, incY))
	default:
		fallback{}.Dcopy(n, x, incX, y, incY)
	}
}

// Scopy is Dcopy in float32.
func (*routines) Scopy(n int, x []float32, incX int, y []float32, incY int) {
	switch {
	case inRow(n, x, incX) && inRow(n, y, incY):
		copy(y[:n], x[:n])
	case manyApart(n, x, incX) && holds(y, n, incY):
		copyApart(n, entriesOf(n, x, incX), entriesOf(n, y, incY))
	default:
		fallback{}.Scopy(n, x, incX, y, incY)
	}
}

// Drotm applies a modified Givens rotation to x and y.
func (*routines) Drotm(n int, x []float64, incX int, y []float64, incY int, p blas.DrotmParams) {
	if n < rotationLength || !turnVectors(n, x, incX, y, incY, p.Flag, p.H) {
		fallback{}.Drotm(n, x, incX, y, incY, p)
	}
}

// Srotm is Drotm in float32.
func (*routines) Srotm(n int, x []float32, incX int, y []float32, incY int, p blas.SrotmParams) {
	if n < rotationLength || !turnVectors(n, x, incX, y, incY, p.Flag, p.H) {
		fallback{}.Srotm(n, x, incX, y, incY, p)
	}
}

// turnVectors applies a modified Givens rotation, whose entries h has by columns, and returns true; or it
// returns false where gonum does. Products with the ones of a matrix that has some are exact.
func turnVectors[F tile.Float](n int, x []F, incX int, y []F, incY int, flag blas.Flag, h [4]F) bool {
	t := turning[F]{xx: h[0], yx: h[1], xy: h[2], yy: h[3]}
	switch flag {
	case blas.Rescaling:
	case blas.OffDiagonal:
		t.xx, t.yy = 1, 1
	case blas.Diagonal:
		t.yx, t.xy = -1, 1
	default:
		return false
	}
	switch {
	case inRow(n, x, incX) && inRow(n, y, incY) && vectorized():
		turn(x[:n], y[:n], t)
		return true
	case incX == 1 && incY == 1 || !manyApart(n, x, incX) || !holds(y, n, incY):
		return false
	}
	turnApart(n, entriesOf(n, x, incX), entriesOf(n, y, incY), t)
	return true
}
