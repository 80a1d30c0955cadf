package tile

import "unsafe"

// smallTask is the size in bytes of tasks that every processor's second level keeps.
const smallTask = 192 << 10

// MulTransposed computes g = X' e; see mulTransposedGeneric. It takes small tasks by blocks of features, and
// larger ones by panels of rows: from memory such long streams are twice as fast.
func MulTransposed[F Float](g []float64, x []F, ldx int, e []float64, n, d int, p *PrefetchPlan) {
	d = Pad(d)
	raceRead(x, n, d, ldx)
	raceRead(e, 1, n, 0)
	raceWrite(g, 1, d, 0)
	if tiles.lanes == 0 || n == 0 || d == 0 {
		mulTransposedGeneric(g, x, ldx, e, n, d)
		return
	}
	size := int(unsafe.Sizeof(x[0]))
	_, _, _ = g[d-1], x[(n-1)*ldx+d-1], e[n-1]
	if n*d*size <= smallTask || n < panelHeight || tiles.addPanels[0] == 0 {
		sumBlocks(g, x, ldx, e, n, d, p)
		return
	}
	count := n / panelHeight
	k := gradientStreams(p, n*ldx*size, count*d/Width, &x[0])
	rows := count * panelHeight // the rows behind them come first
	if rows < n {
		sumBlocks(g, x[rows*ldx:], ldx, e[rows:], n-rows, d, nil)
	} else {
		clear(g[:d])
	}
	last := rows - panelHeight
	addPanelsTile(&g[0], unsafe.Pointer(&x[last*ldx]), ldx, &e[last], d, count, k.next, k.apart, k.pace, of[F](0))
}

// sumBlocks is MulTransposed by blocks.
func sumBlocks[F Float](g []float64, x []F, ldx int, e []float64, n, d int, p *PrefetchPlan) {
	steps := d / Width
	k := gradientStreams(p, n*ldx*int(unsafe.Sizeof(x[0])), n*rounds(steps), &x[0])
	sumBlocksTile(&g[0], unsafe.Pointer(&x[0]), ldx, &e[0], n, steps, k.next, k.apart, k.pace, of[F](0))
}

// rounds returns the number of rounds of prefetches in a row of sumBlocks, given its steps: one for each of
// its blocks, and two for the widest ones of AVX-512.
func rounds(steps int) int {
	if tiles.lanes == 8 {
		return steps/16*2 + (steps%16+7)/8
	}
	return max(1, (steps+2)/4)
}

// RankUpdate adds sum_t v_t b_t' to G; see rankUpdateGeneric.
func RankUpdate(g []float64, ldg int, v []float64, ldv int, b []float64, ldb int, m, d, r int) {
	d = Pad(d)
	raceRead(v, m, d, ldv)
	raceRead(b, m, r, ldb)
	if m > 0 {
		raceWrite(g, r, d, ldg)
	}
	if tiles.rankUpdate[1] == 0 || m == 0 || d == 0 || r == 0 {
		rankUpdateGeneric(g, ldg, v, ldv, b, ldb, m, d, r)
		return
	}
	_, _, _ = g[(r-1)*ldg+d-1], v[(m-1)*ldv+d-1], b[(m-1)*ldb+r-1]
	for t, count := 0, 0; t < m; t += count {
		count = largest(tiles.rankUpdate[:], m-t)
		rankUpdateTile(&g[0], ldg, &v[t*ldv], ldv, &b[t*ldb], ldb, d, r, count)
	}
}

// largest returns the largest size of an operation that is at most n. Every operation with sizes has size 1.
func largest(tiles []int, n int) int {
	size := min(n, len(tiles)-1)
	for tiles[size] == 0 {
		size--
	}
	return size
}

// SumDifferences computes sums of weighted differences of rows; see
// sumDifferencesGeneric. All tiers compute equal bits.
func SumDifferences(sum, x []float64, ldx, own int, rows []int, w []float64, n int) {
	n = Pad(n)
	raceWrite(sum, 1, n, 0)
	raceRead(rows, 1, len(rows), 0)
	raceRead(w, 1, len(rows), 0)
	raceRead(x[own*ldx:], 1, n, 0)
	for _, row := range rows {
		raceRead(x[row*ldx:], 1, n, 0)
	}
	if tiles.sumDifferences == 0 || n == 0 || len(rows) == 0 {
		sumDifferencesGeneric(sum, x, ldx, own, rows, w, n)
		return
	}
	_, _, _ = sum[n-1], x[own*ldx+n-1], w[len(rows)-1]
	for _, row := range rows {
		_ = x[row*ldx+n-1]
	}
	sumDifferencesTile(&sum[0], &x[0], ldx, own, &rows[0], &w[0], len(rows), n)
}
