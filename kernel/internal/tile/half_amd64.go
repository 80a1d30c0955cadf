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
	if rows := h.rows(n, bytes); rows > 0 {
		mulBasisHalf(a, lda, a0, lda0, x, ldx, u, ldu, rows, d, r, h)
		mulBasisHalf(a[rows:], lda, a0[rows:], lda0, x[rows*ldx:], ldx, u, ldu, n-rows, d, r, h.skip(bytes*rows/n))
		return
	}
	if n == 1 { // the tiles take two rows: the same one twice
		var t, t0 [2 * maxDots]float64
		k := newPrefetch(h.Next, bytes, float64(d)/(2*HalfWidth), halfStreams, &x[0])
		for j := 0; j < r; j += maxDots {
			w := min(maxDots, r-j)
			for i := range w {
				t0[2*i], t0[2*i+1] = a0[(j+i)*lda0], a0[(j+i)*lda0]
			}
			halfDots(&t[0], 2, &t0[0], 2, &x[0], 0, &u[j*ldu], ldu, 2, d, w, 1, k)
			for i := range w {
				a[(j+i)*lda] = t[2*i]
			}
		}
		return
	}
	width, wide, narrow := groups(r)
	steps := float64(n*d) / (4 * HalfWidth) // for each group
	first := bytes * wide / (wide + narrow)
	k := newPrefetch(h.Next, first, steps*float64(wide), halfStreams, &x[0])
	halfDots(&a[0], lda, &a0[0], lda0, &x[0], ldx, &u[0], ldu, n, d, width, wide, k)
	if narrow > 0 {
		j := wide * width
		k := newPrefetch(shift(h.Next, first), bytes-first, steps*float64(narrow), halfStreams, &x[0])
		halfDots(&a[j*lda], lda, &a0[j*lda0], lda0, &x[0], ldx, &u[j*ldu], ldu, n, d, width-1, narrow, k)
	}
}

// halfStreams is the number of streams in which mulBasisHalf prefetches; the generator of
// the tiles has the same number.
const halfStreams = 2

// halfDots multiplies groups of width columns each.
func halfDots(a *float64, lda int, a0 *float64, lda0 int, x *uint16, ldx int, u *float32, ldu int, n, d, width, groups int, k prefetch) {
	if active == AVX512 {
		switch width {
		case 1:
			mulBasisHalf_4x1_avx512(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
		case 2:
			mulBasisHalf_4x2_avx512(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
		case 3:
			mulBasisHalf_4x3_avx512(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
		case 4:
			mulBasisHalf_4x4_avx512(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
		case 5:
			mulBasisHalf_4x5_avx512(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
		case 6:
			mulBasisHalf_4x6_avx512(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
		}
		return
	}
	switch width {
	case 1:
		mulBasisHalf_4x1_avx2(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	case 2:
		mulBasisHalf_4x2_avx2(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	case 3:
		mulBasisHalf_4x3_avx2(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	case 4:
		mulBasisHalf_2x4_avx2(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	case 5:
		mulBasisHalf_2x5_avx2(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	case 6:
		mulBasisHalf_2x6_avx2(a, lda, a0, lda0, x, ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace)
	}
}

func mulTransposedHalf(g []float32, x []uint16, ldx int, e []float32, n, d int, h Hint) {
	if !accelerated() || n == 0 || d == 0 {
		mulTransposedHalfGeneric(g, x, ldx, e, n, d)
		return
	}
	d = PadHalf(d)
	_, _, _ = g[d-1], x[(n-1)*ldx+d-1], e[n-1]
	sum := mulTransposedHalf_avx2
	if active == AVX512 {
		sum = mulTransposedHalf_avx512
	}
	height, tall, low := panels(n)
	bytes := 2 * ldx * h.Eighths / 8 // to prefetch, a row
	if low > 0 {
		rows := low * (height - 1)
		i := n - (height - 1)
		k := newPrefetch(h.Next, rows*bytes, float64(low*d)/HalfWidth, 1, &x[0])
		sum(&g[0], &x[i*ldx], ldx, &e[i], d, height-1, low, false, k.next, k.pace)
		h = h.skip(rows * bytes)
	}
	i := height * (tall - 1)
	k := newPrefetch(h.Next, height*tall*bytes, float64(tall*d)/HalfWidth, 1, &x[0])
	sum(&g[0], &x[i*ldx], ldx, &e[i], d, height, tall, low > 0, k.next, k.pace)
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
