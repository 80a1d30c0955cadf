//go:build purego || !amd64

package tile

func sumWeighted(sum, x []float64, ldx, own int, rows []int, w []float64, n int) {
	sumDifferencesGeneric(sum, x, ldx, own, rows, w, n)
}
