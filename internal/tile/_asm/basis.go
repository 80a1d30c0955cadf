package main

import (
	"fmt"
	"slices"

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

// mulBasis emits A = X U for groups of cols columns each, or A = A0 + X U for samples of
// 16 bits: rows x cols dot products along d at a time, summed at the end.
func mulBasis(t isa, cols int, x *samples) {
	height := basisRows(t, cols)
	a0, prefetch := "", "apart, pace int"
	lines := fmt.Sprint(x.basisStreams)
	if x == samples16 {
		a0 = "a0 *float64, lda0 int, "
	}
	// AVX2 has tiles of two rows, which prefetch every line twice anyway.
	twice := t == avx512 && x != samples16
	if twice {
		prefetch += ", twice bool"
		lines += ", or twice as many,"
	}
	text(fmt.Sprintf("mulBasis%s_%dx%d", x.suffix, height, cols), t,
		fmt.Sprintf("func(a *float64, lda int, %sx *%s, ldx int, u *%s, ldu int, n, d, groups int, next uintptr, %s)", a0, x.typ, x.in.typ, prefetch),
		fmt.Sprintf("works like mulBasis%sGeneric for groups*%d columns, n >= 2, d a multiple of %d. "+
			"It prefetches %s lines, apart bytes from each other, for every %d features of 4 rows, and moves on by pace bytes.", x.generic, cols, x.step(), lines, x.step()))

	b := basisTile{t: t, cols: cols, x: x}
	b.ldx = bytesParam("ldx", x.size)
	ldu := bytesParam("ldu", x.in.size)
	b.us = newRows(GP64(), ldu, cols)
	b.xs = newRows(GP64(), b.ldx, height)
	b.pf, b.apart = param("next"), param("apart")
	if x == samples16 {
		b.result = newCorrected(t)
	} else {
		b.result = &products{t: t, sum: t.newReducer()}
	}

	b.first = AllocLocal(8)
	start := param("x")
	MOVQ(start, b.first)

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
	IMUL3Q(I32(x.basisStreams), b.apart, b.far)
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
	x      *samples
	ldx    reg.GPVirtual
	xs, us rows          // running along d
	pf     reg.GPVirtual // next line to prefetch in the first stream
	apart  reg.GPVirtual // from there to the next stream
	twice  bool          // twice as many streams, far being the first of the others
	far    reg.GPVirtual
	first  Mem // the first row
	pace   Mem // how far a round of 4 and of 2 rows moves on
	result result
}

// A result is where a tile stores its sums.
type result interface {
	begin()                           // with the first group of columns
	store(acc [][]vector, height int) // the sums of a group, and move on to the next one
	move(rows int)                    // on, or back
}

// back goes back by one row: a row that is left over is taken together with rows
// that are done already, and the same numbers are stored once more.
func (b basisTile) back() {
	b.result.move(-1)
	SUBQ(b.ldx, mem("x"))
	INCQ(mem("n"))
}

// block emits the product of height rows and all groups, and moves on to the
// next rows.
func (b basisTile) block(prefix string, height int) {
	label := func(s string) string { return fmt.Sprintf("%s%s%d", prefix, s, height) }
	acc := make([][]vector, b.cols) // by columns
	u := param("u")
	b.result.begin()
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
	SHRQ(U8(log2(b.x.step())), k)
	loop(label("dot"), k, func() { b.dots(acc, height) })
	b.result.store(acc, height)
	for range b.cols {
		ADDQ(b.us.step, u)
	}
	DECQ(left)
	JNZ(LabelRef(label("group")))
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
		ADDQ(b.pace.Offset(8*(4-height)/2), base)
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
	a, lda := p.a, bytesParam("lda", 8)
	for j := 0; j < len(acc); j++ {
		v, next := acc[j], Mem{Base: a, Index: lda, Scale: 1}
		pair := j+1 < len(acc) && (height == 2 || p.t == avx512)
		if pair {
			j++
			v = slices.Concat(v, acc[j])
		}
		s := p.sum.sum(v)
		if height == 4 {
			VMOVUPD(s.AsY(), Mem{Base: a})
		} else {
			VMOVUPD(s.AsX(), Mem{Base: a})
		}
		switch {
		case !pair:
			ADDQ(lda, a)
			continue
		case height == 4:
			VEXTRACTF64X4(U8(1), s, next)
		default:
			extractX(p.t, s.AsY(), next)
		}
		LEAQ(Mem{Base: a, Index: lda, Scale: 2}, a)
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
