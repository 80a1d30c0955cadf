package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// levelOne emits the tiles of vectors. AVX-512 uses the tiles of AVX2 for float32, for largest
// values and to exchange vectors.
func levelOne(t isa) {
	for _, x := range []*number{double, single} {
		if t.evex && x == single {
			continue
		}
		addComplex(t, x)
		timesComplex(t, x)
		dotComplex(t, x)
		turn(t, x)
		if !t.evex {
			largestIndex(t, x, 1)
			largestIndex(t, x, 2)
			swap(t, x)
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
	case x == single && t.lanes == 2:
		VMOVDDUP(from, v)
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
	// From the third-level cache rounds of this size, stored behind all loads, take less time.
	const round = 256 // bytes
	changeBy(x.held(t), t, x, round/t.bytes(), []reg.GPVirtual{from, y}, func(io access, _, disp int) {
		v, w := io.load(Mem{Base: from, Disp: disp}), t.vec()
		x.swapPairs(t, v, w)
		x.multiplyAdd(io.operand(Mem{Base: y, Disp: disp}), own, v)
		x.fma(w, swapped, v)
		io.store(v, Mem{Base: y, Disp: disp})
	})
	finish()
}

// timesComplex emits multiples of pairs.
func timesComplex(t isa, x *number) {
	text("timesComplex"+x.suffix, t, "func(y, by *F, n int)",
		"overwrites pairs of n numbers by their products with the factors at by, n >= 2.")
	y := param("y")
	own, swapped := x.byPairs(t, param("by"))
	changeVectors(t, x, 2, []reg.GPVirtual{y}, func(io access, _, disp int) {
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
		fmt.Sprintf("sets two sums to those of products of every other number of n, and two to those of x and "+
			"swapped pairs of y, n > 0 a multiple of %d.", complexBytes/x.size))
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
	sums := param("sums")
	for k, of := range [][]vector{own, swapped} {
		pair, to := x.halve(t, of), Mem{Base: sums, Disp: 2 * k * x.size}
		if x == single {
			VMOVSD(pair, to)
		} else {
			VMOVUPD(pair, to)
		}
	}
	finish()
}

// halve adds the second half of numbers in registers to the first, until a pair is left.
func (x *number) halve(t isa, all []vector) reg.VecVirtual {
	for ; len(all) > 1; all = all[:len(all)/2] {
		for k, v := range all[len(all)/2:] {
			x.add(v, all[k], all[k])
		}
	}
	v := all[0]
	if t.evex {
		high := YMM()
		VEXTRACTF64X4(U8(1), v, high)
		VADDPD(high, v.AsY(), high)
		v = high
	}
	pair := XMM()
	VEXTRACTF128(U8(1), v.AsY(), pair)
	x.add(pair, v.AsX(), pair)
	if x == single {
		high := XMM()
		VPERMILPD(U8(1), pair, high)
		x.add(high, pair, pair)
	}
	return pair
}

// innerProduct emits the inner product of two vectors, in the order of rowDots for one row. Short vectors are
// a few instructions beside those of the call, so that the sum is a result.
func innerProduct(t isa, x *number, name, kind string) {
	text("dot"+name, t, fmt.Sprintf("func(x, y *%s, n int) %s", kind, kind),
		"returns the inner product of n numbers, n >= 1.")
	of, with, registers := param("x"), param("y"), 1
	if x == double {
		registers = t.dotRegisters()
	}
	acc := t.zeros(dotUnroll * registers)
	dotLoop(t, x, dotUnroll, false, []reg.GPVirtual{of, with}, func(io access, k, disp int) {
		x.fma(io.operand(Mem{Base: of, Disp: disp}), io.load(Mem{Base: with, Disp: disp}), acc[k])
	})
	addUnrolled(x, acc, dotUnroll)
	r, sum := t.newReducer(), place(ReturnIndex(0))
	if x == single {
		VMOVSS(r.sum32(acc[0]), sum)
	} else {
		VMOVSD(r.dotSum(addRegisters(acc[:registers], 1)[0]), sum)
	}
	finish()
}

// addScaled emits the addition of a multiple of a vector to another, as addOuter does for one row.
func addScaled(t isa, x *number, name, kind string) {
	text("axpy"+name, t, fmt.Sprintf("func(y, x *%s, n int, by %s)", kind, kind),
		"adds n numbers of x, times by, to y, n >= 1.")
	y, from, by := param("y"), param("x"), t.vec()
	x.broadcast(mem("by"), by)
	changeVectors(t, x, 4, []reg.GPVirtual{y, from}, func(io access, _, disp int) {
		v := io.load(Mem{Base: y, Disp: disp})
		x.fma(io.operand(Mem{Base: from, Disp: disp}), by, v)
		io.store(v, Mem{Base: y, Disp: disp})
	})
	finish()
}

// swap emits the exchange of two vectors.
func swap(t isa, x *number) {
	text("swap"+x.suffix, t, "func(x, y *F, n int)", "exchanges n numbers, n >= 1.")
	to, other := param("x"), param("y")
	changeVectors(t, x, 4, []reg.GPVirtual{to, other}, func(io access, _, disp int) {
		v, w := io.load(Mem{Base: to, Disp: disp}), io.load(Mem{Base: other, Disp: disp})
		io.store(w, Mem{Base: to, Disp: disp})
		io.store(v, Mem{Base: other, Disp: disp})
	})
	finish()
}

// turn emits a rotation of two vectors, or another map of their entries.
func turn(t isa, x *number) {
	text("turn"+x.suffix, t, "func(x, y, by *F, n int)",
		"sets n numbers of x to a x + b y, and of y to c x + d y, with a, b, c and d at by, n >= 1.")
	to, other := param("x"), param("y")
	by := x.broadcasts(t, param("by"), 4)
	changeVectors(t, x, 2, []reg.GPVirtual{to, other}, func(io access, _, disp int) {
		v, w := io.load(Mem{Base: to, Disp: disp}), io.load(Mem{Base: other, Disp: disp})
		upper, lower := t.vec(), t.vec()
		x.multiply(by[1], w, upper)
		x.fma(v, by[0], upper)
		x.multiply(by[3], w, lower)
		x.fma(v, by[2], lower)
		io.store(upper, Mem{Base: to, Disp: disp})
		io.store(lower, Mem{Base: other, Disp: disp})
	})
	finish()
}

// largestIndex emits the index of the first of the largest absolute values or, for pairs, of the largest sums
// of the two absolute values of a pair: it finds their size first. A maximum with NaN is the other operand.
func largestIndex(t isa, x *number, together int) {
	const vectors = 4
	name, what := "largestIndex", "absolute values of n numbers"
	if together == 2 {
		name, what = "largestPair", "sums of absolute values of the pairs of n numbers"
	}
	text(name+x.suffix, t, "func(x *F, n int) int",
		fmt.Sprintf("returns the index of the first of the largest %s, n >= %d. NaN does not count, but one is not "+
			"NaN.", what, x.lanes(t)))
	from, left, most := param("x"), param("n"), t.zeros(vectors)
	bits := uint64(1 << 63)
	if x == single {
		bits = 1<<63 | 1<<31
	}
	sign := t.broadcast(local(fresh(U64(bits))))
	sizes := func(at Mem) vector {
		v := t.vec()
		VANDNPD(at, sign, v)
		if together == 2 {
			w := t.vec()
			x.swapPairs(t, v, w)
			x.add(w, v, v)
		}
		return v
	}
	last := sum(from, left, uint8(x.size), -t.bytes())
	SHRQ(U8(log2(vectors*x.lanes(t))), left)
	repeat("block", left, func() {
		for k := range most {
			x.maximum(most[k], sizes(Mem{Base: from, Disp: k * t.bytes()}), most[k])
		}
		advance(vectors*t.bytes(), from)
	})
	left = param("n")
	SHRQ(U8(log2(x.lanes(t))), left)
	ANDQ(I32(vectors-1), left)
	repeat("vector", left, func() {
		x.maximum(most[0], sizes(Mem{Base: from}), most[0])
		advance(t.bytes(), from)
	})
	x.maximum(most[1], sizes(Mem{Base: last}), most[1])
	x.findFirst(t, together, x.largestLane(most), last, sizes)
	finish()
}

// findFirst emits the search for the first size that is the largest one, before the last vector or in it, and
// returns its index.
func (x *number) findFirst(t isa, together int, size vector, last reg.GPVirtual, sizes func(Mem) vector) {
	found := GP32()
	find := func(at reg.GPVirtual) {
		v := sizes(Mem{Base: at})
		x.equal(size, v, v, found)
		TESTL(found, found)
	}
	from, left := param("x"), param("n")
	SHRQ(U8(log2(x.lanes(t))), left)
	Label("find")
	find(from)
	JNZ(LabelRef("found"))
	advance(t.bytes(), from)
	DECQ(left)
	JNZ(LabelRef("find"))
	MOVQ(last, from)
	find(from)
	Label("found")
	BSFL(found, found)
	SUBQ(mem("x"), from)
	SHRQ(U8(log2(x.size)), from)
	ADDQ(found.As64(), from)
	if together == 2 {
		SHRQ(U8(1), from)
	}
	MOVQ(from, place(ReturnIndex(0)))
}

// maximum sets its last operand to the larger numbers of two vectors, for AVX2.
func (x *number) maximum(a, b, to vector) {
	if x == single {
		VMAXPS(a, b, to)
	} else {
		VMAXPD(a, b, to)
	}
}

// equal sets a register to a mask of the lanes where two vectors are equal, for AVX2.
func (x *number) equal(a, b, scratch vector, to reg.GPVirtual) {
	if x == single {
		VCMPPS(U8(0), a, b, scratch)
		VMOVMSKPS(scratch, to)
	} else {
		VCMPPD(U8(0), a, b, scratch)
		VMOVMSKPD(scratch, to)
	}
}

// largestLane returns the largest number of some registers in all lanes.
func (x *number) largestLane(all []vector) vector {
	most, other := all[0], YMM()
	for _, v := range all[1:] {
		x.maximum(v, most, most)
	}
	VPERM2F128(U8(1), most, most, other)
	x.maximum(other, most, most)
	VPERMILPD(U8(5), most, other)
	x.maximum(other, most, most)
	if x == single {
		VPERMILPS(U8(0xb1), most, other)
		x.maximum(other, most, most)
	}
	return most
}
