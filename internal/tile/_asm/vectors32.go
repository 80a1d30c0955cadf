package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The tiles of this file are limited by memory, so that AVX-512 uses those of AVX2.

// rowDots32 emits the products of rows and a vector of float32.
func rowDots32(t isa, height int) {
	text(fmt.Sprint("rowDots32_", height), t, "func(sums, a *float32, lda int, x *float32, n int)",
		fmt.Sprintf("sets %d sums to the products of rows of a and x, n > 0.", height))
	a, x, n := newRows(param("a"), bytesParam("lda", 4), height), param("x"), param("n")
	together := 4 / height // vectors of a row, each with a sum of its own
	acc := t.vecs(4)       // of all vectors of the first row, then of the next one
	t.zero(acc...)
	t.along32(n, together, false, []reg.GPVirtual{x, a.base}, func(k int, at access) {
		v := at.load(Mem{Base: x, Disp: k * t.bytes()})
		for i := range height {
			VFMADD231PS(at.load(a.at(i, k*t.bytes())), v, acc[i*together+k])
		}
	})
	sums := param("sums")
	for i := range height {
		row := acc[i*together:][:together]
		for _, v := range row[1:] {
			VADDPS(v, row[0], row[0])
		}
		h := XMM()
		VEXTRACTF128(U8(1), row[0], h)
		VADDPS(row[0].AsX(), h, h)
		VHADDPS(h, h, h)
		VHADDPS(h, h, h)
		VMOVSS(h, Mem{Base: sums, Disp: 4 * i})
	}
	finish()
}

// addRows32 emits the addition of four rows to a vector of float32.
func addRows32(t isa) {
	text("addRows32", t, "func(y, a *float32, lda int, v *float32, n int)",
		"adds 4 rows of a times the numbers v to y, n > 0.")
	a, y, n, from := newRows(param("a"), bytesParam("lda", 4), 4), param("y"), param("n"), param("v")
	v := t.vecs(4)
	for i := range v {
		VBROADCASTSS(Mem{Base: from, Disp: 4 * i}, v[i])
	}
	add := func(_ int, to access) {
		sum := to.load(Mem{Base: y})
		for i := range v {
			VFMADD231PS(to.load(a.at(i, 0)), v[i], sum)
		}
		to.store(sum, Mem{Base: y})
	}
	t.along32(n, 1, true, []reg.GPVirtual{y, a.base}, add)
	finish()
}

// addOuter32 emits the addition of a vector of float32 to rows.
func addOuter32(t isa) {
	text("addOuter32", t, "func(a *float32, lda int, v, y *float32, m, n int)",
		"adds y times a number of v to each of m rows of a, m > 0, n > 0.")
	a, lda, v, m := param("a"), bytesParam("lda", 4), param("v"), param("m")
	loop("rows", m, func() {
		to, y, n, w := GP64(), param("y"), param("n"), t.vec()
		MOVQ(a, to)
		VBROADCASTSS(Mem{Base: v}, w)
		t.along32(n, 4, true, []reg.GPVirtual{to, y}, func(k int, at access) {
			sum := at.load(Mem{Base: to, Disp: k * t.bytes()})
			VFMADD231PS(at.load(Mem{Base: y, Disp: k * t.bytes()}), w, sum)
			at.store(sum, Mem{Base: to, Disp: k * t.bytes()})
		})
		ADDQ(lda, a)
		ADDQ(U8(4), v)
	})
	finish()
}

// along32 emits loops over n float32, of which it destroys the number: rounds of several vectors, single
// vectors, and the rest, by masks if body stores nothing, since masked stores are slow. It moves the pointers
// on.
func (t isa) along32(n reg.GPVirtual, together int, stores bool, pointers []reg.GPVirtual, body func(k int, at access)) {
	lanes := single.lanes(t)
	round := func(label string, counter reg.GPVirtual, vectors, width int, move func(...Op)) {
		loop(label, counter, func() {
			for k := range vectors {
				body(k, t.moves32(width, move))
			}
			for _, p := range pointers {
				ADDQ(I32(4*vectors*width), p)
			}
		})
	}
	widths := []int{together * lanes, lanes, 4}
	if !stores {
		widths = widths[:2]
	}
	for i, width := range widths {
		if i == 1 && together == 1 {
			continue
		}
		left, label := GP64(), fmt.Sprint("by", width)
		MOVQ(n, left)
		SHRQ(U8(log2(width)), left)
		JZ(LabelRef(label + "done"))
		round(label, left, max(width/lanes, 1), min(width, lanes), VMOVUPS)
		Label(label + "done")
		ANDQ(U8(width-1), n)
	}
	JZ(LabelRef("end"))
	if stores {
		round("by1", n, 1, 1, VMOVSS)
	} else {
		m := newMasks32(t, n, 1)[0]
		body(0, access{load: func(from Mem) vector { v := t.vec(); m.load(from, v); return v }})
	}
	Label("end")
}

// moves32 is the access to the first lanes of a vector. Loads clear the others.
func (t isa) moves32(lanes int, move func(...Op)) access {
	part := func(v vector) Op {
		if lanes <= 4 {
			return v.AsX()
		}
		return v
	}
	return access{func(a Mem) vector { v := t.vec(); move(a, part(v)); return v }, func(v vector, a Mem) { move(part(v), a) }}
}
