//go:build !purego

package tile

// fmaPeak_neon does rounds of 16 vector multiply-adds in registers.
func fmaPeak_neon(rounds int)

func fmaPeak(rounds int) (flops float64) {
	if active != NEON || rounds <= 0 {
		return fmaPeakGeneric(rounds)
	}
	fmaPeak_neon(rounds)
	return float64(rounds) * 16 * 2 * 2
}
