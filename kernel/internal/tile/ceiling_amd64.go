//go:build !purego

package tile

func readSum1(x []float64) float64 {
	n := len(x) &^ 255
	if !accelerated() || n == 0 {
		return readSumGeneric(x)
	}
	if active == AVX512 {
		return readSum_1_avx512(&x[0], n) + readSumGeneric(x[n:])
	}
	return readSum_1_avx2(&x[0], n) + readSumGeneric(x[n:])
}

func readSum4(x []float64) float64 {
	n := len(x) &^ 255
	if !accelerated() || n == 0 {
		return readSumGeneric(x)
	}
	if active == AVX512 {
		return readSum_4_avx512(&x[0], n) + readSumGeneric(x[n:])
	}
	return readSum_4_avx2(&x[0], n) + readSumGeneric(x[n:])
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
