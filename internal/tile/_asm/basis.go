package main

import (
	"fmt"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// maxDots is the widest group of columns of mulBasis.
const maxDots = 6

// basisHeights returns the heights of the dot tiles for cols columns, the tallest first: a load of the basis
// serves all rows of a tile, whose sums stay in registers.
func basisHeights(t isa, cols int, x *samples) []int {
	switch {
	case t.evex || cols <= 3:
		return []int{4, 2}
	case cols == 4 && x != samples16:
		return []int{3, 2}
	}
	return []int{2}
}

// mulBasis emits A = X U for groups of cols columns each, or A = A0 + X U for samples of 16 bits: rows x cols
// dot products along d at a time, summed at the end.
func mulBasis(t isa, cols int, x *samples) {
	heights := basisHeights(t, cols, x)
	a0, prefetch, lines := "", "apart, pace int", fmt.Sprint(x.basisStreams)
	switch x {
	case samples64:
		prefetch += ", twice bool"
	case samples16:
		a0 = "a0 *float64, lda0 int, "
	}
	twice := t.evex && x == samples64 // AVX2 has tiles of two rows, which prefetch every line twice anyway
	if twice {
		lines += ", or twice as many,"
	}
	text(fmt.Sprintf("mulBasis%s_%d", x.suffix, cols), t,
		fmt.Sprintf("func(a *float64, lda int, %sx *%s, ldx int, u *%s, ldu int, n, d, groups int, next uintptr, %s)",
			a0, x.typ, x.in.typ, prefetch),
		fmt.Sprintf("works like mulBasis%sGeneric for groups*%d columns, n >= 2, d a multiple of %d. "+
			"It prefetches %s lines, apart bytes from each other, for every %[3]d features of 4 rows, and moves on by pace bytes.",
			x.generic, cols, x.step(), lines))

	b := basisTile{t: t, cols: cols, x: x, heights: heights}
	b.ldx = bytesParam("ldx", x.size)
	ldu := bytesParam("ldu", x.in.size)
	b.us = newRows(GP64(), ldu, cols)
	b.xs = newRows(GP64(), b.ldx, heights[0])
	b.pf, b.apart = param("next"), param("apart")
	if x == samples16 {
		b.result = newCorrected(t)
	} else {
		b.result = &products{t: t, sum: t.newReducer()}
	}
	b.pace = map[int]Mem{}
	for _, height := range heights {
		pace := param("pace")
		IMUL3Q(I32(height), pace, pace)
		SHRQ(Imm(2), pace)
		b.pace[height] = AllocLocal(8)
		MOVQ(pace, b.pace[height])
	}
	if twice {
		CMPB(mem("twice"), I8(0))
		JE(LabelRef("plain"))
		b.far = GP64()
		IMUL3Q(I32(x.basisStreams), b.apart, b.far)
		ADDQ(b.pf, b.far)
		b.twice = true
		b.rowBlocks("twice", heights[0])
		b.twice = false
		Label("plain")
	}
	for _, height := range heights {
		b.rowBlocks("rows", height)
	}
	CMPQ(mem("n"), Imm(0))
	JE(LabelRef("end"))
	b.result.move(-1) // a row that is left over is taken together with the one before, which is stored once more
	SUBQ(b.ldx, mem("x"))
	INCQ(mem("n"))
	JMP(LabelRef("rows2"))
	Label("end")
	finish()
}

type basisTile struct {
	t       isa
	cols    int
	x       *samples
	heights []int
	ldx     reg.GPVirtual
	xs, us  rows          // running along d
	pf      reg.GPVirtual // next line to prefetch in the first stream
	apart   reg.GPVirtual // from there to the next stream
	twice   bool          // twice as many streams, far being the first of the others
	far     reg.GPVirtual
	pace    map[int]Mem // by height: how far a round moves on
	result  result
}

// rowBlocks emits the loop over blocks of height rows, as long as enough rows are left. Four rows are two
// blocks of two rather than one of three and a row that is left over.
func (b basisTile) rowBlocks(prefix string, height int) {
	start := fmt.Sprint(prefix, height)
	Label(start)
	CMPQ(mem("n"), Imm(uint64(height)))
	JL(LabelRef(start + "End"))
	if height == 3 {
		CMPQ(mem("n"), Imm(4))
		JE(LabelRef(start + "End"))
	}
	b.block(start, height)
	JMP(LabelRef(start))
	Label(start + "End")
}

// A result is where a tile stores its sums.
type result interface {
	begin()                           // with the first group of columns
	store(acc [][]vector, height int) // the sums of a group, and move on to the next one
	move(rows int)                    // on, or back
}

// block emits the product of height rows and all groups, and moves on to the
// next rows.
func (b basisTile) block(label string, height int) {
	acc := make([][]vector, b.cols) // by columns
	u := param("u")
	b.result.begin()
	left := AllocLocal(8)
	groups := param("groups")
	MOVQ(groups, left)
	Label(label + "Group")
	for j := range acc {
		acc[j] = b.t.vecs(height)
		b.t.zero(acc[j]...)
	}
	MOVQ(mem("x"), b.xs.base)
	MOVQ(u, b.us.base)
	k := param("d")
	SHRQ(U8(log2(b.x.step())), k)
	loop(label+"Dot", k, func() { b.dots(acc, height) })
	b.result.store(acc, height)
	for range b.cols {
		ADDQ(b.us.step, u)
	}
	DECQ(left)
	JNZ(LabelRef(label + "Group"))
	b.result.move(height)
	for range height {
		ADDQ(b.ldx, mem("x"))
	}
	SUBQ(I32(height), mem("n"))
}

// dots adds the products of a round of features, and prefetches its share.
func (b basisTile) dots(acc [][]vector, height int) {
	request := func(base reg.GPVirtual) {
		for i := range b.x.basisStreams {
			m := Mem{Base: base}
			if i > 0 {
				m.Index, m.Scale = b.apart, uint8(i)
			}
			PREFETCHT1(m)
		}
		ADDQ(b.pace[height], base)
	}
	request(b.pf)
	if b.twice {
		request(b.far)
	}
	in := b.x.in
	for k := 0; k < b.x.step(); k += in.lanes(b.t) {
		if height > b.cols { // keep the shorter side in registers
			u := b.t.vecs(b.cols)
			for j := range u {
				in.move(b.us.at(j, in.size*k), u[j])
			}
			for i := range height {
				x := b.t.vec()
				b.x.load(b.xs.at(i, b.x.size*k), x)
				for j := range u {
					in.fma(x, u[j], acc[j][i])
				}
			}
			continue
		}
		x := b.t.vecs(height)
		for i := range x {
			b.x.load(b.xs.at(i, b.x.size*k), x[i])
		}
		for j := range acc {
			u := b.t.vec()
			in.move(b.us.at(j, in.size*k), u)
			for i := range x {
				in.fma(x[i], u, acc[j][i])
			}
		}
	}
	ADDQ(I32(b.x.step()*b.x.size), b.xs.base)
	ADDQ(Imm(64), b.us.base)
}

// products is the result A = X U.
type products struct {
	t   isa
	sum reducer
	a   reg.GPVirtual // the next column
}

func (p *products) begin() { p.a = param("a") }

func (p *products) move(rows int) { ADDQ(I32(8*rows), mem("a")) }

func (p *products) store(acc [][]vector, height int) {
	together := 1 // columns
	if height == 2 || p.t.evex {
		together = 2
	}
	lda := bytesParam("lda", 8)
	for cols := range slices.Chunk(acc, together) {
		s := p.sum.sum(slices.Concat(cols...))
		for i := range cols {
			switch {
			case height == 3:
				VMOVUPD(s.AsX(), Mem{Base: p.a})
				VEXTRACTF128(U8(1), s.AsY(), s.AsX())
				VMOVSD(s.AsX(), Mem{Base: p.a, Disp: 16})
			case height == 4 && i == 0:
				VMOVUPD(s.AsY(), Mem{Base: p.a})
			case height == 4:
				VEXTRACTF64X4(U8(1), s, Mem{Base: p.a})
			case i == 0:
				VMOVUPD(s.AsX(), Mem{Base: p.a})
			default:
				extractX(p.t, s.AsY(), Mem{Base: p.a})
			}
			ADDQ(lda, p.a)
		}
	}
}

// extractX stores the upper half of a YMM register.
func extractX(t isa, src, dst Op) {
	if t.evex {
		VEXTRACTF64X2(U8(1), src, dst)
	} else {
		VEXTRACTF128(U8(1), src, dst)
	}
}
