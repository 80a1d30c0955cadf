package blas

import (
	"math"
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/floats"
)

// inRow reports whether n entries, at least one, are beside each other in memory.
func inRow[T any](n int, x []T, inc int) bool { return inc == 1 && n > 0 && n <= len(x) }

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
func (*routines) Ddot(n int, x []float64, incX int, y []float64, incY int) float64 {
	switch {
	case inRow(n, x, incX) && inRow(n, y, incY):
		x, y = x[:n], y[:n]
		switch {
		case n <= callLength:
			sum := 0.0
			for k, v := range x {
				sum += float64(v * y[k])
			}
			return sum
		case n < dotLength || !vectorized():
			return rowDot(x, y)
		}
		return dot(x, y)
	case vectorized() && manyApart(n, x, incX) && holds(y, n, incY):
		return dotApart(n, entriesOf(n, x, incX), entriesOf(n, y, incY))
	}
	return fallback{}.Ddot(n, x, incX, y, incY)
}

// Sdot returns x'y in float32.
func (*routines) Sdot(n int, x []float32, incX int, y []float32, incY int) float32 {
	if !inRow(n, x, incX) || !inRow(n, y, incY) || !vectorized() {
		return fallback{}.Sdot(n, x, incX, y, incY)
	}
	x, y = x[:n], y[:n] // bits of gonum's depend on addresses
	switch {
	case n >= longVector:
		return dotOfLong(x, y)
	case n > callLength:
		return tile.InnerProduct(x, y)
	}
	sum := float32(0)
	for k, v := range x {
		sum += float32(v * y[k])
	}
	return sum
}

// Daxpy adds alpha x to y.
func (*routines) Daxpy(n int, alpha float64, x []float64, incX int, y []float64, incY int) {
	switch {
	case alpha == 0 || !inRow(n, x, incX) || !inRow(n, y, incY):
		fallback{}.Daxpy(n, alpha, x, incX, y, incY)
	case n <= loopLength:
		y = y[:n]
		for k, v := range x[:n] {
			y[k] += float64(alpha * v)
		}
	case n < dotLength || !vectorized():
		addRow(alpha, x[:n], y[:n])
	default:
		addTimes(alpha, x[:n], y[:n])
	}
}

// Saxpy adds alpha x to y in float32.
func (*routines) Saxpy(n int, alpha float32, x []float32, incX int, y []float32, incY int) {
	switch {
	case alpha == 0 || !inRow(n, x, incX) || !inRow(n, y, incY):
		fallback{}.Saxpy(n, alpha, x, incX, y, incY)
	case n <= loopLength32:
		y = y[:n]
		for k, v := range x[:n] {
			y[k] += float32(alpha * v)
		}
	case !vectorized():
		fallback{}.Saxpy(n, alpha, x, incX, y, incY)
	case n >= longVector:
		addTimesLong(alpha, x[:n], y[:n])
	default:
		tile.AddScaled(y[:n], x[:n], alpha)
	}
}

// Dnrm2 returns the Euclidean norm of x. Entries whose squares are not safe from overflow and underflow are
// scaled: a few by gonum.
func (*routines) Dnrm2(n int, x []float64, incX int) float64 {
	var squares float64
	switch {
	case n == 1 && inRow(n, x, incX):
		return math.Abs(x[0])
	case n <= callLength && inRow(n, x, incX) && vectorized():
		for _, v := range x[:n] {
			squares += float64(v * v)
		}
	case inRow(n, x, incX) && vectorized():
		squares = rowSquares(x[:n])
	case incX > 1 && manyApart(n, x, incX) && vectorized():
		squares = dotApart(n, entriesOf(n, x, incX), entriesOf(n, x, incX))
	}
	switch {
	case safeSquares(squares):
		return math.Sqrt(squares)
	case n >= 2*scaledLength && incX >= 1 && holds(x, n, incX) && vectorized() && squares == squares:
		return scaledNorm(n, x, incX, squares)
	}
	return fallback{}.Dnrm2(n, x, incX)
}

// scaledNorm returns the Euclidean norm of x, whose squares have a sum that is too large or too small for
// float64. The units are powers of 2, so that products
// with them are exact unless they are too small to count.
func scaledNorm(n int, x []float64, incX int, squares float64) float64 {
	unit := 0x1p600
	if squares > 1 {
		unit = 0x1p-600
	}
	var piece [scaledLength]float64
	sum := 0.0
	for at := 0; at < n; at += scaledLength {
		some := min(scaledLength, n-at)
		copy(piece[:], gather(piece[:], x[at*incX:], some, incX))
		tile.Scale(piece[:some], unit)
		sum += rowSquares(piece[:some])
	}
	return math.Sqrt(sum) / unit
}

// rowSquares returns the sum of the squares of x.
func rowSquares(x []float64) (squares float64) {
	if len(x) < dotLength/4 {
		return tile.Dot(x, x)
	}
	return dot(x, x)
}

// safeSquares reports whether no square of a sum has overflown, and none that counts has underflown.
func safeSquares(sum float64) bool { return sum >= 0x1p-900 && sum <= 0x1p1000 }

// safeReflection reports whether a reflection or rotation needs no other units: squares is the sum of the
// squares of the entries that become zero, and norm that of all entries. It is false for NaN.
func safeReflection(squares, norm float64) bool { return squares >= 0x1p-900 && norm <= 0x1p900 }

// Snrm2 returns the Euclidean norm of x. The squares of float32 neither overflow nor underflow in float64.
func (*routines) Snrm2(n int, x []float32, incX int) float32 {
	switch {
	case incX > 1 && manyApart(n, x, incX) && vectorized():
		return float32(math.Sqrt(squaresApart(n, entriesOf(n, x, incX))))
	case !inRow(n, x, incX):
		return fallback{}.Snrm2(n, x, incX)
	case n == 1:
		return float32(math.Abs(float64(x[0])))
	}
	return float32(math.Sqrt(squares32(x[:n])))
}

// Dasum returns the sum of the absolute values of x.
func (*routines) Dasum(n int, x []float64, incX int) float64 {
	switch {
	case incX > 1 && manyApart(n, x, incX) && vectorized():
		return absolutesApart(n, entriesOf(n, x, incX))
	case !inRow(n, x, incX) || !vectorized():
		return gonum.Dasum(n, x, incX)
	case n < shortRow:
		sum := 0.0
		for _, v := range x[:n] {
			sum += math.Abs(v)
		}
		return sum
	}
	return sumOfRow(x[:n])
}

// Sasum returns the sum of the absolute values of x in float32.
func (*routines) Sasum(n int, x []float32, incX int) float32 {
	switch {
	case incX > 1 && manyApart(n, x, incX) && vectorized():
		return absolutesApart(n, entriesOf(n, x, incX))
	case !inRow(n, x, incX):
		return gonum.Sasum(n, x, incX)
	case n >= dotLength && vectorized():
		return absolutes(x[:n])
	}
	return sumOfSizes32(x[:n])
}

// sumOfSizes32 returns the sum of absolute values, as four sums.
func sumOfSizes32(x []float32) float32 {
	const sign = 1 << 31
	var s0, s1, s2, s3 float32
	for ; len(x) >= 4; x = x[4:] {
		v := (*[4]float32)(x)
		s0 += math.Float32frombits(math.Float32bits(v[0]) &^ sign)
		s1 += math.Float32frombits(math.Float32bits(v[1]) &^ sign)
		s2 += math.Float32frombits(math.Float32bits(v[2]) &^ sign)
		s3 += math.Float32frombits(math.Float32bits(v[3]) &^ sign)
	}
	for _, v := range x {
		s0 += math.Float32frombits(math.Float32bits(v) &^ sign)
	}
	return (s0 + s2) + (s1 + s3)
}

// Dscal multiplies x by alpha. As in gonum, alpha = 0 clears x.
func (*routines) Dscal(n int, alpha float64, x []float64, incX int) {
	if alpha == 0 || !inRow(n, x, incX) {
		gonum.Dscal(n, alpha, x, incX)
		return
	}
	x = x[:n]
	switch {
	case n < dotLength || !vectorized():
		floats.Scale(alpha, x)
	default:
		whole := n &^ 3
		scale(x[:whole], alpha)
		for k := whole; k < n; k++ {
			x[k] *= alpha
		}
	}
}

// Sscal multiplies x by alpha in float32. As in gonum, alpha = 0 clears x.
func (*routines) Sscal(n int, alpha float32, x []float32, incX int) {
	if alpha != 0 && incX > 1 && manyApart(n, x, incX) {
		scaleApart(n, entriesOf(n, x, incX), alpha)
		return
	}
	if alpha == 0 || !inRow(n, x, incX) {
		gonum.Sscal(n, alpha, x, incX)
		return
	}
	x = x[:n]
	if n > loopLength32 {
		x = x[scaleVectors(x, alpha):]
	}
	for ; len(x) >= 4; x = x[4:] {
		v := (*[4]float32)(x)
		v[0], v[1], v[2], v[3] = v[0]*alpha, v[1]*alpha, v[2]*alpha, v[3]*alpha
	}
	for k := range x {
		x[k] *= alpha
	}
}

// scaleVectors multiplies as many entries of x as fill vectors, and returns their number: parts of vectors
// take long to be read again.
func scaleVectors[F tile.Float](x []F, by F) int {
	if !vectorized() {
		return 0
	}
	whole := len(x) &^ (4<<kind[F]() - 1)
	scale(x[:whole], by)
	return whole
}

// Idamax returns the index of the first of the largest absolute values in x. As in gonum, NaN counts as the
// first entry only.
func (*routines) Idamax(n int, x []float64, incX int) int {
	switch {
	case incX > 1 && manyApart(n, x, incX) && x[0] == x[0]:
		return largestApart[uint64](n, unsafe.Pointer(&x[0]), 8*incX, infinity64)
	case !inRow(n, x, incX):
		return gonum.Idamax(n, x, incX)
	case n >= largestLength && x[0] == x[0] && vectorized():
		return tile.LargestIndex(x[:n])
	}
	most, index := float64(0), 0
	for k, v := range x[:n] {
		if v = math.Abs(v); v > most || k == 0 {
			most, index = v, k
		}
	}
	return index
}

// Isamax is Idamax in float32.
func (*routines) Isamax(n int, x []float32, incX int) int {
	switch {
	case incX > 1 && manyApart(n, x, incX) && x[0] == x[0]:
		return largestApart[uint32](n, unsafe.Pointer(&x[0]), 4*incX, infinity32)
	case !inRow(n, x, incX):
		return gonum.Isamax(n, x, incX)
	case n >= largestLength && x[0] == x[0] && vectorized():
		return tile.LargestIndex(x[:n])
	}
	most, index := float32(0), 0
	for k, v := range x[:n] {
		if v = math.Float32frombits(math.Float32bits(v) &^ (1 << 31)); v > most || k == 0 {
			most, index = v, k
		}
	}
	return index
}

// Drot sets x to c x + s y, and y to c y - s x.
func (*routines) Drot(n int, x []float64, incX int, y []float64, incY int, c, s float64) {
	switch {
	case (incX != 1 || incY != 1) && manyApart(n, x, incX) && holds(y, n, incY):
		turnApart(n, entriesOf(n, x, incX), entriesOf(n, y, incY), turning[float64]{c, s, -s, c})
	case !inRow(n, x, incX) || !inRow(n, y, incY):
		gonum.Drot(n, x, incX, y, incY, c, s)
	case n >= rotationLength && vectorized():
		turn(x[:n], y[:n], turning[float64]{c, s, -s, c})
	default:
		y = y[:n]
		for k, v := range x[:n] {
			w := y[k]
			x[k], y[k] = float64(c*v)+float64(s*w), float64(c*w)-float64(s*v)
		}
	}
}

// Srot is Drot in float32.
func (*routines) Srot(n int, x []float32, incX int, y []float32, incY int, c, s float32) {
	switch {
	case (incX != 1 || incY != 1) && manyApart(n, x, incX) && holds(y, n, incY):
		turnApart(n, entriesOf(n, x, incX), entriesOf(n, y, incY), turning[float32]{c, s, -s, c})
	case !inRow(n, x, incX) || !inRow(n, y, incY):
		gonum.Srot(n, x, incX, y, incY, c, s)
	case n >= rotationLength && vectorized():
		turn(x[:n], y[:n], turning[float32]{c, s, -s, c})
	default:
		y = y[:n]
		for k, v := range x[:n] {
			w := y[k]
			x[k], y[k] = float32(c*v)+float32(s*w), float32(c*w)-float32(s*v)
		}
	}
}

// Dswap exchanges x and y.
func (*routines) Dswap(n int, x []float64, incX int, y []float64, incY int) {
	if (incX != 1 || incY != 1) && manyApart(n, x, incX) && holds(y, n, incY) {
		exchangeApart(n, entriesOf(n, x, incX), entriesOf(n, y, incY))
		return
	}
	if !inRow(n, x, incX) || !inRow(n, y, incY) {
		gonum.Dswap(n, x, incX, y, incY)
		return
	}
	exchange(x[:n], y[:n])
}

// Sswap exchanges x and y.
func (*routines) Sswap(n int, x []float32, incX int, y []float32, incY int) {
	if (incX != 1 || incY != 1) && manyApart(n, x, incX) && holds(y, n, incY) {
		exchangeApart(n, entriesOf(n, x, incX), entriesOf(n, y, incY))
		return
	}
	if !inRow(n, x, incX) || !inRow(n, y, incY) {
		gonum.Sswap(n, x, incX, y, incY)
		return
	}
	exchange(x[:n], y[:n])
}

// exchange exchanges vectors of one length.
func exchange[F tile.Float](x, y []F) {
	if len(x) < swapLength {
		y = y[:len(x)]
		for k, v := range x {
			x[k], y[k] = y[k], v
		}
		return
	}
	swap(x, y)
}
