//go:build !purego

package tile

func mulPanel32(c []float32, ldc int, w []float32, ldw int, z []float32, ldz, m, n, columns int, add bool) {
	if tiles.panel32[1] == 0 || m == 0 || n == 0 || columns == 0 {
		panel32Generic(c, ldc, w, ldw, z, ldz, m, n, columns, add)
		return
	}
	_, _, _ = c[(m-1)*ldc+columns-1], w[(m-1)*ldw+n-1], z[(n-1)*ldz+columns-1]
	vector := 2 * tiles.lanes // of float32
	for k := 0; k < columns; {
		width := min(2*vector, columns-k)
		if tiles.panel32Half[1] != 0 && width < 2*vector { // the tile of two vectors has no masks
			width = min(vector, width)
		}
		for i := 0; i < m; {
			height := largest(tiles.panel32[:], m-i)
			if width <= vector && tiles.panel32Half[height] != 0 {
				panel32HalfTile(&c[i*ldc+k], ldc, &w[i*ldw], ldw, &z[k], ldz, n, width, add, height)
			} else {
				panel32Tile(&c[i*ldc+k], ldc, &w[i*ldw], ldw, &z[k], ldz, n, width, add, height)
			}
			i += height
		}
		k += width
	}
}

// transpose32 takes squares, and returns of how many rows and columns.
func transpose32(dst []float32, ldd int, src []float32, lds, m, n int) (rows, columns int) {
	const side = 8
	rows, columns = m&^(side-1), n&^(side-1)
	if tiles.transposeSquares32 == 0 || rows == 0 || columns == 0 {
		return 0, 0
	}
	_, _ = src[(rows-1)*lds+columns-1], dst[(columns-1)*ldd+rows-1]
	for i := 0; i < rows; i += side {
		transposeSquares32Tile(&dst[i], ldd, &src[i*lds], lds, columns)
	}
	return rows, columns
}

func rowDots32(sums, a []float32, lda int, x []float32, m, n int) {
	if tiles.rowDots32[1] == 0 || m == 0 || n == 0 {
		rowDots32Generic(sums, a, lda, x, m, n)
		return
	}
	_, _, _ = sums[m-1], a[(m-1)*lda+n-1], x[n-1]
	i := 0
	for ; i+4 <= m; i += 4 {
		rowDots32Tile(&sums[i], &a[i*lda], lda, &x[0], n, 4)
	}
	for ; i < m; i++ {
		rowDots32Tile(&sums[i], &a[i*lda], lda, &x[0], n, 1)
	}
}

func addRows32(y, a []float32, lda int, v []float32, m, n int) {
	if tiles.addRows32 == 0 || m == 0 || n == 0 {
		addRows32Generic(y, a, lda, v, m, n)
		return
	}
	_, _, _ = y[n-1], a[(m-1)*lda+n-1], v[m-1]
	i := 0
	for ; i+4 <= m; i += 4 {
		addRows32Tile(&y[0], &a[i*lda], lda, &v[i], n)
	}
	for ; i < m; i++ {
		addOuter32Tile(&y[0], 0, &v[i], &a[i*lda], 1, n)
	}
}

func addOuter32(a []float32, lda int, v, y []float32, m, n int) {
	if tiles.addOuter32 == 0 || m == 0 || n == 0 {
		addOuter32Generic(a, lda, v, y, m, n)
		return
	}
	_, _, _ = a[(m-1)*lda+n-1], v[m-1], y[n-1]
	addOuter32Tile(&a[0], lda, &v[0], &y[0], m, n)
}
