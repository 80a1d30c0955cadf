//go:build purego || !amd64

package tile

func activate() {}

// What follows has tiles on amd64 only. With NEON the tiles of mulBasis do as well on any rank.

func blocked(int, int, int, int) bool { return false }

func packed(int, int, int) int { return 0 }

func transpose[F Float]([]F, int, []F, int, int, int) (rows, columns int) { return 0, 0 }

func mulPacked(a []float64, lda int, x []float64, ldx int, p []float64, n, d, r int, _ Hint) {
	mulPackedGeneric(a, lda, x, ldx, p, n, d, r)
}

func leastSquaresSmall(b, e, a []float64, lda, n, r int, y, work []float64, _ uintptr) (lo, hi, squares float64, ok bool) {
	return 0, 0, 0, false
}

func rotateRows(z []float64, ldz int, c, s []float64, n int) { rotateGeneric(z, ldz, c, s, n) }

func sumWeighted(sum, x []float64, ldx, own int, rows []int, w []float64, n int) {
	sumDifferencesGeneric(sum, x, ldx, own, rows, w, n)
}
