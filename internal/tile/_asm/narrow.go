package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// narrowTogether is the number of sums, each of every fourth row, so that none waits for another.
const narrowTogether = 4

// narrowColumns emits the sums of the columns of a matrix of few columns. Products are rounded. AVX-512 uses the
// tiles of AVX2.
func narrowColumns(t isa, x *number) {
	text("narrowColumns"+x.suffix, t, "func(sums, a *F, lda int, x *F, step, rows, n int)",
		"sets a vector of sums to those of n columns of rows, times numbers of x that are step bytes apart, rows > 0 a "+
			"multiple of 4, and clears the lanes behind.")
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
