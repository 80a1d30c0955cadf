package tile

import (
	"math"
	"unsafe"
)

// PairSigns are the signs, as zeros, of the real and the imaginary parts of complex numbers, and of those of
// numbers whose parts are swapped: of the imaginary parts, which come first then, and of the real ones.
type PairSigns[F Float] [4]F

// NewPairSigns returns signs, for -1 a negative one.
func NewPairSigns[F Float](re, im, swappedIm, swappedRe F) (signs PairSigns[F]) {
	for k, v := range [4]F{re, im, swappedIm, swappedRe} {
		signs[k] = F(math.Copysign(0, float64(v)))
	}
	return signs
}

// of returns a number, negative where a sign is.
func (s *PairSigns[F]) of(v F, sign int) F {
	if math.Signbit(float64(s[sign])) {
		return -v
	}
	return v
}

// pairVectorBytes is the size of the vectors of the tiles of this file.
const pairVectorBytes = 32

// wholePairs returns how many of n reals are in whole vectors, and the number of vectors.
func wholePairs[F Float](n int) (reals, vectors int) {
	width := pairVectorBytes / int(unsafe.Sizeof(F(0)))
	return n / width * width, n / width
}

// TurnPairs copies complex numbers, as pairs of reals, and copies them with their parts swapped.
func TurnPairs[F Float](own, swapped, src []F, signs *PairSigns[F]) {
	n := len(src) &^ 1
	own, swapped = own[:n], swapped[:n]
	raceRead(src, 1, n, 0)
	raceWrite(own, 1, n, 0)
	raceWrite(swapped, 1, n, 0)
	done, vectors := wholePairs[F](n)
	if tiles.turnPairs[0] == 0 {
		done = 0
	} else if vectors > 0 {
		turnPairsTile(unsafe.Pointer(&own[0]), unsafe.Pointer(&swapped[0]), unsafe.Pointer(&src[0]),
			unsafe.Pointer(signs), vectors, of[F](0))
	}
	for k := done; k+1 < n; k += 2 {
		v, w := src[k], src[k+1]
		own[k], own[k+1] = signs.of(v, 0), signs.of(w, 1)
		swapped[k], swapped[k+1] = signs.of(w, 2), signs.of(v, 3)
	}
}

// CombinePairs adds complex numbers, as pairs of reals whose parts are swapped, to those of y with their
// signs.
func CombinePairs[F Float](y, x []F, signs *PairSigns[F]) {
	n := min(len(x), len(y)) &^ 1
	raceRead(x, 1, n, 0)
	raceWrite(y, 1, n, 0)
	done, vectors := wholePairs[F](n)
	if tiles.combinePairs[0] == 0 {
		done = 0
	} else if vectors > 0 {
		combinePairsTile(unsafe.Pointer(&y[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(signs), vectors, of[F](0))
	}
	for k := done; k+1 < n; k += 2 {
		y[k], y[k+1] = signs.of(y[k], 0)+signs.of(x[k+1], 2), signs.of(y[k+1], 1)+signs.of(x[k], 3)
	}
}

// SplitPairs copies the real parts of complex numbers, as pairs of reals, and their imaginary parts.
func SplitPairs[F Float](re, im, src []F) {
	n := len(src) / 2
	re, im = re[:n], im[:n]
	raceRead(src, 1, 2*n, 0)
	raceWrite(re, 1, n, 0)
	raceWrite(im, 1, n, 0)
	done, vectors := wholePairs[F](n)
	if tiles.splitPairs[0] == 0 {
		done = 0
	} else if vectors > 0 {
		splitPairsTile(unsafe.Pointer(&re[0]), unsafe.Pointer(&im[0]), unsafe.Pointer(&src[0]), vectors, of[F](0))
	}
	for k := done; k < n; k++ {
		re[k], im[k] = src[2*k], src[2*k+1]
	}
}
