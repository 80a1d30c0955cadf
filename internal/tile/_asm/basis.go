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
func basisHeights(t isa, cols int) []int {
	switch {
	case t.evex || cols <= 3:
		return []int{4, 2}
	case cols == 4:
		return []int{3, 2}
	}
	return []int{2}
}

// mulBasis emits A = X U for groups of cols columns each: rows x cols dot products along d at a time, summed
// at the end.
func mulBasis(t isa, cols int, x *number) {
	heights := basisHeights(t, cols)
	text(fmt.Sprintf("mulBasis%s_%d", x.suffix, cols), t,
		"func(a *float64, lda int, x *F, ldx int, u *float64, ldu int, n, d, groups int, "+
			"next uintptr, apart, pace int)",
		fmt.Sprintf("works like mulBasisGeneric for groups*%d columns, n >= 2, d a multiple of %d. "+
			"It prefetches %d lines, apart bytes from each other, for every %[2]d features of 4 rows, "+
			"and moves on by pace bytes.",
			cols, width, x.streams()+1))
	b := basisTile{t: t, cols: cols, x: x, ldx: bytesParam("ldx", x.size), pace: map[int]Mem{}}
	b.us = newRows(GP64(), bytesParam("ldu", 8), cols)
	b.xs = newRows(GP64(), b.ldx, heights[0])
	b.pf, b.apart = param("next"), param("apart")
	b.sum = t.newReducer()
	for _, height := range heights {
		pace := param("pace")
		IMUL3Q(I32(height), pace, pace)
		SHRQ(Imm(2), pace)
		b.pace[height] = local(pace)
	}
	for _, height := range heights {
		b.rowBlocks(height)
	}
	CMPQ(mem("n"), Imm(0))
	JE(LabelRef("end"))
	// A row that is left over is computed together with the row before, whose result is stored once more.
	ADDQ(I8(-8), mem("a"))
	SUBQ(b.ldx, mem("x"))
	INCQ(mem("n"))
	JMP(LabelRef("rows2"))
	Label("end")
	finish()
}

type basisTile struct {
	t      isa
	cols   int
	x      *number
	ldx    reg.GPVirtual
	xs, us rows          // running along d
	pf     reg.GPVirtual // next line to prefetch in the first stream
	apart  reg.GPVirtual // from there to the next stream
	pace   map[int]Mem   // by height: how far a round moves on
	sum    reducer
}

// rowBlocks emits the loop over blocks of height rows, as long as enough rows are left. Four rows are two
// blocks of two rather than one of three and a row that is left over.
func (b basisTile) rowBlocks(height int) {
	start := fmt.Sprint("rows", height)
	while(start, mem("n"), height, func() {
		if height == 3 {
			CMPQ(mem("n"), Imm(4))
			JE(LabelRef(start + "End"))
		}
		b.block(start, height)
	})
}

// block emits the product of height rows and all groups, and moves on to the
// next rows.
func (b basisTile) block(label string, height int) {
	acc := make([][]vector, b.cols) // by columns
	u, a := param("u"), param("a")
	left := local(param("groups"))
	Label(label + "Group")
	for j := range acc {
		acc[j] = b.t.zeros(height)
	}
	MOVQ(mem("x"), b.xs.base)
	MOVQ(u, b.us.base)
	k := param("d")
	SHRQ(U8(log2(width)), k)
	loop(label+"Dot", k, func() { b.dots(acc, height) })
	b.store(a, acc, height)
	for range b.cols {
		ADDQ(b.us.step, u)
	}
	DECQ(left)
	JNZ(LabelRef(label + "Group"))
	ADDQ(I32(8*height), mem("a"))
	for range height {
		ADDQ(b.ldx, mem("x"))
	}
	SUBQ(I32(height), mem("n"))
}

// dots adds the products of a round of features, and prefetches its share.
func (b basisTile) dots(acc [][]vector, height int) {
	request(b.pf, b.apart, b.pace[height], b.x.streams()+1)
	for k := 0; k < width; k += b.t.lanes {
		if height > b.cols { // keep the shorter side in registers
			u := make([]vector, b.cols)
			for j := range u {
				u[j] = b.t.load(b.us.at(j, 8*k))
			}
			for i := range height {
				x := b.t.vec()
				b.x.load(b.xs.at(i, b.x.size*k), x)
				for j := range u {
					VFMADD231PD(x, u[j], acc[j][i])
				}
			}
			continue
		}
		x := b.t.vecs(height)
		for i := range x {
			b.x.load(b.xs.at(i, b.x.size*k), x[i])
		}
		for j := range acc {
			u := b.t.load(b.us.at(j, 8*k))
			for i := range x {
				VFMADD231PD(x[i], u, acc[j][i])
			}
		}
	}
	advance(width*b.x.size, b.xs.base)
	advance(width*8, b.us.base)
}

// store stores the sums of a group from a on, and moves a on to the next group.
func (b basisTile) store(a reg.GPVirtual, acc [][]vector, height int) {
	together := 1 // columns
	if height == 2 || b.t.evex {
		together = 2
	}
	lda := bytesParam("lda", 8)
	for cols := range slices.Chunk(acc, together) {
		s := b.sum.sum(slices.Concat(cols...))
		for i := range cols {
			switch {
			case height == 3:
				VMOVUPD(s.AsX(), Mem{Base: a})
				VEXTRACTF128(U8(1), s.AsY(), s.AsX())
				VMOVSD(s.AsX(), Mem{Base: a, Disp: 16})
			case height == 4 && i == 0:
				VMOVUPD(s.AsY(), Mem{Base: a})
			case height == 4:
				VEXTRACTF64X4(U8(1), s, Mem{Base: a})
			case i == 0:
				VMOVUPD(s.AsX(), Mem{Base: a})
			default:
				extractX(b.t, s.AsY(), Mem{Base: a})
			}
			ADDQ(lda, a)
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
