package leastsq

import (
	"math"

	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
)

// decompose computes the singular value decomposition of M', whose rows are the columns of m, by rotations of
// pairs of rows until all are orthogonal (Hestenes 1958):
//
//	M' = U S V'.
//
// On return values holds the diagonal of S, descending, the rows of left are the columns of U, and the
// columns of m are those of V S. Small values keep their relative precision where columns of m have
// different units (Demmel and Veselic 1992), and numbers are rounded alike on all processors. It returns
// false if the rows do not become orthogonal.
func decompose(m blas64.GeneralCols, values, left []float64) bool {
	const mostSweeps = 60 // 6 to 10 are usual
	c := m.Cols
	clear(left[:c*c])
	for k := range c {
		left[k*(c+1)] = 1
	}
	sort := func() {
		for k := range c {
			values[k] = rounded.Norm(column(m, k))
		}
		for k := range c {
			largest := k
			for l := k + 1; l < c; l++ {
				if values[l] > values[largest] {
					largest = l
				}
			}
			values[k], values[largest] = values[largest], values[k]
			exchange(column(m, k), column(m, largest))
			exchange(left[k*c:][:c], left[largest*c:])
		}
	}
	sort()
	for range mostSweeps {
		for k := range c { // values are squares of lengths until the end
			x := column(m, k)
			values[k] = tile.InnerProduct(x, x)
		}
		if !sweep(m, values, left) {
			sort()
			return true
		}
	}
	return false
}

// sweep rotates each pair of columns of m, whose squared lengths are in squares, and of rows of left. It
// returns false if all pairs were orthogonal to rounding; it has rotated them closer to it then.
func sweep(m blas64.GeneralCols, squares, left []float64) (rotated bool) {
	c, tol := m.Cols, 0x1p-52*math.Sqrt(float64(m.Rows))
	for i := range c {
		x, top := column(m, i), left[i*c:][:c]
		for j := i + 1; j < c; j++ {
			y, xx, yy := column(m, j), squares[i], squares[j]
			xy := tile.InnerProduct(x, y)
			lengths := math.Sqrt(max(xx, 0)) * math.Sqrt(max(yy, 0))
			if math.Abs(xy) <= tol/8*lengths {
				continue
			}
			zeta := (yy - xx) / (2 * xy)
			t := math.Copysign(1/(math.Abs(zeta)+rounded.Hypot(1, zeta)), zeta)
			if t == 0 { // squares of y have underflown: y is negligible beside x
				continue
			}
			rotated = rotated || math.Abs(xy) > tol*lengths
			cosine := 1 / math.Sqrt(1+float64(t*t))
			sine := cosine * t
			tile.PlaneRotation(x, y, cosine, -sine) // x = c x - s y, y = s x + c y
			tile.PlaneRotation(top, left[j*c:][:c], cosine, -sine)
			squares[i] = remaining(x, xx-float64(t*xy), cosine*cosine*xx)
			squares[j] = remaining(y, yy+float64(t*xy), sine*sine*xx)
		}
	}
	return rotated
}

// remaining returns the squared length of a difference of two vectors, which is estimated, given those of the
// vectors. It clears a difference that is below its rounding.
func remaining(x []float64, estimate, before float64) float64 {
	const rounding, exact = 0x1p-50, 0x1p-20
	if estimate > exact*before {
		return estimate
	}
	squares := tile.InnerProduct(x, x)
	if squares <= rounding*rounding*before {
		clear(x)
		return 0
	}
	return squares
}

// exchange exchanges x and as many entries of y.
func exchange(x, y []float64) {
	y = y[:len(x)]
	for k, v := range x {
		x[k], y[k] = y[k], v
	}
}
