//go:build !purego

package tile

func gram(s []float64, lds int, a []float64, lda, m, n int) {
	if !accelerated() || m == 0 || n == 0 {
		gramGeneric(s, lds, a, lda, m, n)
		return
	}
	_, _ = a[(n-1)*lda+m-1], s[(n-1)*lds+n-1]
	i := 0
	for ; n-i >= 4; i += 4 {
		x := &a[i*lda]
		var f [4 * 4]float64 // below the diagonal, too
		gramProducts(&f[0], 4, x, x, lda, 4, m)
		for j := range 4 {
			for k, v := range f[4*j:][:j+1] {
				s[(i+j)*lds+i+k] = v
			}
		}
		if n > i+4 {
			gramProducts(&s[(i+4)*lds+i], lds, x, &a[(i+4)*lda], lda, n-i-4, m)
		}
	}
	for ; i < n; i++ {
		var f [4]float64
		columnProducts(f[:n-i], &a[i*lda], &a[i*lda], lda, m)
		for j := i; j < n; j++ {
			s[j*lds+i] = f[j-i]
		}
	}
}

func solveUpper(a []float64, lda int, r []float64, ldr int, inv []float64, m, n int) {
	if !accelerated() || m == 0 || n == 0 {
		solveUpperGeneric(a, lda, r, ldr, inv, m, n)
		return
	}
	_, _, _ = a[(n-1)*lda+m-1], r[(n-1)*ldr+n-1], inv[n-1]
	if active == AVX512 {
		solveUpper_avx512(&a[0], lda, &r[0], ldr, &inv[0], m, n)
		return
	}
	solveUpper_avx2(&a[0], lda, &r[0], ldr, &inv[0], m, n)
}
