package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// panelPart emits C = W Z, or C += W Z, for a tile of height rows and a number of vectors of columns, all by
// rows. Unless they are whole, the last vector may be a part of one, which is loaded and stored by a mask.
func panelPart(t isa, x *number, height, vectors int, whole bool) {
	name := "panel" + x.suffix
	if !whole {
		name += []string{"Half", "Tail"}[vectors-1]
	}
	text(fmt.Sprintf("%s_%d", name, height), t,
		fmt.Sprintf("func(c *%[1]s, ldc int, w *%[1]s, ldw int, z *%[1]s, ldz, n, cols int, add bool)", x.typ),
		fmt.Sprintf("sets or adds to cols columns, of %d vectors, of %d rows of C the product of n columns of W and rows of Z, n >= 1.",
			vectors, height))
	p := newPanelTile(t, x, height, vectors)
	if !whole {
		cols := param("cols")
		SUBQ(I8((vectors-1)*x.lanes(t)), cols)
		p.last = x.firstLanes(t, cols).masked()
	}
	p.start()
	p.factors()
	pairs := param("n") // of columns of W; an odd n begins in the middle of one
	INCQ(pairs)
	SHRQ(U8(1), pairs)
	JCC(LabelRef("second"))
	loop("pair", pairs, func() {
		p.step(0)
		p.advance(1)
		Label("second")
		p.step(0)
		p.advance(1)
	})
	if !whole && !t.evex { // whose masked stores take long on some processors
		CMPQ(mem("cols"), I8(vectors*x.lanes(t)))
		JNE(LabelRef("part"))
		full := *p
		full.last = full.whole
		full.store()
		finish()
		Label("part")
	}
	p.store()
	finish()
}

// transposeSquares32 emits the copy of eight rows of float32 to columns, a square at a time. AVX-512 uses it
// too.
func transposeSquares32(t isa) {
	text("transposeSquares32", t, "func(dst *float32, ldd int, src *float32, lds, n int)",
		"copies 8 rows of n entries to n rows of 8, n a multiple of 8, n > 0.")
	dst, ldd, left := param("dst"), bytesParam("ldd", 4), param("n")
	src := newRows(param("src"), bytesParam("lds", 4), 8)
	SHRQ(U8(3), left)
	loop("square", left, func() {
		for half := range 2 {
			v := t.vecs(4) // four entries of row i, and four of row i+4
			for i := range v {
				VMOVUPS(src.at(i, 16*half), v[i].AsX())
				VINSERTF128(U8(1), src.at(i+4, 16*half), v[i], v[i])
			}
			for _, unpack := range []func(...Op){VUNPCKLPS, VUNPCKHPS} {
				low, high := t.vec(), t.vec() // two entries of rows 0 and 1, and of rows 2 and 3
				unpack(v[1], v[0], low)
				unpack(v[3], v[2], high)
				for _, pick := range []func(...Op){VUNPCKLPD, VUNPCKHPD} {
					row := t.vec()
					pick(high, low, row)
					VMOVUPS(row, Mem{Base: dst})
					ADDQ(ldd, dst)
				}
			}
		}
		ADDQ(U8(32), src.base)
	})
	finish()
}
