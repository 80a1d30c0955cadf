package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// mostFewRows is the largest number of rows of a tile of few rows: as many as AVX2 has registers for.
const mostFewRows = 6

// fewRowTiles emits the tiles of products with short sums.
func fewRowTiles(t isa) {
	for height := 1; height <= mostFewRows; height++ {
		fewRows(t, double, height)
		fewRows(t, single, height)
	}
}

// A fewRowsTile is a tile of all columns of C = W Z, and an exact number of rows.
type fewRowsTile struct {
	t              isa
	x              *number
	c, ldc, z, ldz reg.GPVirtual // the present columns
	w              rows
	across         reg.GPVirtual
	height, bodies int
}

// fewRows emits C = W Z, or C += W Z, for height rows at a time, and up to two vectors of columns. A short
// sum leaves time for a loop over its terms alone: the tile prefetches nothing, and computes no row in vain.
func fewRows(t isa, x *number, height int) {
	text(fmt.Sprintf("panelFew%s_%d", x.suffix, height), t,
		"func(c *F, ldc int, w *F, down, across int, z *F, ldz, n, rows, cols int, add bool, by *F, "+
			"rightc, rightz, more int)",
		fmt.Sprintf("sets or adds to rows of C, a multiple of %d, the product of n >= 1 columns of W and rows of Z, "+
			"for cols columns; %s The next rows begin rightc columns of C and rightz columns of Z to the right, and "+
			"have more columns.", height, scaledSums))
	p := &fewRowsTile{t: t, x: x, height: height}
	p.ldc, p.ldz = bytesParam("ldc", x.size), bytesParam("ldz", x.size)
	p.across = bytesParam("across", x.size)
	p.w = newRows(nil, bytesParam("down", x.size), height)
	Label("rows")
	p.c, p.z = param("c"), param("z")
	cols, lanes := param("cols"), x.lanes(t)
	whole := part{t, x.whole(t)}
	while("both", cols, 2*lanes, func() {
		p.columns(whole, whole)
		advance(2*t.bytes(), p.c, p.z)
		SUBQ(I8(2*lanes), cols)
	})
	TESTQ(cols, cols)
	JZ(LabelRef("done"))
	for i, last := range lastParts(t, x) {
		next := fmt.Sprintf("more%d", i)
		CMPQ(cols, I8(last.whole*lanes+last.most))
		JG(LabelRef(next))
		parts := []part{whole}[:last.whole]
		left := fresh(cols)
		SUBQ(I8(last.whole*lanes), left)
		p.columns(append(parts, part{last.t, x.firstLanes(last.t, left)})...)
		JMP(LabelRef("done"))
		Label(next)
	}
	Label("done")
	SUBQ(I8(height), mem("rows"))
	JZ(LabelRef("allDone"))
	p.moveOn(height)
	JMP(LabelRef("rows"))
	Label("allDone")
	finish()
}

// moveOn moves on to the next rows.
func (p *fewRowsTile) moveOn(height int) {
	for _, next := range []struct {
		address string
		by      reg.GPVirtual
	}{{"c", p.ldc}, {"w", p.w.step}} {
		further := GP64()
		IMUL3Q(I8(height), next.by, further)
		ADDQ(further, mem(next.address))
	}
	ADDQ(bytesParam("rightc", p.x.size), mem("c"))
	ADDQ(bytesParam("rightz", p.x.size), mem("z"))
	ADDQ(param("more"), mem("cols"))
}

// A part is a vector of columns: its size, and the access to it.
type part struct {
	t  isa
	io access
}

// A lastPart is how the last columns are computed: by whole vectors, and a vector of up to most columns.
type lastPart struct {
	whole int
	t     isa
	most  int
}

// lastParts returns the kinds of last columns, less than two vectors, in ascending order. With AVX-512 a part
// of up to half a vector is one of half the size, which takes half the time on processors that split vectors.
func lastParts(t isa, x *number) (all []lastPart) {
	sizes := []isa{t}
	if t.evex {
		half := t
		half.lanes /= 2
		sizes = []isa{half, t}
	}
	for whole := range 2 {
		for _, size := range sizes {
			all = append(all, lastPart{whole, size, x.lanes(size)})
		}
	}
	return all
}

// like returns a register in the size of another one.
func like(v, of vector) Op {
	if v.Size() > of.Size() {
		return v.AsY()
	}
	return v
}

// columns computes a few vectors of columns.
func (p *fewRowsTile) columns(parts ...part) {
	p.bodies++
	label := func(name string) string { return fmt.Sprintf("%s%d", name, p.bodies) }
	acc := make([][]vector, p.height)
	for i := range acc {
		for _, of := range parts {
			acc[i] = append(acc[i], of.t.zeros(1)...)
		}
	}
	each := func(f func(io access, at Mem, v vector)) {
		row := fresh(p.c)
		for i := range acc {
			for j, v := range acc[i] {
				f(parts[j].io, Mem{Base: row, Disp: j * p.t.bytes()}, v)
			}
			if i+1 < len(acc) {
				ADDQ(p.ldc, row)
			}
		}
	}
	CMPB(mem("add"), I8(0))
	JEQ(LabelRef(label("start")))
	each(func(io access, at Mem, v vector) { VMOVAPD(io.load(at), v) })
	Label(label("start"))
	z := fresh(p.z)
	p.w.base = param("w")
	loop(label("term"), param("n"), func() {
		zs := make([]vector, len(parts))
		for j := range parts {
			zs[j] = parts[j].io.load(Mem{Base: z, Disp: j * p.t.bytes()})
		}
		for i := range acc {
			w := parts[0].t.vec() // the largest
			p.x.broadcast(p.w.at(i, 0), w)
			for j := range acc[i] {
				p.x.fma(zs[j], like(w, zs[j]), acc[i][j])
			}
		}
		ADDQ(p.ldz, z)
		ADDQ(p.across, p.w.base)
	})
	scaleSums(parts[0].t, p.x, label("scaled"), acc, each)
	each(func(io access, at Mem, v vector) { io.store(v, at) })
}
