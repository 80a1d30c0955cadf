package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
)

// Complex vectors are vectors of twice as many reals here. gonum computes with short vectors, and sums with
// increments other than 1.

// pairsStride reports whether the tiles compute with n complex numbers of vectors: enough of them, with unit
// increments, and in memory.
func pairsStride[T complex64 | complex128](n int, x []T, incX int, y []T, incY int) bool {
	return n >= complexLength && vectorized() && incX == 1 && incY == 1 && len(x) >= n && len(y) >= n
}

// Zaxpy adds alpha x to y.
func (*routines) Zaxpy(n int, alpha complex128, x []complex128, incX int, y []complex128, incY int) {
	if alpha == 0 || !pairsStride(n, x, incX, y, incY) {
		gonum.Zaxpy(n, alpha, x, incX, y, incY)
		return
	}
	addTimesPairs(real(alpha), imag(alpha), doubles(x[:n]), doubles(y[:n]))
}

// Caxpy is Zaxpy in complex64.
func (*routines) Caxpy(n int, alpha complex64, x []complex64, incX int, y []complex64, incY int) {
	if alpha == 0 || !pairsStride(n, x, incX, y, incY) {
		gonum.Caxpy(n, alpha, x, incX, y, incY)
		return
	}
	addTimesPairs(real(alpha), imag(alpha), singles(x[:n]), singles(y[:n]))
}

// Zdotu returns x'y.
func (*routines) Zdotu(n int, x []complex128, incX int, y []complex128, incY int) complex128 {
	if n < complexDot || !pairsStride(n, x, incX, y, incY) {
		return gonum.Zdotu(n, x, incX, y, incY)
	}
	return complex(dotPairs(doubles(x[:n]), doubles(y[:n]), false))
}

// Cdotu is Zdotu in complex64.
func (*routines) Cdotu(n int, x []complex64, incX int, y []complex64, incY int) complex64 {
	if n < 3*complexDot || !pairsStride(n, x, incX, y, incY) {
		return gonum.Cdotu(n, x, incX, y, incY)
	}
	return complex(dotPairs(singles(x[:n]), singles(y[:n]), false))
}

// Zdotc returns x*y, for the conjugate transpose x* of x.
func (*routines) Zdotc(n int, x []complex128, incX int, y []complex128, incY int) complex128 {
	if n < complexDot || !pairsStride(n, x, incX, y, incY) {
		return gonum.Zdotc(n, x, incX, y, incY)
	}
	return complex(dotPairs(doubles(x[:n]), doubles(y[:n]), true))
}

// Cdotc is Zdotc in complex64.
func (*routines) Cdotc(n int, x []complex64, incX int, y []complex64, incY int) complex64 {
	if n < 3*complexDot || !pairsStride(n, x, incX, y, incY) {
		return gonum.Cdotc(n, x, incX, y, incY)
	}
	return complex(dotPairs(singles(x[:n]), singles(y[:n]), true))
}

// Zscal multiplies x by alpha. As in gonum, alpha = 0 clears x.
func (*routines) Zscal(n int, alpha complex128, x []complex128, incX int) {
	if alpha == 0 || !pairsStride(n, x, incX, x, incX) {
		gonum.Zscal(n, alpha, x, incX)
		return
	}
	timesPairs(doubles(x[:n]), real(alpha), imag(alpha))
}

// Cscal is Zscal in complex64.
func (*routines) Cscal(n int, alpha complex64, x []complex64, incX int) {
	switch {
	case alpha != 0 && pairsStride(n, x, incX, x, incX):
		timesPairs(singles(x[:n]), real(alpha), imag(alpha))
	case alpha != 0 && pairsApart(n, stridedLength, x, incX):
		timesPairsApart(n, singlePairsOf(n, x, incX), real(alpha), imag(alpha))
	default:
		gonum.Cscal(n, alpha, x, incX)
	}
}

// Zdscal multiplies x by a real number. As in gonum, alpha = 0 clears x.
func (*routines) Zdscal(n int, alpha float64, x []complex128, incX int) {
	switch {
	case alpha != 0 && pairsStride(n, x, incX, x, incX):
		scale(doubles(x[:n]), alpha)
	case alpha != 0 && pairsApart(n, stridedLength, x, incX):
		tile.ScalePairs(doubles(x), incX, n, alpha)
	default:
		gonum.Zdscal(n, alpha, x, incX)
	}
}

// Csscal is Zdscal in complex64.
func (*routines) Csscal(n int, alpha float32, x []complex64, incX int) {
	switch {
	case alpha != 0 && pairsStride(n, x, incX, x, incX):
		scale(singles(x[:n]), alpha)
	case alpha != 0 && pairsApart(n, stridedLength, x, incX):
		tile.ScalePairs(singles(x), incX, n, alpha)
	default:
		gonum.Csscal(n, alpha, x, incX)
	}
}

// Dznrm2 returns the Euclidean norm of x. gonum, which scales, computes the norms of entries whose squares
// are not safe from overflow and underflow.
func (*routines) Dznrm2(n int, x []complex128, incX int) float64 {
	if inRow(n, x, incX) && vectorized() {
		if squares := rowSquares(doubles(x[:n])); safeSquares(squares) {
			return math.Sqrt(squares)
		}
	}
	if pairsApart(n, stridedLength, x, incX) {
		if squares := stridedSquares(n, doubles(x), incX); safeSquares(squares) {
			return math.Sqrt(squares)
		}
	}
	return gonum.Dznrm2(n, x, incX)
}

// Scnrm2 returns the Euclidean norm of x. The squares of float32 neither overflow nor underflow in float64.
func (*routines) Scnrm2(n int, x []complex64, incX int) float32 {
	switch {
	case inRow(n, x, incX) && vectorized():
		return float32(math.Sqrt(squares32(singles(x[:n]))))
	case pairsApart(n, gatheredLength, x, incX):
		return float32(math.Sqrt(squaresOfPairs(n, singles(x), incX)))
	case pairsApart(n, stridedLength, x, incX):
		return float32(math.Sqrt(stridedSquares(n, singles(x), incX)))
	}
	return gonum.Scnrm2(n, x, incX)
}

// Dzasum returns the sum of the absolute values of the parts of x.
func (*routines) Dzasum(n int, x []complex128, incX int) float64 {
	switch {
	case pairsStride(n, x, incX, x, incX):
		return absolutes(doubles(x[:n]))
	case pairsApart(n, gatheredLength, x, incX):
		return absolutesOfPairs(n, doubles(x), incX)
	}
	return gonum.Dzasum(n, x, incX)
}

// Scasum is Dzasum in complex64.
func (*routines) Scasum(n int, x []complex64, incX int) float32 {
	switch {
	case pairsStride(n, x, incX, x, incX):
		return absolutes(singles(x[:n]))
	case pairsApart(n, gatheredLength, x, incX):
		return absolutesOfPairs(n, singles(x), incX)
	}
	return gonum.Scasum(n, x, incX)
}

// Izamax returns the index of the first of the entries of x whose parts have the largest sum of absolute
// values. As in gonum, NaN counts as the first entry only.
func (*routines) Izamax(n int, x []complex128, incX int) int {
	switch {
	case pairsStride(n, x, incX, x, incX) && isSize(doubles(x)):
		return tile.LargestPair(doubles(x[:n]))
	case pairsApart(n, gatheredLength, x, incX):
		return largestOfPairs(n, doubles(x), incX)
	}
	return gonum.Izamax(n, x, incX)
}

// Icamax is Izamax in complex64.
func (*routines) Icamax(n int, x []complex64, incX int) int {
	switch {
	case pairsStride(n, x, incX, x, incX) && isSize(singles(x)):
		return tile.LargestPair(singles(x[:n]))
	case pairsApart(n, gatheredLength, x, incX):
		return largestOfPairs(n, singles(x), incX)
	}
	return gonum.Icamax(n, x, incX)
}

// Zcopy copies x to y.
func (*routines) Zcopy(n int, x []complex128, incX int, y []complex128, incY int) {
	if incX == 1 && incY == 1 || !manyApart(n, x, incX) || !holds(y, n, incY) {
		gonum.Zcopy(n, x, incX, y, incY)
		return
	}
	copyApart(n, doublePairsOf(n, x, incX), doublePairsOf(n, y, incY))
}

// Ccopy copies x to y.
func (*routines) Ccopy(n int, x []complex64, incX int, y []complex64, incY int) {
	if incX == 1 && incY == 1 || !manyApart(n, x, incX) || !holds(y, n, incY) {
		gonum.Ccopy(n, x, incX, y, incY)
		return
	}
	copyApart(n, wordsOf(n, x, incX), wordsOf(n, y, incY))
}

// Zswap exchanges x and y.
func (*routines) Zswap(n int, x []complex128, incX int, y []complex128, incY int) {
	switch {
	case inRow(n, x, incX) && inRow(n, y, incY):
		exchange(doubles(x[:n]), doubles(y[:n]))
	case manyApart(n, x, incX) && holds(y, n, incY):
		exchangeApart(n, doublePairsOf(n, x, incX), doublePairsOf(n, y, incY))
	default:
		gonum.Zswap(n, x, incX, y, incY)
	}
}

// Cswap exchanges x and y.
func (*routines) Cswap(n int, x []complex64, incX int, y []complex64, incY int) {
	switch {
	case inRow(n, x, incX) && inRow(n, y, incY):
		exchange(singles(x[:n]), singles(y[:n]))
	case manyApart(n, x, incX) && holds(y, n, incY):
		exchangeApart(n, wordsOf(n, x, incX), wordsOf(n, y, incY))
	default:
		gonum.Cswap(n, x, incX, y, incY)
	}
}
