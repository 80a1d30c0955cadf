package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// requestSteps is how many steps of a row share a round of prefetches.
const requestSteps = 8

// blockSteps returns how many steps, of 8 features, the blocks of sumBlocks have: wide ones as long as more
// than narrow steps are left, and the rest as one block. The sums of a block stay in registers.
func (t isa) blockSteps() (wide []int, narrow int) {
	if t.evex {
		return []int{16, 8}, 7
	}
	return []int{4}, 5
}

// sumBlocks emits g = X' e for blocks of features, each for all rows: from the last one up, since the last
// rows are what mulBasis has just left in the first-level cache.
func sumBlocks(t isa, x *samples) {
	wide, narrow := t.blockSteps()
	text("sumBlocks"+x.suffix, t,
		fmt.Sprintf("func(grad *float64, x *%s, ldx int, e *float64, n, steps int, next uintptr, apart, pace int)", x.typ),
		fmt.Sprintf("sets steps times %d features of grad to the product of n rows, n > 0, steps > 0, in blocks of %v steps "+
			"and one of up to %d. It prefetches %d lines, apart bytes from each other, for every %d steps of a row, "+
			"or the last ones of a block, and moves on by pace bytes.",
			width, wide, narrow, x.gradientStreams, requestSteps))
	p := blockSum{t: t, x: x, first: param("x"), ldx: bytesParam("ldx", x.size), e: param("e"), g: param("grad")}
	p.pf, p.apart, p.pace = param("next"), param("apart"), param("pace")
	rows := param("n")
	LEAQ(Mem{Base: p.e, Index: rows, Scale: 8, Disp: -8}, p.e)
	for _, steps := range wide {
		label := fmt.Sprint("wide", steps)
		Label(label)
		CMPQ(mem("steps"), Imm(uint64(max(steps, narrow+1))))
		JL(LabelRef(label + "End"))
		p.block(label, steps)
		SUBQ(Imm(uint64(steps)), mem("steps"))
		JMP(LabelRef(label))
		Label(label + "End")
	}
	for steps := 1; steps <= narrow; steps++ {
		CMPQ(mem("steps"), Imm(uint64(steps)))
		JEQ(LabelRef(fmt.Sprint("narrow", steps)))
	}
	finish()
	for steps := 1; steps <= narrow; steps++ {
		label := fmt.Sprint("narrow", steps)
		Label(label)
		p.block(label, steps)
		finish()
	}
}

type blockSum struct {
	t          isa
	x          *samples
	first, ldx reg.GPVirtual // the block, in the first row;
	e          reg.GPVirtual // the last entry;
	g          reg.GPVirtual // the block of the sum;
	pf         reg.GPVirtual // next line to prefetch in the first stream
	apart      reg.GPVirtual // from one stream to the next
	pace       reg.GPVirtual // how far a round moves on
}

// block emits the sum of a block of the given number of steps, and moves on.
func (p blockSum) block(label string, steps int) {
	e, row, left := GP64(), GP64(), GP64()
	each := width / p.t.lanes // vectors of a step
	sums := p.t.vecs(steps * each)
	p.t.zero(sums...)
	MOVQ(mem("n"), left)
	LEAQ(Mem{Base: left, Disp: -1}, row)
	IMULQ(p.ldx, row)
	ADDQ(p.first, row)
	MOVQ(p.e, e)
	loop(label+"Row", left, func() {
		ei := p.t.vec()
		VBROADCASTSD(Mem{Base: e}, ei)
		for i := range sums {
			if i%(requestSteps*each) == 0 {
				p.request()
			}
			p.x.add(p.t, Mem{Base: row, Disp: i * p.t.lanes * p.x.size}, ei, sums[i])
		}
		SUBQ(p.ldx, row)
		SUBQ(Imm(8), e)
	})
	for i, v := range sums {
		VMOVUPD(v, Mem{Base: p.g, Disp: i * p.t.bytes()})
	}
	ADDQ(I32(8*width*steps), p.g)
	ADDQ(I32(steps*width*p.x.size), p.first)
}

// request prefetches the share of a round.
func (p blockSum) request() {
	for i := range p.x.gradientStreams {
		m := Mem{Base: p.pf}
		if i > 0 {
			m.Index, m.Scale = p.apart, uint8(i)
		}
		PREFETCHT1(m)
	}
	ADDQ(p.pace, p.pf)
}

// panelHeight is the number of rows of a panel of addPanels.
const panelHeight = 8

// addPanels emits g += X' e for panels of rows, each read along its rows: as many streams as rows, which the
// processor's own prefetching follows.
func addPanels(t isa, x *samples) {
	text("addPanels"+x.suffix, t,
		fmt.Sprintf("func(grad *float64, x *%s, ldx int, e *float64, d, count int, next uintptr, apart, pace int)", x.typ),
		fmt.Sprintf("adds to grad the product of %d*count rows, x and e being those of the last %[1]d, count >= 1, "+
			"d a multiple of %d, d > 0. It prefetches %d lines, apart bytes from each other, "+
			"for every %[2]d features of a panel, and moves on by pace bytes.", panelHeight, width, x.gradientStreams))
	first, e, g, left := param("x"), param("e"), GP64(), GP64()
	p := blockSum{t: t, x: x, ldx: bytesParam("ldx", x.size), pf: param("next"), apart: param("apart"), pace: param("pace")}
	xs := newRows(GP64(), p.ldx, panelHeight)
	Label("panel")
	es := t.vecs(panelHeight)
	for i := range es {
		VBROADCASTSD(Mem{Base: e, Disp: 8 * i}, es[i])
	}
	MOVQ(first, xs.base)
	MOVQ(mem("grad"), g)
	MOVQ(mem("d"), left)
	SHRQ(U8(log2(width)), left)
	loop("feature", left, func() {
		for k := 0; k < width; k += t.lanes {
			v := t.vec()
			VMOVUPD(Mem{Base: g, Disp: 8 * k}, v)
			for i := range es {
				x.add(t, xs.at(i, x.size*k), es[i], v)
			}
			VMOVUPD(v, Mem{Base: g, Disp: 8 * k})
		}
		p.request()
		ADDQ(I32(width*x.size), xs.base)
		ADDQ(I32(8*width), g)
	})
	SUBQ(I32(8*panelHeight), e)
	for range panelHeight {
		SUBQ(p.ldx, first)
	}
	DECQ(mem("count"))
	JNZ(LabelRef("panel"))
	finish()
}

// rankUpdate emits G += V B' for m vectors: every vector of G is loaded and
// stored once for all m.
func rankUpdate(t isa, m int) {
	text(fmt.Sprintf("rankUpdate_%d", m), t,
		"func(grad *float64, ldg int, v *float64, ldv int, b *float64, ldb, d, r int)",
		fmt.Sprintf("works like rankUpdateGeneric for m = %d and d a multiple of 8.", m))
	g := param("grad")
	ldg := bytesParam("ldg", 8)
	v := newRows(param("v"), bytesParam("ldv", 8), m)
	blocks := param("d")
	SHRQ(U8(log2(t.lanes)), blocks)
	gp, cols := GP64(), GP64()
	loop("block", blocks, func() {
		vs := t.vecs(m)
		for i := range vs {
			VMOVUPD(v.at(i, 0), vs[i])
		}
		MOVQ(g, gp)
		MOVQ(mem("r"), cols)
		b := param("b")
		ldb := bytesParam("ldb", 8)
		loop("column", cols, func() {
			c := t.vec()
			VMOVUPD(Mem{Base: gp}, c)
			bp := GP64()
			MOVQ(b, bp)
			for i := range vs {
				s := t.vec()
				VBROADCASTSD(Mem{Base: bp}, s)
				VFMADD231PD(vs[i], s, c)
				if i+1 < len(vs) {
					ADDQ(ldb, bp)
				}
			}
			VMOVUPD(c, Mem{Base: gp})
			ADDQ(ldg, gp)
			ADDQ(Imm(8), b)
		})
		ADDQ(I32(t.bytes()), g)
		ADDQ(I32(t.bytes()), v.base)
	})
	finish()
}

// residual emits e = A b - y and the sum of its squares.
func residual(t isa) {
	text("residual", t, "func(e, a *float64, lda int, b, y *float64, n, r int) float64",
		"works like residualGeneric for n >= 1, r >= 1.")
	e, a := param("e"), param("a")
	lda := bytesParam("lda", 8)
	y := param("y")
	blocks, tail := param("n"), param("n")
	m := t.maskFor(tail)
	SHRQ(U8(log2(t.lanes)), blocks)
	sum := t.vec()
	t.zero(sum)
	block := func(label string, io access) vector {
		s := t.vec()
		t.zero(s)
		VSUBPD(io.load(Mem{Base: y}), s, s)
		ap, bp, cols := GP64(), param("b"), param("r")
		MOVQ(a, ap)
		loop(label, cols, func() {
			bj := t.vec()
			VBROADCASTSD(Mem{Base: bp}, bj)
			VFMADD231PD(io.load(Mem{Base: ap}), bj, s)
			ADDQ(lda, ap)
			ADDQ(Imm(8), bp)
		})
		io.store(s, Mem{Base: e})
		return s
	}
	TESTQ(blocks, blocks)
	JZ(LabelRef("tail"))
	loop("block", blocks, func() {
		s := block("columns", double.whole(t))
		VFMADD231PD(s, s, sum)
		ADDQ(I32(t.bytes()), a)
		ADDQ(I32(t.bytes()), y)
		ADDQ(I32(t.bytes()), e)
	})
	Label("tail")
	TESTQ(I32(t.lanes-1), mem("n"))
	JZ(LabelRef("end"))
	s := block("tailColumns", m.masked())
	m.clear(s) // 0 * b may be NaN
	VFMADD231PD(s, s, sum)
	Label("end")
	t.finishSum([]vector{sum})
}
