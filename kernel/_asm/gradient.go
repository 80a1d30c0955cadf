package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// maxRows is the largest number of rows of a panel of mulTransposed: their entries
// of e stay in registers.
const maxRows = 8

// moreStreams is how many times as many streams mulTransposed prefetches in if it is to
// prefetch most of a task. Package tile has the same number.
const moreStreams = 3

// mulTransposed emits g = X' e for count panels of height rows each. A panel is
// read along its rows, so that few pages are in use at a time: the hardware follows
// only so many streams, and one of them is the prefetch of the next task. Panels
// are taken from the last one up: the last rows are what mulBasis has just left in
// the first-level cache.
func mulTransposed(t isa, x *samples) {
	text("mulTransposed"+x.suffix, t,
		fmt.Sprintf("func(grad *%[1]s, x *%[2]s, ldx int, e *%[1]s, d, height, count int, add bool, next uintptr, apart, pace int, more bool)", x.in.typ, x.typ),
		fmt.Sprintf("sets or adds to grad the product of height*count rows, x and e being those of the last height ones, 1 <= height <= %d, count >= 1, d a multiple of %[2]d, d > 0. "+
			"It prefetches %[3]d, or %[4]d times as many, lines, apart bytes from each other, for every %[2]d features of height rows, and moves on by pace bytes.", maxRows, x.step(), x.gradientStreams, moreStreams))
	first := param("x")
	ldx := bytesParam("ldx", x.size)
	p := gradientPanel{t: t, x: x, first: first, ldx: ldx, e: param("e"), g: GP64(), left: GP64()}
	p.pf, p.apart, p.pace = param("next"), param("apart"), param("pace")
	p.xs = newRows(GP64(), ldx, maxRows)
	CMPB(mem("more"), I8(0))
	JNE(LabelRef("more"))
	p.panels("")
	Label("more")
	p.far = make([]reg.GPVirtual, moreStreams-1)
	base := p.pf
	for i := range p.far {
		p.far[i] = GP64()
		LEAQ(Mem{Base: base, Index: p.apart, Scale: uint8(x.gradientStreams)}, p.far[i])
		base = p.far[i]
	}
	p.panels("more")
}

// panels emits the loops over panels of any height and the end of the function.
func (p gradientPanel) panels(prefix string) {
	for h := 1; h < maxRows; h++ {
		CMPQ(mem("height"), I8(h))
		JEQ(LabelRef(fmt.Sprintf("%spanel%d", prefix, h)))
	}
	for h := maxRows; h > 0; h-- {
		p.emit(prefix, h)
	}
	Label(prefix + "end")
	finish()
}

type gradientPanel struct {
	t          isa
	x          *samples
	first, ldx reg.GPVirtual   // the panel's first row
	e          reg.GPVirtual   // its entry of e
	xs         rows            // running along d
	g          reg.GPVirtual   // running along the sum
	pf         reg.GPVirtual   // next line to prefetch in the first stream
	far        []reg.GPVirtual // the same in the first of as many other streams
	apart      reg.GPVirtual   // from one stream to the next
	pace       reg.GPVirtual   // how far a round moves on
	left       reg.GPVirtual
}

// emit emits the loop over panels of one height.
func (p gradientPanel) emit(prefix string, height int) {
	label := func(s string) string { return fmt.Sprintf("%s%s%d", prefix, s, height) }
	Label(label("panel"))
	es := p.t.vecs(height)
	for i := range es {
		p.x.in.broadcast(Mem{Base: p.e, Disp: p.x.in.size * i}, es[i])
	}
	MOVQ(p.first, p.xs.base)
	MOVQ(mem("grad"), p.g)
	MOVQ(mem("d"), p.left)
	SHRQ(U8(log2(p.x.step())), p.left)
	features := func(add bool) func() {
		return func() {
			p.features(es, add)
			p.request()
			ADDQ(I32(p.x.step()*p.x.size), p.xs.base)
			ADDQ(I32(64), p.g)
		}
	}
	CMPB(mem("add"), I8(0))
	JNE(LabelRef(label("more")))
	loop(label("first"), p.left, features(false))
	MOVB(I8(1), mem("add"))
	JMP(LabelRef(label("next")))
	Label(label("more"))
	loop(label("feature"), p.left, features(true))
	Label(label("next"))
	SUBQ(I32(p.x.in.size*height), p.e)
	for range height {
		SUBQ(p.ldx, p.first)
	}
	DECQ(mem("count"))
	JNZ(LabelRef(label("panel")))
	JMP(LabelRef(prefix + "end"))
}

// request prefetches the share of a round.
func (p gradientPanel) request() {
	for _, base := range append([]reg.GPVirtual{p.pf}, p.far...) {
		for i := range p.x.gradientStreams {
			m := Mem{Base: base}
			if i > 0 {
				m.Index, m.Scale = p.apart, uint8(i)
			}
			PREFETCHT1(m)
		}
		ADDQ(p.pace, base)
	}
}

// features sets, or adds to, a round of entries of the sum.
func (p gradientPanel) features(es []vector, add bool) {
	in := p.x.in
	for k := 0; k < p.x.step(); k += in.lanes(p.t) {
		v := p.t.vec()
		if add {
			in.move(Mem{Base: p.g, Disp: in.size * k}, v)
		}
		for i := range es {
			src := Op(p.xs.at(i, p.x.size*k))
			if p.x.convert != nil {
				w := p.t.vec()
				p.x.convert(src, w)
				src = w
			}
			if i == 0 && !add {
				in.mul(src, es[i], v)
			} else {
				in.fma(src, es[i], v)
			}
		}
		in.move(v, Mem{Base: p.g, Disp: in.size * k})
	}
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
	block := func(label string, load func(src Mem) vector, store func(v vector)) {
		s := t.vec()
		t.zero(s)
		VSUBPD(load(Mem{Base: y}), s, s)
		ap, bp, cols := GP64(), param("b"), param("r")
		MOVQ(a, ap)
		loop(label, cols, func() {
			bj := t.vec()
			VBROADCASTSD(Mem{Base: bp}, bj)
			VFMADD231PD(load(Mem{Base: ap}), bj, s)
			ADDQ(lda, ap)
			ADDQ(Imm(8), bp)
		})
		store(s)
		VFMADD231PD(s, s, sum)
	}
	TESTQ(blocks, blocks)
	JZ(LabelRef("tail"))
	loop("block", blocks, func() {
		block("columns", func(src Mem) vector {
			v := t.vec()
			VMOVUPD(src, v)
			return v
		}, func(v vector) { VMOVUPD(v, Mem{Base: e}) })
		ADDQ(I32(t.bytes()), a)
		ADDQ(I32(t.bytes()), y)
		ADDQ(I32(t.bytes()), e)
	})
	Label("tail")
	TESTQ(I32(t.lanes-1), mem("n"))
	JZ(LabelRef("end"))
	block("tailColumns", func(src Mem) vector {
		v := t.vec()
		m.load(src, v)
		return v
	}, func(v vector) {
		m.store(v, Mem{Base: e})
		m.clear(v) // 0 * b may be NaN
	})
	Label("end")
	s := t.newReducer().sum1(sum)
	Store(s.AsX(), ReturnIndex(0))
	finish()
}
