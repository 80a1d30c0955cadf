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
	bytes := 2 * n * ldx * h.Eighths / 8 // to prefetch
	if rows := h.rows(n, bytes); rows < n {
		mulBasisHalf(a, lda, a0, lda0, x, ldx, u, ldu, rows, d, r, h)
		mulBasisHalf(a[rows:], lda, a0[rows:], lda0, x[rows*ldx:], ldx, u, ldu, n-rows, d, r, h.skip(bytes*rows/n))
		return
	}
	if n == 1 { // the tiles take two rows: the same one twice
		var t, t0 [2 * maxDots]float64
		k := basisPrefetch(h, bytes, float64(d)/(2*HalfWidth), &x[0])
		for j := 0; j < r; j += maxDots {
			w := min(maxDots, r-j)
			for i := range w {
				t0[2*i], t0[2*i+1] = a0[(j+i)*lda0], a0[(j+i)*lda0]
			}
			dotsHalf(&t[0], 2, &t0[0], 2, &x[0], 0, &u[j*ldu], ldu, 2, d, w, 1, k)
			for i := range w {
				a[(j+i)*lda] = t[2*i]
			}
		}
		return
	}
	steps := float64(n*d) / (4 * HalfWidth) // for each group
	wide, narrow := cut(r, maxDots)
	share := bytes * wide.count / (wide.count + narrow.count)
	k := basisPrefetch(h, share, steps*float64(wide.count), &x[0])
	dotsHalf(&a[0], lda, &a0[0], lda0, &x[0], ldx, &u[0], ldu, n, d, wide.width, wide.count, k)
	if c := narrow; c.count > 0 {
		k := basisPrefetch(h.skip(share), bytes-share, steps*float64(c.count), &x[0])
		dotsHalf(&a[c.first*lda], lda, &a0[c.first*lda0], lda0, &x[0], ldx, &u[c.first*ldu], ldu, n, d, c.width, c.count, k)
	}
}

func mulTransposedHalf(g []float32, x []uint16, ldx int, e []float32, n, d int, h Hint) {
	if !accelerated() || n == 0 || d == 0 {
		mulTransposedHalfGeneric(g, x, ldx, e, n, d)
		return
	}
	sumRows(g, x, ldx, e, n, PadHalf(d), h)
}

func addScaled(v, w, s []float64, g []float32, n int) {
	if !accelerated() || n == 0 {
		addScaledGeneric(v, w, s, g, n)
		return
	}
	n = Pad(n)
	_, _, _, _ = v[n-1], w[n-1], s[n-1], g[n-1]
	if active == AVX512 {
		addScaled_avx512(&v[0], &w[0], &s[0], &g[0], n)
		return
	}
	addScaled_avx2(&v[0], &w[0], &s[0], &g[0], n)
}

func halve[F Float](dst []uint16, x []F, c, s []float64, n int) float64 {
	if !accelerated() || n == 0 {
		return halveGeneric(dst, x, c, s, n)
	}
	n = Pad(n)
	_, _, _, _ = dst[n-1], x[n-1], c[n-1], s[n-1]
	x64, x32 := (*float64)(unsafe.Pointer(&x[0])), (*float32)(unsafe.Pointer(&x[0]))
	switch single := unsafe.Sizeof(x[0]) == 4; {
	case single && active == AVX512:
		return halve32_avx512(&dst[0], x32, &c[0], &s[0], n)
	case single:
		return halve32_avx2(&dst[0], x32, &c[0], &s[0], n)
	case active == AVX512:
		return halve_avx512(&dst[0], x64, &c[0], &s[0], n)
	}
	return halve_avx2(&dst[0], x64, &c[0], &s[0], n)
}
