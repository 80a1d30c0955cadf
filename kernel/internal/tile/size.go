package tile

import "math"

// Size returns the largest absolute value in x, NaN if one of its entries is NaN, and the
// sum of their squares, within n eps of it for the n of a few thousand entries that are
// summed at a time. The length of x is a multiple of Width.
func Size[F Float](x []F) (largest, squares float64) {
	const together = 4096
	raceRead(x, 1, len(x), 0)
	for len(x) > 0 {
		part := x[:min(len(x), together)]
		m, s := size(part)
		largest, squares = max(largest, m), squares+s
		x = x[len(part):]
	}
	if squares != squares {
		largest = squares
	}
	return largest, squares
}

// sizeGeneric returns the largest absolute value in x, which means nothing if there is NaN
// among them, and the sum of the squares.
func sizeGeneric[F Float](x []F) (largest, squares float64) {
	var sums [Width]float64
	for ; len(x) >= Width; x = x[Width:] {
		for k, v := range x[:Width] {
			w := math.Abs(float64(v))
			sums[k] += w * w
			if w > largest {
				largest = w
			}
		}
	}
	for _, s := range sums {
		squares += s
	}
	return largest, squares
}
