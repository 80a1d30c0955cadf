package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// mostFewRows is the largest number of rows of a tile of few rows: as many as AVX2 has registers for.
const mostFewRows = 6

// A fewRowsTile is a tile of a few rows of C = W Z, and all columns.
type fewRowsTile struct {
	t               isa
	x               *number
	c, z            reg.GPVirtual // the present columns: their last row, and the first row of Z
	left            reg.GPVirtual // how many there are from these on, less two vectors
	apart           reg.GPVirtual // bytes from the first vector of a row to the second one
	other           reg.GPVirtual // the bits in which next and across differ, in bytes
	ldz, height     reg.GPVirtual
	ldc, last, next Mem // bytes to the next row, to the last one, and to the next column of W
	w               rows
	acc             [][]vector // by rows; of complex W and Z, behind the two sums of a row those of imaginary parts
}

// pairs reports whether the product is one of complex numbers, and turned returns the sums of the products
// with imaginary parts of a row of W.
func (p *fewRowsTile) pairs() bool             { return len(p.acc[0]) > 2 }
func (p *fewRowsTile) turned(row int) []vector { return p.acc[row][2:] }

// A part is a vector of columns: its size, and the access to it.
type part struct {
	t  isa
	io access
}

// fewRows emits C = W Z, or C += W Z, for a few rows at a time, and up to two vectors of columns. The tile
// prefetches nothing, and computes no row in vain: each height has a loop of its own over the terms of a sum.
// All heights share what comes before it and after it.
func fewRows(t isa, x *number) {
	text("panelFew"+x.suffix, t,
		"func(c *F, ldc int, w *F, down, next, across int, z *F, ldz, n, height, rows, lower, cols int, "+
			"add bool, by *F, rightc, rightz, more int)",
		fmt.Sprintf("sets or adds to rows of C the product of n >= 1 columns of W and rows of Z, for cols columns. "+
			"It takes height <= %d rows at a time, and one row less for the last lower rows. %s The next rows begin "+
			"rightc columns of C and rightz columns of Z to the right, and have more columns.",
			mostFewRows, scaledSums))
	p := newFewRows(t, x, mostFewRows, 2)
	p.other = bytesParam("next", x.size)
	p.next = local(p.other)
	XORQ(bytesParam("across", x.size), p.other)
	p.allRows()
}

// newFewRows begins a tile of up to some rows, with some sums for each.
func newFewRows(t isa, x *number, most, sums int) *fewRowsTile {
	p := &fewRowsTile{t: t, x: x, c: GP64(), z: GP64(), left: GP64(), height: param("height"), apart: GP64()}
	ldc, last := bytesParam("ldc", x.size), fresh(p.height)
	DECQ(last)
	IMULQ(ldc, last)
	p.ldc, p.last = local(ldc), local(last)
	p.ldz = bytesParam("ldz", x.size)
	p.w = newRows(nil, bytesParam("down", x.size), most)
	for range most {
		p.acc = append(p.acc, t.vecs(sums))
	}
	return p
}

// allRows emits all rows, and the end of the tile.
func (p *fewRowsTile) allRows() {
	Label("rows")
	p.allColumns()
	left := param("rows")
	SUBQ(p.height, left)
	JZ(LabelRef("allDone"))
	MOVQ(left, mem("rows"))
	p.moveOn()
	CMPQ(left, mem("lower"))
	JNE(LabelRef("rows"))
	DECQ(p.height)
	further := fresh(p.ldc)
	SUBQ(further, p.last)
	JMP(LabelRef("rows"))
	Label("allDone")
	finish()
}

// moveOn moves on to the next rows.
func (p *fewRowsTile) moveOn() {
	for _, next := range [][2]string{{"c", "ldc"}, {"w", "down"}} {
		further := bytesParam(next[1], p.x.size)
		IMULQ(p.height, further)
		ADDQ(further, mem(next[0]))
	}
	if p.pairs() {
		return
	}
	ADDQ(bytesParam("rightc", p.x.size), mem("c"))
	ADDQ(bytesParam("rightz", p.x.size), mem("z"))
	ADDQ(param("more"), mem("cols"))
}

// allColumns emits the columns of some rows: two vectors at a time, and the last ones. Where these are more
// than a vector, the second vector of two ends with them, and has columns of the first one too. A part of a
// vector has a mask. With AVX-512 half a vector takes half the time on processors that
// split vectors.
func (p *fewRowsTile) allColumns() {
	t, lanes, halves := p.t, p.x.lanes(p.t), p.t.evex && !p.pairs()
	half := t
	half.lanes /= 2
	whole, wholeHalf := part{t, p.x.whole(t)}, part{half, p.x.whole(half)}
	MOVQ(mem("c"), p.c)
	MOVQ(mem("z"), p.z)
	ADDQ(p.last, p.c)
	MOVQ(I32(t.bytes()), p.apart)
	left := p.left
	MOVQ(mem("cols"), left)
	SUBQ(I8(2*lanes), left)
	JL(LabelRef("last"))
	Label("both")
	p.columns("both", func() {
		advance(2*t.bytes(), p.c, p.z)
		SUBQ(I8(2*lanes), left)
		JGE(LabelRef("both"))
		JMP(LabelRef("last"))
	}, whole, whole)
	Label("last")
	CMPQ(left, I8(-2*lanes))
	JLE(LabelRef("columnsDone"))
	CMPQ(left, I8(-lanes))
	JLE(LabelRef("one"))
	done := func() { JMP(LabelRef("columnsDone")) }
	end := func(size isa) {
		LEAQ(Mem{Base: left, Disp: 2*lanes - p.x.lanes(size)}, p.apart)
		SHLQ(U8(log2(p.x.size)), p.apart)
	}
	if halves {
		CMPQ(left, I8(-lanes/2))
		JLE(LabelRef("oneAndHalf"))
	}
	end(t)
	JMP(LabelRef("both"))
	if halves {
		Label("oneAndHalf")
		end(half)
		p.columns("oneAndHalf", done, whole, wholeHalf)
	}
	Label("one")
	ADDQ(I8(2*lanes), left)
	if halves {
		CMPQ(left, I8(lanes/2))
		JG(LabelRef("most"))
		p.columns("half", done, part{half, p.x.firstLanes(half, left)})
		Label("most")
	}
	p.columns("one", done, part{t, p.x.partOfVector(t, left)})
	Label("columnsDone")
}

// like returns a register in the size of another one.
func like(v, of vector) Op {
	if v.Size() > of.Size() {
		return v.AsY()
	}
	return v
}

// A fewColumns is one or two vectors of columns of a tile.
type fewColumns struct {
	*fewRowsTile
	name  string
	parts []part
	sums  [][]vector // by rows
}

// label returns a label of these columns, for a number of rows.
func (p *fewColumns) label(name string, rows int) string {
	return fmt.Sprintf("%s%s%d", p.name, name, rows)
}

// columns computes one or two vectors of columns, which have a name. then jumps to the next ones.
func (p *fewRowsTile) columns(name string, then func(), parts ...part) {
	f := &fewColumns{p, name, parts, make([][]vector, len(p.acc))}
	for i := range f.sums {
		for j, of := range parts {
			v := p.acc[i][j]
			if of.t.lanes < p.t.lanes {
				v = v.AsY().(vector)
			}
			f.sums[i] = append(f.sums[i], v)
		}
	}
	f.compute(then)
}

// compute clears or loads the sums, adds the terms, and scales and stores the sums, from the last row to the
// first one.
func (p *fewColumns) compute(then func()) {
	z, n, step, row := fresh(p.z), param("n"), fresh(p.next), fresh(p.c)
	own, swapped := p.t.vec(), p.t.vec() // signs
	p.w.base = param("w")
	if !p.pairs() {
		CMPB(mem("add"), I8(0))
		JNE(LabelRef(p.label("Load", len(p.acc))))
	}
	for i := range p.sums {
		p.parts[0].t.zero(p.acc[i][:len(p.parts)]...)
		if p.pairs() {
			p.t.zero(p.turned(i)[:len(p.parts)]...)
		}
		p.exit(i, "Terms")
	}
	for height := len(p.acc); height > 0; height-- {
		loop(p.label("Terms", height), n, func() { p.term(height, z, step) })
		if p.pairs() {
			p.loadSigns(own, swapped)
			if height > 1 {
				JMP(LabelRef(p.label("Combine", height)))
			}
			continue
		}
		CMPQ(mem("by"), I8(0))
		JEQ(LabelRef(p.label("Store", height)))
		if height > 1 {
			JMP(LabelRef(p.label("Scale", len(p.acc))))
		}
	}
	if p.pairs() {
		p.combine(own, swapped)
	}
	p.scale(row)
	for i := len(p.acc) - 1; i >= 0; i-- {
		Label(p.label("Store", i+1))
		for j, v := range p.sums[i] {
			p.parts[j].io.store(v, p.at(row, j))
		}
		if i > 0 {
			SUBQ(p.ldc, row)
		}
	}
	then()
	if p.pairs() {
		return
	}
	Label(p.label("Load", len(p.acc)))
	p.each(row, "Terms", func(io access, at Mem, v vector) { io.into(at, v) })
	JMP(LabelRef(p.label("Terms", len(p.acc))))
}

// scale emits the multiplication of the sums, and the sum with the multiple of C.
func (p *fewColumns) scale(row reg.GPVirtual) {
	Label(p.label("Scale", len(p.acc)))
	t, by := p.parts[0].t, param("by")
	first, second := t.vec(), t.vec()
	p.x.broadcast(Mem{Base: by}, first)
	p.x.isZero(Mem{Base: by, Disp: p.x.size})
	JZ(LabelRef(p.label("Multiply", len(p.acc))))
	p.x.broadcast(Mem{Base: by, Disp: p.x.size}, second)
	p.each(row, "Store", func(io access, at Mem, v vector) {
		old := io.load(at)
		p.x.multiply(like(second, old), old, old)
		p.x.multiply(like(first, v), v, v)
		p.x.add(old, v, v)
	})
	JMP(LabelRef(p.label("Store", len(p.acc))))
	Label(p.label("Multiply", len(p.acc)))
	for i := range p.sums {
		for _, v := range p.sums[i] {
			p.x.multiply(like(first, v), v, v)
		}
		p.exit(i, "Store")
	}
}

// term adds the products of a column of W and a row of Z, and goes to the next column.
func (p *fewColumns) term(height int, z, step reg.GPVirtual) {
	zs := make([]vector, len(p.parts))
	for j := range p.parts {
		zs[j] = p.parts[j].io.load(p.at(z, j))
	}
	for i, acc := range p.sums[:height] {
		if p.pairs() {
			p.pairTerm(i, zs)
			continue
		}
		if p.t.evex && len(acc) == 1 {
			p.x.fmaBroadcast(p.w.at(i, 0), zs[0], acc[0])
			continue
		}
		w := p.parts[0].t.vec() // the larger one
		p.x.broadcast(p.w.at(i, 0), w)
		for j := range acc {
			p.x.fma(zs[j], like(w, zs[j]), acc[j])
		}
	}
	ADDQ(p.ldz, z)
	ADDQ(step, p.w.base)
	if !p.pairs() {
		XORQ(p.other, step)
	}
}

// exit jumps to a label of a number of rows behind the last one of them.
func (p *fewColumns) exit(row int, to string) {
	if row+1 < len(p.acc) {
		CMPQ(p.height, I8(row+1))
		JEQ(LabelRef(p.label(to, row+1)))
	}
}

// at returns the address of a vector of a row.
func (p *fewColumns) at(row reg.GPVirtual, vector int) Mem {
	if vector == 0 {
		return Mem{Base: row}
	}
	return Mem{Base: row, Index: p.apart, Scale: 1}
}

// each calls f for the vectors of C, from the first row to the last one.
func (p *fewColumns) each(row reg.GPVirtual, to string, f func(io access, at Mem, v vector)) {
	MOVQ(p.c, row)
	SUBQ(p.last, row)
	for i := range p.sums {
		for j, v := range p.sums[i] {
			f(p.parts[j].io, p.at(row, j), v)
		}
		p.exit(i, to)
		if i+1 < len(p.sums) {
			ADDQ(p.ldc, row)
		}
	}
}
