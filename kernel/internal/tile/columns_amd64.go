//go:build !purego

package tile

import "math"

// manyColumns is the number of columns whose inner products are taken before they
// are updated.
const manyColumns = 64

func factor(a []float64, lda, m, n int, r []float64, ldr int, h []float64) {
	if !accelerated() || m == 0 || n == 0 {
		factorGeneric(a, lda, m, n, r, ldr, h)
		return
	}
	_, _, _ = a[(n-1)*lda+m-1], r[(n-1)*ldr+n-1], h[n-1]
	var f [manyColumns]float64
	for k := range n {
		top := k &^ (Width - 1) // zeros above row k: full vectors all the way
		rows := m - top
		x := &a[k*lda+top]
		xk := a[k*lda+k]
		var alpha, hk, inv float64
		scale := 1.0
		for j := k; j < n; j += manyColumns {
			f := f[:min(manyColumns, n-j)]
			columnProducts(f, x, &a[j*lda+top], lda, rows)
			if j == k {
				if f[0] < tinySquare && raise(a[k*lda+k:k*lda+m]) {
					xk, scale = a[k*lda+k], 1/raiseBy
					columnProducts(f, x, x, lda, rows)
				}
				s := f[0]
				alpha = -math.Copysign(math.Sqrt(s), xk)
				if hk = s - alpha*xk; hk != 0 {
					inv = 1 / hk
				}
				f[0] = 0
			}
			for i := range f {
				if c := j + i; c > k {
					// v'c = x'c - alpha c_k, since v is x but for row k.
					at := c*lda + k
					f[i] = (f[i] - alpha*a[at]) * inv
					r[c*ldr+k] = a[at] - f[i]*(xk-alpha)
				}
			}
			columnUpdate(&a[j*lda+top], lda, x, f, rows)
			for i := range f {
				a[(j+i)*lda+k] = 0 // row k has moved to r
			}
			a[k*lda+k] = xk
		}
		r[k*ldr+k], h[k] = alpha*scale, hk
		a[k*lda+k] = xk - alpha
	}
}

func formQ(a []float64, lda, m, n int, h []float64) {
	if !accelerated() || m == 0 || n == 0 {
		formQGeneric(a, lda, m, n, h)
		return
	}
	_, _ = a[(n-1)*lda+m-1], h[n-1]
	var f [manyColumns]float64
	for k := n - 1; k >= 0; k-- {
		top := k &^ (Width - 1)
		rows := m - top
		x := &a[k*lda+top]
		inv := 0.0
		if h[k] != 0 {
			inv = 1 / h[k]
		}
		for j := k + 1; j < n; j += manyColumns {
			f := f[:min(manyColumns, n-j)]
			columnProducts(f, x, &a[j*lda+top], lda, rows)
			for i := range f {
				f[i] *= inv
			}
			columnUpdate(&a[j*lda+top], lda, x, f, rows)
		}
		// H_k e_k = e_k - v (v_k / h)
		columnScale(x, -a[k*lda+k]*inv, rows)
		a[k*lda+k]++
		clear(a[k*lda : k*lda+k])
	}
}
