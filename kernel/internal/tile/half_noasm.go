//go:build purego || !(amd64 || arm64)

package tile

func mulBasisHalf(a []float64, lda int, a0 []float64, lda0 int, x []uint16, ldx int, u []float32, ldu int, n, d, r int, _ Hint) {
	mulBasisHalfGeneric(a, lda, a0, lda0, x, ldx, u, ldu, n, d, r)
}

func mulTransposedHalf(g []float32, x []uint16, ldx int, e []float32, n, d int, _ Hint) {
	mulTransposedHalfGeneric(g, x, ldx, e, n, d)
}

func addScaled(v, w, s []float64, g []float32, n int) { addScaledGeneric(v, w, s, g, n) }

func halve[F Float](dst []uint16, x []F, c, s []float64, n int) float64 {
	return halveGeneric(dst, x, c, s, n)
}
