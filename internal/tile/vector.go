package tile

import "unsafe"

// RowDots sets sums[i] to sum_k a[i*lda+k] x[k], i < m, k < n. It reads nothing beyond n entries of a row.
func RowDots[F Float](sums, a []F, lda int, x []F, m, n int) {
	raceRead(a, m, n, lda)
	raceRead(x, 1, n, 0)
	raceWrite(sums, 1, m, 0)
	if tiles.rowDots[1] == 0 || m == 0 || n == 0 {
		rowDotsGeneric(sums, a, lda, x, m, n)
		return
	}
	_, _, _ = sums[m-1], a[(m-1)*lda+n-1], x[n-1]
	for i, rows := 0, 0; i < m; i += rows {
		rows = largest(tiles.rowDots[:singles], m-i)
		rowDotsTile(unsafe.Pointer(&sums[i]), unsafe.Pointer(&a[i*lda]), lda, unsafe.Pointer(&x[0]), n, of[F](rows))
	}
}

// AddRows adds sum_i b[i] a[i*lda+k] to y[k], i < m, k < n.
func AddRows[F Float](y, a []F, lda int, b []F, m, n int) {
	raceRead(a, m, n, lda)
	raceRead(b, 1, m, 0)
	raceWrite(y, 1, n, 0)
	if tiles.addRows[1] == 0 || m == 0 || n == 0 {
		addRowsGeneric(y, a, lda, b, m, n)
		return
	}
	_, _, _ = y[n-1], a[(m-1)*lda+n-1], b[m-1]
	for i, rows := 0, 0; i < m; i += rows {
		rows = largest(tiles.addRows[:singles], m-i)
		addRowsTile(unsafe.Pointer(&y[0]), unsafe.Pointer(&a[i*lda]), lda, unsafe.Pointer(&b[i]), n, of[F](rows))
	}
}

// AddOuter adds b[i] y[k] to a[i*lda+k], i < m, k < n. y may be the only row of a.
func AddOuter[F Float](a []F, lda int, b, y []F, m, n int) {
	raceRead(b, 1, m, 0)
	raceRead(y, 1, n, 0)
	raceWrite(a, m, n, lda)
	if tiles.addOuter[1] == 0 || m == 0 || n == 0 {
		addOuterGeneric(a, lda, b, y, m, n)
		return
	}
	_, _, _ = a[(m-1)*lda+n-1], b[m-1], y[n-1]
	for i, rows := 0, 0; i < m; i += rows {
		rows = largest(tiles.addOuter[:singles], m-i)
		addOuterTile(unsafe.Pointer(&a[i*lda]), lda, unsafe.Pointer(&b[i]), unsafe.Pointer(&y[0]), n, of[F](rows))
	}
}

// AddAbs adds the absolute values of n entries of a to y, and returns their sum.
func AddAbs(y, a []float64, n int) float64 {
	raceRead(a, 1, n, 0)
	raceWrite(y, 1, n, 0)
	if tiles.addAbs == 0 || n == 0 {
		return addAbsGeneric(y, a, n)
	}
	_, _ = y[n-1], a[n-1]
	return addAbsTile(&y[0], &a[0], n)
}
