package tile

// SumDifferences computes sums of weighted differences of rows; see
// sumDifferencesGeneric. All tiers have the same bits.
func SumDifferences(sum, x []float64, ldx, own int, rows []int, w []float64, n int) {
	raceWrite(sum, 1, Pad(n), 0)
	raceRead(x[own*ldx:], 1, Pad(n), 0)
	for _, row := range rows {
		raceRead(x[row*ldx:], 1, Pad(n), 0)
	}
	sumWeighted(sum, x, ldx, own, rows, w, n)
}

// sumDifferencesGeneric computes, in this order, every operation rounded,
//
//	sum[k] = sum_i w[i] * (x[rows[i]*ldx+k] - x[own*ldx+k]),  k < Pad(n).
func sumDifferencesGeneric(sum, x []float64, ldx, own int, rows []int, w []float64, n int) {
	sum = sum[:Pad(n)]
	clear(sum)
	from := x[own*ldx:][:len(sum)]
	for i, row := range rows {
		for k, v := range x[row*ldx:][:len(sum)] {
			sum[k] += float64(w[i] * (v - from[k])) // or arm64 would not round the product
		}
	}
}
