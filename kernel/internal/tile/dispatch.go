package tile

// The exported operations call functions of the same name in lower case, of which
// each architecture has its own: tile_amd64.go, tile_arm64.go, noasm.go.

// Ahead returns how much memory MulBasis asks for from next on, on a basis of
// rank r, in eighths of the bytes of its samples. MulTransposed asks for the rest
// of 8, if there is any.
func Ahead(r int) int { return min(8, (r+maxDots-1)/maxDots*basisShare) }

// basisShare is what MulBasis asks for with each group of up to maxDots columns, in
// eighths: its arithmetic leaves memory time, whereas MulTransposed is as fast as
// the second-level cache.
const basisShare = 6

// Window is how far ahead of their use samples are asked for, in bytes, where more
// would have to be: time enough for memory, and little of the second-level cache. Of
// so many bytes the order in which they are asked for does not matter.
const Window = 64 << 10

// maxDots is the widest group of columns of a dot tile.
const maxDots = 6

// MulBasis computes A = X U; see mulBasisGeneric. next is the address from which
// the caller will read samples after these (0 when there are none): tiers that
// prefetch ask for memory from there on, at the pace of their own reading.
func MulBasis[F Float](a []float64, lda int, x []F, ldx int, u []float64, ldu int, n, d, r int, next uintptr) {
	mulBasis(a, lda, x, ldx, u, ldu, n, d, r, next)
}

// Packed returns how many of the first columns of a basis of rank r are faster
// multiplied by MulPacked than by MulBasis: 0, r, or a multiple of PackWidth.
func Packed(r int) int { return packed(r) }

// PackBasis copies a basis to the layout of MulPacked; see packBasisGeneric.
func PackBasis(p, u []float64, ldu, d, r int) { packBasisGeneric(p, u, ldu, d, r) }

// LongRows reports whether rows of so many bytes are so long that MulPacked asks for
// the features of those in work a little ahead, not for as many rows of another
// place: those would be much of the second-level cache.
func LongRows(bytes int) bool { return PackRows*bytes > Window }

// MulPacked computes A = X U for a basis from PackBasis; see mulPackedGeneric. With
// its first rows it asks for those from next on, and so forth, as many bytes as x has.
// In the case of LongRows next is where the rows that follow these ones start. With
// float32 it writes to the end of p, behind the basis: one p serves one goroutine at a
// time.
func MulPacked[F Float](a []float64, lda int, x []F, ldx int, p []float64, n, d, r int, next uintptr) {
	mulPacked(a, lda, x, ldx, p, n, d, r, next)
}

// LeastSquares computes b = argmin |A b - y|; see leastSquaresGeneric.
func LeastSquares(b, a []float64, lda, n, r int, y, work []float64) (lo, hi float64) {
	return leastSquares(b, a, lda, n, r, y, work, 0)
}

// LeastSquaresAhead is LeastSquares that prefetches SolveAhead bytes from next on.
func LeastSquaresAhead(b, a []float64, lda, n, r int, y, work []float64, next uintptr) (lo, hi float64) {
	return leastSquares(b, a, lda, n, r, y, work, next)
}

// SolveAhead returns how much memory LeastSquaresAhead asks for.
func SolveAhead(n, r int) int {
	groups := 0 // of four columns, in all steps of the elimination
	for k := range r - 1 {
		groups += (r - k + 3) / 4
	}
	return groups * Pad(n) * 16
}

// Residual computes e = A b - y and returns e'e; see residualGeneric.
func Residual(e, a []float64, lda int, b, y []float64, n, r int) float64 {
	return residual(e, a, lda, b, y, n, r)
}

// MulTransposed computes g = X' e; see mulTransposedGeneric. next is as for
// MulBasis.
func MulTransposed[F Float](g []float64, x []F, ldx int, e []float64, n, d int, next uintptr) {
	mulTransposed(g, x, ldx, e, n, d, next)
}

// RankUpdate adds sum_t v_t b_t' to G; see rankUpdateGeneric.
func RankUpdate(g []float64, ldg int, v []float64, ldv int, b []float64, ldb int, m, d, r int) {
	rankUpdate(g, ldg, v, ldv, b, ldb, m, d, r)
}

// Factor computes Householder reflectors; see factorGeneric.
func Factor(a []float64, lda, m, n int, r []float64, ldr int, h []float64) {
	factor(a, lda, m, n, r, ldr, h)
}

// FormQ overwrites reflectors by the thin Q; see formQGeneric.
func FormQ(a []float64, lda, m, n int, h []float64) {
	formQ(a, lda, m, n, h)
}

// Gram computes the upper triangle of S = A'A; see gramGeneric.
func Gram(s []float64, lds int, a []float64, lda, m, n int) {
	gram(s, lds, a, lda, m, n)
}

// SolveUpper overwrites A by A R^-1; see solveUpperGeneric.
func SolveUpper(a []float64, lda int, r []float64, ldr int, inv []float64, m, n int) {
	solveUpper(a, lda, r, ldr, inv, m, n)
}

// Combine computes C = W Z; see combineGeneric.
func Combine(c []float64, ldc int, w []float64, ldw int, z []float64, ldz, m, n, cols int) {
	combine(c, ldc, w, ldw, z, ldz, m, n, cols)
}
