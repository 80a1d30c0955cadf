package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// maxBlock returns the widest block of mulTransposed, in units of 8 features:
// all of its sums stay in registers.
func maxBlock(t isa) int {
	if t == avx512 {
		return 16
	}
	return 6
}

// mulTransposed emits g = X' e for count blocks of width*8 features each: a block
// runs down all rows with its sums in registers.
func mulTransposed(t isa, f32 bool) {
	typ, suffix, size := elem(f32)
	text("mulTransposed"+suffix, t,
		fmt.Sprintf("func(grad *float64, x *%s, ldx int, e *float64, n, width, count int, next uintptr)", typ),
		fmt.Sprintf("works like mulTransposedGeneric for width*count*8 features, 1 <= width <= %d, n >= 1.", maxBlock(t)))
	g, x := param("grad"), param("x")
	ldx := bytesParam("ldx", f32)
	e, n := param("e"), param("n")
	width, count := param("width"), param("count")
	pf, pace := param("next"), GP64()
	XORQ(pace, pace)
	TESTQ(pf, pf)
	CMOVQEQ(x, pf)
	JZ(LabelRef("paced"))
	MOVQ(U32(64), pace)
	Label("paced")
	xp, ep, left := GP64(), GP64(), GP64()

	body := func(w int) {
		label := func(s string) string { return fmt.Sprintf("%s%d", s, w) }
		Label(label("block"))
		acc := t.vecs(w * 8 / t.lanes)
		t.zero(acc...)
		MOVQ(x, xp)
		MOVQ(e, ep)
		MOVQ(n, left)
		// Half as many lines as a row of the block has are prefetched with it.
		lines := (w*size/8 + 1) / 2
		step := GP64()
		MOVQ(pace, step)
		IMUL3Q(I32(lines), step, step)
		loop(label("row"), left, func() {
			b := t.vec()
			broadcast(Mem{Base: ep}, b)
			for i := range acc {
				src := Mem{Base: xp, Disp: i * t.lanes * size}
				if f32 {
					v := t.vec()
					VCVTPS2PD(src, v)
					VFMADD231PD(v, b, acc[i])
				} else {
					VFMADD231PD(src, b, acc[i])
				}
			}
			for i := range lines {
				PREFETCHT1(Mem{Base: pf, Disp: 64 * i})
			}
			ADDQ(step, pf)
			ADDQ(ldx, xp)
			ADDQ(Imm(8), ep)
		})
		for i, a := range acc {
			VMOVUPD(a, Mem{Base: g, Disp: i * t.bytes()})
		}
		ADDQ(I32(64*w), g)
		ADDQ(I32(8*size*w), x)
		DECQ(count)
		JNZ(LabelRef(label("block")))
		JMP(LabelRef("end"))
	}
	for w := 1; w < maxBlock(t); w++ {
		CMPQ(width, I32(w))
		JEQ(LabelRef(fmt.Sprintf("block%d", w)))
	}
	for w := maxBlock(t); w > 0; w-- {
		body(w)
	}
	Label("end")
	finish()
}

// rankUpdate emits G += V B' for m vectors: every vector of G is loaded and
// stored once for all m.
func rankUpdate(t isa, m int) {
	text(fmt.Sprintf("rankUpdate_%d", m), t,
		"func(grad *float64, ldg int, v *float64, ldv int, b *float64, ldb, d, r int)",
		fmt.Sprintf("works like rankUpdateGeneric for m = %d and d a multiple of 8.", m))
	g := param("grad")
	ldg := bytesParam("ldg", false)
	v := newRows(param("v"), bytesParam("ldv", false), m)
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
		ldb := bytesParam("ldb", false)
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
	lda := bytesParam("lda", false)
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
