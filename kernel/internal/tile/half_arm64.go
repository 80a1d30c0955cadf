//go:build !purego

package tile

func mulBasisHalf(a []float64, lda int, a0 []float64, lda0 int, x []uint16, ldx int, u []float32, ldu int, n, d, r int, h Hint) {
	if active != NEON || n == 0 || d == 0 || r == 0 {
		mulBasisHalfGeneric(a, lda, a0, lda0, x, ldx, u, ldu, n, d, r)
		return
	}
	for j := range r {
		copy(a[j*lda:][:n], a0[j*lda0:][:n])
	}
	mulBasisTiles(addBasisHalf_4x5_neon, addBasisHalf_1x5_neon, a, lda, x, ldx, u, ldu, n, PadHalf(d), r, h.Next)
}

func mulTransposedHalf(g []float32, x []uint16, ldx int, e []float32, n, d int, h Hint) {
	if active != NEON || n == 0 || d == 0 {
		mulTransposedHalfGeneric(g, x, ldx, e, n, d)
		return
	}
	mulTransposedBlocks(mulTransposedHalf_neon, g, x, ldx, e, n, PadHalf(d), h.Next)
}

func addScaled(v, w, s []float64, g []float32, n int) {
	if active != NEON || n == 0 {
		addScaledGeneric(v, w, s, g, n)
		return
	}
	n = Pad(n)
	_, _, _, _ = v[n-1], w[n-1], s[n-1], g[n-1]
	addScaled_neon(&v[0], &w[0], &s[0], &g[0], n/Width)
}

// halve is for once a run, and needs no tile of its own.
func halve[F Float](dst []uint16, x []F, c, s []float64, n int) float64 {
	return halveGeneric(dst, x, c, s, n)
}
