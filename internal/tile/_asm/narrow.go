package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// narrowTogether is the number of sums, each of every fourth row, so that none waits for another.
const narrowTogether = 4

// narrowColumns emits the sums of the columns of a matrix of few columns. Products are rounded. AVX-512 uses
// the tiles of AVX2.
func narrowColumns(t isa, x *number) {
	text("narrowColumns"+x.suffix, t, "func(sums, a *F, lda int, x *F, step, rows, n int)",
		"sets a vector of sums to those of n columns of rows, times numbers of x that are step bytes apart, "+
			"rows > 0 a multiple of 4. The lanes behind are of no use.")
	a := newRows(param("a"), bytesParam("lda", x.size), narrowTogether)
	by, left := newRows(param("x"), param("step"), narrowTogether), param("rows")
	io, sums := x.firstLanes(t, param("n")), t.zeros(narrowTogether)
	SHRQ(U8(log2(narrowTogether)), left)
	loop("rows", left, func() {
		for k, sum := range sums {
			v := t.vec()
			x.broadcast(by.at(k, 0), v)
			x.multiply(io.load(a.at(k, 0)), v, v)
			x.add(v, sum, sum)
		}
		for _, r := range []rows{a, by} {
			LEAQ(Mem{Base: r.base, Index: r.step, Scale: narrowTogether}, r.base)
		}
	})
	x.add(sums[2], sums[0], sums[0])
	x.add(sums[3], sums[1], sums[1])
	x.add(sums[1], sums[0], sums[0])
	x.move(sums[0], Mem{Base: param("sums")})
	finish()
}

// sumColumns emits the sums of the columns of a matrix, two vectors of columns at a time. Others begin before
// the last ones end where columns are left, and have the same sums in those that they share.
func sumColumns(t isa, x *number) {
	text("sumColumns"+x.suffix, t, "func(sums, a *F, lda int, x *F, m, n int)",
		fmt.Sprintf("works like sumColumnsGeneric for n >= %d.", x.lanes(t)))
	first, to, left := newRows(param("a"), bytesParam("lda", x.size), narrowTogether), param("sums"), param("n")
	second, whole := fresh(left), GP64() // the second vector begins as many bytes behind the first one
	SUBQ(I32(x.lanes(t)), second)
	MOVQ(I32(x.lanes(t)), whole)
	CMPQ(second, whole)
	CMOVQGT(whole, second)
	SHLQ(U8(log2(x.size)), second)
	Label("columns")
	a, b, by, sums := first, first, param("x"), t.zeros(2*narrowTogether)
	a.base, b.base = fresh(first.base), sum(first.base, second, 1, 0)
	add := func(k int) {
		v := t.vec()
		x.broadcast(Mem{Base: by, Disp: k * x.size}, v)
		x.fma(a.at(k, 0), v, sums[2*k])
		x.fma(b.at(k, 0), v, sums[2*k+1])
	}
	fours := param("m")
	SHRQ(U8(log2(narrowTogether)), fours)
	repeat("fours", fours, func() {
		for k := range narrowTogether {
			add(k)
		}
		advance(narrowTogether*x.size, by)
		for _, r := range []rows{a, b} {
			LEAQ(Mem{Base: r.base, Index: r.step, Scale: narrowTogether}, r.base)
		}
	})
	last := param("m")
	ANDQ(I32(narrowTogether-1), last)
	repeat("last", last, func() {
		add(0)
		advance(x.size, by)
		ADDQ(a.step, a.base)
		ADDQ(b.step, b.base)
	})
	for k := range 2 {
		x.add(sums[4+k], sums[k], sums[k])
		x.add(sums[6+k], sums[2+k], sums[2+k])
		x.add(sums[2+k], sums[k], sums[k])
	}
	x.move(sums[0], Mem{Base: to})
	x.move(sums[1], Mem{Base: to, Index: second, Scale: 1})
	SUBQ(I32(2*x.lanes(t)), left)
	JLE(LabelRef("done"))
	step := GP64() // to the next columns, or to the last ones
	MOVQ(I32(2*x.lanes(t)), step)
	CMPQ(left, step)
	CMOVQLT(left, step)
	SHLQ(U8(log2(x.size)), step)
	ADDQ(step, first.base)
	ADDQ(step, to)
	JMP(LabelRef("columns"))
	Label("done")
	finish()
}

// narrowRows emits the products of rows of a few numbers and a vector of as many: of as many rows at a time
// as a register has lanes. A sum adds neighbours, pairs of them, and the halves of a register. Products are
// rounded. AVX-512 uses the tiles of AVX2.
func narrowRows(t isa, x *number) {
	lanes := x.lanes(t)
	text("narrowRows"+x.suffix, t, "func(sums, a *F, lda int, x *F, rows, n int)",
		fmt.Sprintf("sets sums to the products of rows of n numbers and x, rows > 0 a multiple of %d.", lanes))
	to, a, left := param("sums"), newRows(param("a"), bytesParam("lda", x.size), lanes), param("rows")
	io := x.firstLanes(t, param("n"))
	with := io.load(Mem{Base: param("x")})
	product := func(i int) vector {
		v := io.load(a.at(i, 0))
		x.multiply(with, v, v)
		return v
	}
	pair := func(i int) vector { // the sums of neighbours of two rows
		v := product(i)
		x.addNeighbours(product(i+1), v, v)
		return v
	}
	SHRQ(U8(log2(lanes)), left)
	loop("rows", left, func() {
		first, second := pair(0), pair(2)
		if x == single { // of four rows each
			x.addNeighbours(second, first, first)
			second = pair(4)
			x.addNeighbours(pair(6), second, second)
		}
		low := t.vec()
		VPERM2F128(U8(0x20), second, first, low)
		VPERM2F128(U8(0x31), second, first, first)
		x.add(first, low, low)
		x.move(low, Mem{Base: to})
		advance(t.bytes(), to)
		LEAQ(Mem{Base: a.base, Index: a.step, Scale: uint8(lanes)}, a.base)
	})
	finish()
}

// addNeighbours adds the numbers of each pair of two vectors, for AVX2.
func (x *number) addNeighbours(a, b, to vector) {
	if x == single {
		VHADDPS(a, b, to)
	} else {
		VHADDPD(a, b, to)
	}
}

// pairRowsTogether is the number of rows that narrowPairs takes at a time.
const pairRowsTogether = 4

// narrowPairs emits the products of rows and two vectors, four rows at a time. AVX-512 uses the tiles of
// AVX2. The last rows end with the last one, and may be rows of those before them.
func narrowPairs(t isa, x *number) {
	lanes := x.lanes(t)
	text("narrowPairs"+x.suffix, t, "func(sums, a *F, lda int, x, z *F, rows, n int)",
		fmt.Sprintf("sets sums to the products of rows of n entries with x and with z, pair after pair, "+
			"rows >= %d, n >= %d.", pairRowsTogether, lanes))
	to, a, left := param("sums"), newRows(param("a"), bytesParam("lda", x.size), pairRowsTogether), param("rows")
	tail, ones, table := param("n"), t.vec(), GP64()
	ANDQ(I8(lanes-1), tail)
	LEAQ(maskTable.Offset(32), table)
	x.move(Mem{Base: table, Index: tail, Scale: uint8(x.size)}, ones) // the last lanes
	first := a.base
	a.base = GP64()
	Label("rows")
	MOVQ(first, a.base)
	with, other, acc := param("x"), param("z"), t.zeros(2*pairRowsTogether)
	add := func(load func(Mem) vector) {
		u, v := load(Mem{Base: with}), load(Mem{Base: other})
		for i := range pairRowsTogether {
			row := load(a.at(i, 0))
			x.fma(row, u, acc[2*i])
			x.fma(row, v, acc[2*i+1])
		}
	}
	vectors := param("n")
	SHRQ(U8(log2(lanes)), vectors)
	loop("vector", vectors, func() {
		add(x.whole(t).load)
		advance(t.bytes(), a.base, with, other)
	})
	TESTQ(tail, tail)
	JZ(LabelRef("summed"))
	further := GP64() // from behind the whole vectors to the last one
	LEAQ(Mem{Base: tail, Disp: -lanes}, further)
	SHLQ(U8(log2(x.size)), further)
	for _, p := range []reg.GPVirtual{a.base, with, other} {
		ADDQ(further, p)
	}
	add(t.loading(func(at Mem, v vector) { VANDPD(at, ones, v) }))
	Label("summed")
	x.storePairs(t, acc, to)
	SUBQ(I8(pairRowsTogether), left)
	JLE(LabelRef("done"))
	rows, together := GP64(), fresh(I32(pairRowsTogether)) // to the next rows, or to the last ones
	MOVQ(together, rows)
	CMPQ(left, together)
	CMOVQLT(left, rows)
	CMOVQLT(together, left)
	further = fresh(rows)
	SHLQ(U8(log2(2*x.size)), further)
	ADDQ(further, to)
	IMULQ(a.step, rows)
	ADDQ(rows, first)
	JMP(LabelRef("rows"))
	Label("done")
	finish()
}

// storePairs stores the sums of eight accumulators. A sum adds neighbours, pairs of them, and the halves of a
// register.
func (x *number) storePairs(t isa, acc []vector, to reg.GPVirtual) {
	for step := lanesOfHalf / x.size; step > 1; step /= 2 {
		for i := range len(acc) / 2 {
			x.addNeighbours(acc[2*i+1], acc[2*i], acc[i])
		}
		acc = acc[:len(acc)/2]
	}
	for i := 0; i < len(acc); i += 2 {
		low := t.vec()
		VPERM2F128(U8(0x20), acc[i+1], acc[i], low)
		VPERM2F128(U8(0x31), acc[i+1], acc[i], acc[i])
		x.add(acc[i], low, low)
		x.move(low, Mem{Base: to, Disp: i / 2 * t.bytes()})
	}
}

// lanesOfHalf is the size of a half of a register of AVX2.
const lanesOfHalf = 16
