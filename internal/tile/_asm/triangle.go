package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// triangleVectors are the numbers of vectors of columns of B that a triangle is applied to together.
var triangleVectors = []int{4, 2, 1}

// triangles emits the systems and the products of a triangle and a few columns.
func triangles(t isa) {
	for _, vectors := range triangleVectors {
		for _, x := range []*number{double, single} {
			if x == double || !t.evex {
				solveRows(t, x, vectors)
				multiplyRows(t, x, vectors)
			}
		}
	}
}

// partial reports whether the last vector of a tile is loaded and stored by a mask. Masked stores take long on
// some processors with AVX2, where only a single vector has one.
func (t isa) partial(vectors int) bool { return vectors == 1 || t.evex && vectors == 2 }

// A triangleTile applies a triangle to rows of B in registers.
type triangleTile struct {
	t                  isa
	x                  *number
	io                 []access // by vectors
	b, ldb, a, down, d reg.GPVirtual
}

// newTriangleTile begins a tile.
func newTriangleTile(t isa, x *number, name string, vectors int, doc string) *triangleTile {
	text(fmt.Sprintf("%s%s_%d", name, x.suffix, vectors), t,
		"func(b *F, ldb int, a *F, down, across int, d *F, order, cols int)", fmt.Sprintf(doc, vectors))
	p := &triangleTile{t: t, x: x}
	for range vectors {
		p.io = append(p.io, x.whole(t))
	}
	if t.partial(vectors) {
		cols := param("cols")
		SUBQ(I32((vectors-1)*x.lanes(t)), cols)
		p.io[vectors-1] = x.firstLanes(t, cols)
	}
	p.b, p.ldb = param("b"), bytesParam("ldb", x.size)
	p.a, p.down, p.d = param("a"), bytesParam("down", x.size), param("d")
	return p
}

// load returns the vectors of a row.
func (p *triangleTile) load(row reg.GPVirtual) []vector {
	v := make([]vector, len(p.io))
	for k, io := range p.io {
		v[k] = io.load(Mem{Base: row, Disp: k * p.t.bytes()})
	}
	return v
}

// store stores the vectors of a row.
func (p *triangleTile) store(v []vector, row reg.GPVirtual) {
	for k, io := range p.io {
		io.store(v[k], Mem{Base: row, Disp: k * p.t.bytes()})
	}
}

// scale multiplies the vectors of a row by its factor, unless there are none.
func (p *triangleTile) scale(v []vector) {
	TESTQ(p.d, p.d)
	JZ(LabelRef("one"))
	by := p.t.vec()
	p.x.broadcast(Mem{Base: p.d}, by)
	for k := range v {
		p.x.multiply(by, v[k], v[k])
	}
	Label("one")
}

// products adds the products of the next entries of a row of A and of rows of B, or subtracts them, and moves
// the pointers on.
func (p *triangleTile) products(n, entry, row reg.GPVirtual, sums []vector, fma func(...Op)) {
	across := bytesParam("across", p.x.size)
	repeat("entry", n, func() {
		factor := p.t.vec()
		p.x.broadcast(Mem{Base: entry}, factor)
		ADDQ(across, entry)
		for k, io := range p.io {
			fma(io.operand(Mem{Base: row, Disp: k * p.t.bytes()}), factor, sums[k])
		}
		ADDQ(p.ldb, row)
	})
}

// solveRows emits the solution of a system, row after row. The last row that is solved stays in registers: a
// row that was just stored takes long to load.
func solveRows(t isa, x *number, vectors int) {
	p := newTriangleTile(t, x, "solveRows", vectors,
		"works like solveRowsGeneric for %d vectors of columns, or a part of the last one, order >= 1.")
	last, row, left := t.zeros(vectors), fresh(p.b), param("order")
	Label("row")
	sums := p.load(row)
	known := param("order")
	SUBQ(left, known)
	JZ(LabelRef("pivot"))
	DECQ(known)
	entry, from := fresh(p.a), fresh(p.b)
	p.products(known, entry, from, sums, x.subtract)
	factor := t.vec()
	x.broadcast(Mem{Base: entry}, factor)
	for k := range sums {
		x.subtract(last[k], factor, sums[k])
	}
	Label("pivot")
	p.scale(sums)
	p.store(sums, row)
	for k := range sums {
		VMOVAPD(sums[k], last[k])
	}
	ADDQ(p.ldb, row)
	ADDQ(p.down, p.a)
	TESTQ(p.d, p.d)
	JZ(LabelRef("next"))
	advance(x.size, p.d)
	Label("next")
	DECQ(left)
	JNZ(LabelRef("row"))
	finish()
}

// multiplyRows emits a product, the last row first: a row is overwritten when no other one needs it.
func multiplyRows(t isa, x *number, vectors int) {
	p := newTriangleTile(t, x, "multiplyRows", vectors,
		"works like multiplyRowsGeneric for %d vectors of columns, or a part of the last one, order >= 1.")
	left, row := param("order"), fresh(p.ldb)
	DECQ(left) // rows before the present one
	IMULQ(left, row)
	ADDQ(p.b, row)
	offset := fresh(p.down)
	IMULQ(left, offset)
	ADDQ(offset, p.a)
	TESTQ(p.d, p.d)
	JZ(LabelRef("row"))
	LEAQ(Mem{Base: p.d, Index: left, Scale: uint8(x.size)}, p.d)
	Label("row")
	sums := p.load(row)
	p.scale(sums)
	p.products(fresh(left), fresh(p.a), fresh(p.b), sums, x.fma)
	p.store(sums, row)
	SUBQ(p.ldb, row)
	SUBQ(p.down, p.a)
	TESTQ(p.d, p.d)
	JZ(LabelRef("next"))
	advance(-x.size, p.d)
	Label("next")
	DECQ(left)
	JGE(LabelRef("row"))
	finish()
}
