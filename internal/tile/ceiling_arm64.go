//go:build !purego

package tile

// readSum_1_neon adds n entries of x, a multiple of 32.
//
//go:noescape
func readSum_1_neon(x *float64, n int) float64

// readSum_4_neon does so in four streams, each through a quarter of x.
//
//go:noescape
func readSum_4_neon(x *float64, n int) float64

// fmaPeak_neon does rounds of 16 vector multiply-adds in registers.
func fmaPeak_neon(rounds int)

func readSum(x []float64, four bool) float64 {
	n := len(x) &^ 31
	if active != NEON || n == 0 {
		return readSumGeneric(x)
	}
	if four {
		return readSum_4_neon(&x[0], n) + readSumGeneric(x[n:])
	}
	return readSum_1_neon(&x[0], n) + readSumGeneric(x[n:])
}

func fmaPeak(rounds int) (flops float64) {
	if active != NEON || rounds <= 0 {
		return fmaPeakGeneric(rounds)
	}
	fmaPeak_neon(rounds)
	return float64(rounds) * 16 * 2 * 2
}
