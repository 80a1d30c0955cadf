package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pairColumns is the largest number of columns of a product by pairs.
const pairColumns = 4

// pairPanel emits C = W Z for tiles of rows and a few columns. Columns of W are taken in pairs. A step is
// one load of two entries of a row, and one vector of both rows of Z, whose columns alternate. It takes half
// as many instructions as two steps of a panel. The lanes of a column are added in the end.
func pairPanel(t isa) {
	height, vectors := highPanel(t), 2*pairColumns/t.lanes
	text("pairPanel", t, "func(c *float64, ldc int, w *float64, ldw int, z *float64, n, rows, cols int)",
		fmt.Sprintf("works like pairPanelGeneric for a multiple of %d rows, n >= 1 and 1 <= cols <= %d.",
			height, pairColumns))
	c, ldc := param("c"), bytesParam("ldc", 8)
	eight, w := newRows(nil, bytesParam("ldw", 8), min(height, 8)), mem("w")
	z, left := GP64(), GP64()
	Label("tile")
	MOVQ(mem("z"), z)
	MOVQ(mem("n"), left)
	rowsOfW, bases := panelRowsAt(fresh(w), eight, height)
	acc := make([][]vector, height)
	for i := range acc {
		acc[i] = t.zeros(vectors)
	}
	step := func(load func(from Mem) vector) {
		zs := make([]vector, vectors)
		for j := range zs {
			zs[j] = t.load(Mem{Base: z, Disp: j * t.bytes()})
		}
		for i := range acc {
			w := load(rowsOfW[i])
			for j := range zs {
				VFMADD231PD(zs[j], w, acc[i][j])
			}
		}
		advance(2*pairColumns*8, z)
	}
	SHRQ(U8(1), left)
	JCC(LabelRef("even"))
	first := t.firstOfPairs()
	step(func(from Mem) vector { // zero in the lanes of the second: zero by NaN or infinity is NaN
		v := t.broadcast(from)
		first(v)
		return v
	})
	advance(8, bases...)
	Label("even")
	repeat("pair", left, func() {
		step(func(from Mem) vector {
			v := t.vec()
			if t.evex {
				VBROADCASTF64X2(from, v)
			} else {
				VBROADCASTF128(from, v)
			}
			return v
		})
		advance(16, bases...)
	})
	io, add := double.firstLanes(t, param("cols")), t.addPairs() // AVX2 has no registers for them before
	for i := 0; i < height; i += 2 {
		for _, sums := range add(acc[i], acc[i+1]) {
			io.store(sums, Mem{Base: c})
			ADDQ(ldc, c)
		}
	}
	down := bytesParam("ldw", 8)
	IMUL3Q(I32(height), down, down)
	ADDQ(down, w)
	SUBQ(I8(height), mem("rows"))
	JG(LabelRef("tile"))
	finish()
}

// firstOfPairs returns a function that clears every other lane.
func (t isa) firstOfPairs() func(vector) {
	if !t.evex {
		zero := t.zeros(1)[0]
		return func(v vector) { VBLENDPD(U8(0xa), zero, v, v) }
	}
	m, k := GP32(), K()
	MOVL(U32(0x55), m)
	KMOVW(m, k)
	return func(v vector) { VMOVAPD_Z(v, k, v) }
}

// addPairs returns a function that adds lanes 0 and 1, 2 and 3 and so on of two rows, into the first lanes of
// a vector for each.
func (t isa) addPairs() func(upper, lower []vector) [2]vector {
	if !t.evex {
		return func(upper, lower []vector) (sums [2]vector) {
			for i, v := range [][]vector{upper, lower} {
				sums[i] = t.vec()
				VHADDPD(v[1], v[0], sums[i]) // columns 0 2 1 3
				VPERMPD(U8(0xd8), sums[i], sums[i])
			}
			return sums
		}
	}
	order := t.load(pairTable)
	return func(upper, lower []vector) [2]vector {
		s, seconds, last := t.vec(), t.vec(), t.vec()
		VUNPCKLPD(lower[0], upper[0], s)
		VUNPCKHPD(lower[0], upper[0], seconds)
		VADDPD(seconds, s, s) // the rows in turn, by columns
		VPERMPD(s, order, s)
		VEXTRACTF64X4(U8(1), s, last.AsY())
		return [2]vector{s.AsY().(vector), last.AsY().(vector)}
	}
}

// pairTable has the lanes of the upper row, and then of the lower row, of rows in turn.
var pairTable Mem

func emitPairTable() {
	pairTable = GLOBL("pairOrder", 8|16) // RODATA|NOPTR
	for i := range 8 {
		DATA(8*i, U64(uint64(2*i%8+i/4)))
	}
}

// packComplex emits the copy of rows of complex numbers to the right factor of a product of reals. The last
// vector of a row ends with it, and has numbers of the one before it, too.
func packComplex(t isa, x *number) {
	text("packComplex"+x.suffix, t, "func(dst *F, ldd int, src *F, lds, rows, n int, signs *F)",
		"copies rows of n numbers, with the signs of a pair at signs, and below each its swapped pairs, with the "+
			"signs of the next pair. rows >= 1, and n numbers fill a vector.")
	dst, src, rows, last := param("dst"), param("src"), param("rows"), bytesParam("n", x.size)
	ldd, lds, at := bytesParam("ldd", x.size), bytesParam("lds", x.size), GP64()
	own, swapped := x.byPairs(t, param("signs"))
	SUBQ(I8(t.bytes()), last)
	below := sum(dst, ldd, 1, 0)
	vector := func(at reg.GPVirtual) {
		v, w := t.load(Mem{Base: src, Index: at, Scale: 1}), t.vec()
		x.swapPairs(t, v, w)
		VXORPD(own, v, v)
		VXORPD(swapped, w, w)
		VMOVUPD(v, Mem{Base: dst, Index: at, Scale: 1})
		VMOVUPD(w, Mem{Base: below, Index: at, Scale: 1})
	}
	loop("row", rows, func() {
		XORQ(at, at)
		JMP(LabelRef("vectors"))
		Label("vector")
		vector(at)
		ADDQ(I8(t.bytes()), at)
		Label("vectors")
		CMPQ(at, last)
		JLT(LabelRef("vector"))
		vector(last)
		ADDQ(lds, src)
		LEAQ(Mem{Base: dst, Index: ldd, Scale: 2}, dst)
		LEAQ(Mem{Base: below, Index: ldd, Scale: 2}, below)
	})
	finish()
}

// turnPairs emits a copy of complex numbers, and one of their swapped pairs.
func turnPairs(t isa, x *number) {
	text("turnPairs"+x.suffix, t, "func(own, swapped, src, signs *F, vectors int)",
		"copies vectors of pairs, with the signs of a pair at signs, and swapped pairs, with the signs of the next "+
			"pair. vectors >= 1.")
	to, other, src, left := param("own"), param("swapped"), param("src"), param("vectors")
	own, swapped := x.byPairs(t, param("signs"))
	loop("vector", left, func() {
		v, w := t.load(Mem{Base: src}), t.vec()
		x.swapPairs(t, v, w)
		VXORPD(own, v, v)
		VXORPD(swapped, w, w)
		VMOVUPD(v, Mem{Base: to})
		VMOVUPD(w, Mem{Base: other})
		advance(t.bytes(), src, to, other)
	})
	finish()
}

// combinePairs emits the sum of complex numbers and of swapped pairs of others.
func combinePairs(t isa, x *number) {
	text("combinePairs"+x.suffix, t, "func(y, x, signs *F, vectors int)",
		"adds swapped pairs of x, with the signs of the second pair at signs, to vectors of pairs y, with those of "+
			"the first pair. vectors >= 1.")
	y, from, left := param("y"), param("x"), param("vectors")
	own, swapped := x.byPairs(t, param("signs"))
	loop("vector", left, func() {
		v, w := t.load(Mem{Base: from}), t.vec()
		x.swapPairs(t, v, w)
		VXORPD(swapped, w, w)
		VXORPD(Mem{Base: y}, own, v)
		x.add(w, v, v)
		VMOVUPD(v, Mem{Base: y})
		advance(t.bytes(), from, y)
	})
	finish()
}

// splitPairs emits the copies of the real and of the imaginary parts of complex numbers.
func splitPairs(t isa, x *number) {
	text("splitPairs"+x.suffix, t, "func(re, im, src *F, vectors int)",
		"copies the first numbers of pairs, and the second ones, to some vectors each. vectors >= 1.")
	re, im, src, left := param("re"), param("im"), param("src"), param("vectors")
	loop("vector", left, func() {
		v, w := t.load(Mem{Base: src}), t.load(Mem{Base: src, Disp: t.bytes()})
		first, second := t.vec(), t.vec()
		if x == single {
			VSHUFPS(U8(0x88), w, v, first)
			VSHUFPS(U8(0xdd), w, v, second)
		} else {
			VUNPCKLPD(w, v, first)
			VUNPCKHPD(w, v, second)
		}
		for _, half := range []vector{first, second} { // of two vectors, a half of each in turn
			VPERMPD(U8(0xd8), half, half)
		}
		VMOVUPD(first, Mem{Base: re})
		VMOVUPD(second, Mem{Base: im})
		advance(2*t.bytes(), src)
		advance(t.bytes(), re, im)
	})
	finish()
}

// transposeComplex emits the transpose of pairs of float64, two rows and columns at a time.
func transposeComplex(t isa) {
	text("transposeComplex", t, "func(dst *float64, ldd int, src *float64, lds, m, n int)",
		"stores the transpose of m rows of n pairs, both even and at least 2. Strides are in numbers.")
	dst, ldd, src, lds := param("dst"), bytesParam("ldd", 8), param("src"), bytesParam("lds", 8)
	rows := param("m")
	SHRQ(U8(1), rows)
	SHRQ(U8(1), mem("n"))
	loop("rows", rows, func() {
		from, to, left := fresh(src), fresh(dst), fresh(mem("n"))
		loop("pairs", left, func() {
			upper, lower, first, second := YMM(), YMM(), YMM(), YMM()
			VMOVUPD(Mem{Base: from}, upper)
			VMOVUPD(Mem{Base: from, Index: lds, Scale: 1}, lower)
			VPERM2F128(U8(0x20), lower, upper, first)
			VPERM2F128(U8(0x31), lower, upper, second)
			VMOVUPD(first, Mem{Base: to})
			VMOVUPD(second, Mem{Base: to, Index: ldd, Scale: 1})
			ADDQ(I32(32), from)
			LEAQ(Mem{Base: to, Index: ldd, Scale: 2}, to)
		})
		LEAQ(Mem{Base: src, Index: lds, Scale: 2}, src)
		ADDQ(I32(32), dst)
	})
	finish()
}
