package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// panelTail emits C = W Z, or C += W Z, for a tile of height rows and a number of vectors of columns. The
// last vector may be a part of one.
func panelTail(t isa, height, vectors int) {
	text(fmt.Sprintf("%s_%d", []string{"panelTailHalf", "panelTail"}[vectors-1], height), t,
		"func(c *float64, ldc int, w *float64, ldw int, z *float64, ldz, n, cols int, add bool)",
		fmt.Sprintf("sets or adds to cols columns, of %d vectors, of %d rows of C the product of n columns of W and rows of Z.", vectors, height))
	cols := param("cols")
	DECQ(cols)
	ANDQ(I32(t.lanes-1), cols)
	INCQ(cols)
	m := t.firstLanes(cols)
	load := func(a Mem, v int) vector {
		if v == vectors-1 {
			return m.masked().load(a.Offset(v * t.bytes()))
		}
		return t.whole().load(a.Offset(v * t.bytes()))
	}
	acc := make([][]vector, height)
	c, ldc, at := param("c"), bytesParam("ldc", 8), GP64()
	eachRow := func(f func(row Mem, i int)) {
		MOVQ(c, at)
		for i := range acc {
			f(Mem{Base: at}, i)
			if i+1 < height {
				ADDQ(ldc, at)
			}
		}
	}
	for i := range acc {
		acc[i] = t.vecs(vectors)
		t.zero(acc[i]...)
	}
	CMPB(mem("add"), I8(0))
	JEQ(LabelRef("start"))
	eachRow(func(row Mem, i int) {
		for v := range acc[i] {
			VMOVAPD(load(row, v), acc[i][v])
		}
	})
	Label("start")
	addProducts(t, load, acc)
	eachRow(func(row Mem, i int) {
		for v := range acc[i] {
			if v == vectors-1 {
				m.store(acc[i][v], row.Offset(v*t.bytes()))
			} else {
				VMOVUPD(acc[i][v], row.Offset(v*t.bytes()))
			}
		}
	})
	finish()
}

// addProducts adds the products of rows of W and columns of Z. load loads vector v of the columns at an address.
func addProducts(t isa, load func(a Mem, v int) vector, acc [][]vector) {
	height := len(acc)
	z, ldz, left := param("z"), bytesParam("ldz", 8), param("n")
	low := newRows(param("w"), bytesParam("ldw", 8), min(height, 8))
	high := low
	if height > 8 {
		high.base = GP64()
		LEAQ(Mem{Base: low.base, Index: low.step, Scale: 8}, high.base)
	}
	loop("product", left, func() {
		zs := make([]vector, len(acc[0]))
		for v := range zs {
			zs[v] = load(Mem{Base: z}, v)
		}
		for i := range acc {
			from := low.at(min(i, 7), 0)
			if i > 7 {
				from = high.at(i-8, 0)
			}
			w := t.vec()
			VBROADCASTSD(from, w)
			for v := range zs {
				VFMADD231PD(zs[v], w, acc[i][v])
			}
		}
		ADDQ(ldz, z)
		ADDQ(I32(8), low.base)
		if height > 8 {
			ADDQ(I32(8), high.base)
		}
	})
}
