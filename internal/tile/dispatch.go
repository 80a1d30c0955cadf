package tile

// Each exported operation calls a function of the same name in lower case, which every architecture defines:
// see tile_amd64.go, tile_arm64.go and noasm.go.

// MulBasis computes A = X U; see mulBasisGeneric. Tiers without prefetching ignore h.
func MulBasis[F Float](a []float64, lda int, x []F, ldx int, u []float64, ldu int, n, d, r int, h Hint) {
	raceRead(x, n, Pad(d), ldx)
	raceRead(u, r, Pad(d), ldu)
	raceWrite(a, r, n, lda)
	mulBasis(a, lda, x, ldx, u, ldu, n, d, r, h)
}

// Packed returns how many of the first columns of a basis of d features and rank r are faster multiplied by
// MulPacked than by MulBasis, for samples of size bytes: 0, r, or a multiple of PackWidth.
func Packed(d, r, size int) int { return packed(d, r, size) }

// Blocked reports whether MulBasis takes n rows of d features of size bytes in blocks of features for a basis
// of rank r: then it does not use one row after the other.
func Blocked(n, d, r, size int) bool { return blocked(n, d, r, size) }

// Near reports whether MulPacked prefetches the features of its own rows, of d features, a little ahead of
// their use, and nothing of later rows but their first features: rows so long that one tile of them fills a
// Window would fill too much of the second-level cache.
func Near(d int) bool { return longRows(8 * Pad(d)) }

// longRows reports whether the rows of one tile of MulPacked fill a Window, given the bytes of a row.
func longRows(bytes int) bool { return PackRows*bytes > Window }

// MulPacked computes A = X U for a basis from PackBasis; see mulPackedGeneric. It prefetches as many bytes as
// x has. Near describes the prefetches of long rows: h.Next must be the address of the rows that follow
// these.
func MulPacked(a []float64, lda int, x []float64, ldx int, p []float64, n, d, r int, h Hint) {
	raceRead(x, n, Pad(d), ldx)
	raceRead(p, 1, PackedLen(d, r), 0)
	raceWrite(a, r, n, lda)
	mulPacked(a, lda, x, ldx, p, n, d, r, h)
}

// LeastSquares computes b = argmin |A b - y|, e = A b - y, which may be y, and e'e, and leaves F in
// work; see leastSquaresGeneric and Eliminated. Meanwhile it prefetches SolveAhead bytes from next on,
// if next is not 0.
func LeastSquares(b, e, a []float64, lda, n, r int, y, work []float64, next uintptr) (lo, hi, squares float64) {
	raceRead(a, r, n, lda)
	raceRead(y, 1, n, 0)
	raceWrite(b, 1, r, 0)
	raceWrite(e, 1, n, 0)
	raceWrite(work, 1, LeastSquaresWork(n, r), 0)
	if lo, hi, squares, ok := leastSquaresSmall(b, e, a, lda, n, r, y, work, next); ok {
		return lo, hi, squares
	}
	lo, hi = leastSquares(b, a, lda, n, r, y, work, next)
	// y has been made orthogonal to all columns but the last.
	w, ldw, f, ldf := Eliminated(work, n, r)
	return lo, hi, residual(e, w[(r-1)*ldw:], ldw, f[(r-1)*ldf+r:], w[r*ldw:], n, 1)
}

// Orthogonalize computes b as LeastSquares does, and leaves W and F in work.
func Orthogonalize(b, a []float64, lda, n, r int, y, work []float64, next uintptr) (lo, hi float64) {
	raceRead(a, r, n, lda)
	raceRead(y, 1, n, 0)
	raceWrite(b, 1, r, 0)
	raceWrite(work, 1, LeastSquaresWork(n, r), 0)
	return leastSquares(b, a, lda, n, r, y, work, next)
}

// SolveAhead returns how many bytes LeastSquares prefetches.
func SolveAhead(n, r int) int {
	groups := 0 // of four columns, in all steps of the elimination
	for k := range r - 1 {
		groups += (r - k + 3) / 4
	}
	return groups * Pad(n) * 16
}

// Residual computes e = A b - y and returns e'e; see residualGeneric.
func Residual(e, a []float64, lda int, b, y []float64, n, r int) float64 {
	raceRead(a, r, n, lda)
	raceRead(b, 1, r, 0)
	raceRead(y, 1, n, 0)
	raceWrite(e, 1, n, 0)
	return residual(e, a, lda, b, y, n, r)
}

// MulTransposed computes g = X' e; see mulTransposedGeneric.
func MulTransposed[F Float](g []float64, x []F, ldx int, e []float64, n, d int, h Hint) {
	raceRead(x, n, Pad(d), ldx)
	raceRead(e, 1, n, 0)
	raceWrite(g, 1, Pad(d), 0)
	mulTransposed(g, x, ldx, e, n, d, h)
}

// RankUpdate adds sum_t v_t b_t' to G; see rankUpdateGeneric.
func RankUpdate(g []float64, ldg int, v []float64, ldv int, b []float64, ldb int, m, d, r int) {
	raceRead(v, m, Pad(d), ldv)
	raceRead(b, m, r, ldb)
	if m > 0 {
		raceWrite(g, r, Pad(d), ldg)
	}
	rankUpdate(g, ldg, v, ldv, b, ldb, m, d, r)
}

// SolveUpper overwrites A by A R^-1; see solveUpperGeneric.
func SolveUpper(a []float64, lda int, r []float64, ldr int, inv []float64, m, n int) {
	raceUpper(raceRead, r, n, ldr)
	raceRead(inv, 1, n, 0)
	raceWrite(a, n, m, lda)
	solveUpper(a, lda, r, ldr, inv, m, n)
}

// Rotate rotates pairs of rows of RotateWidth columns, the last pair first; see rotateGeneric.
func Rotate(z []float64, ldz int, c, s []float64, n int) {
	raceRead(c, 1, n, 0)
	raceRead(s, 1, n, 0)
	raceWrite(z, n+1, RotateWidth, ldz)
	rotateRows(z, ldz, c, s, n)
}

// Panel computes up to PanelWidth columns of C = W Z, or adds to them; see panelGeneric. It reads and writes
// nothing beyond these columns.
func Panel[F Float](c []F, ldc int, w []F, ldw int, z []F, ldz, m, n, cols int, add bool) {
	raceRead(w, m, n, ldw)
	raceRead(z, n, cols, ldz)
	raceWrite(c, m, cols, ldc)
	mulPanel(c, ldc, w, ldw, z, ldz, m, n, cols, add)
}

// PackBasis copies a d x r basis to panels of PackWidth columns for MulPacked, each by
// rows, the last one filled up with zero columns:
//
//	p[(c*Pad(d)+k)*PackWidth+j] = u[(c*PackWidth+j)*ldu+k],  k < Pad(d).
func PackBasis(p, u []float64, ldu, d, r int) {
	d = Pad(d)
	for c := 0; c < r; c += PackWidth {
		panel, columns := p[c*d:][:PackWidth*d], min(PackWidth, r-c)
		if columns < PackWidth {
			clear(panel)
		}
		Transpose(panel, PackWidth, u[c*ldu:], ldu, columns, d)
	}
}

// Transpose sets the rows of dst to the columns of the m x n matrix src: n rows of m entries.
// By tiles it takes a quarter of the time: a step of a node with one task of 30 x 600 and
// rank 16 would take 1.2 times as long, for its basis.
func Transpose[F Float](dst []F, ldd int, src []F, lds, m, n int) {
	raceRead(src, m, n, lds)
	raceWrite(dst, n, m, ldd)
	rows, columns := transpose(dst, ldd, src, lds, m, n) // that are done
	if rows < m && columns > 0 {
		transposeGeneric(dst[rows:], ldd, src[rows*lds:], lds, m-rows, columns)
	}
	if columns < n && m > 0 {
		transposeGeneric(dst[columns*ldd:], ldd, src[columns:], lds, m, n-columns)
	}
}

// SumDifferences computes sums of weighted differences of rows; see
// sumDifferencesGeneric. All tiers have the same bits.
func SumDifferences(sum, x []float64, ldx, own int, rows []int, w []float64, n int) {
	raceWrite(sum, 1, Pad(n), 0)
	raceRead(rows, 1, len(rows), 0)
	raceRead(w, 1, len(rows), 0)
	raceRead(x[own*ldx:], 1, Pad(n), 0)
	for _, row := range rows {
		raceRead(x[row*ldx:], 1, Pad(n), 0)
	}
	sumWeighted(sum, x, ldx, own, rows, w, n)
}
