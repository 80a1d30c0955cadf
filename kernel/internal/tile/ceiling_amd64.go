//go:build !purego

package tile

func readSum(x []float64, four bool) float64 {
	n := len(x) &^ 255
	if !accelerated() || n == 0 {
		return readSumGeneric(x)
	}
	var sum float64
	switch wide := active == AVX512; {
	case wide && four:
		sum = readSum_4_avx512(&x[0], n)
	case wide:
		sum = readSum_1_avx512(&x[0], n)
	case four:
		sum = readSum_4_avx2(&x[0], n)
	default:
		sum = readSum_1_avx2(&x[0], n)
	}
	return sum + readSumGeneric(x[n:])
}

func fmaPeak(rounds int) (flops float64) {
	switch {
	case rounds <= 0:
		return 0
	case active == AVX512:
		fmaPeak_avx512(rounds)
		return float64(rounds) * 12 * 8 * 2
	case active == AVX2:
		fmaPeak_avx2(rounds)
		return float64(rounds) * 12 * 4 * 2
	}
	return fmaPeakGeneric(rounds)
}
