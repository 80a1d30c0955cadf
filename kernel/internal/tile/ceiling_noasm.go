//go:build purego || !(amd64 || arm64)

package tile

func readSum1(x []float64) float64 { return readSumGeneric(x) }

func readSum4(x []float64) float64 { return readSumGeneric(x) }

func fmaPeak(rounds int) (flops float64) { return fmaPeakGeneric(rounds) }
