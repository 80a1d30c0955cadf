package tile

import (
	"math"
	"unsafe"
)

// AddComplex adds x, times a complex number, to y. x and y hold n complex numbers as pairs of reals. If
// conjugate is set, it adds the conjugates of x.
func AddComplex[F Float](y, x []F, re, im F, conjugate bool) {
	n := min(len(x), len(y)) &^ 1
	raceRead(x, 1, n, 0)
	raceWrite(y, 1, n, 0)
	by := [4]F{re, re, -im, im}
	if conjugate {
		by = [4]F{re, -re, im, im}
	}
	if tiles.addComplex[0] == 0 || n == 0 {
		for k := 0; k < n; k += 2 {
			v, w := x[k], x[k+1]
			y[k], y[k+1] = y[k]+F(v*by[0])+F(w*by[2]), y[k+1]+F(w*by[1])+F(v*by[3])
		}
		return
	}
	addComplexTile(unsafe.Pointer(&y[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&by), n, of[F](0))
}

// TimesComplex multiplies complex numbers, as pairs of reals, by one.
func TimesComplex[F Float](y []F, re, im F) {
	n := len(y) &^ 1
	raceWrite(y, 1, n, 0)
	by := [4]F{re, re, -im, im}
	if tiles.timesComplex[0] == 0 || n == 0 {
		for k := 0; k < n; k += 2 {
			v, w := y[k], y[k+1]
			y[k], y[k+1] = F(v*re)-F(w*im), F(w*re)+F(v*im)
		}
		return
	}
	timesComplexTile(unsafe.Pointer(&y[0]), unsafe.Pointer(&by), n, of[F](0))
}

// complexBytes is the memory that the tile of DotComplex takes at a time of each vector.
const complexBytes = 128

// DotComplex returns the sums of the products of complex numbers, as pairs of reals: x'y or, with the
// conjugates of x, x*y.
func DotComplex[F Float](x, y []F, conjugate bool) (re, im F) {
	n := min(len(x), len(y)) &^ 1
	raceRead(x, 1, n, 0)
	raceRead(y, 1, n, 0)
	var own, swapped [2]F // of even entries of x, and of odd ones
	width := complexBytes / int(unsafe.Sizeof(re))
	if whole := n &^ (width - 1); whole > 0 && tiles.dotComplex[0] != 0 {
		var sums [4]F
		dotComplexTile(unsafe.Pointer(&sums), unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), whole, of[F](0))
		own, swapped = [2]F{sums[0], sums[1]}, [2]F{sums[2], sums[3]}
		x, y, n = x[whole:], y[whole:], n-whole
	}
	for k := 0; k < n; k += 2 {
		own[0] += F(x[k] * y[k])
		own[1] += F(x[k+1] * y[k+1])
		swapped[0] += F(x[k] * y[k+1])
		swapped[1] += F(x[k+1] * y[k])
	}
	if conjugate {
		return own[0] + own[1], swapped[0] - swapped[1]
	}
	return own[0] - own[1], swapped[0] + swapped[1]
}

// PlaneRotation sets x to c x + s y, and y to c y - s x, for vectors of one length.
func PlaneRotation[F Float](x, y []F, c, s F) { Turn(x, y, &[4]F{c, s, -s, c}) }

// Turn sets x to by[0] x + by[1] y, and y to by[2] x + by[3] y, for vectors of one length. Products with
// y are rounded first.
func Turn[F Float](x, y []F, by *[4]F) {
	n := min(len(x), len(y))
	raceWrite(x, 1, n, 0)
	raceWrite(y, 1, n, 0)
	if tiles.turn[0] == 0 || n == 0 {
		xx, xy, yx, yy := by[0], by[1], by[2], by[3]
		for k := range n {
			v, w := x[k], y[k]
			x[k], y[k] = F(xx*v)+F(xy*w), F(yx*v)+F(yy*w)
		}
		return
	}
	turnTile(unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), unsafe.Pointer(by), n, of[F](0))
}

// Swap exchanges vectors of one length.
func Swap[F Float](x, y []F) {
	n := min(len(x), len(y))
	raceWrite(x, 1, n, 0)
	raceWrite(y, 1, n, 0)
	if tiles.swap[0] == 0 || n == 0 {
		swapGeneric(x[:n], y[:n])
		return
	}
	swapTile(unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), n, of[F](0))
}

// swapGeneric exchanges vectors a part at a time: copies take less time than a loop.
func swapGeneric[F Float](x, y []F) {
	var part [64]F
	for len(x) > 0 {
		n := copy(part[:], x)
		copy(x, y[:n])
		copy(y, part[:n])
		x, y = x[n:], y[n:]
	}
}

// largestBytes is the least memory of the numbers that LargestIndex and LargestPair leave to their tiles.
const largestBytes = 32

// LargestIndex returns the index of the first of the largest absolute values in x, whose first number is not
// NaN. NaN does not count.
func LargestIndex[F Float](x []F) int {
	raceRead(x, 1, len(x), 0)
	if len(x)*int(unsafe.Sizeof(x[0])) >= largestBytes && tiles.largestIndex[0] != 0 {
		return largestIndexTile(unsafe.Pointer(&x[0]), len(x), of[F](0))
	}
	most, at := F(math.Abs(float64(x[0]))), 0
	for i, v := range x {
		if size := F(math.Abs(float64(v))); size > most {
			most, at = size, i
		}
	}
	return at
}

// LargestPair returns the index of the first of the largest pairs of numbers in x: of those whose absolute
// values have the largest sum. The first sum is not NaN. NaN does not count.
func LargestPair[F Float](x []F) int {
	raceRead(x, 1, len(x), 0)
	if len(x)*int(unsafe.Sizeof(x[0])) >= largestBytes && tiles.largestPair[0] != 0 {
		return largestPairTile(unsafe.Pointer(&x[0]), len(x), of[F](0))
	}
	most, at := PairSize(x[0], x[1]), 0
	for k := 2; k < len(x); k += 2 {
		if size := PairSize(x[k], x[k+1]); size > most {
			most, at = size, k/2
		}
	}
	return at
}

// PairSize returns the sum of two absolute values.
func PairSize[F Float](a, b F) F { return F(math.Abs(float64(a))) + F(math.Abs(float64(b))) }

// PackComplex copies rows of complex numbers, of n reals each, to the even rows of dst. An odd row has the
// numbers of the row above with their parts swapped.
func PackComplex[F Float](dst []F, ldd int, src []F, lds, rows, n int, signs *PairSigns[F]) {
	if rows == 0 || n == 0 {
		return
	}
	_, _ = dst[(2*rows-1)*ldd+n-1], src[(rows-1)*lds+n-1]
	if vector := pairVectorBytes / int(unsafe.Sizeof(F(0))); tiles.packComplex[0] == 0 || n < vector {
		for i := range rows {
			TurnPairs(dst[2*i*ldd:], dst[(2*i+1)*ldd:], src[i*lds:][:n], signs)
		}
		return
	}
	raceRead(src, rows, n, lds)
	raceWrite(dst, 2*rows, n, ldd)
	to, from := unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0])
	packComplexTile(to, ldd, from, lds, rows, n, unsafe.Pointer(signs), of[F](0))
}

// TransposeComplex stores the transpose of m rows of n complex numbers, as pairs of reals. Strides are in
// reals.
func TransposeComplex[F Float](dst []F, ldd int, src []F, lds, m, n int) {
	raceRead(src, m, 2*n, lds)
	raceWrite(dst, n, 2*m, ldd)
	rows, columns := 0, 0 // by the tile
	if tiles.transposeEdge != 0 && unsafe.Sizeof(F(0)) == 4 && ldd%2 == 0 && lds%2 == 0 && min(m, n) > 0 {
		// A pair of float32 is as large as a float64.
		to, from := unsafe.Pointer(&dst[:(n-1)*ldd+2*m][0]), unsafe.Pointer(&src[:(m-1)*lds+2*n][0])
		transposeAll(to, ldd/2, from, lds/2, m, n)
		return
	}
	if tiles.transposeComplex != 0 && unsafe.Sizeof(F(0)) == 8 && min(m, n) >= 2 {
		rows, columns = m&^1, n&^1
		_, _ = dst[(n-1)*ldd+2*m-1], src[(m-1)*lds+2*n-1]
		to, from := (*float64)(unsafe.Pointer(&dst[0])), (*float64)(unsafe.Pointer(&src[0]))
		transposeComplexTile(to, ldd, from, lds, rows, columns)
	}
	for i := range m {
		first := columns
		if i >= rows {
			first = 0
		}
		at := first*ldd + 2*i
		for row := src[i*lds+2*first:][:2*(n-first)]; len(row) >= 2; row = row[2:] {
			*(*[2]F)(dst[at:]) = *(*[2]F)(row)
			at += ldd
		}
	}
}
