//go:build !purego

package tile

import "unsafe"

// vectorRows returns the number of rows that one tile of a matrix and a vector takes, of n rows.
func vectorRows(n int) int {
	switch {
	case n >= 8:
		return 8
	case n >= 4:
		return 4
	}
	return 1
}

func rowDots[F Float](sums, a []F, lda int, x []F, m, n int) {
	if tiles.rowDots[1] == 0 || m == 0 || n == 0 {
		rowDotsGeneric(sums, a, lda, x, m, n)
		return
	}
	_, _, _ = sums[m-1], a[(m-1)*lda+n-1], x[n-1]
	for i := 0; i < m; {
		rows := vectorRows(m - i)
		if unsafe.Sizeof(F(0)) == 4 {
			rowDots32Tile(as[float32](&sums[i]), as[float32](&a[i*lda]), lda, as[float32](&x[0]), n, rows)
		} else {
			rowDotsTile(as[float64](&sums[i]), as[float64](&a[i*lda]), lda, as[float64](&x[0]), n, rows)
		}
		i += rows
	}
}

func addRows[F Float](y, a []F, lda int, b []F, m, n int) {
	if tiles.addRows[1] == 0 || m == 0 || n == 0 {
		addRowsGeneric(y, a, lda, b, m, n)
		return
	}
	_, _, _ = y[n-1], a[(m-1)*lda+n-1], b[m-1]
	for i := 0; i < m; {
		rows := vectorRows(m - i)
		if unsafe.Sizeof(F(0)) == 4 {
			addRows32Tile(as[float32](&y[0]), as[float32](&a[i*lda]), lda, as[float32](&b[i]), n, rows)
		} else {
			addRowsTile(as[float64](&y[0]), as[float64](&a[i*lda]), lda, as[float64](&b[i]), n, rows)
		}
		i += rows
	}
}

func addOuter[F Float](a []F, lda int, b, y []F, m, n int) {
	if tiles.addOuter[1] == 0 || m == 0 || n == 0 {
		addOuterGeneric(a, lda, b, y, m, n)
		return
	}
	_, _, _ = a[(m-1)*lda+n-1], b[m-1], y[n-1]
	for i := 0; i < m; {
		rows := vectorRows(min(m-i, 4))
		if unsafe.Sizeof(F(0)) == 4 {
			addOuter32Tile(as[float32](&a[i*lda]), lda, as[float32](&b[i]), as[float32](&y[0]), n, rows)
		} else {
			addOuterTile(as[float64](&a[i*lda]), lda, as[float64](&b[i]), as[float64](&y[0]), n, rows)
		}
		i += rows
	}
}

func addAbs(y, a []float64, n int) float64 {
	if tiles.addAbs == 0 || n == 0 {
		return addAbsGeneric(y, a, n)
	}
	_, _ = y[n-1], a[n-1]
	return addAbsTile(&y[0], &a[0], n)
}

func reflect(a []float64, lda, col int, w, sums *[ReflectWidth]float64, scale float64, m, n int) {
	if tiles.reflect[1] == 0 || m == 0 {
		reflectGeneric(a, lda, col, w, sums, scale, m, n)
		return
	}
	_ = a[(m-1)*lda+n-1]
	first := (col + 1) &^ (Width - 1)
	at, from, next := &a[first], &a[col], &a[col+1]
	switch n - first {
	case 4 * Width:
		reflectTile(at, from, next, lda, &w[first], &sums[first], scale, m, 4)
	case 3 * Width:
		reflectTile(at, from, next, lda, &w[first], &sums[first], scale, m, 3)
	case 2 * Width:
		reflectTile(at, from, next, lda, &w[first], &sums[first], scale, m, 2)
	case Width:
		reflectTile(at, from, next, lda, &w[first], &sums[first], scale, m, 1)
	}
}

func rotateDown(z []float64, ldz int, c, s []float64, n int) {
	if tiles.rotate == 0 || n == 0 {
		rotateDownGeneric(z, ldz, c, s, n)
		return
	}
	_, _, _ = z[n*ldz+RotateWidth-1], c[n-1], s[n-1]
	for k := 0; k < RotateWidth; k += 4 * tiles.lanes {
		rotateTile(&z[n*ldz+k], -ldz, &c[0], &s[0], n)
	}
}
