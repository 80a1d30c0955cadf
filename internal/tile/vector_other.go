//go:build purego || !amd64

package tile

func rowDots(sums, a []float64, lda int, x []float64, m, n int) {
	rowDotsGeneric(sums, a, lda, x, m, n)
}

func addRows(y, a []float64, lda int, b []float64, m, n int) { addRowsGeneric(y, a, lda, b, m, n) }

func addOuter(a []float64, lda int, b, y []float64, m, n int) { addOuterGeneric(a, lda, b, y, m, n) }

func addAbs(y, a []float64, n int) float64 { return addAbsGeneric(y, a, n) }

func reflect(a []float64, lda, col int, w, sums *[ReflectWidth]float64, scale float64, m, n int) {
	reflectGeneric(a, lda, col, w, sums, scale, m, n)
}

func rotateDown(z []float64, ldz int, c, s []float64, n int) { rotateDownGeneric(z, ldz, c, s, n) }

func panelTail(c []float64, ldc int, w []float64, ldw int, z []float64, ldz, m, n, cols int, add bool) {
	panelTailGeneric(c, ldc, w, ldw, z, ldz, m, n, cols, add)
}
