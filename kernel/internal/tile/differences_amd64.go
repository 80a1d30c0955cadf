//go:build !purego

package tile

func sumWeighted(sum, x []float64, ldx, own int, rows []int, w []float64, n int) {
	if !accelerated() || n == 0 || len(rows) == 0 {
		sumDifferencesGeneric(sum, x, ldx, own, rows, w, n)
		return
	}
	n = Pad(n)
	_, _, _ = sum[n-1], x[own*ldx+n-1], w[len(rows)-1]
	for _, row := range rows {
		_ = x[row*ldx+n-1]
	}
	sumDifferences(&sum[0], &x[0], ldx, own, &rows[0], &w[0], len(rows), n)
}
