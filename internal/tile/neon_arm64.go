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
	for i := range 5 {
		o.mulBasis[i+1] = 1
	}
	for i := range 8 {
		o.rankUpdate[i+1] = 1
	}
	o.addPanels[0], o.addPanels[singles] = 1, 1
	withVectors(&o)
	return o
}

// mulBasisTile multiplies tiles of 4 rows, then of 1 row, by groups of up to 5 columns.
func mulBasisTile(
	a *float64, lda int, x unsafe.Pointer, ldx int, u *float64, ldu int, n, d, groups int,
	next uintptr, apart, pace, index int,
) {
	steps, columns, size := d/Width, index, 8
	if index >= singles {
		columns, size = index-singles, 4
	}
	pace *= size/streamBytes + 1 // one stream
	for i := 0; i < n; {
		rows := 1
		if n-i >= 4 {
			rows = 4
		}
		for g := range groups {
			a, u := at(a, g*columns*lda+i), at(u, g*columns*ldu)
			x, pace := unsafe.Add(x, i*ldx*size), pace*rows/4
			switch {
			case size == 8 && rows == 4:
				mulBasis_4x5_neon(a, lda, (*float64)(x), ldx, u, ldu, columns, steps, next, pace)
			case size == 8:
				mulBasis_1x5_neon(a, lda, (*float64)(x), ldx, u, ldu, columns, steps, next, pace)
			case rows == 4:
				mulBasis32_4x5_neon(a, lda, (*float32)(x), ldx, u, ldu, columns, steps, next, pace)
			default:
				mulBasis32_1x5_neon(a, lda, (*float32)(x), ldx, u, ldu, columns, steps, next, pace)
			}
			next += uintptr(steps * pace)
		}
		i += rows
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
// by how many bytes the prefetches of a row move on, given the steps of the run.
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
	if n >= 4 {
		s = residual_4_neon(e, a, lda, b, y, n/4, r)
	}
	if i := n &^ 3; i < n {
		rest := unsafe.Slice(a, (r-1)*lda+n)[i:]
		s += residualGeneric(unsafe.Slice(e, n)[i:], rest, lda, unsafe.Slice(b, r), unsafe.Slice(y, n)[i:], n-i, r)
	}
	return s
}

func leastSquaresTile(
	b, a *float64, lda, n, r int, y, work *float64, _ uintptr, _ int, apart float64,
) (lo, hi float64) {
	// dots_4_neon may write 3 entries beyond column r
	w, ldw, f, ldf := Eliminated(unsafe.Slice(work, LeastSquaresWork(n, r)), n, r)
	for j := range r {
		x := w[j*ldw:]
		copy(x, unsafe.Slice(at(a, j*lda), n))
		var square [4]float64
		dots_4_neon(&square[0], &x[0], &x[0], ldw, 1, n)
		hi += square[0]
	}
	copy(w[r*ldw:], unsafe.Slice(y, n))
	lo = math.Inf(1)
	for k := range r {
		x, row := &w[k*ldw], f[k*ldf:][:ldf]
		for j := k; j <= r; j += 4 {
			dots_4_neon(&row[j], x, &w[j*ldw], ldw, min(4, r+1-j), n)
		}
		s := row[k]
		lo = min(lo, s)
		if s <= apart*hi {
			clear(row[k+1:])
			continue
		}
		for j := k + 1; j <= r; j++ {
			row[j] /= s
		}
		for j := k + 1; j <= r && k < r-1; j += 4 { // of y LeastSquares makes e in the end
			axpys_4_neon(&row[j], x, &w[j*ldw], ldw, min(4, r+1-j), n)
		}
	}
	substituteGeneric(unsafe.Slice(b, r), f, ldf, r)
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
