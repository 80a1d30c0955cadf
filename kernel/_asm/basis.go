package main

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// basisRows returns the height of the dot tile for cols columns: every load of
// the basis serves so many rows. AVX-512 has 32 registers, AVX2 has 16.
func basisRows(t isa, cols int) int {
	if t == avx512 || cols <= 3 {
		return 4
	}
	return 2
}

// basisStreams returns how many lines mulBasis prefetches with every eight features of
// four rows, each from another stream: as many as it reads meanwhile, or a little
// less. Package tile has the same numbers, and its type prefetch says why.
func basisStreams(f32 bool) int {
	if f32 {
		return 2
	}
	return 3
}

// mulBasis emits A = X U for groups of cols columns each: rows x cols dot
// products along d at a time, summed at the end.
func mulBasis(t isa, cols int, f32 bool) {
	typ, suffix, size := elem(f32)
	height := basisRows(t, cols)
	signature := fmt.Sprintf("func(a *float64, lda int, x *%s, ldx int, u *float64, ldu int, n, d, groups int, next uintptr, apart, pace int)", typ)
	lines := fmt.Sprint(basisStreams(f32))
	twice := t == avx512 // AVX2 has tiles of two rows, which prefetch every line twice anyway
	if twice {
		signature = strings.TrimSuffix(signature, ")") + ", twice bool)"
		lines += ", or twice as many,"
	}
	text(fmt.Sprintf("mulBasis%s_%dx%d", suffix, height, cols), t, signature,
		fmt.Sprintf("works like mulBasisGeneric for groups*%d columns, n >= 2, d a multiple of 8. "+
			"It prefetches %s lines, apart bytes from each other, for every 8 features of 4 rows, and moves on by pace bytes.", cols, lines))

	b := basisTile{t: t, cols: cols, f32: f32, size: size}
	b.ldx = bytesParam("ldx", f32)
	ldu := bytesParam("ldu", false)
	b.us = newRows(GP64(), ldu, cols)
	b.xs = newRows(GP64(), b.ldx, height)
	b.pf, b.apart = param("next"), param("apart")
	b.sum = t.newReducer()

	b.first = AllocLocal(8)
	x := param("x")
	MOVQ(x, b.first)

	b.pace = AllocLocal(16)
	pace := param("pace")
	MOVQ(pace, b.pace)
	SHRQ(Imm(1), pace)
	MOVQ(pace, b.pace.Offset(8))

	if !twice {
		b.emit("", height)
		return
	}
	CMPB(mem("twice"), I8(0))
	JNE(LabelRef("twice"))
	b.emit("", height)
	Label("twice")
	b.far = GP64()
	IMUL3Q(I32(basisStreams(f32)), b.apart, b.far)
	ADDQ(b.pf, b.far)
	b.twice = true
	b.emit("twice", height)
}

// eachTile emits the loop over n rows by tiles of height rows, and then of two, and the
// end of the function. A row that is left over is taken together with rows that are done
// already, to which back goes back, if there are any: first holds the first row.
func eachTile(prefix string, height int, first Mem, block func(height int), back func()) {
	label := func(s string) string { return prefix + s }
	if height == 4 {
		Label(label("fours"))
		CMPQ(mem("n"), Imm(4))
		JL(LabelRef(label("three")))
		block(4)
		JMP(LabelRef(label("fours")))
		Label(label("three"))
		CMPQ(mem("n"), Imm(3))
		JNE(LabelRef(label("twos")))
		x := param("x")
		CMPQ(x, first)
		JE(LabelRef(label("twos")))
		back()
		JMP(LabelRef(label("fours")))
	}
	Label(label("twos"))
	CMPQ(mem("n"), Imm(2))
	JL(LabelRef(label("one")))
	block(2)
	JMP(LabelRef(label("twos")))
	Label(label("one"))
	CMPQ(mem("n"), Imm(0))
	JE(LabelRef(label("end")))
	back()
	JMP(LabelRef(label("twos")))
	Label(label("end"))
	finish()
}

func (b basisTile) emit(prefix string, height int) {
	eachTile(prefix, height, b.first, func(height int) { b.block(prefix, height) }, b.back)
}

type basisTile struct {
	t      isa
	cols   int
	f32    bool
	size   int
	ldx    reg.GPVirtual
	xs, us rows          // running along d
	pf     reg.GPVirtual // next line to prefetch in the first stream
	apart  reg.GPVirtual // from there to the next stream
	twice  bool          // twice as many streams, far being the first of the others
	far    reg.GPVirtual
	first  Mem // the first row
	pace   Mem // how far 8 features of 4 and of 2 rows move on
	sum    reducer
}

// back goes back by one row: a row that is left over is taken together with rows
// that are done already, and the same numbers are stored once more.
func (b basisTile) back() {
	SUBQ(Imm(8), mem("a"))
	SUBQ(b.ldx, mem("x"))
	INCQ(mem("n"))
}

// block emits the product of height rows and all groups, and moves on to the
// next rows.
func (b basisTile) block(prefix string, height int) {
	label := func(s string) string { return fmt.Sprintf("%s%s%d", prefix, s, height) }
	acc := make([][]reg.VecVirtual, b.cols) // by columns
	u, a := param("u"), param("a")
	left := AllocLocal(8)
	groups := param("groups")
	MOVQ(groups, left)
	Label(label("group"))
	for j := range acc {
		acc[j] = b.t.vecs(height)
		b.t.zero(acc[j]...)
	}
	MOVQ(mem("x"), b.xs.base)
	MOVQ(u, b.us.base)
	k := param("d")
	SHRQ(U8(3), k)
	loop(label("dot"), k, func() { b.dots(acc, height) })
	b.store(acc, height, a, bytesParam("lda", false))
	for range b.cols {
		ADDQ(b.us.step, u)
	}
	DECQ(left)
	JNZ(LabelRef(label("group")))
	ADDQ(I32(8*height), mem("a"))
	for range height {
		ADDQ(b.ldx, mem("x"))
	}
	SUBQ(I32(height), mem("n"))
}

// dots adds the products of eight features, and prefetches its share.
func (b basisTile) dots(acc [][]reg.VecVirtual, height int) {
	request := func(base reg.GPVirtual) {
		for i := range basisStreams(b.f32) {
			m := Mem{Base: base}
			if i > 0 {
				m.Index, m.Scale = b.apart, uint8(i)
			}
			PREFETCHT1(m)
		}
		ADDQ(b.pace.Offset(8*(4-height)/2), base)
	}
	request(b.pf)
	if b.twice {
		request(b.far)
	}
	for k := 0; k < 8; k += b.t.lanes {
		if height > b.cols { // keep the shorter side in registers
			u := b.t.vecs(b.cols)
			for j := range u {
				VMOVUPD(b.us.at(j, 8*k), u[j])
			}
			for i := range height {
				x := b.t.vec()
				b.t.load(b.xs.at(i, b.size*k), x, b.f32)
				for j := range u {
					VFMADD231PD(x, u[j], acc[j][i])
				}
			}
			continue
		}
		x := b.t.vecs(height)
		for i := range x {
			b.t.load(b.xs.at(i, b.size*k), x[i], b.f32)
		}
		for j := range acc {
			u := b.t.vec()
			VMOVUPD(b.us.at(j, 8*k), u)
			for i := range x {
				VFMADD231PD(x[i], u, acc[j][i])
			}
		}
	}
	ADDQ(I32(8*b.size), b.xs.base)
	ADDQ(Imm(64), b.us.base)
}

// store writes the sums of all columns of a group and moves a to the next group.
func (b basisTile) store(acc [][]reg.VecVirtual, height int, a, lda reg.GPVirtual) {
	for j := 0; j < len(acc); {
		switch {
		case height == 4 && b.t == avx512 && j+1 < len(acc):
			s := b.sum.sum8(append(append([]reg.VecVirtual{}, acc[j]...), acc[j+1]...))
			VMOVUPD(s.AsY(), Mem{Base: a})
			VEXTRACTF64X4(U8(1), s, Mem{Base: a, Index: lda, Scale: 1})
			LEAQ(Mem{Base: a, Index: lda, Scale: 2}, a)
			j += 2
		case height == 4:
			s := b.sum.sum4(acc[j])
			VMOVUPD(s.AsY(), Mem{Base: a})
			ADDQ(lda, a)
			j++
		case j+1 < len(acc):
			s := b.sum.sum4(append(append([]reg.VecVirtual{}, acc[j]...), acc[j+1]...))
			VMOVUPD(s.AsX(), Mem{Base: a})
			extractX(b.t, s.AsY(), Mem{Base: a, Index: lda, Scale: 1})
			LEAQ(Mem{Base: a, Index: lda, Scale: 2}, a)
			j += 2
		default:
			s := b.sum.sum4(acc[j])
			VMOVUPD(s.AsX(), Mem{Base: a})
			ADDQ(lda, a)
			j++
		}
	}
}

// extractX stores the upper half of a YMM register.
func extractX(t isa, src, dst Op) {
	if t == avx512 {
		VEXTRACTF64X2(U8(1), src, dst)
	} else {
		VEXTRACTF128(U8(1), src, dst)
	}
}
