package tile

import "unsafe"

// LeastSquares computes b = argmin |A b - y|, e = A b - y, which may be y, and e'e, and leaves F in
// work; see leastSquaresGeneric and Eliminated. Meanwhile it prefetches SolveAhead bytes from next on,
// if next is not 0.
func LeastSquares(b, e, a []float64, lda, n, r int, y, work []float64, next uintptr) (lo, hi, squares float64) {
	raceWrite(e, 1, n, 0)
	raceRead(a, r, n, lda)
	raceRead(y, 1, n, 0)
	raceWrite(b, 1, r, 0)
	raceWrite(work, 1, LeastSquaresWork(n, r), 0)
	if r >= len(tiles.smallRows) || n > tiles.smallRows[r] || n == 0 {
		lo, hi = Orthogonalize(b, a, lda, n, r, y, work, next)
		// y has been made orthogonal to all columns but the last. Zeros fill columns, so that squares are
		// added in the order of leastSquaresSmall.
		w, ldw, f, ldf := Eliminated(work, n, r)
		left := w[r*ldw:][:ldw]
		squares = Residual(left, w[(r-1)*ldw:], ldw, f[(r-1)*ldf+r:], left, ldw, 1)
		copy(e, left[:n])
		return lo, hi, squares
	}
	_, _, _, _ = b[r-1], e[n-1], a[(r-1)*lda+n-1], y[n-1]
	_, _, f, _ := Eliminated(work, n, r)
	lines := 0
	if next != 0 {
		lines = SolveAhead(n, r) / line
	}
	return leastSquaresSmallTile(&b[0], &e[0], &a[0], lda, n, &y[0], &f[0], next, lines, SetApart(n, r), r)
}

// Orthogonalize computes b as LeastSquares does, and leaves W and F in work.
func Orthogonalize(b, a []float64, lda, n, r int, y, work []float64, next uintptr) (lo, hi float64) {
	raceRead(a, r, n, lda)
	raceRead(y, 1, n, 0)
	raceWrite(b, 1, r, 0)
	raceWrite(work, 1, LeastSquaresWork(n, r), 0)
	if tiles.leastSquares == 0 || n == 0 || r == 0 {
		return leastSquaresGeneric(b, a, lda, n, r, y, work)
	}
	_, _, _, _ = b[r-1], a[(r-1)*lda+n-1], y[n-1], work[LeastSquaresWork(n, r)-1]
	pace := 2 * line
	if next == 0 {
		next, pace = uintptr(unsafe.Pointer(&work[0])), 0
	}
	return leastSquaresTile(&b[0], &a[0], lda, n, r, &y[0], &work[0], next, pace, SetApart(n, r))
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
	if tiles.residual == 0 || n == 0 || r == 0 {
		return residualGeneric(e, a, lda, b, y, n, r)
	}
	_, _, _, _ = e[n-1], a[(r-1)*lda+n-1], b[r-1], y[n-1]
	return residualTile(&e[0], &a[0], lda, &b[0], &y[0], n, r)
}

// SolveUpper overwrites A by A R^-1; see solveUpperGeneric.
func SolveUpper(a []float64, lda int, r []float64, ldr int, inv []float64, m, n int) {
	for j := 0; Race && j < n; j++ {
		raceRead(r[j*ldr:], 1, j+1, 0)
	}
	raceRead(inv, 1, n, 0)
	raceWrite(a, n, m, lda)
	if tiles.solveUpper == 0 || m == 0 || n == 0 {
		solveUpperGeneric(a, lda, r, ldr, inv, m, n)
		return
	}
	_, _, _ = a[(n-1)*lda+m-1], r[(n-1)*ldr+n-1], inv[n-1]
	solveUpperTile(&a[0], lda, &r[0], ldr, &inv[0], m, n)
}

// Rotate rotates pairs of rows of RotateWidth columns, the last pair first; see rotateGeneric.
func Rotate(z []float64, ldz int, c, s []float64, n int) {
	raceRead(c, 1, n, 0)
	raceRead(s, 1, n, 0)
	raceWrite(z, n+1, RotateWidth, max(ldz, -ldz))
	if tiles.rotate == 0 || n == 0 {
		rotateGeneric(z, ldz, c, s, n)
		return
	}
	_, _, _ = z[n*max(ldz, -ldz)+RotateWidth-1], c[n-1], s[n-1]
	for k := max(-ldz*n, 0); k < max(-ldz*n, 0)+RotateWidth; k += 4 * tiles.lanes {
		rotateTile(&z[k], ldz, &c[0], &s[0], n)
	}
}

// Reflect applies a reflection to the columns from col+1 on of the rows of a panel of Pad(n) columns. It also
// computes the products of the next column, which the next reflection needs; see reflectGeneric.
func Reflect(a []float64, lda, col int, w, sums *[ReflectWidth]float64, scale float64, m, n int) {
	n = Pad(n)
	raceRead(w[:], 1, n, 0)
	raceWrite(sums[:], 1, n, 0)
	raceWrite(a, m, n, lda)
	if tiles.reflect[1] == 0 || m == 0 {
		reflectGeneric(a, lda, col, w, sums, scale, m, n)
		return
	}
	_ = a[(m-1)*lda+n-1]
	if first := (col + 1) &^ (Width - 1); first < n {
		reflectTile(&a[first], &a[col], &a[col+1], lda, &w[first], &sums[first], scale, m, (n-first)/Width)
	}
}

// FMAPeak does rounds of multiply-adds in registers and returns the number of
// floating-point operations, two for each multiply-add.
func FMAPeak(rounds int) (flops float64) {
	if tiles.fmaPeak == 0 || rounds <= 0 {
		return fmaPeakGeneric(rounds)
	}
	fmaPeakTile(rounds)
	return float64(rounds) * float64(tiles.peak)
}
