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

// A basisShape describes how the tiles of a group of columns keep their sums. Each sum has dotLanes partial
// sums on all tiers. A register of AVX-512 holds all of these. With AVX2 a sum takes two registers, for
// parts of the columns, or the tile runs along the features once for each half of its lanes.
type basisShape struct {
	parts     []int // columns at a time
	registers int   // of a sum
	passes    int   // along the features
	heights   []int // rows of the tiles, the tallest first: a load of the basis serves all rows of a tile
}

// basisShapeOf returns the faster shape. Two passes load fewer vectors, which counts where these are
// converted, and keep the sums of one on the stack.
func basisShapeOf(t isa, cols int, x *number) basisShape {
	switch {
	case t.evex:
		return basisShape{[]int{cols}, 1, 1, []int{4, 2}}
	case cols == 4:
		return basisShape{[]int{4}, 1, 2, []int{3, 2}}
	case x == single && cols == 3:
		return basisShape{[]int{3}, 1, 2, []int{4, 2}}
	case x == single && cols > 4:
		return basisShape{[]int{cols}, 1, 2, []int{2}}
	case cols == 1:
		return basisShape{[]int{1}, 2, 1, []int{4, 2}}
	case cols == 2:
		return basisShape{[]int{2}, 2, 1, []int{3, 2}}
	case cols == 3:
		return basisShape{[]int{3}, 2, 1, []int{2}}
	}
	return basisShape{[]int{3, cols - 3}, 2, 1, []int{2}}
}

// mulBasis emits A = X U for groups of cols columns each: rows x cols dot products along d at a time, summed
// at the end.
func mulBasis(t isa, cols int, x *number) {
	shape := basisShapeOf(t, cols, x)
	heights := shape.heights
	text(fmt.Sprintf("mulBasis%s_%d", x.suffix, cols), t,
		"func(a *float64, lda int, x *F, ldx int, u *float64, ldu int, n, d, groups int, "+
			"next uintptr, apart, pace int)",
		fmt.Sprintf("works like mulBasisGeneric for groups*%d columns, n >= 2, d a multiple of %d. "+
			"It prefetches %d lines, apart bytes from each other, for every %[2]d features of 4 rows, "+
			"and moves on by pace bytes.",
			cols, width, x.streams()+1))
	b := basisTile{t: t, shape: shape, x: x, ldx: bytesParam("ldx", x.size), pace: map[int]Mem{}}
	b.us = newRows(GP64(), bytesParam("ldu", 8), shape.parts[0])
	b.xs = newRows(GP64(), b.ldx, heights[0])
	b.pf, b.apart = param("next"), param("apart")
	b.sum = t.newReducer()
	for _, height := range heights {
		pace := param("pace")
		IMUL3Q(I32(height), pace, pace)
		SHRQ(Imm(2), pace)
		b.pace[height] = local(pace)
	}
	if shape.passes > 1 {
		b.kept = AllocLocal(heights[0] * cols * t.bytes())
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
	shape  basisShape
	x      *number
	ldx    reg.GPVirtual
	xs, us rows          // running along d
	pf     reg.GPVirtual // next line to prefetch in the first stream
	apart  reg.GPVirtual // from there to the next stream
	pace   map[int]Mem   // by height: how far a round moves on
	sum    reducer
	kept   Mem // the sums of the first pass
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
	u, a := param("u"), param("a")
	left := local(param("groups"))
	Label(label + "Group")
	rounds := 0 // over the features
	for _, cols := range b.shape.parts {
		var acc [][]vector // by columns
		for pass := range b.shape.passes {
			acc = make([][]vector, cols)
			for j := range acc {
				acc[j] = b.t.zeros(height * b.shape.registers)
			}
			MOVQ(mem("x"), b.xs.base)
			MOVQ(u, b.us.base)
			b.features(fmt.Sprint(label, "Dot", rounds), acc, height, pass, rounds == 0)
			b.keep(acc, pass)
			rounds++
		}
		b.store(a, acc, height)
		for range cols {
			ADDQ(b.us.step, u)
		}
	}
	DECQ(left)
	JNZ(LabelRef(label + "Group"))
	ADDQ(I32(8*height), mem("a"))
	for range height {
		ADDQ(b.ldx, mem("x"))
	}
	SUBQ(I32(height), mem("n"))
}

// features adds the products of all features. One of two passes takes half of the lanes of each round. It
// prefetches a share with every round. A tile that runs along the features twice prefetches with every second
// round, and in the first run for the round that is left over.
func (b basisTile) features(label string, acc [][]vector, height, pass int, first bool) {
	k := param("d")
	if b.t.evex {
		SHRQ(U8(log2(width)), k)
		loop(label, k, func() { b.rounds(acc, height, pass, 1, true) })
		return
	}
	TESTQ(U32(width), k)
	JZ(LabelRef(label + "Even"))
	b.rounds(acc, height, pass, 1, first)
	Label(label + "Even")
	SHRQ(U8(log2(2*width)), k)
	JZ(LabelRef(label + "End"))
	loop(label, k, func() {
		if len(b.shape.parts)*b.shape.passes == 1 {
			request(b.pf, b.apart, b.pace[height], b.x.streams()+1)
		}
		b.rounds(acc, height, pass, 2, true)
	})
	Label(label + "End")
}

// rounds adds the products of some rounds of features, and moves on.
func (b basisTile) rounds(acc [][]vector, height, pass, count int, ahead bool) {
	if ahead {
		request(b.pf, b.apart, b.pace[height], b.x.streams()+1)
	}
	for round := range count {
		b.dots(acc, height, round*width+pass*b.t.lanes)
	}
	advance(count*width*b.x.size, b.xs.base)
	advance(count*width*8, b.us.base)
}

// keep stores the sums of the first of two passes, and adds them in the second pass.
func (b basisTile) keep(acc [][]vector, pass int) {
	if b.shape.passes == 1 {
		return
	}
	for j := range acc {
		for i, v := range acc[j] {
			at := b.kept.Offset(b.t.bytes() * (j*len(acc[j]) + i))
			if pass == 0 {
				VMOVUPD(v, at)
			} else {
				VADDPD(at, v, v)
			}
		}
	}
}

// dots adds the products of the lanes of each register of a sum, from a feature on.
func (b basisTile) dots(all [][]vector, height, feature int) {
	for register := range b.shape.registers {
		k, acc := feature+register*b.t.lanes, make([][]vector, len(all))
		for j := range acc {
			acc[j] = all[j][register*height:]
		}
		if height > len(acc) { // keep the shorter side in registers
			u := make([]vector, len(acc))
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
}

// store stores the sums of a group from a on, and moves a on to the next group.
func (b basisTile) store(a reg.GPVirtual, acc [][]vector, height int) {
	together := 1 // columns
	if height == 2 || b.t.evex {
		together = 2
	}
	lda := bytesParam("lda", 8)
	for j := range acc {
		acc[j] = addRegisters(acc[j], height)
	}
	for cols := range slices.Chunk(acc, together) {
		s := b.sum.dotSums(slices.Concat(cols...))
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
