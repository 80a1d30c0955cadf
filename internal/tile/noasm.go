//go:build purego || !(amd64 || arm64)

package tile

func available() []Tier { return []Tier{Generic} }

func mulBasis[F Float](a []float64, lda int, x []F, ldx int, u []float64, ldu int, n, d, r int, _ Hint) {
	mulBasisGeneric(a, lda, x, ldx, u, ldu, n, d, r)
}

func leastSquares(b, a []float64, lda, n, r int, y, work []float64, _ uintptr) (lo, hi float64) {
	return leastSquaresGeneric(b, a, lda, n, r, y, work)
}

func residual(e, a []float64, lda int, b, y []float64, n, r int) float64 {
	return residualGeneric(e, a, lda, b, y, n, r)
}

func mulTransposed[F Float](g []float64, x []F, ldx int, e []float64, n, d int, _ Hint) {
	mulTransposedGeneric(g, x, ldx, e, n, d)
}

func rankUpdate(g []float64, ldg int, v []float64, ldv int, b []float64, ldb int, m, d, r int) {
	rankUpdateGeneric(g, ldg, v, ldv, b, ldb, m, d, r)
}

func solveUpper(a []float64, lda int, r []float64, ldr int, inv []float64, m, n int) {
	solveUpperGeneric(a, lda, r, ldr, inv, m, n)
}

func mulPanel[F Float](c []F, ldc int, w []F, ldw int, z []F, ldz, m, n, cols int, add bool) {
	panelGeneric(c, ldc, w, ldw, z, ldz, m, n, cols, add)
}

func fmaPeak(rounds int) (flops float64) { return fmaPeakGeneric(rounds) }
