//go:build !purego

package tile

func readSum(x []float64, four bool) float64 {
	n := len(x) &^ 255
	if !accelerated() || n == 0 {
		return readSumGeneric(x)
	}
	read := readSum_1Tile
	if four {
		read = readSum_4Tile
	}
	return read(&x[0], n) + readSumGeneric(x[n:])
}

func fmaPeak(rounds int) (flops float64) {
	if !accelerated() || rounds <= 0 {
		return fmaPeakGeneric(rounds)
	}
	fmaPeakTile(rounds)
	return float64(rounds) * 12 * float64(lanes()) * 2
}
