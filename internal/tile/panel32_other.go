//go:build purego || !amd64

package tile

func mulPanel32(c []float32, ldc int, w []float32, ldw int, z []float32, ldz, m, n, columns int, add bool) {
	panel32Generic(c, ldc, w, ldw, z, ldz, m, n, columns, add)
}

func transpose32([]float32, int, []float32, int, int, int) (rows, columns int) { return 0, 0 }

func rowDots32(sums, a []float32, lda int, x []float32, m, n int) {
	rowDots32Generic(sums, a, lda, x, m, n)
}

func addRows32(y, a []float32, lda int, v []float32, m, n int) {
	addRows32Generic(y, a, lda, v, m, n)
}

func addOuter32(a []float32, lda int, v, y []float32, m, n int) {
	addOuter32Generic(a, lda, v, y, m, n)
}
