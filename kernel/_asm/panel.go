package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// panelRows returns the heights of the broadcast tiles, the tallest first.
func panelRows(t isa) []int {
	if t == avx512 {
		return []int{12, 4, 2, 1}
	}
	return []int{6, 2, 1}
}

// panel emits C = W Z, or C += W Z, for a tile of height rows and two vectors of
// columns, all row-major: two vectors of a row of Z are multiplied by one entry of
// each row of W.
func panel(t isa, height int) {
	const unroll = 8
	text(fmt.Sprintf("panel_%dx%d", height, 2*t.lanes), t,
		"func(c *float64, ldc int, w *float64, ldw int, z *float64, ldz, n int, add bool, next uintptr, ldnext, step int)",
		fmt.Sprintf("sets or adds to %d rows of %d columns of C the product of n columns of W and rows of Z. "+
			"For every %d of the n it prefetches a line of each of as many rows from next on, ldnext bytes apart, and moves next on by step bytes.", height, 2*t.lanes, unroll))
	c := param("c")
	ldc := bytesParam("ldc", false)
	acc := make([][]reg.VecVirtual, height)
	for i := range acc {
		acc[i] = t.vecs(2)
	}
	eachRow := func(f func(row Mem, acc []reg.VecVirtual)) {
		p := GP64()
		MOVQ(c, p)
		for i := range acc {
			f(Mem{Base: p}, acc[i])
			if i+1 < len(acc) {
				ADDQ(ldc, p)
			}
		}
	}
	CMPB(mem("add"), I8(0))
	JEQ(LabelRef("zero"))
	eachRow(func(row Mem, acc []reg.VecVirtual) {
		VMOVUPD(row, acc[0])
		VMOVUPD(row.Offset(t.bytes()), acc[1])
	})
	JMP(LabelRef("start"))
	Label("zero")
	for i := range acc {
		t.zero(acc[i]...)
	}
	Label("start")

	z := param("z")
	ldz := bytesParam("ldz", false)
	low := newRows(param("w"), bytesParam("ldw", false), min(height, 8))
	high := low
	if height > 8 {
		high.base = GP64()
		LEAQ(Mem{Base: low.base, Index: low.step, Scale: 8}, high.base)
	}
	at := func(i, k int) Mem {
		if i < 8 {
			return low.at(i, 8*k)
		}
		return high.at(i-8, 8*k)
	}
	step := func(k int) {
		zs := t.vecs(2)
		VMOVUPD(Mem{Base: z}, zs[0])
		VMOVUPD(Mem{Base: z, Disp: t.bytes()}, zs[1])
		for i := range acc {
			w := t.vec()
			VBROADCASTSD(at(i, k), w)
			VFMADD231PD(zs[0], w, acc[i][0])
			VFMADD231PD(zs[1], w, acc[i][1])
		}
		ADDQ(ldz, z)
	}
	advance := func(k int) {
		ADDQ(I32(8*k), low.base)
		if height > 8 {
			ADDQ(I32(8*k), high.base)
		}
	}
	pf, ldnext, left := param("next"), param("ldnext"), param("n")
	back := AllocLocal(8) // from the line of the last row to the next one of the first
	offset := GP64()
	IMUL3Q(I32(-height), ldnext, offset)
	ADDQ(mem("step"), offset)
	MOVQ(offset, back)
	SHRQ(U8(log2(unroll)), left)
	JZ(LabelRef("rest"))
	loop("unrolled", left, func() {
		asked := 0
		for k := range unroll {
			for ; asked*unroll < (k+1)*height; asked++ {
				PREFETCHT1(Mem{Base: pf})
				ADDQ(ldnext, pf)
			}
			step(k)
		}
		ADDQ(back, pf)
		advance(unroll)
	})
	Label("rest")
	left = param("n")
	ANDQ(I32(unroll-1), left)
	JZ(LabelRef("store"))
	loop("single", left, func() {
		step(0)
		advance(1)
	})
	Label("store")
	eachRow(func(row Mem, acc []reg.VecVirtual) {
		VMOVUPD(acc[0], row)
		VMOVUPD(acc[1], row.Offset(t.bytes()))
	})
	finish()
}

// widen emits the conversion of a block of samples to float64.
func widen(t isa) {
	text("widen", t, "func(dst *float64, ldd int, src *float32, lds, rows, n int)",
		"copies rows of n float32, n a multiple of 8, n > 0.")
	dst, src := param("dst"), param("src")
	ldd, lds := bytesParam("ldd", false), bytesParam("lds", true)
	n := param("n")
	SHRQ(U8(3), n)
	loop("row", param("rows"), func() {
		d, s, left := GP64(), GP64(), GP64()
		MOVQ(dst, d)
		MOVQ(src, s)
		MOVQ(n, left)
		loop("entry", left, func() {
			for k := 0; k < 8; k += t.lanes {
				v := t.vec()
				VCVTPS2PD(Mem{Base: s, Disp: 4 * k}, v)
				VMOVUPD(v, Mem{Base: d, Disp: 8 * k})
			}
			ADDQ(I32(32), s)
			ADDQ(I32(64), d)
		})
		ADDQ(ldd, dst)
		ADDQ(lds, src)
	})
	finish()
}
