//go:build purego || !(amd64 || arm64)

package tile

func readSum(x []float64, _ bool) float64 { return readSumGeneric(x) }

func fmaPeak(rounds int) (flops float64) { return fmaPeakGeneric(rounds) }
