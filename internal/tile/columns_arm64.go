//go:build !purego

package tile

import (
	"math"
	"unsafe"
)

func residual(e, a []float64, lda int, b, y []float64, n, r int) float64 {
	if active != NEON || n < 4 || r == 0 {
		return residualGeneric(e, a, lda, b, y, n, r)
	}
	_, _, _, _ = e[n-1], a[(r-1)*lda+n-1], b[r-1], y[n-1]
	s := residual_4_neon(&e[0], &a[0], lda, &b[0], &y[0], n/4, r)
	if i := n &^ 3; i < n {
		s += residualGeneric(e[i:], a[i:], lda, b, y[i:], n-i, r)
	}
	return s
}

func rankUpdate(g []float64, ldg int, v []float64, ldv int, b []float64, ldb int, m, d, r int) {
	if active != NEON || m == 0 || d == 0 || r == 0 {
		rankUpdateGeneric(g, ldg, v, ldv, b, ldb, m, d, r)
		return
	}
	_, _, _ = g[(r-1)*ldg+Pad(d)-1], v[(m-1)*ldv+Pad(d)-1], b[(m-1)*ldb+r-1]
	for j := 0; j < r; j += 4 {
		panel_4_neon(&g[j*ldg], ldg, &b[j], 1, ldb, &v[0], ldv, min(4, r-j), m, Pad(d)/Width, true)
	}
}

// as64 returns a pointer to float64 under the name of its type.
func as64[F Float](p *F) *float64 { return (*float64)(unsafe.Pointer(p)) }

func mulPanel[F Float](c []F, ldc int, w []F, ldw int, z []F, ldz, m, n, cols int, add bool) {
	if active != NEON || m == 0 || n == 0 || cols < PackWidth || unsafe.Sizeof(F(0)) == 4 {
		panelGeneric(c, ldc, w, ldw, z, ldz, m, n, cols, add)
		return
	}
	_, _, _ = c[(m-1)*ldc+PackWidth-1], w[(m-1)*ldw+n-1], z[(n-1)*ldz+PackWidth-1]
	for i := 0; i < m; i += 4 {
		panel_4_neon(as64(&c[i*ldc]), ldc, as64(&w[i*ldw]), ldw, 1, as64(&z[0]), ldz, min(4, m-i), n, PackWidth/Width, add)
	}
}

func leastSquares(b, a []float64, lda, n, r int, y, work []float64, _ uintptr) (lo, hi float64) {
	if active != NEON || n == 0 || r == 0 {
		return leastSquaresGeneric(b, a, lda, n, r, y, work)
	}
	_, _, _, _ = b[r-1], a[(r-1)*lda+n-1], y[n-1], work[LeastSquaresWork(n, r)-1]
	w, ldw, f, ldf := Eliminated(work, n, r) // dots_4_neon may write 3 entries beyond column r
	for j := range r {
		x := w[j*ldw:]
		copy(x, a[j*lda:][:n])
		var square [4]float64
		dots_4_neon(&square[0], &x[0], &x[0], ldw, 1, n)
		hi += square[0]
	}
	copy(w[r*ldw:], y[:n])
	lo = math.Inf(1)
	limit := SetApart(n, r) * hi
	for k := range r {
		x, row := &w[k*ldw], f[k*ldf:][:ldf]
		for j := k; j <= r; j += 4 {
			dots_4_neon(&row[j], x, &w[j*ldw], ldw, min(4, r+1-j), n)
		}
		s := row[k]
		if lo = min(lo, s); s <= limit {
			clear(row[k+1:])
			continue
		}
		for j := k + 1; j <= r; j++ {
			row[j] /= s
		}
		for j := k + 1; j <= r && k < r-1; j += 4 { // of y LeastSquares makes e in the end
			axpys_4_neon(&row[j], x, &w[j*ldw], ldw, min(4, r+1-j), n)
		}
	}
	substituteGeneric(b, f, ldf, r)
	return lo, hi
}

// solveUpper subtracts every column that is solved from those to its right.
func solveUpper(a []float64, lda int, r []float64, ldr int, inv []float64, m, n int) {
	if active != NEON || m == 0 || n == 0 {
		solveUpperGeneric(a, lda, r, ldr, inv, m, n)
		return
	}
	_, _, _ = a[(n-1)*lda+m-1], r[(n-1)*ldr+n-1], inv[n-1]
	var f [4]float64
	for i := range n {
		x := &a[i*lda]
		scale_neon(x, inv[i], m)
		for j := i + 1; j < n; j += 4 {
			c := min(4, n-j)
			for k := range c {
				f[k] = r[(j+k)*ldr+i]
			}
			axpys_4_neon(&f[0], x, &a[j*lda], lda, c, m)
		}
	}
}
