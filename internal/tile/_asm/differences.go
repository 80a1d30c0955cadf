package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sumDifferences emits the weighted sum of the differences of rows from a row: eight vectors
// of entries at a time, and then one, over all rows. Every operation rounds.
func sumDifferences(t isa) {
	text("sumDifferences", t, "func(sum, x *float64, ldx int, own int, rows *int, w *float64, count, n int)",
		"works like sumDifferencesGeneric for n a multiple of 8, count > 0.")
	d := differences{t: t, sum: param("sum"), x: param("x"), ldx: bytesParam("ldx", 8), own: param("own"), n: param("n")}
	IMULQ(d.ldx, d.own)
	ADDQ(d.x, d.own)
	const wide = 8
	for _, vectors := range []int{wide, 1} {
		label := map[int]string{wide: "wide", 1: "narrow"}[vectors]
		Label(label)
		CMPQ(d.n, Imm(uint64(vectors*t.lanes)))
		JL(LabelRef(label + "End"))
		d.block(label+"Row", vectors)
		JMP(LabelRef(label))
		Label(label + "End")
	}
	finish()
}

type differences struct {
	t                   isa
	sum, x, ldx, own, n reg.GPVirtual
}

// block sums the given number of vectors of entries, and moves on.
func (d differences) block(label string, vectors int) {
	acc := d.t.vecs(vectors)
	d.t.zero(acc...)
	rows, w, count := param("rows"), param("w"), param("count")
	loop(label, count, func() {
		row, s := GP64(), d.t.vec()
		MOVQ(Mem{Base: rows}, row)
		IMULQ(d.ldx, row)
		ADDQ(d.x, row)
		VBROADCASTSD(Mem{Base: w}, s)
		for i := range acc {
			at, v := i*d.t.bytes(), d.t.vec()
			VMOVUPD(Mem{Base: row, Disp: at}, v)
			VSUBPD(Mem{Base: d.own, Disp: at}, v, v)
			VMULPD(s, v, v)
			VADDPD(v, acc[i], acc[i])
		}
		ADDQ(Imm(8), rows)
		ADDQ(Imm(8), w)
	})
	for i, v := range acc {
		VMOVUPD(v, Mem{Base: d.sum, Disp: i * d.t.bytes()})
	}
	for _, p := range []reg.GPVirtual{d.sum, d.x, d.own} {
		ADDQ(I32(vectors*d.t.bytes()), p)
	}
	SUBQ(Imm(uint64(vectors*d.t.lanes)), d.n)
}
