//go:build !purego

package tile

import (
	"unsafe"

	"github.com/klauspost/cpuid/v2"
)

func available() []Tier {
	t := []Tier{Generic}
	if cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3, cpuid.BMI2, cpuid.F16C) {
		t = append(t, AVX2)
		if cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512VL) {
			t = append(t, AVX512)
		}
	}
	return t
}

// groups returns how many groups of width columns, and then how many of one column
// less, make up r columns.
func groups(r int) (width, wide, narrow int) {
	n := (r + maxDots - 1) / maxDots
	width = (r + n - 1) / n
	narrow = n*width - r
	return width, n - narrow, narrow
}

// accelerated reports whether a tier above Generic is in use.
func accelerated() bool { return active == AVX512 || active == AVX2 }

func mulBasis[F Float](a []float64, lda int, x []F, ldx int, u []float64, ldu int, n, d, r int, h Hint) {
	if !accelerated() || n == 0 || d == 0 || r == 0 {
		mulBasisGeneric(a, lda, x, ldx, u, ldu, n, d, r)
		return
	}
	d = Pad(d)
	_, _, _ = a[(r-1)*lda+n-1], x[(n-1)*ldx+d-1], u[(r-1)*ldu+d-1]
	bytes := n * ldx * int(unsafe.Sizeof(x[0])) * h.Eighths / 8 // to prefetch
	if rows := h.rows(n, bytes); rows > 0 {
		mulBasis(a, lda, x, ldx, u, ldu, rows, d, r, h)
		mulBasis(a[rows:], lda, x[rows*ldx:], ldx, u, ldu, n-rows, d, r, h.skip(bytes*rows/n))
		return
	}
	if n == 1 { // the tiles take two rows: the same one twice
		var t [2 * maxDots]float64
		k := basisPrefetch(h, bytes, float64(d)/16, &x[0])
		for j := 0; j < r; j += maxDots {
			w := min(maxDots, r-j)
			dots(&t[0], 2, &x[0], 0, &u[j*ldu], ldu, 2, d, w, 1, k)
			for i := range w {
				a[(j+i)*lda] = t[2*i]
			}
		}
		return
	}
	width, wide, narrow := groups(r)
	steps := float64(n*d) / (4 * Width) // for each group
	first := bytes * wide / (wide + narrow)
	k := basisPrefetch(h, first, steps*float64(wide), &x[0])
	dots(&a[0], lda, &x[0], ldx, &u[0], ldu, n, d, width, wide, k)
	if narrow > 0 {
		j := wide * width
		k := basisPrefetch(h.skip(first), bytes-first, steps*float64(narrow), &x[0])
		dots(&a[j*lda], lda, &x[0], ldx, &u[j*ldu], ldu, n, d, width-1, narrow, k)
	}
}

func leastSquares(b, a []float64, lda, n, r int, y, work []float64, next uintptr) (lo, hi float64) {
	if !accelerated() || n == 0 || r == 0 {
		return leastSquaresGeneric(b, a, lda, n, r, y, work)
	}
	_, _, _, _ = b[r-1], a[(r-1)*lda+n-1], y[n-1], work[LeastSquaresWork(n, r)-1]
	pace := 1
	if next == 0 {
		next, pace = uintptr(unsafe.Pointer(&work[0])), 0
	}
	if active == AVX512 {
		return leastSquares_avx512(&b[0], &a[0], lda, n, r, &y[0], &work[0], next, pace*128)
	}
	return leastSquares_avx2(&b[0], &a[0], lda, n, r, &y[0], &work[0], next, pace*64)
}

func residual(e, a []float64, lda int, b, y []float64, n, r int) float64 {
	if !accelerated() || n == 0 || r == 0 {
		return residualGeneric(e, a, lda, b, y, n, r)
	}
	_, _, _, _ = e[n-1], a[(r-1)*lda+n-1], b[r-1], y[n-1]
	if active == AVX512 {
		return residual_avx512(&e[0], &a[0], lda, &b[0], &y[0], n, r)
	}
	return residual_avx2(&e[0], &a[0], lda, &b[0], &y[0], n, r)
}

// maxPanel is the largest number of rows of a panel of mulTransposed.
const maxPanel = 8

// panels cuts n rows into panels of nearly equal height: tall ones of the given
// height and then low ones of one less.
func panels(n int) (height, tall, low int) {
	count := (n + maxPanel - 1) / maxPanel
	height = (n + count - 1) / count
	low = count*height - n
	return height, count - low, low
}

func mulTransposed[F Float](g []float64, x []F, ldx int, e []float64, n, d int, h Hint) {
	if !accelerated() || n == 0 || d == 0 {
		mulTransposedGeneric(g, x, ldx, e, n, d)
		return
	}
	d = Pad(d)
	_, _, _ = g[d-1], x[(n-1)*ldx+d-1], e[n-1]
	height, tall, low := panels(n)
	below := low > 0
	bytes := ldx * int(unsafe.Sizeof(x[0])) * h.Eighths / 8 // to prefetch, a row
	if below {
		rows := low * (height - 1)
		i := n - (height - 1)
		k := gradientPrefetch(h.Next, rows*bytes, float64(low*d)/Width, &x[0])
		panelSum(&g[0], &x[i*ldx], ldx, &e[i], d, height-1, low, false, k)
		h = h.skip(rows * bytes)
	}
	i := height * (tall - 1)
	k := gradientPrefetch(h.Next, height*tall*bytes, float64(tall*d)/Width, &x[0])
	panelSum(&g[0], &x[i*ldx], ldx, &e[i], d, height, tall, below, k)
}

func rankUpdate(g []float64, ldg int, v []float64, ldv int, b []float64, ldb int, m, d, r int) {
	if !accelerated() || m == 0 || d == 0 || r == 0 {
		rankUpdateGeneric(g, ldg, v, ldv, b, ldb, m, d, r)
		return
	}
	d = Pad(d)
	_, _, _ = g[(r-1)*ldg+d-1], v[(m-1)*ldv+d-1], b[(m-1)*ldb+r-1]
	for t := 0; t < m; {
		t += rankUpdateTile(&g[0], ldg, &v[t*ldv], ldv, &b[t*ldb], ldb, m-t, d, r)
	}
}
