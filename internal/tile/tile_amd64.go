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

// tiles are the operations of the tier in use.
var tiles = operationsOf(active)

func activate() { tiles = operationsOf(active) }

// groups are a number of groups of columns of equal width, from column first on.
type groups struct{ first, width, count int }

// cut divides n columns into groups of at most "most" columns and nearly equal width, the wider ones first.
// The number of narrow groups may be 0.
func cut(n, most int) (wide, narrow groups) {
	if n <= most {
		return groups{0, n, 1}, groups{first: n}
	}
	count := (n + most - 1) / most
	width := (n + count - 1) / count
	less := count*width - n
	wide = groups{0, width, count - less}
	return wide, groups{width * wide.count, width - 1, less}
}

// accelerated reports whether a tier above Generic is in use. All of them multiply samples; other operations
// may lack.
func accelerated() bool { return tiles.lanes > 0 }

// as returns the address of memory of another type.
func as[T, F any](p *F) *T { return (*T)(unsafe.Pointer(p)) }

func mulBasis[F Float](a []float64, lda int, x []F, ldx int, u []float64, ldu int, n, d, r int, h Hint) {
	if !accelerated() || n == 0 || d == 0 || r == 0 {
		mulBasisGeneric(a, lda, x, ldx, u, ldu, n, d, r)
		return
	}
	d = Pad(d)
	_, _, _ = a[(r-1)*lda+n-1], x[(n-1)*ldx+d-1], u[(r-1)*ldu+d-1]
	if blocked(n, d, r, int(unsafe.Sizeof(x[0]))) {
		mulBlocks(a, lda, x, ldx, u, ldu, n, d, r, h)
		return
	}
	row := ldx * int(unsafe.Sizeof(x[0])) * h.Eighths / 8 // bytes to prefetch
	at, rows := 0, h.rows(n, n*row)
	if size := d * int(unsafe.Sizeof(x[0])); r > maxDots && n*size > largestBlocked {
		rows = min(rows, max(Window/size&^3, 4)) // they stay in cache for the narrower groups of columns
	}
	for ; n-at > rows; at += rows {
		mulDots(&a[at], lda, &x[at*ldx], ldx, &u[0], ldu, rows, d, r, rows*row, h.skip(at*row))
	}
	mulDots(&a[at], lda, &x[at*ldx], ldx, &u[0], ldu, n-at, d, r, (n-at)*row, h.skip(at*row))
}

// at returns the address of entry i from p on.
func at[T any](p *T, i int) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(p), i*int(unsafe.Sizeof(*p))))
}

// mulDots is mulBasis for n, d, r > 0 and d a multiple of Width, in one piece. It prefetches the given number
// of bytes.
func mulDots[F Float](a *float64, lda int, x *F, ldx int, u *float64, ldu int, n, d, r, bytes int, h Hint) {
	if n == 1 {
		mulRow(a, lda, x, u, ldu, d, r, bytes, h)
		return
	}
	wide, narrow := cut(r, maxDots)
	share := bytes
	if narrow.count > 0 {
		share = bytes * wide.count / (wide.count + narrow.count)
	}
	dots(a, lda, x, ldx, u, ldu, n, d, wide, basisPrefetch(h, share, n, d/Width*wide.count, x))
	if narrow.count > 0 {
		k := basisPrefetch(h.skip(share), bytes-share, n, d/Width*narrow.count, x)
		dots(a, lda, x, ldx, u, ldu, n, d, narrow, k)
	}
}

// mulRow is mulDots for one row. The tiles take two: the same one twice.
func mulRow[F Float](a *float64, lda int, x *F, u *float64, ldu, d, r, bytes int, h Hint) {
	var t [2 * maxDots]float64
	k := basisPrefetch(h, bytes, 2, d/Width*((r+maxDots-1)/maxDots), x)
	for j := 0; j < r; j += maxDots {
		w := min(maxDots, r-j)
		dots(&t[0], 2, x, 0, at(u, j*ldu), ldu, 2, d, groups{0, w, 1}, k)
		for i := range w {
			*at(a, (j+i)*lda) = t[2*i]
		}
	}
}

// dots multiplies by groups of columns.
func dots[F Float](a *float64, lda int, x *F, ldx int, u *float64, ldu, n, d int, c groups, k prefetch) {
	a, u = at(a, c.first*lda), at(u, c.first*ldu)
	if unsafe.Sizeof(*x) == 8 {
		mulBasisTile(a, lda, as[float64](x), ldx, u, ldu, n, d, c.count, k.next, k.apart, k.pace, c.width)
	} else {
		mulBasis32Tile(a, lda, as[float32](x), ldx, u, ldu, n, d, c.count, k.next, k.apart, k.pace, c.width)
	}
}

func leastSquares(b, a []float64, lda, n, r int, y, work []float64, next uintptr) (lo, hi float64) {
	if tiles.leastSquares == 0 || n == 0 || r == 0 {
		return leastSquaresGeneric(b, a, lda, n, r, y, work)
	}
	_, _, _, _ = b[r-1], a[(r-1)*lda+n-1], y[n-1], work[LeastSquaresWork(n, r)-1]
	pace := line * tiles.lanes / 4
	if next == 0 {
		next, pace = uintptr(unsafe.Pointer(&work[0])), 0
	}
	return leastSquaresTile(&b[0], &a[0], lda, n, r, &y[0], &work[0], next, pace, SetApart(n, r))
}

// leastSquaresSmall is LeastSquares in registers, if there are enough of them.
func leastSquaresSmall(b, e, a []float64, lda, n, r int, y, work []float64, next uintptr) (lo, hi, squares float64, ok bool) {
	wide := r < len(tiles.leastSquares32)
	if tiles.leastSquares32[1] == 0 || n == 0 || r == 0 || r >= len(tiles.leastSquares24) || n > 32 || n > 24 && !wide {
		return 0, 0, 0, false
	}
	_, _, _, _ = b[r-1], e[n-1], a[(r-1)*lda+n-1], y[n-1]
	_, _, f, _ := Eliminated(work, n, r)
	lines, apart := 0, SetApart(n, r)
	if next != 0 {
		lines = SolveAhead(n, r) / line
	}
	if wide {
		lo, hi, squares = leastSquares32Tile(&b[0], &e[0], &a[0], lda, n, &y[0], &f[0], next, lines, apart, r)
	} else {
		lo, hi, squares = leastSquares24Tile(&b[0], &e[0], &a[0], lda, n, &y[0], &f[0], next, lines, apart, r)
	}
	return lo, hi, squares, true
}

func residual(e, a []float64, lda int, b, y []float64, n, r int) float64 {
	if tiles.residual == 0 || n == 0 || r == 0 {
		return residualGeneric(e, a, lda, b, y, n, r)
	}
	_, _, _, _ = e[n-1], a[(r-1)*lda+n-1], b[r-1], y[n-1]
	return residualTile(&e[0], &a[0], lda, &b[0], &y[0], n, r)
}

func mulTransposed[F Float](g []float64, x []F, ldx int, e []float64, n, d int, h Hint) {
	if !accelerated() || n == 0 || d == 0 {
		mulTransposedGeneric(g, x, ldx, e, n, d)
		return
	}
	sumRows(g, x, ldx, e, n, Pad(d), h)
}

// smallTask is the size in bytes of tasks that every processor's second level keeps.
const smallTask = 192 << 10

// sumRows sets g to X' e: by blocks of features of small tasks, and by panels of rows of others, which may
// come from memory, twice as fast in streams that long.
func sumRows[F Float](g []float64, x []F, ldx int, e []float64, n, d int, h Hint) {
	size := int(unsafe.Sizeof(x[0]))
	_, _, _ = g[d-1], x[(n-1)*ldx+d-1], e[n-1]
	if n*d*size <= smallTask || n < panelHeight {
		sumBlocks(g, x, ldx, e, n, d, h)
		return
	}
	count := n / panelHeight
	k := gradientPrefetch(h, n*ldx*size, count*d/Width, &x[0])
	rows := count * panelHeight // the others first
	if rows < n {
		sumBlocks(g, x[rows*ldx:], ldx, e[rows:], n-rows, d, Hint{})
	} else {
		clear(g[:d])
	}
	from := rows - panelHeight
	if x := &x[from*ldx]; size == 8 {
		addPanelsTile(&g[0], as[float64](x), ldx, &e[from], d, count, k.next, k.apart, k.pace)
	} else {
		addPanels32Tile(&g[0], as[float32](x), ldx, &e[from], d, count, k.next, k.apart, k.pace)
	}
}

// sumBlocks is sumRows by blocks.
func sumBlocks[F Float](g []float64, x []F, ldx int, e []float64, n, d int, h Hint) {
	size, steps := int(unsafe.Sizeof(x[0])), d/Width
	k := gradientPrefetch(h, n*ldx*size, n*rounds(steps), &x[0])
	if size == 8 {
		sumBlocksTile(&g[0], as[float64](&x[0]), ldx, &e[0], n, steps, k.next, k.apart, k.pace)
	} else {
		sumBlocks32Tile(&g[0], as[float32](&x[0]), ldx, &e[0], n, steps, k.next, k.apart, k.pace)
	}
}

// rounds returns the number of rounds of prefetches in a row of sumBlocks, given its steps: one for each of
// its blocks, and two for the widest ones of AVX-512.
func rounds(steps int) int {
	if tiles.lanes == 8 {
		return steps/16*2 + (steps%16+7)/8
	}
	return max(1, (steps+2)/4)
}

// largest returns the largest size of an operation that is at most n. Every operation with sizes has size 1.
func largest(tiles []int, n int) int {
	size := min(n, len(tiles)-1)
	for tiles[size] == 0 {
		size--
	}
	return size
}

func rankUpdate(g []float64, ldg int, v []float64, ldv int, b []float64, ldb int, m, d, r int) {
	if tiles.rankUpdate[1] == 0 || m == 0 || d == 0 || r == 0 {
		rankUpdateGeneric(g, ldg, v, ldv, b, ldb, m, d, r)
		return
	}
	d = Pad(d)
	_, _, _ = g[(r-1)*ldg+d-1], v[(m-1)*ldv+d-1], b[(m-1)*ldb+r-1]
	for t := 0; t < m; {
		count := largest(tiles.rankUpdate[:], m-t)
		rankUpdateTile(&g[0], ldg, &v[t*ldv], ldv, &b[t*ldb], ldb, d, r, count)
		t += count
	}
}

func solveUpper(a []float64, lda int, r []float64, ldr int, inv []float64, m, n int) {
	if tiles.solveUpper == 0 || m == 0 || n == 0 {
		solveUpperGeneric(a, lda, r, ldr, inv, m, n)
		return
	}
	_, _, _ = a[(n-1)*lda+m-1], r[(n-1)*ldr+n-1], inv[n-1]
	solveUpperTile(&a[0], lda, &r[0], ldr, &inv[0], m, n)
}

func sumWeighted(sum, x []float64, ldx, own int, rows []int, w []float64, n int) {
	if tiles.sumDifferences == 0 || n == 0 || len(rows) == 0 {
		sumDifferencesGeneric(sum, x, ldx, own, rows, w, n)
		return
	}
	n = Pad(n)
	_, _, _ = sum[n-1], x[own*ldx+n-1], w[len(rows)-1]
	for _, row := range rows {
		_ = x[row*ldx+n-1]
	}
	sumDifferencesTile(&sum[0], &x[0], ldx, own, &rows[0], &w[0], len(rows), n)
}

func fmaPeak(rounds int) (flops float64) {
	if tiles.fmaPeak == 0 || rounds <= 0 {
		return fmaPeakGeneric(rounds)
	}
	fmaPeakTile(rounds)
	return float64(rounds) * 12 * float64(tiles.lanes) * 2
}
