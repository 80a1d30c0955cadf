package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// triangleVectors are the numbers of vectors of columns of B that a triangle is applied to together.
var triangleVectors = []int{4, 3, 2, 1}

// triangles emits the systems and the products of a triangle and a few columns.
func triangles(t isa) {
	for _, x := range []*number{double, single} {
		if x == single && t.evex {
			continue
		}
		for _, vectors := range triangleVectors {
			solveRows(t, x, vectors)
			multiplyRows(t, x, vectors)
		}
	}
	solveFew(t, double)
	if t.evex { // columns that fill no vector of AVX-512 are in two of AVX2
		lend("solveRows", tiers[0], t, 2, twoHalves)
		lend("multiplyRows", tiers[0], t, 2, twoHalves)
		return
	}
	solveRows(t, single, twoHalves)
	multiplyRows(t, single, twoHalves)
}

// twoHalves is the index of tiles for columns in two halves of a vector.
const twoHalves = 8

// fewRows is the number of rows that stay in registers.
func (t isa) fewRows() int { return 2 * t.lanes }

// solveFew emits the solution of a system for one vector of columns, or a part of it, with all rows in
// registers. All are loaded before one is stored: the vector of a part reaches into the next row, and takes
// long to load where that row was just stored.
func solveFew(t isa, x *number) {
	text("solveFew"+x.suffix, t, "func(b *F, ldb int, a *F, down, across int, d *F, order, cols int)",
		fmt.Sprintf("works like solveRowsGeneric for one vector of columns, or a part of it, 1 <= order <= %d.",
			t.fewRows()))
	p := &triangleTile{t: t, x: x, io: []access{x.partOfRow(t, param("cols"))}}
	p.b, p.ldb, p.d = param("b"), bytesParam("ldb", x.size), param("d")
	p.down, p.left = bytesParam("down", x.size), param("order")
	entries := newRows(param("a"), bytesParam("across", x.size), min(8, t.fewRows()))
	eight := GP64() // the entries of a row from the eighth on
	solved := t.vecs(t.fewRows())
	row, rows := fresh(p.b), fresh(p.left)
	for i, v := range solved {
		p.io[0].into(Mem{Base: row}, v)
		if i+1 < len(solved) {
			ADDQ(p.ldb, row)
			DECQ(rows)
			JZ(LabelRef("loaded"))
		}
	}
	Label("loaded")
	for i := range solved {
		sums := solved[i : i+1]
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
		p.scale(fmt.Sprint("one", i), 0, sums)
		p.store(sums, p.b, false)
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
	tail, tailAfter    reg.GPVirtual // from a row to its last vector, and to that of the row after it
}

// newTriangleTile begins a tile. Its vector is a part if there is one. The last of several ends with the
// columns: some of these may be in two vectors, which compute the same.
func newTriangleTile(t isa, x *number, name string, vectors int, doc string) *triangleTile {
	of, lanes := vectors, t.lanes
	if vectors == twoHalves {
		of, lanes = 2, t.lanes/2
	}
	text(fmt.Sprintf("%s%s_%d", name, x.suffix, vectors), t,
		"func(b *F, ldb int, a *F, down, across int, d *F, order, cols int)", fmt.Sprintf(doc, of))
	t.lanes = lanes
	p := &triangleTile{t: t, x: x}
	p.b, p.ldb = param("b"), bytesParam("ldb", x.size)
	p.a, p.down, p.d = param("a"), bytesParam("down", x.size), param("d")
	if vectors == 1 {
		p.io = []access{x.partOfRow(t, param("cols"))}
		return p
	}
	for range of {
		p.io = append(p.io, x.whole(t))
	}
	p.tail = bytesParam("cols", x.size)
	SUBQ(I8(t.bytes()), p.tail)
	p.tailAfter = sum(p.tail, p.ldb, 1, 0)
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

// vector returns the address of a vector of a row, or of the row after it.
func (p *triangleTile) vector(k int, row reg.GPVirtual, after bool) Mem {
	switch last := k == len(p.io)-1 && p.tail != nil; {
	case last && after:
		return Mem{Base: row, Index: p.tailAfter, Scale: 1}
	case last:
		return Mem{Base: row, Index: p.tail, Scale: 1}
	case after:
		return Mem{Base: row, Index: p.ldb, Scale: 1, Disp: k * p.t.bytes()}
	}
	return Mem{Base: row, Disp: k * p.t.bytes()}
}

// load returns the vectors of a row, or of the row after it.
func (p *triangleTile) load(row reg.GPVirtual, after bool) []vector {
	v := make([]vector, len(p.io))
	for k, io := range p.io {
		v[k] = io.load(p.vector(k, row, after))
	}
	return v
}

// store stores the vectors of a row, or of the row after it.
func (p *triangleTile) store(v []vector, row reg.GPVirtual, after bool) {
	for k, io := range p.io {
		io.store(v[k], p.vector(k, row, after))
	}
}

// scale multiplies the vectors of a row by a factor, the present one or one after it, if there are factors.
func (p *triangleTile) scale(label string, factor int, v []vector) {
	TESTQ(p.d, p.d)
	JZ(LabelRef(label))
	by := p.t.vec()
	p.x.broadcast(Mem{Base: p.d, Disp: factor * p.x.size}, by)
	for k := range v {
		p.x.multiply(by, v[k], v[k])
	}
	Label(label)
}

// moveOn moves on by some rows, to the ones before if negative.
func (p *triangleTile) moveOn(label string, rows int, row reg.GPVirtual) {
	add := ADDQ
	if rows < 0 {
		add = SUBQ
	}
	for range max(rows, -rows) {
		add(p.ldb, row)
		add(p.down, p.a)
	}
	TESTQ(p.d, p.d)
	JZ(LabelRef(label))
	advance(rows*p.x.size, p.d)
	Label(label)
}

// products adds the products of the next entries of two rows of A and of rows of B, or subtracts them, and
// moves the pointers on.
func (p *triangleTile) products(n, entry, row reg.GPVirtual, first, second []vector, fma func(...Op)) {
	across := bytesParam("across", p.x.size)
	repeat("entry", n, func() {
		p.factors(entry, p.vectorsOf(row), first, second, fma)
		ADDQ(across, entry)
		ADDQ(p.ldb, row)
	})
}

// factors adds the products of an entry of two rows of A and of a row of B, or subtracts them.
func (p *triangleTile) factors(
	entry reg.GPVirtual, row func(k int) vector, first, second []vector, fma func(...Op),
) {
	upper, lower := p.t.vec(), p.t.vec()
	p.x.broadcast(Mem{Base: entry}, upper)
	p.x.broadcast(Mem{Base: entry, Index: p.down, Scale: 1}, lower)
	for k := range first {
		v := row(k)
		fma(v, upper, first[k])
		fma(v, lower, second[k])
	}
}

// vectorsOf returns what loads the vectors of a row one after the other: AVX2 has no registers for all.
func (p *triangleTile) vectorsOf(row reg.GPVirtual) func(k int) vector {
	return func(k int) vector { return p.io[k].load(p.vector(k, row, false)) }
}

// inRegisters returns the vectors of a row in registers.
func inRegisters(row []vector) func(k int) vector { return func(k int) vector { return row[k] } }

// factor adds the products of one entry and of a row of B, or subtracts them.
func (p *triangleTile) factor(entry Mem, row func(k int) vector, sums []vector, fma func(...Op)) {
	factor := p.t.vec()
	p.x.broadcast(entry, factor)
	for k := range sums {
		fma(row(k), factor, sums[k])
	}
}

// solveRows emits the solution of a system, two rows at a time, and the first row of an odd number alone. The
// last row that is solved stays in registers: a row that was just stored takes long to load.
func solveRows(t isa, x *number, vectors int) {
	p := newTriangleTile(t, x, "solveRows", vectors,
		"works like solveRowsGeneric for columns in %d vectors, order >= 1.")
	last, row, left := p.t.vecs(len(p.io)), fresh(p.b), param("order")
	keep := func(sums []vector) {
		for k := range sums {
			VMOVAPD(sums[k], last[k])
		}
	}
	TESTQ(U32(1), left)
	JZ(LabelRef("rows"))
	sums := p.load(row, false)
	p.scale("firstScaled", 0, sums)
	p.store(sums, row, false)
	keep(sums)
	p.moveOn("firstDone", 1, row)
	DECQ(left)
	JZ(LabelRef("done"))
	Label("rows")
	first, second, known, entry := p.load(row, false), p.load(row, true), param("order"), fresh(p.a)
	SUBQ(left, known)
	JZ(LabelRef("pivots"))
	DECQ(known)
	p.products(known, entry, fresh(p.b), first, second, x.subtract)
	p.factors(entry, inRegisters(last), first, second, x.subtract)
	ADDQ(bytesParam("across", x.size), entry)
	Label("pivots")
	p.scale("upper", 0, first)
	p.store(first, row, false)
	p.factor(Mem{Base: entry, Index: p.down, Scale: 1}, inRegisters(first), second, x.subtract)
	p.scale("lower", 1, second)
	p.store(second, row, true)
	keep(second)
	p.moveOn("next", 2, row)
	SUBQ(I8(2), left)
	JNZ(LabelRef("rows"))
	Label("done")
	finish()
}

// lastRows moves on to the last two rows, given how many are before them, and returns the address of the
// first of them in B.
func (p *triangleTile) lastRows(before reg.GPVirtual) reg.GPVirtual {
	row, offset := fresh(p.ldb), fresh(p.down)
	IMULQ(before, row)
	ADDQ(p.b, row)
	IMULQ(before, offset)
	ADDQ(offset, p.a)
	TESTQ(p.d, p.d)
	JZ(LabelRef("begin"))
	LEAQ(Mem{Base: p.d, Index: before, Scale: uint8(p.x.size)}, p.d)
	Label("begin")
	return row
}

// multiplyRows emits a product, the last two rows first: a row is overwritten when no other one needs it. The
// first row of an odd number is alone.
func multiplyRows(t isa, x *number, vectors int) {
	p := newTriangleTile(t, x, "multiplyRows", vectors,
		"works like multiplyRowsGeneric for columns in %d vectors, order >= 1.")
	left := param("order")
	SUBQ(I8(2), left) // rows before the present two
	row := p.lastRows(left)
	TESTQ(left, left)
	JL(LabelRef("first"))
	Label("rows")
	first, second := p.load(row, false), p.load(row, true)
	p.scale("upper", 0, first)
	p.scale("lower", 1, second)
	entry := fresh(p.a)
	p.products(fresh(left), entry, fresh(p.b), first, second, x.fma)
	p.factor(Mem{Base: entry, Index: p.down, Scale: 1}, p.vectorsOf(row), second, x.fma)
	p.store(first, row, false)
	p.store(second, row, true)
	p.moveOn("next", -2, row)
	SUBQ(I8(2), left)
	JGE(LabelRef("rows"))
	Label("first")
	TESTQ(U32(1), left)
	JZ(LabelRef("done"))
	sums := p.load(row, true)
	p.scale("alone", 1, sums)
	p.store(sums, row, true)
	Label("done")
	finish()
}
