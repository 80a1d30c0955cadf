//go:build !purego

package tile

func rowDots(sums, a []float64, lda int, x []float64, m, n int) {
	if tiles.rowDots[1] == 0 || m == 0 || n == 0 {
		rowDotsGeneric(sums, a, lda, x, m, n)
		return
	}
	_, _, _ = sums[m-1], a[(m-1)*lda+n-1], x[n-1]
	for i := 0; i < m; {
		switch left := m - i; {
		case left >= 8:
			rowDotsTile(&sums[i], &a[i*lda], lda, &x[0], n, 8)
			i += 8
		case left >= 4:
			rowDotsTile(&sums[i], &a[i*lda], lda, &x[0], n, 4)
			i += 4
		case left >= 2:
			rowDotsTile(&sums[i], &a[i*lda], lda, &x[0], n, 2)
			i += 2
		default:
			rowDotsTile(&sums[i], &a[i*lda], lda, &x[0], n, 1)
			i++
		}
	}
}

func addRows(y, a []float64, lda int, b []float64, m, n int) {
	if tiles.addRows[1] == 0 || m == 0 || n == 0 {
		addRowsGeneric(y, a, lda, b, m, n)
		return
	}
	_, _, _ = y[n-1], a[(m-1)*lda+n-1], b[m-1]
	for i := 0; i < m; {
		switch left := m - i; {
		case left >= 8:
			addRowsTile(&y[0], &a[i*lda], lda, &b[i], n, 8)
			i += 8
		case left >= 4:
			addRowsTile(&y[0], &a[i*lda], lda, &b[i], n, 4)
			i += 4
		case left >= 2:
			addRowsTile(&y[0], &a[i*lda], lda, &b[i], n, 2)
			i += 2
		default:
			addRowsTile(&y[0], &a[i*lda], lda, &b[i], n, 1)
			i++
		}
	}
}

func addOuter(a []float64, lda int, b, y []float64, m, n int) {
	if tiles.addOuter[1] == 0 || m == 0 || n == 0 {
		addOuterGeneric(a, lda, b, y, m, n)
		return
	}
	_, _, _ = a[(m-1)*lda+n-1], b[m-1], y[n-1]
	for i := 0; i < m; {
		switch left := m - i; {
		case left >= 4:
			addOuterTile(&a[i*lda], lda, &b[i], &y[0], n, 4)
			i += 4
		case left >= 2:
			addOuterTile(&a[i*lda], lda, &b[i], &y[0], n, 2)
			i += 2
		default:
			addOuterTile(&a[i*lda], lda, &b[i], &y[0], n, 1)
			i++
		}
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

func panelTail(c []float64, ldc int, w []float64, ldw int, z []float64, ldz, m, n, cols int, add bool) {
	if tiles.panelTail[1] == 0 || m == 0 || n == 0 || cols == 0 {
		panelTailGeneric(c, ldc, w, ldw, z, ldz, m, n, cols, add)
		return
	}
	_, _, _ = c[(m-1)*ldc+cols-1], w[(m-1)*ldw+n-1], z[(n-1)*ldz+cols-1]
	lanes := tiles.lanes
	for i := 0; i < m; {
		height := largest(tiles.panel[:], m-i)
		c, w := &c[i*ldc], &w[i*ldw]
		for k := 0; k < cols; k += 2 * lanes {
			switch left := cols - k; {
			case left >= 2*lanes:
				h := nothing(w)
				panelTile(at(c, k), ldc, w, ldw, &z[k], ldz, n, add, h.next, h.stride, h.step, height)
			case left > lanes:
				panelTailTile(at(c, k), ldc, w, ldw, &z[k], ldz, n, left, add, height)
			default:
				panelTailHalfTile(at(c, k), ldc, w, ldw, &z[k], ldz, n, left, add, height)
			}
		}
		i += height
	}
}
