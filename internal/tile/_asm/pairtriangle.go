package main

import (
	"fmt"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pairTriangles emits the systems and the products of a complex triangle and a few columns. A row is its
// products with real parts, and apart from these its products with imaginary parts.
func pairTriangles(t isa) {
	for _, x := range []*number{double, single} {
		if x == single && t.evex {
			continue
		}
		for _, vectors := range triangleVectors {
			solvePairs(newPairTile(t, x, fmt.Sprint("solvePairs%s_", vectors), vectors))
			multiplyPairs(newPairTile(t, x, fmt.Sprint("multiplyPairs%s_", vectors), vectors))
		}
	}
	if t.evex {
		lend("solvePairs", tiers[0], t, 2, twoHalves)
		lend("multiplyPairs", tiers[0], t, 2, twoHalves)
		return
	}
	solvePairs(newPairTile(t, single, fmt.Sprint("solvePairs%s_", twoHalves), twoHalves))
	multiplyPairs(newPairTile(t, single, fmt.Sprint("multiplyPairs%s_", twoHalves), twoHalves))
	for _, x := range []*number{double, single} { // AVX-512 uses these too
		solvePairs(newPairTile(t, x, "solvePair%s", 0))
		multiplyPairs(newPairTile(t, x, "multiplyPair%s", 0))
	}
}

// pair is the access to one complex number.
func (x *number) pair() access {
	move := VMOVUPD
	if x == single {
		move = VMOVSD
	}
	load := func(a Mem) vector {
		v := YMM()
		move(a, v.AsX())
		return v
	}
	store, none := func(v vector, a Mem) { move(v.AsX(), a) }, func(vector) {}
	operand := func(a Mem) Op { return load(a) }
	return access{load: load, operand: operand, store: store, clear: none, flush: func() {}}
}

// A pairTile applies a complex triangle to rows of B in registers.
type pairTile struct {
	t                  isa
	x                  *number
	io                 []access // by vectors
	b, ldb, a, down, d reg.GPVirtual
	tail               reg.GPVirtual // from a row to the last of its vectors
	signs              vector
	re, im             []vector // the sums of a row, of products with real and with imaginary parts
}

// newPairTile begins a tile for columns in some vectors, or for one column. The last of several vectors ends
// with the columns.
func newPairTile(t isa, x *number, name string, vectors int) *pairTile {
	of, lanes := vectors, t.lanes
	if vectors == twoHalves {
		of, lanes = 2, t.lanes/2
	}
	columns := fmt.Sprintf("columns in %d vectors", of)
	if vectors == 0 {
		columns = "a column"
	}
	text(fmt.Sprintf(name, x.suffix), t,
		"func(b *F, ldb int, a *F, down, across int, d, signs *F, order, cols int)",
		fmt.Sprintf("works like solveComplexGeneric or multiplyComplexGeneric for %s, order >= 1.", columns))
	t.lanes = lanes
	p := &pairTile{t: t, x: x, io: []access{x.pair()}}
	p.b, p.ldb = param("b"), bytesParam("ldb", x.size)
	p.a, p.down, p.d = param("a"), bytesParam("down", x.size), param("d")
	if vectors > 0 {
		p.io = slices.Repeat([]access{x.whole(t)}, of)
	}
	if of > 1 {
		p.tail = bytesParam("cols", 2*x.size)
		SUBQ(I8(t.bytes()), p.tail)
	}
	return p
}

// vector returns the address of a vector of a row.
func (p *pairTile) vector(k int, row reg.GPVirtual) Mem {
	if k > 0 && k == len(p.io)-1 {
		return Mem{Base: row, Index: p.tail, Scale: 1}
	}
	return Mem{Base: row, Disp: k * p.t.bytes()}
}

// start loads a row, and clears the sums of its products with imaginary parts.
func (p *pairTile) start(row reg.GPVirtual) {
	p.re, p.im = make([]vector, len(p.io)), p.t.zeros(len(p.io))
	for k, io := range p.io {
		p.re[k] = io.load(p.vector(k, row))
	}
}

// entry broadcasts the parts of an entry of A.
func (p *pairTile) entry(at reg.GPVirtual) (re, im vector) {
	re, im = p.t.vec(), p.t.vec()
	p.x.broadcast(Mem{Base: at}, re)
	p.x.broadcast(Mem{Base: at, Disp: p.x.size}, im)
	return re, im
}

// products adds the products of the next entries of a row of A and of rows of B, or subtracts them, and moves
// the pointers on.
func (p *pairTile) products(n, entry, row reg.GPVirtual, fma func(...Op)) {
	across := bytesParam("across", p.x.size)
	repeat("entry", n, func() {
		re, im := p.entry(entry)
		ADDQ(across, entry)
		for k, io := range p.io {
			v := io.load(p.vector(k, row))
			fma(v, re, p.re[k])
			fma(v, im, p.im[k])
		}
		ADDQ(p.ldb, row)
	})
}

// combine adds the sums of products with imaginary parts to the sums of products with real parts.
func (p *pairTile) combine() {
	signs := p.x.pairsOf(p.t, Mem{Base: param("signs")})
	for k, v := range p.re {
		swapped := p.t.vec()
		p.x.swapPairs(p.t, p.im[k], swapped)
		p.x.fma(swapped, signs, v)
	}
	p.signs = signs
}

// solvePairs emits the solution of a system, row after row. The last row that is solved stays in registers: a
// row that was just stored takes long to load.
func solvePairs(p *pairTile) {
	t, x := p.t, p.x
	last, row, left := t.zeros(len(p.io)), fresh(p.b), param("order")
	Label("row")
	p.start(row)
	known := param("order")
	SUBQ(left, known)
	JZ(LabelRef("pivot"))
	DECQ(known)
	entry, from := fresh(p.a), fresh(p.b)
	p.products(known, entry, from, x.subtract)
	re, im := p.entry(entry)
	for k, v := range last {
		x.subtract(v, re, p.re[k])
		x.subtract(v, im, p.im[k])
	}
	p.combine()
	Label("pivot")
	TESTQ(p.d, p.d)
	JZ(LabelRef("one"))
	signs := x.pairsOf(t, Mem{Base: param("signs")})
	re, im = p.entry(p.d)
	advance(2*x.size, p.d)
	for _, v := range p.re {
		swapped := t.vec()
		x.swapPairs(t, v, swapped)
		x.multiply(signs, swapped, swapped)
		x.multiply(re, v, v)
		x.fma(swapped, im, v)
	}
	Label("one")
	for k, io := range p.io {
		io.store(p.re[k], p.vector(k, row))
		VMOVAPD(p.re[k], last[k])
	}
	ADDQ(p.ldb, row)
	ADDQ(p.down, p.a)
	DECQ(left)
	JNZ(LabelRef("row"))
	finish()
}

// multiplyPairs emits a product, the last row first: a row is overwritten when no other one needs it.
func multiplyPairs(p *pairTile) {
	x := p.x
	left, row := param("order"), fresh(p.ldb)
	DECQ(left) // rows before the present one
	IMULQ(left, row)
	ADDQ(p.b, row)
	offset := fresh(p.down)
	IMULQ(left, offset)
	ADDQ(offset, p.a)
	TESTQ(p.d, p.d)
	JZ(LabelRef("row"))
	offset = fresh(left)
	SHLQ(U8(log2(2*x.size)), offset)
	ADDQ(offset, p.d)
	Label("row")
	p.start(row)
	TESTQ(p.d, p.d)
	JZ(LabelRef("one"))
	re, im := p.entry(p.d)
	advance(-2*x.size, p.d)
	for k, v := range p.re {
		x.multiply(im, v, p.im[k])
		x.multiply(re, v, v)
	}
	Label("one")
	p.products(fresh(left), fresh(p.a), fresh(p.b), x.fma)
	p.combine()
	for k, io := range p.io {
		io.store(p.re[k], p.vector(k, row))
	}
	SUBQ(p.ldb, row)
	SUBQ(p.down, p.a)
	DECQ(left)
	JGE(LabelRef("row"))
	finish()
}
