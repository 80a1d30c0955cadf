//go:build !purego

package tile

import "unsafe"

func mulBasisHalf(a []float64, lda int, a0 []float64, lda0 int, x []uint16, ldx int, u []float32, ldu int, n, d, r int, h Hint) {
	if !accelerated() || n == 0 || d == 0 || r == 0 {
		mulBasisHalfGeneric(a, lda, a0, lda0, x, ldx, u, ldu, n, d, r)
		return
	}
	d = PadHalf(d)
	_, _, _, _ = a[(r-1)*lda+n-1], a0[(r-1)*lda0+n-1], x[(n-1)*ldx+d-1], u[(r-1)*ldu+d-1]
	row := 2 * ldx * h.Eighths / 8 // bytes to prefetch
	rows, at := h.rows(n, n*row), 0
	for ; n-at > rows; at += rows {
		mulDots(&a[at], lda, &a0[at], lda0, &x[at*ldx], ldx, &u[0], ldu, rows, d, r, rows*row, h.skip(at*row))
	}
	mulDots(&a[at], lda, &a0[at], lda0, &x[at*ldx], ldx, &u[0], ldu, n-at, d, r, (n-at)*row, h.skip(at*row))
}

func mulTransposedHalf(g []float32, x []uint16, ldx int, e []float32, n, d int, h Hint) {
	if !accelerated() || n == 0 || d == 0 {
		mulTransposedHalfGeneric(g, x, ldx, e, n, d)
		return
	}
	sumRows(g, x, ldx, e, n, PadHalf(d), h)
}

func addScaled(v, w, s []float64, g []float32, n int) {
	if tiles.addScaled == 0 || n == 0 {
		addScaledGeneric(v, w, s, g, n)
		return
	}
	n = Pad(n)
	_, _, _, _ = v[n-1], w[n-1], s[n-1], g[n-1]
	addScaledTile(&v[0], &w[0], &s[0], &g[0], n)
}

func halve[F Float](dst []uint16, x []F, c, s []float64, n int) float64 {
	if tiles.halve == 0 || tiles.halve32 == 0 || n == 0 {
		return halveGeneric(dst, x, c, s, n)
	}
	n = Pad(n)
	_, _, _, _ = dst[n-1], x[n-1], c[n-1], s[n-1]
	if unsafe.Sizeof(x[0]) == 4 {
		return halve32Tile(&dst[0], (*float32)(unsafe.Pointer(&x[0])), &c[0], &s[0], n)
	}
	return halveTile(&dst[0], (*float64)(unsafe.Pointer(&x[0])), &c[0], &s[0], n)
}
