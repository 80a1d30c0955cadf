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
	for _, x := range []*number{double, single} {
		if x == single && t.evex {
			continue
		}
		for _, vectors := range triangleVectors {
			solveRows(t, x, vectors, vectors == 1)
			multiplyRows(t, x, vectors, vectors == 1)
			if vectors > 1 {
				solveRows(t, x, vectors, true)
				multiplyRows(t, x, vectors, true)
			}
		}
		solveFew(t, x)
	}
	if t.evex { // rows that fill no vector of AVX-512 take less time by vectors of AVX2
		lend("solveFew", tiers[0], t, narrowTile)
	}
}

// narrowTile is the index of the tile of AVX2 among those of AVX-512.
const narrowTile = 1

// fewRows is the number of rows that stay in registers.
func (t isa) fewRows() int { return 2 * t.lanes }

// solveFew emits the solution of a system for one vector of columns, or a part of it, with all rows in
// registers: the part of a row that was just stored by a mask takes long to load.
func solveFew(t isa, x *number) {
	text("solveFew"+x.suffix, t, "func(b *F, ldb int, a *F, down, across int, d *F, order, cols int)",
		fmt.Sprintf("works like solveRowsGeneric for one vector of columns, or a part of it, 1 <= order <= %d.",
			t.fewRows()))
	p := &triangleTile{t: t, x: x, io: []access{x.partOfRow(t, param("cols"))}}
	p.b, p.ldb, p.d = param("b"), bytesParam("ldb", x.size), param("d")
	p.down, p.left = bytesParam("down", x.size), param("order")
	entries := newRows(param("a"), bytesParam("across", x.size), min(8, t.fewRows()))
	eight := GP64() // the entries of a row from the eighth on
	solved := make([]vector, t.fewRows())
	for i := range solved {
		sums := p.load(p.b)
		if i > 8 {
			LEAQ(Mem{Base: entries.base, Index: entries.step, Scale: 8}, eight)
		}
		for k, last := range solved[:i] {
			from := entries
			if k >= 8 {
				from.base = eight
			}
			factor := t.vec()
			x.broadcast(from.at(k%8, 0), factor)
			x.subtract(last, factor, sums[0])
		}
		p.scale(fmt.Sprint("one", i), sums)
		p.store(sums, p.b)
		solved[i] = sums[0]
		if i+1 < len(solved) {
			p.next(fmt.Sprint("next", i), "done")
			ADDQ(p.down, entries.base)
		}
	}
	Label("done")
	finish()
}

// next moves on to the next row, or goes to a label after the last one.
func (p *triangleTile) next(label, end string) {
	DECQ(p.left)
	JZ(LabelRef(end))
	ADDQ(p.ldb, p.b)
	TESTQ(p.d, p.d)
	JZ(LabelRef(label))
	advance(p.x.size, p.d)
	Label(label)
}

// A triangleTile applies a triangle to rows of B in registers.
type triangleTile struct {
	t                  isa
	x                  *number
	io                 []access // by vectors
	b, ldb, a, down, d reg.GPVirtual
	left               reg.GPVirtual // rows
}

// newTriangleTile begins a tile. The last of its vectors may be a part.
func newTriangleTile(t isa, x *number, name string, vectors int, part bool, doc string) *triangleTile {
	if part && vectors > 1 {
		name += "Part"
	}
	text(fmt.Sprintf("%s%s_%d", name, x.suffix, vectors), t,
		"func(b *F, ldb int, a *F, down, across int, d *F, order, cols int)", fmt.Sprintf(doc, vectors))
	p := &triangleTile{t: t, x: x}
	for range vectors {
		p.io = append(p.io, x.whole(t))
	}
	if part {
		last := param("cols") // columns of the last vector
		if vectors > 1 {
			SUBQ(I32((vectors-1)*x.lanes(t)), last)
		}
		p.io[vectors-1] = x.partOfRow(t, last)
	}
	p.b, p.ldb = param("b"), bytesParam("ldb", x.size)
	p.a, p.down, p.d = param("a"), bytesParam("down", x.size), param("d")
	return p
}

// partOfRow is the access to the first n lanes of a vector of a row. Stores by bits save no time in float64:
// a tile soon loads what it stores.
func (x *number) partOfRow(t isa, n reg.GPVirtual) access {
	if x == double {
		return x.firstLanes(t, n)
	}
	return x.partOfVector(t, n)
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

// scale multiplies the vectors of a row by its factor, if there are factors.
func (p *triangleTile) scale(label string, v []vector) {
	TESTQ(p.d, p.d)
	JZ(LabelRef(label))
	by := p.t.vec()
	p.x.broadcast(Mem{Base: p.d}, by)
	for k := range v {
		p.x.multiply(by, v[k], v[k])
	}
	Label(label)
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
func solveRows(t isa, x *number, vectors int, part bool) {
	p := newTriangleTile(t, x, "solveRows", vectors, part,
		"works like solveRowsGeneric for %d vectors of columns, or the last one a part, order >= 1.")
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
	p.scale("one", sums)
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

// multiplyRows emits a product, the last row first: a row is overwritten when no other one needs it. Where
// masks have registers, a part of a row is stored one row later: the lanes behind its columns are of the next
// row, which takes long to load when it was just stored.
func multiplyRows(t isa, x *number, vectors int, part bool) {
	p := newTriangleTile(t, x, "multiplyRows", vectors, part,
		"works like multiplyRowsGeneric for %d vectors of columns, or the last one a part, order >= 1.")
	left, row := param("order"), fresh(p.ldb)
	DECQ(left) // rows before the present one
	IMULQ(left, row)
	ADDQ(p.b, row)
	offset := fresh(p.down)
	IMULQ(left, offset)
	ADDQ(offset, p.a)
	TESTQ(p.d, p.d)
	JZ(LabelRef("begin"))
	LEAQ(Mem{Base: p.d, Index: left, Scale: uint8(x.size)}, p.d)
	Label("begin")
	var waiting []vector // the row computed last, and where it goes
	to, later := GP64(), part && t.evex
	if later {
		waiting = t.zeros(vectors)
		XORQ(to, to)
	}
	Label("row")
	sums := p.load(row)
	p.scale("one", sums)
	p.products(fresh(left), fresh(p.a), fresh(p.b), sums, x.fma)
	if later {
		TESTQ(to, to)
		JZ(LabelRef("wait"))
		p.store(waiting, to)
		Label("wait")
		MOVQ(row, to)
		for k := range sums {
			VMOVAPD(sums[k], waiting[k])
		}
	} else {
		p.store(sums, row)
	}
	SUBQ(p.ldb, row)
	SUBQ(p.down, p.a)
	TESTQ(p.d, p.d)
	JZ(LabelRef("next"))
	advance(-x.size, p.d)
	Label("next")
	DECQ(left)
	JGE(LabelRef("row"))
	if later {
		p.store(waiting, to)
	}
	finish()
}
