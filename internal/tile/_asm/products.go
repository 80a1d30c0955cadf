package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// productShape returns the largest number of rows, and the number of columns, of a tile of inner products: as
// many sums as registers hold.
func productShape(t isa, x *number) (rows, columns int) {
	switch {
	case x == single && t.evex: // two rows in a register
		return 8, 4
	case x == single:
		return 3, 4
	case t.evex:
		return 4, 4
	}
	return 2, 3
}

// productSizes returns one of the sizes of productShape, for both types.
func productSizes(t isa, size func(rows, columns int) int) (sizes []string) {
	for _, x := range []*number{double, single} {
		sizes = append(sizes, fmt.Sprint(size(productShape(t, x))))
	}
	return sizes
}

// A productsTile computes inner products of some rows of W with rows of Z.
type productsTile struct {
	t       isa
	x       *number
	columns int
	w, z    rows
	r       reducer
	last    []func() access // to the last vector of a row, by its registers
	lanes   reg.Register    // mask of the last lanes of two rows
}

// pairs reports whether a register holds entries of two rows of W.
func (p *productsTile) pairs() bool { return p.x == single && p.t.evex }

// rowProducts emits the inner products of all rows of two matrices: of a few rows of W, with the rows of Z
// that stay in a cache meanwhile.
func rowProducts(t isa, x *number) {
	most, columns := productShape(t, x)
	text("rowProducts"+x.suffix, t, "func(c *F, ldc int, w *F, ldw int, z *F, ldz, n, height, rows, lower, cols int)",
		fmt.Sprintf("sets C to W Z' for rows of n >= 8 entries, as rowDots for several rows. It takes height <= %d of "+
			"the rows of W at a time, and one row less for the last lower rows. Z has cols >= %d rows.", most, columns))
	p := &productsTile{t: t, x: x, columns: columns, r: t.newReducer()}
	p.w = newRows(GP64(), bytesParam("ldw", x.size), min(most, 7)) // the last of eight has another register
	p.z = newRows(GP64(), bytesParam("ldz", x.size), columns)
	c := GP64()
	p.lastVectors()
	height, left, from := AllocLocal(8), AllocLocal(8), AllocLocal(8) // of the present columns
	Label("columns")
	MOVQ(param("height"), height)
	MOVQ(param("rows"), left)
	MOVQ(param("w"), from)
	MOVQ(mem("c"), c)
	Label("rows")
	MOVQ(from, p.w.base)
	MOVQ(mem("z"), p.z.base)
	p.eachHeight(most, height, c)
	Label("stored")
	many, further := GP64(), GP64()
	MOVQ(height, many)
	SUBQ(many, left)
	JZ(LabelRef("rowsDone"))
	MOVQ(many, further)
	IMULQ(p.w.step, further)
	ADDQ(further, from)
	IMULQ(bytesParam("ldc", x.size), many)
	ADDQ(many, c)
	MOVQ(left, further)
	CMPQ(further, mem("lower"))
	JNE(LabelRef("rows"))
	DECQ(height)
	JMP(LabelRef("rows"))
	Label("rowsDone")
	p.nextColumns()
	JNZ(LabelRef("columns"))
	finish()
}

// eachHeight emits the tiles of each height, and jumps to the one of the present height. Tiles of pairs have
// an even height.
func (p *productsTile) eachHeight(most int, height Mem, c reg.GPVirtual) {
	step := 1
	if p.pairs() {
		step = 2
	}
	for rows := most; rows > 0; rows -= step {
		if rows > step {
			CMPQ(height, I8(rows-step))
			JLE(LabelRef(fmt.Sprint("below", rows)))
		}
		if p.pairs() {
			p.somePairs(rows/2, height, c)
		} else {
			p.some(rows, c)
		}
		if rows > step {
			JMP(LabelRef("stored"))
			Label(fmt.Sprint("below", rows))
		}
	}
}

// nextColumns moves on to the next rows of Z, and sets the flag of zero behind the last ones. The last ones
// end with the last row.
func (p *productsTile) nextColumns() {
	left, by, most := param("cols"), GP64(), fresh(I32(p.columns))
	SUBQ(most, left)
	MOVQ(left, by)
	CMPQ(by, most)
	CMOVQGT(most, by)
	CMPQ(left, most)
	CMOVQLT(most, left)
	MOVQ(left, mem("cols"))
	further := fresh(by)
	IMULQ(p.z.step, further)
	ADDQ(further, mem("z"))
	further = fresh(by)
	SHLQ(U8(log2(p.x.size)), further)
	ADDQ(further, mem("c"))
	TESTQ(by, by)
}

// some computes the products of a number of rows of W with rows of Z, and stores them.
func (p *productsTile) some(rows int, c reg.GPVirtual) {
	t, registers := p.t, 1
	t.part = fmt.Sprint("of", rows)
	if p.x == double {
		registers = t.dotRegisters()
	}
	acc := t.zeros(registers * rows * p.columns)
	lanes := registers * p.x.lanes(t)
	add := func(io access, k, disp int) {
		sums := acc[k*rows*p.columns:]
		if io.masked && p.x == single { // a register for the mask, and none for other rows of W
			for i := range rows {
				w := io.load(p.w.at(i, disp))
				for j := range p.columns {
					p.x.fma(io.load(p.z.at(j, disp)), w, sums[i*p.columns+j])
				}
			}
			return
		}
		var w []vector
		for i := range rows {
			w = append(w, io.load(p.w.at(i, disp)))
		}
		for j := range p.columns {
			z := io.load(p.z.at(j, disp))
			for i := range rows {
				p.x.fma(z, w[i], sums[i*p.columns+j])
			}
		}
	}
	pointers := []reg.GPVirtual{p.w.base, p.z.base}
	TESTQ(I32(lanes-1), mem("n"))
	JZ(LabelRef(t.part + "whole"))
	last := beforeEnd(p.x, lanes, pointers)
	for k, io := range p.last {
		add(io(), k, k*t.bytes())
	}
	for _, at := range pointers {
		SUBQ(last, at)
	}
	Label(t.part + "whole")
	wholeVectors(p.x.whole(t), t, p.x, 1, registers, pointers, add)
	if p.x == double {
		acc = addRegisters(acc, rows*p.columns)
	}
	row, ldc := fresh(c), bytesParam("ldc", p.x.size)
	for i := range rows {
		if i > 0 {
			ADDQ(ldc, row)
		}
		p.r.storeRow(p.x, acc[i*p.columns:][:p.columns], row)
	}
}

// lanesOf returns how many lanes of a tail are in one of two registers.
func (p *productsTile) lanesOf(register int, tail reg.GPVirtual) reg.GPVirtual {
	lanes, most := fresh(tail), GP64()
	if register == 0 {
		XORQ(most, most)
		SUBQ(I32(p.t.lanes), lanes)
		CMOVQLT(most, lanes)
		return lanes
	}
	MOVQ(I32(p.t.lanes), most)
	CMPQ(lanes, most)
	CMOVQGT(most, lanes)
	return lanes
}

// lastVectors prepares the access to the last vector of rows, which has fewer entries than its lanes. The
// second of two registers has up to all of its lanes, and the first one the others. With AVX2 to clear lanes
// takes less time than to leave them out.
func (p *productsTile) lastVectors() {
	if p.pairs() {
		p.lastPairs()
		return
	}
	t, registers := p.t, 1
	if p.x == double {
		registers = t.dotRegisters()
	}
	tail := param("n")
	ANDQ(I8(registers*p.x.lanes(t)-1), tail)
	if t.evex {
		masked, _ := p.x.lastLanes(t, tail)
		p.last = append(p.last, func() access { return masked })
		return
	}
	for k := range registers {
		of, table := tail, GP64()
		if registers > 1 {
			of = p.lanesOf(k, tail)
		}
		LEAQ(maskTable.Offset(32), table)
		ones := AllocLocal(t.bytes())
		VMOVUPD(t.load(Mem{Base: table, Index: of, Scale: uint8(p.x.size)}), ones)
		p.last = append(p.last, func() access {
			v := t.load(ones)
			return access{masked: true, load: t.loading(func(a Mem, to vector) { VANDPD(a, v, to) })}
		})
	}
}

// storeRow stores three or four sums, in the order of storeSums.
func (r reducer) storeRow(x *number, v []vector, to reg.GPVirtual) {
	s := Mem{Base: to}
	switch {
	case x == single:
		r.store32(v, to)
	case len(v) == 3:
		sums, last := r.dotSums(v), XMM()
		VEXTRACTF128(U8(1), sums, last)
		VMOVUPD(sums.AsX(), s)
		VMOVSD(last, s.Offset(16))
	default:
		VMOVUPD(r.dotSums(v).AsY(), s)
	}
}
