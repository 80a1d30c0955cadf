//go:build !purego

package tile

// Advanced SIMD is part of every arm64 processor that Go runs on.
func available() []Tier { return []Tier{Generic, NEON} }

func mulBasis[F Float](a []float64, lda int, x []F, ldx int, u []float64, ldu int, n, d, r int, h Hint) {
	if active != NEON || n == 0 || d == 0 || r == 0 {
		mulBasisGeneric(a, lda, x, ldx, u, ldu, n, d, r)
		return
	}
	switch x := any(x).(type) {
	case []float64:
		mulBasisTiles(mulBasis_4x5_neon, mulBasis_1x5_neon, a, lda, x, ldx, u, ldu, n, Pad(d), r, h.Next)
	case []float32:
		mulBasisTiles(mulBasis32_4x5_neon, mulBasis32_1x5_neon, a, lda, x, ldx, u, ldu, n, Pad(d), r, h.Next)
	}
}

// The tiles of mulBasis do as well on any rank.
func packed(int) int { return 0 }

func mulPacked[F Float](a []float64, lda int, x []F, ldx int, p []float64, n, d, r int, _ Hint) {
	mulPackedGeneric(a, lda, x, ldx, p, n, d, r)
}

func leastSquares(b, a []float64, lda, n, r int, y, work []float64, _ uintptr) (lo, hi float64) {
	if active == NEON {
		return leastSquaresNEON(b, a, lda, n, r, y, work)
	}
	return leastSquaresGeneric(b, a, lda, n, r, y, work)
}

func residual(e, a []float64, lda int, b, y []float64, n, r int) float64 {
	if active == NEON {
		return residualNEON(e, a, lda, b, y, n, r)
	}
	return residualGeneric(e, a, lda, b, y, n, r)
}

func mulTransposed[F Float](g []float64, x []F, ldx int, e []float64, n, d int, h Hint) {
	if active != NEON || n == 0 || d == 0 {
		mulTransposedGeneric(g, x, ldx, e, n, d)
		return
	}
	switch x := any(x).(type) {
	case []float64:
		mulTransposedBlocks(mulTransposed_neon, g, x, ldx, e, n, Pad(d), h.Next)
	case []float32:
		mulTransposedBlocks(mulTransposed32_neon, g, x, ldx, e, n, Pad(d), h.Next)
	}
}

func rankUpdate(g []float64, ldg int, v []float64, ldv int, b []float64, ldb int, m, d, r int) {
	if active == NEON {
		rankUpdateNEON(g, ldg, v, ldv, b, ldb, m, d, r)
		return
	}
	rankUpdateGeneric(g, ldg, v, ldv, b, ldb, m, d, r)
}

func factor(a []float64, lda, m, n int, r []float64, ldr int, h []float64) {
	if active == NEON {
		factorNEON(a, lda, m, n, r, ldr, h)
		return
	}
	factorGeneric(a, lda, m, n, r, ldr, h)
}

func formQ(a []float64, lda, m, n int, h []float64) {
	if active == NEON {
		formQNEON(a, lda, m, n, h)
		return
	}
	formQGeneric(a, lda, m, n, h)
}

func gram(s []float64, lds int, a []float64, lda, m, n int) {
	if active == NEON && m > 0 {
		gramNEON(s, lds, a, lda, m, n)
		return
	}
	gramGeneric(s, lds, a, lda, m, n)
}

func solveUpper(a []float64, lda int, r []float64, ldr int, inv []float64, m, n int) {
	if active == NEON && m > 0 {
		solveUpperNEON(a, lda, r, ldr, inv, m, n)
		return
	}
	solveUpperGeneric(a, lda, r, ldr, inv, m, n)
}

func combine(c []float64, ldc int, w []float64, ldw int, z []float64, ldz, m, n, cols int) {
	if active == NEON {
		combineNEON(c, ldc, w, ldw, z, ldz, m, n, cols)
		return
	}
	combineGeneric(c, ldc, w, ldw, z, ldz, m, n, cols)
}

// size is for once a table, and needs no tile of its own.
func size[F Float](x []F) (largest, squares float64) { return sizeGeneric(x) }
