package tile

// MulBasis computes A = X U; see mulBasisGeneric. next is the address of the
// samples that will be read after these (0 when there are none): tiers that
// prefetch ask for the first half of n*ldx samples from there.
func MulBasis(a []float64, lda int, x []float64, ldx int, u []float64, ldu int, n, d, r int, next uintptr) {
	mulBasisGeneric(a, lda, x, ldx, u, ldu, n, d, r)
}

// MulBasis32 is MulBasis for samples stored as float32.
func MulBasis32(a []float64, lda int, x []float32, ldx int, u []float64, ldu int, n, d, r int, next uintptr) {
	mulBasisGeneric(a, lda, x, ldx, u, ldu, n, d, r)
}

// Residual computes e = A b - y and returns e'e; see residualGeneric.
func Residual(e, a []float64, lda int, b, y []float64, n, r int) float64 {
	return residualGeneric(e, a, lda, b, y, n, r)
}

// MulTransposed computes g = X' e; see mulTransposedGeneric. Tiers that prefetch
// ask for the second half of the n*ldx samples at next.
func MulTransposed(g []float64, x []float64, ldx int, e []float64, n, d int, next uintptr) {
	mulTransposedGeneric(g, x, ldx, e, n, d)
}

// MulTransposed32 is MulTransposed for samples stored as float32.
func MulTransposed32(g []float64, x []float32, ldx int, e []float64, n, d int, next uintptr) {
	mulTransposedGeneric(g, x, ldx, e, n, d)
}

// RankUpdate adds sum_t v_t b_t' to G; see rankUpdateGeneric.
func RankUpdate(g []float64, ldg int, v []float64, ldv int, b []float64, ldb int, m, d, r int) {
	rankUpdateGeneric(g, ldg, v, ldv, b, ldb, m, d, r)
}

// Factor computes Householder reflectors; see factorGeneric.
func Factor(a []float64, lda, m, n, p int, r []float64, ldr int, h []float64) {
	factorGeneric(a, lda, m, n, p, r, ldr, h)
}

// FormQ overwrites reflectors by the thin Q; see formQGeneric.
func FormQ(a []float64, lda, m, n int, h []float64) {
	formQGeneric(a, lda, m, n, h)
}

// Combine computes C = W Z; see combineGeneric.
func Combine(c []float64, ldc int, w []float64, ldw int, z []float64, ldz, m, n, cols int) {
	combineGeneric(c, ldc, w, ldw, z, ldz, m, n, cols)
}
