//go:build !purego

package tile

import (
	"math"
	"unsafe"
)

// Available returns both tiers: Advanced SIMD is part of every arm64 processor that Go runs on.
func Available() []Tier { return []Tier{Generic, NEON} }

// operationsOf returns the table of a tier. Two vectors of NEON count as one: a cache line has two. An entry
// is not an address, but 1 where there is a tile.
func operationsOf(t Tier) operations {
	if t != NEON {
		return operations{}
	}
	o := operations{lanes: 4, peak: 64, leastSquares: 1, residual: 1, solveUpper: 1, fmaPeak: 1}
	for i := range maxDots {
		o.mulBasis[i+1] = 1
	}
	for i := range 8 {
		o.rankUpdate[i+1] = 1
	}
	o.addPanels[0], o.addPanels[singles] = 1, 1
	withVectors(&o)
	withLanes(&o)
	withPairs(&o)
	return o
}

// mulBasisTile multiplies tiles of 2 rows by up to 3 columns at a time of each group.
func mulBasisTile(
	a *float64, lda int, x unsafe.Pointer, ldx int, u *float64, ldu int, n, d, groups int,
	next uintptr, apart, pace, index int,
) {
	steps, columns, size := d/Width, index, 8
	if index >= singles {
		columns, size = index-singles, 4
	}
	parts := (columns + 2) / 3
	pace *= size/streamBytes + 1 // one stream
	for i := 0; i < n; i += 2 {
		rows := min(2, n-i)
		x, pace := unsafe.Add(x, i*ldx*size), pace*rows/(4*parts)
		for j, width := 0, 0; j < groups*columns; j += width {
			width = even(columns-j%columns, 3)
			a, u := at(a, j*lda+i), at(u, j*ldu)
			if size == 8 {
				mulBasis_2x3_neon(a, lda, (*float64)(x), ldx, u, ldu, width, rows, steps, next, pace)
			} else {
				mulBasis32_2x3_neon(a, lda, (*float32)(x), ldx, u, ldu, width, rows, steps, next, pace)
			}
			next += uintptr(steps * pace)
		}
	}
}

// sumBlocksTile takes the last row first.
func sumBlocksTile(
	g *float64, x unsafe.Pointer, ldx int, e *float64, n, steps int, next uintptr, apart, pace, index int,
) {
	size := 8
	if index == singles {
		size = 4
	}
	p := rowsSum{x: unsafe.Add(x, (n-1)*ldx*size), ldx: -ldx, e: at(e, n-1), step: -1, n: n, single: index == singles}
	pace *= size / streamBytes // one stream
	p.sum(g, steps, next, func(int) int { return pace })
}

// addPanelsTile takes the last panel first, and of a panel the first row first.
func addPanelsTile(
	g *float64, x unsafe.Pointer, ldx int, e *float64, d, count int, next uintptr, apart, pace int, index int,
) {
	size := 8
	if index == singles {
		size = 4
	}
	pace *= size / streamBytes // one stream
	for i := range count {
		first := -i * panelHeight
		p := rowsSum{unsafe.Add(x, first*ldx*size), ldx, at(e, first), 1, panelHeight, true, index == singles}
		p.sum(g, d/Width, next, func(steps int) int { return pace * steps / panelHeight })
		next += uintptr(pace * d / Width)
	}
}

// A rowsSum is the sum of n rows of samples, ldx apart, times entries of e, step apart.
type rowsSum struct {
	x           unsafe.Pointer
	ldx         int
	e           *float64
	step, n     int
	add, single bool
}

// sum sets some steps of Width features of g to the sum, or adds it, in runs of up to 4 steps. pace returns
// the number of bytes that the prefetches of a row move on, given the steps of the run.
func (p *rowsSum) sum(g *float64, steps int, next uintptr, pace func(steps int) int) {
	for first := 0; steps > 0; {
		run := even(steps, 4)
		ahead, to := pace(run), at(g, first)
		if p.single {
			mulTransposed32_neon(to, at((*float32)(p.x), first), p.ldx, p.e, p.step, p.n, run, p.add, next, ahead)
		} else {
			mulTransposed_neon(to, at((*float64)(p.x), first), p.ldx, p.e, p.step, p.n, run, p.add, next, ahead)
		}
		next, first, steps = next+uintptr(p.n*ahead), first+run*Width, steps-run
	}
}

func rankUpdateTile(g *float64, ldg int, v *float64, ldv int, b *float64, ldb, d, r, index int) {
	for j := 0; j < r; j += 4 {
		panel_4_neon(at(g, j*ldg), ldg, at(b, j), 1, ldb, v, ldv, min(4, r-j), index, d/Width, true)
	}
}

func residualTile(e, a *float64, lda int, b, y *float64, n, r int) (s float64) {
	entries := unsafe.Slice(e, n)
	for i, v := range unsafe.Slice(y, n) {
		entries[i] = -v + 0 // not -0
	}
	p := rowsProduct{unsafe.Pointer(e), 0, unsafe.Pointer(b), 0, 1, unsafe.Pointer(a), lda, 1, r, true}
	p.compute(n, false)
	dots8(&s, e, 0, 1, e, n)
	return s
}

// leastSquaresTile has the order of sums of the tiles of amd64: zeros fill the columns up to a multiple of
// partialSums.
func leastSquaresTile(
	b, a *float64, lda, n, r int, y, work *float64, _ uintptr, _ int, apart float64,
) (lo, hi float64) {
	w, ldw, f, ldf := Eliminated(unsafe.Slice(work, LeastSquaresWork(n, r)), n, r)
	var squares [partialSums]float64
	for j := range r + 1 {
		x := w[j*ldw:][:ldw]
		if j == r {
			clear(x[copy(x, unsafe.Slice(y, n)):])
			break
		}
		clear(x[copy(x, unsafe.Slice(at(a, j*lda), n)):])
		addSquares_neon(&squares[0], &x[0], ldw/partialSums)
	}
	hi = foldPartial(&squares)
	lo = math.Inf(1)
	for k := range r {
		x, row := &w[k*ldw], f[k*ldf:][:r+1]
		for j := k; j <= r; j += 4 {
			dots8(&row[j], &w[j*ldw], ldw, min(4, r+1-j), x, ldw)
		}
		s := row[k]
		lo = min(lo, s)
		if s <= apart*hi {
			clear(row[k+1:])
		} else {
			inverse := 1 / s
			for j := k + 1; j <= r; j++ {
				row[j] *= inverse
			}
		}
		for j := k + 1; j <= r && k < r-1; j += 4 { // of y LeastSquares makes e in the end
			axpys_4_neon(&row[j], x, &w[j*ldw], ldw, min(4, r+1-j), ldw)
		}
	}
	coefficients := unsafe.Slice(b, r)
	for k := r - 1; k >= 0; k-- {
		row := f[k*ldf:][:r+1]
		s := row[r]
		for j := r - 1; j > k; j-- {
			s = math.FMA(-row[j], coefficients[j], s)
		}
		coefficients[k] = s
	}
	return lo, hi
}

// solveUpperTile subtracts every column that is solved from those to its right.
func solveUpperTile(a *float64, lda int, r *float64, ldr int, inv *float64, m, n int) {
	var f [4]float64
	for i := range n {
		x := at(a, i*lda)
		scale_neon(x, *at(inv, i), m)
		for j := i + 1; j < n; j += 4 {
			c := min(4, n-j)
			for k := range c {
				f[k] = *at(r, (j+k)*ldr+i)
			}
			axpys_4_neon(&f[0], x, at(a, j*lda), lda, c, m)
		}
	}
}

func fmaPeakTile(rounds int) float64 {
	fmaPeak_neon(rounds)
	return 0
}
