package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pairRows are the numbers of rows of inner products with two vectors in float64: as many as registers hold.
// From the third-level cache more rows take less time.
func pairRows(t isa) []int {
	if t.evex {
		return []int{8, 4}
	}
	return []int{3, 2}
}

// twoVectors emits the tiles of a matrix and two vectors, which take the matrix from its cache once.
func twoVectors(t isa) {
	for _, m := range pairRows(t) {
		rowDotPairs(t, double, m)
	}
	for _, m := range []int{4, 1} {
		addRowPairs(t, double, m)
		addOuterPairs(t, double, m)
	}
	if t.evex {
		return
	}
	rowDotPairs(t, single, 4)
	for _, m := range []int{4, 1} {
		addRowPairs(t, single, m)
		addOuterPairs(t, single, m)
	}
}

// mostGrowing is the largest number of rows of a tile whose distances may grow.
const mostGrowing = 4

// apartRows returns the rows of a tile, whose distances grow if there are few.
func apartRows(x *number, m int) rows {
	a, lda := param("a"), bytesParam("lda", x.size)
	if m == 1 || m > mostGrowing {
		return newRows(a, lda, m)
	}
	return newGrowingRows(a, lda, bytesParam("growth", x.size), m)
}

// rowDotPairs emits the inner products of m rows and two vectors, in the order of rowDots for several rows.
func rowDotPairs(t isa, x *number, m int) {
	vectorText(t, x, "rowDotPairs", m, "sums, a *F, lda, growth int, x, z *F, n int",
		"sets sums to the products of %d rows of n entries with x and with z, pair after pair, n >= 1.")
	a, with, other := apartRows(x, m), param("x"), param("z")
	registers := 1
	if x == double {
		registers = t.dotRegisters()
	}
	acc := t.zeros(registers * 2 * m)
	pointers := []reg.GPVirtual{a.base, with, other}
	add := func(io access, k, disp int) {
		first, second := io.load(Mem{Base: with, Disp: disp}), io.load(Mem{Base: other, Disp: disp})
		for i := range m {
			row := io.load(a.at(i, disp))
			x.fma(row, first, acc[2*(k*m+i)])
			x.fma(row, second, acc[2*(k*m+i)+1])
		}
	}
	sums, r := param("sums"), t.newReducer()
	if x == single {
		eachVector(t, x, 1, false, pointers, add)
		r.store32(acc, sums)
		finish()
		return
	}
	eachLanes(t, 1, false, pointers, add)
	const most = 8 // sums that are stored together
	for all := addRegisters(acc, 2*m); len(all) > 0; all = all[min(most, len(all)):] {
		r.storeSums(all[:min(most, len(all))], sums)
		advance(most*x.size, sums)
	}
	finish()
}

// addRowPairs emits the addition of multiples of m rows to two vectors.
func addRowPairs(t isa, x *number, m int) {
	vectorText(t, x, "addRowPairs", m, "y, z, a *F, lda, growth int, b *F, n int",
		"adds %d rows of n entries, times the first of a pair of b to y, and times the second to z, n >= 1.")
	y, z, a := param("y"), param("z"), apartRows(x, m)
	b := x.broadcasts(t, param("b"), 2*m)
	changeVectors(t, x, 1, []reg.GPVirtual{a.base, y, z}, func(io access, _, disp int) {
		sum, other := io.load(Mem{Base: y, Disp: disp}), io.load(Mem{Base: z, Disp: disp})
		for i := range m {
			row := io.load(a.at(i, disp))
			x.fma(row, b[2*i], sum)
			x.fma(row, b[2*i+1], other)
		}
		io.store(sum, Mem{Base: y, Disp: disp})
		io.store(other, Mem{Base: z, Disp: disp})
	})
	finish()
}

// addOuterPairs emits the addition of multiples of two vectors to m rows.
func addOuterPairs(t isa, x *number, m int) {
	vectorText(t, x, "addOuterPairs", m, "a *F, lda int, b, y, z *F, n int",
		"adds n entries of y, times the first of a pair of b, and of z, times the second, to %d rows, n >= 1.")
	y, z, a := param("y"), param("z"), newRows(param("a"), bytesParam("lda", x.size), m)
	b := x.broadcasts(t, param("b"), 2*m)
	changeVectors(t, x, max(1, 4/m), []reg.GPVirtual{a.base, y, z}, func(io access, _, disp int) {
		first, second := io.load(Mem{Base: y, Disp: disp}), io.load(Mem{Base: z, Disp: disp})
		for i := range m {
			row := io.load(a.at(i, disp))
			x.fma(first, b[2*i], row)
			x.fma(second, b[2*i+1], row)
			io.store(row, a.at(i, disp))
		}
	})
	finish()
}
