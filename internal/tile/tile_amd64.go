//go:build !purego

package tile

import (
	"slices"
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

// groups are so many groups of equal width, from the given place on.
type groups struct{ first, width, count int }

// cut divides n, columns of a basis or steps of a row, into groups of at most so many and nearly
// equal width, first the wider ones. There may be no group of the second kind.
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

// accelerated reports whether a tier above Generic is in use.
func accelerated() bool { return active == AVX512 || active == AVX2 }

// lanes returns how many float64 a vector of the tier in use has.
func lanes() int {
	if active == AVX2 {
		return Width / 2
	}
	return Width
}

func mulBasis[F Float](a []float64, lda int, x []F, ldx int, u []float64, ldu int, n, d, r int, h Hint) {
	if !accelerated() || n == 0 || d == 0 || r == 0 {
		mulBasisGeneric(a, lda, x, ldx, u, ldu, n, d, r)
		return
	}
	d = Pad(d)
	_, _, _ = a[(r-1)*lda+n-1], x[(n-1)*ldx+d-1], u[(r-1)*ldu+d-1]
	if blocked(n, d, int(unsafe.Sizeof(x[0]))) {
		mulBlocks(a, lda, x, ldx, u, ldu, n, d, r, h)
		return
	}
	row := ldx * int(unsafe.Sizeof(x[0])) * h.Eighths / 8 // bytes to prefetch
	at, rows := 0, h.rows(n, n*row)
	if size := d * int(unsafe.Sizeof(x[0])); r > maxDots && n*size > largestBlocked {
		rows = min(rows, max(Window/size&^3, 4)) // which are there still for the narrower groups of columns
	}
	for ; n-at > rows; at += rows {
		mulDots(&a[at], lda, nil, 0, &x[at*ldx], ldx, &u[0], ldu, rows, d, r, rows*row, h.skip(at*row))
	}
	mulDots(&a[at], lda, nil, 0, &x[at*ldx], ldx, &u[0], ldu, n-at, d, r, (n-at)*row, h.skip(at*row))
}

// at returns the address of entry i from p on.
func at[T any](p *T, i int) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(p), i*int(unsafe.Sizeof(*p))))
}

// mulDots is mulBasis or mulBasisHalf, for n, d, r > 0 and d a multiple of a step, in one piece. It prefetches so many
// bytes. a0 is nil but for samples of 16 bits.
func mulDots[X, N any](a *float64, lda int, a0 *float64, lda0 int, x *X, ldx int, u *N, ldu int, n, d, r, bytes int, h Hint) {
	step := line / int(unsafe.Sizeof(*u))
	if n == 1 { // the tiles take two rows: the same one twice
		var t, t0 [2 * maxDots]float64
		k := basisPrefetch(h, bytes, float64(d)/float64(2*step), x)
		for j := 0; j < r; j += maxDots {
			w := min(maxDots, r-j)
			for i := 0; i < w && a0 != nil; i++ {
				t0[2*i] = *at(a0, (j+i)*lda0)
				t0[2*i+1] = t0[2*i]
			}
			dots(&t[0], 2, &t0[0], 2, x, 0, at(u, j*ldu), ldu, 2, d, w, 1, k)
			for i := range w {
				*at(a, (j+i)*lda) = t[2*i]
			}
		}
		return
	}
	steps := float64(n*d) / float64(4*step) // for each group
	wide, narrow := cut(r, maxDots)
	share := bytes
	if narrow.count > 0 {
		share = bytes * wide.count / (wide.count + narrow.count)
	}
	k := basisPrefetch(h, share, steps*float64(wide.count), x)
	dots(a, lda, a0, lda0, x, ldx, u, ldu, n, d, wide.width, wide.count, k)
	if c := narrow; c.count > 0 {
		k := basisPrefetch(h.skip(share), bytes-share, steps*float64(c.count), x)
		dots(at(a, c.first*lda), lda, at(a0, c.first*lda0), lda0, x, ldx, at(u, c.first*ldu), ldu, n, d, c.width, c.count, k)
	}
}

func leastSquares(b, a []float64, lda, n, r int, y, work []float64, next uintptr) (lo, hi float64) {
	if !accelerated() || n == 0 || r == 0 {
		return leastSquaresGeneric(b, a, lda, n, r, y, work)
	}
	_, _, _, _ = b[r-1], a[(r-1)*lda+n-1], y[n-1], work[LeastSquaresWork(n, r)-1]
	pace := line * lanes() / 4
	if next == 0 {
		next, pace = uintptr(unsafe.Pointer(&work[0])), 0
	}
	return leastSquaresTile(&b[0], &a[0], lda, n, r, &y[0], &work[0], next, pace, SetApart(n, r))
}

func leastSquaresSmall(b, e, a []float64, lda, n, r int, y, work []float64, next uintptr) (lo, hi, squares float64, ok bool) {
	if active != AVX512 || n == 0 || r == 0 {
		return 0, 0, 0, false
	}
	_, _, _, _ = b[r-1], e[n-1], a[(r-1)*lda+n-1], y[n-1]
	_, _, f, _ := Eliminated(work, n, r)
	lines := 0
	if next != 0 {
		lines = SolveAhead(n, r) / line
	}
	return leastSquaresSmallTile(&b[0], &e[0], &a[0], lda, n, r, &y[0], &f[0], next, lines, SetApart(n, r))
}

func residual(e, a []float64, lda int, b, y []float64, n, r int) float64 {
	if !accelerated() || n == 0 || r == 0 {
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

const (
	// panelHeight is the number of rows of a panel. The generator has the same number.
	panelHeight = 8
	// smallTask is the size in bytes of tasks that every processor's second level keeps.
	smallTask = 192 << 10
)

// sumRows sets g to X' e for samples X and numbers N: by blocks of features of small tasks, and by
// panels of rows of others, which may come from memory, twice as fast in streams that long.
func sumRows[X, N any](g []N, x []X, ldx int, e []N, n, d int, h Hint) {
	_, _, _ = g[d-1], x[(n-1)*ldx+d-1], e[n-1]
	if n*d*int(unsafe.Sizeof(x[0])) <= smallTask || n < panelHeight {
		sumBlocks(g, x, ldx, e, n, d, h)
		return
	}
	step, count := line/int(unsafe.Sizeof(g[0])), n/panelHeight // features
	k, bytes := prefetch{next: uintptr(unsafe.Pointer(&x[0]))}, n*ldx*int(unsafe.Sizeof(x[0]))*h.Eighths/8
	if h.Next != 0 {
		k = newPrefetch(h.Next, bytes, float64(count*d/step), gradientStreams(unsafe.Sizeof(x[0])), false, &x[0])
	}
	rows := count * panelHeight // the others first
	if rows < n {
		sumBlocks(g, x[rows*ldx:], ldx, e[rows:], n-rows, d, Hint{})
	} else {
		clear(g[:d])
	}
	at := rows - panelHeight
	addPanelsTile(&g[0], &x[at*ldx], ldx, &e[at], d, count, k)
}

// sumBlocks is sumRows by blocks.
func sumBlocks[X, N any](g []N, x []X, ldx int, e []N, n, d int, h Hint) {
	step := line / int(unsafe.Sizeof(g[0])) // features
	wide, narrow := cut(d/step, maxBlock())
	k := prefetch{next: uintptr(unsafe.Pointer(&x[0]))}
	if h.Next != 0 {
		bytes := n * ldx * int(unsafe.Sizeof(x[0])) * h.Eighths / 8
		k = gradientPrefetch(h.Next, bytes, float64(n*(rounds(wide)+rounds(narrow))), &x[0])
	}
	sumBlocksTile(&g[0], &x[0], ldx, &e[0], n, wide.width, wide.count, k)
	if narrow.count > 0 {
		k.next += uintptr(n * rounds(wide) * k.pace)
		at := narrow.first * step
		sumBlocksTile(&g[at], &x[at], ldx, &e[0], n, narrow.width, narrow.count, k)
	}
}

// rounds returns how many rounds of prefetches a row has in blocks.
func rounds(b groups) int { return b.count * ((b.width + requestSteps - 1) / requestSteps) }

func rankUpdate(g []float64, ldg int, v []float64, ldv int, b []float64, ldb int, m, d, r int) {
	if !accelerated() || m == 0 || d == 0 || r == 0 {
		rankUpdateGeneric(g, ldg, v, ldv, b, ldb, m, d, r)
		return
	}
	d = Pad(d)
	_, _, _ = g[(r-1)*ldg+d-1], v[(m-1)*ldv+d-1], b[(m-1)*ldb+r-1]
	for t := 0; t < m; {
		t += rankUpdateTile(&g[0], ldg, &v[t*ldv], ldv, &b[t*ldb], ldb, m-t, d, r)
	}
}

func solveUpper(a []float64, lda int, r []float64, ldr int, inv []float64, m, n int) {
	if !accelerated() || m == 0 || n == 0 {
		solveUpperGeneric(a, lda, r, ldr, inv, m, n)
		return
	}
	_, _, _ = a[(n-1)*lda+m-1], r[(n-1)*ldr+n-1], inv[n-1]
	solveUpperTile(&a[0], lda, &r[0], ldr, &inv[0], m, n)
}

func sumWeighted(sum, x []float64, ldx, own int, rows []int, w []float64, n int) {
	if !accelerated() || n == 0 || len(rows) == 0 {
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

func size[F Float](x []F) (largest, squares float64) {
	if !accelerated() || len(x) == 0 {
		return sizeGeneric(x)
	}
	var m [Width]float64
	if unsafe.Sizeof(x[0]) == 4 {
		squares = size32Tile(&m[0], (*float32)(unsafe.Pointer(&x[0])), len(x))
	} else {
		squares = sizeTile(&m[0], (*float64)(unsafe.Pointer(&x[0])), len(x))
	}
	return slices.Max(m[:]), squares
}

func readSum(x []float64, four bool) float64 {
	n := len(x) &^ 255
	if !accelerated() || n == 0 {
		return readSumGeneric(x)
	}
	read := readSum_1Tile
	if four {
		read = readSum_4Tile
	}
	return read(&x[0], n) + readSumGeneric(x[n:])
}

func fmaPeak(rounds int) (flops float64) {
	if !accelerated() || rounds <= 0 {
		return fmaPeakGeneric(rounds)
	}
	fmaPeakTile(rounds)
	return float64(rounds) * 12 * float64(lanes()) * 2
}
