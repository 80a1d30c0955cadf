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
			if vectors != 2 || !t.evex { // with AVX-512 the tile for a part takes as long
				multiplyRows(t, x, vectors, vectors == 1)
			}
			if vectors == 2 {
				solveRows(t, x, vectors, true)
				multiplyRows(t, x, vectors, true)
			}
		}
	}
	solveFew(t, double)
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
		sums := p.load(Mem{Base: p.b})
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
		p.store(sums, Mem{Base: p.b})
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
func (p *triangleTile) load(row Mem) []vector {
	v := make([]vector, len(p.io))
	for k, io := range p.io {
		v[k] = io.load(row.Offset(k * p.t.bytes()))
	}
	return v
}

// store stores the vectors of a row.
func (p *triangleTile) store(v []vector, row Mem) {
	for k, io := range p.io {
		io.store(v[k], row.Offset(k*p.t.bytes()))
	}
}

// after returns the address of the row after another one.
func (p *triangleTile) after(row reg.GPVirtual) Mem { return Mem{Base: row, Index: p.ldb, Scale: 1} }

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
	return func(k int) vector { return p.io[k].load(Mem{Base: row, Disp: k * p.t.bytes()}) }
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
func solveRows(t isa, x *number, vectors int, part bool) {
	p := newTriangleTile(t, x, "solveRows", vectors, part,
		"works like solveRowsGeneric for %d vectors of columns, or the last one a part, order >= 1.")
	last, row, left := t.vecs(vectors), fresh(p.b), param("order")
	keep := func(sums []vector) {
		for k := range sums {
			VMOVAPD(sums[k], last[k])
		}
	}
	TESTQ(U32(1), left)
	JZ(LabelRef("rows"))
	sums := p.load(Mem{Base: row})
	p.scale("firstScaled", 0, sums)
	p.store(sums, Mem{Base: row})
	keep(sums)
	p.moveOn("firstDone", 1, row)
	DECQ(left)
	JZ(LabelRef("done"))
	Label("rows")
	first, second, known, entry := p.load(Mem{Base: row}), p.load(p.after(row)), param("order"), fresh(p.a)
	SUBQ(left, known)
	JZ(LabelRef("pivots"))
	DECQ(known)
	p.products(known, entry, fresh(p.b), first, second, x.subtract)
	p.factors(entry, inRegisters(last), first, second, x.subtract)
	ADDQ(bytesParam("across", x.size), entry)
	Label("pivots")
	p.scale("upper", 0, first)
	p.store(first, Mem{Base: row})
	p.factor(Mem{Base: entry, Index: p.down, Scale: 1}, inRegisters(first), second, x.subtract)
	p.scale("lower", 1, second)
	p.store(second, p.after(row))
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
// first row of an odd number is alone. Where masks have registers, parts of rows are stored two rows later:
// the lanes behind their columns are of the next row, which takes long to load when it was just stored.
func multiplyRows(t isa, x *number, vectors int, part bool) {
	p := newTriangleTile(t, x, "multiplyRows", vectors, part,
		"works like multiplyRowsGeneric for %d vectors of columns, or the last one a part, order >= 1.")
	left := param("order")
	SUBQ(I8(2), left) // rows before the present two
	row := p.lastRows(left)
	var waiting [2][]vector // the rows computed last, and where they go
	to, later := GP64(), part && t.evex
	if later {
		waiting = [2][]vector{t.zeros(vectors), t.zeros(vectors)}
		XORQ(to, to)
	}
	stored := func(label string) {
		TESTQ(to, to)
		JZ(LabelRef(label))
		p.store(waiting[0], Mem{Base: to})
		p.store(waiting[1], p.after(to))
		Label(label)
	}
	TESTQ(left, left)
	JL(LabelRef("first"))
	Label("rows")
	first, second := p.load(Mem{Base: row}), p.load(p.after(row))
	p.scale("upper", 0, first)
	p.scale("lower", 1, second)
	entry := fresh(p.a)
	p.products(fresh(left), entry, fresh(p.b), first, second, x.fma)
	p.factor(Mem{Base: entry, Index: p.down, Scale: 1}, p.vectorsOf(row), second, x.fma)
	if later {
		stored("wait")
		MOVQ(row, to)
		for k := range first {
			VMOVAPD(first[k], waiting[0][k])
			VMOVAPD(second[k], waiting[1][k])
		}
	} else {
		p.store(first, Mem{Base: row})
		p.store(second, p.after(row))
	}
	p.moveOn("next", -2, row)
	SUBQ(I8(2), left)
	JGE(LabelRef("rows"))
	Label("first")
	if later {
		stored("waited")
	}
	TESTQ(U32(1), left)
	JZ(LabelRef("done"))
	sums := p.load(p.after(row))
	p.scale("alone", 1, sums)
	p.store(sums, p.after(row))
	Label("done")
	finish()
}
