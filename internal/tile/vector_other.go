//go:build purego || !amd64

package tile

func rowDots[F Float](sums, a []F, lda int, x []F, m, n int) { rowDotsGeneric(sums, a, lda, x, m, n) }

func addRows[F Float](y, a []F, lda int, b []F, m, n int) { addRowsGeneric(y, a, lda, b, m, n) }

func addOuter[F Float](a []F, lda int, b, y []F, m, n int) { addOuterGeneric(a, lda, b, y, m, n) }

func addAbs(y, a []float64, n int) float64 { return addAbsGeneric(y, a, n) }

func reflect(a []float64, lda, col int, w, sums *[ReflectWidth]float64, scale float64, m, n int) {
	reflectGeneric(a, lda, col, w, sums, scale, m, n)
}

func rotateDown(z []float64, ldz int, c, s []float64, n int) { rotateDownGeneric(z, ldz, c, s, n) }
