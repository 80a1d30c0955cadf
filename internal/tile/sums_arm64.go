//go:build !purego

package tile

import (
	"math"
	"unsafe"
)

// fold4 adds the sums of four lanes.
func fold4(s *[4]float64) float64 { return (s[0] + s[2]) + (s[1] + s[3]) }

// addAbsTile has two vectors of four partial sums; the last entries, which fill no vector, come first.
func addAbsTile(y, a *float64, n int) float64 {
	var sums [2][4]float64
	to, from := unsafe.Slice(y, n), unsafe.Slice(a, n)
	rest, whole := n%4, n&^3
	for k, v := range from[whole:] {
		v = math.Abs(v)
		sums[0][4-rest+k] += v
		to[whole+k] += v
	}
	for k := 0; k < whole; k += 4 {
		vector := 0
		if k/4%2 == 1 && k+4 <= whole&^7 {
			vector = 1
		}
		v, t, s := (*[4]float64)(from[k:]), (*[4]float64)(to[k:]), &sums[vector]
		for l := range v {
			size := math.Abs(v[l])
			s[l] += size
			t[l] += size
		}
	}
	for l, v := range sums[1] {
		sums[0][l] += v
	}
	return fold4(&sums[0])
}

// squaresTile has squaresWidth partial sums. Squares of float32 are exact in float64.
func squaresTile(x unsafe.Pointer, n int, _ int) float64 {
	var sums [squaresWidth]float64
	for numbers := unsafe.Slice((*float32)(x), n); len(numbers) > 0; numbers = numbers[squaresWidth:] {
		for k, v := range (*[squaresWidth]float32)(numbers) {
			sums[k] += float64(float64(v) * float64(v))
		}
	}
	first := (*[4]float64)(sums[:])
	for k := 4; k < squaresWidth; k += 4 {
		for l, v := range sums[k : k+4] {
			first[l] += v
		}
	}
	return fold4(first)
}

// absolutesTile sets partial sums, whose order is that of Absolutes.
func absolutesTile(sums, x unsafe.Pointer, n int, index int) {
	if index == singles {
		absolutesOf((*[absolutesBytes / 4]float32)(sums)[:], unsafe.Slice((*float32)(x), n))
	} else {
		absolutesOf((*[absolutesBytes / 8]float64)(sums)[:], unsafe.Slice((*float64)(x), n))
	}
}

func absolutesOf[F Float](sums, x []F) {
	for ; len(x) > 0; x = x[len(sums):] {
		for k, v := range x[:len(sums)] {
			sums[k] += F(math.Abs(float64(v)))
		}
	}
}
