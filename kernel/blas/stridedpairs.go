package blas

import "github.com/difalt/difalt/internal/tile"

// Norms of complex vectors with increments of 2 or more are computed in Go, two entries at a time. gonum,
// which scales each entry, takes about four times as long. It has the other increments, for which it returns
// or panics.

// isStrided reports whether n complex numbers of a vector have an increment of 2 or more, and are enough for
// sums of several parts.
func isStrided[F tile.Float](n int, x []F, inc int) bool {
	return n >= stridedLength && inc > 1 && holdsPairs(x, n, inc) && vectorized()
}

// stridedSquares returns the sum of the squares of the parts of n complex numbers, inc apart, in float64.
func stridedSquares[F tile.Float](n int, x []F, inc int) float64 {
	var even, evenIm, odd, oddIm float64
	step := 2 * inc
	for n >= 2 {
		v, w := x[:2], x[step:][:2]
		a, b, c, d := float64(v[0]), float64(v[1]), float64(w[0]), float64(w[1])
		even += float64(a * a)
		evenIm += float64(b * b)
		odd += float64(c * c)
		oddIm += float64(d * d)
		if n -= 2; n > 0 {
			x = x[2*step:]
		}
	}
	if n == 1 {
		a, b := float64(x[0]), float64(x[1])
		even += float64(a * a)
		evenIm += float64(b * b)
	}
	return (even + odd) + (evenIm + oddIm)
}
