package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// levelOne emits the tiles of vectors. AVX-512 uses the tiles of AVX2 for float32 and for largest values.
func levelOne(t isa) {
	for _, x := range []*number{double, single} {
		if t.evex && x == single {
			continue
		}
		addComplex(t, x)
		timesComplex(t, x)
		dotComplex(t, x)
		planeRotation(t, x)
		if !t.evex {
			largest(t, x)
		}
	}
}

// swapPairs swaps the numbers of each pair.
func (x *number) swapPairs(t isa, from, to vector) {
	switch {
	case x == single:
		VPERMILPS(U8(0xb1), from, to)
	case t.evex:
		VPERMILPD(U8(0x55), from, to)
	default:
		VPERMILPD(U8(0x5), from, to)
	}
}

// pairsOf loads a pair to all pairs of a register.
func (x *number) pairsOf(t isa, from Mem) vector {
	v := t.vec()
	switch {
	case x == single:
		VBROADCASTSD(from, v)
	case t.evex:
		VBROADCASTF64X2(from, v)
	default:
		VBROADCASTF128(from, v)
	}
	return v
}

// byPairs are two pairs of factors: of the numbers of a pair, and of them swapped.
func (x *number) byPairs(t isa, by reg.GPVirtual) (own, swapped vector) {
	return x.pairsOf(t, Mem{Base: by}), x.pairsOf(t, Mem{Base: by, Disp: 2 * x.size})
}

// addComplex emits the addition of multiples of pairs.
func addComplex(t isa, x *number) {
	text("addComplex"+x.suffix, t, "func(y, x, by *F, n int)",
		"adds pairs of n numbers of x to y, times the factors at by, n >= 2.")
	y, from := param("y"), param("x")
	own, swapped := x.byPairs(t, param("by"))
	eachVector(t, x, 2, true, []reg.GPVirtual{from, y}, func(io access, _, disp int) {
		v, w, sum := io.load(Mem{Base: from, Disp: disp}), t.vec(), io.load(Mem{Base: y, Disp: disp})
		x.swapPairs(t, v, w)
		x.fma(v, own, sum)
		x.fma(w, swapped, sum)
		io.store(sum, Mem{Base: y, Disp: disp})
	})
	finish()
}

// timesComplex emits multiples of pairs.
func timesComplex(t isa, x *number) {
	text("timesComplex"+x.suffix, t, "func(y, by *F, n int)",
		"overwrites pairs of n numbers by their products with the factors at by, n >= 2.")
	y := param("y")
	own, swapped := x.byPairs(t, param("by"))
	eachVector(t, x, 2, true, []reg.GPVirtual{y}, func(io access, _, disp int) {
		v, w := io.load(Mem{Base: y, Disp: disp}), t.vec()
		x.swapPairs(t, v, w)
		x.multiply(swapped, w, w)
		x.fma(v, own, w)
		io.store(w, Mem{Base: y, Disp: disp})
	})
	finish()
}

// complexBytes are the bytes of each vector that dotComplex takes at a time, on all tiers.
const complexBytes = 128

// dotComplex emits the products of pairs, and of pairs with swapped ones.
func dotComplex(t isa, x *number) {
	vectors := complexBytes / t.bytes()
	text("dotComplex"+x.suffix, t, "func(sums, x, y *F, n int)",
		fmt.Sprintf("sets %d sums to those of products of n numbers, and as many of x and swapped pairs of "+
			"y, n > 0 a multiple of %d.",
			complexBytes/x.size, complexBytes/x.size))
	from, with, left := param("x"), param("y"), param("n")
	own, swapped := t.zeros(vectors), t.zeros(vectors)
	SHRQ(U8(log2(complexBytes/x.size)), left)
	loop("block", left, func() {
		for k := range own {
			v, w, s := t.load(Mem{Base: from, Disp: k * t.bytes()}), t.load(Mem{Base: with,
				Disp: k * t.bytes()}), t.vec()
			x.swapPairs(t, w, s)
			x.fma(w, v, own[k])
			x.fma(s, v, swapped[k])
		}
		advance(complexBytes, from, with)
	})
	t.store(param("sums"), append(own, swapped...)...)
	finish()
}

// planeRotation emits the rotation of two vectors.
func planeRotation(t isa, x *number) {
	text("planeRotation"+x.suffix, t, "func(x, y, by *F, n int)",
		"sets n numbers of x to c x + s y, and of y to c y - s x, with c and s at by, n >= 1.")
	to, other, by := param("x"), param("y"), param("by")
	c, s := t.vec(), t.vec()
	x.broadcast(Mem{Base: by}, c)
	x.broadcast(Mem{Base: by, Disp: x.size}, s)
	eachVector(t, x, 2, true, []reg.GPVirtual{to, other}, func(io access, _, disp int) {
		v, w := io.load(Mem{Base: to, Disp: disp}), io.load(Mem{Base: other, Disp: disp})
		upper, lower := t.vec(), t.vec()
		x.multiply(s, w, upper)
		x.fma(v, c, upper)
		x.multiply(c, w, lower)
		x.subtract(v, s, lower)
		io.store(upper, Mem{Base: to, Disp: disp})
		io.store(lower, Mem{Base: other, Disp: disp})
	})
	finish()
}

// largest emits the largest absolute value. A maximum with NaN is the other operand.
func largest(t isa, x *number) {
	const vectors = 4
	text("largest"+x.suffix, t, "func(most, x *F, n int)",
		fmt.Sprintf("sets %d numbers to the largest absolute values of n numbers but for NaN, n > 0 a "+
			"multiple of that.",
			vectors*x.lanes(t)))
	from, left, most := param("x"), param("n"), t.zeros(vectors)
	bits := uint64(1 << 63)
	if x == single {
		bits = 1<<63 | 1<<31
	}
	sign := t.broadcast(local(fresh(U64(bits))))
	SHRQ(U8(log2(vectors*x.lanes(t))), left)
	loop("block", left, func() {
		for k := range most {
			v := t.vec()
			VANDNPD(Mem{Base: from, Disp: k * t.bytes()}, sign, v)
			if x == single {
				VMAXPS(most[k], v, most[k])
			} else {
				VMAXPD(most[k], v, most[k])
			}
		}
		advance(vectors*t.bytes(), from)
	})
	t.store(param("most"), most...)
	finish()
}
