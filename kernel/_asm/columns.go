package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// A columnLoop runs down m rows of a vector x and of some columns, whole
// vectors first and the masked rest of the rows then.
type columnLoop struct {
	t    isa
	m    mask
	tail Mem // m, of which the remainder by the lanes counts
}

// An access loads from and stores to addresses, whole vectors or the rest of the rows.
type access struct {
	load  func(Mem) vector
	store func(vector, Mem)
}

func (l columnLoop) whole() access {
	return access{func(a Mem) vector {
		v := l.t.vec()
		VMOVUPD(a, v)
		return v
	}, func(v vector, a Mem) { VMOVUPD(v, a) }}
}

func (l columnLoop) masked() access {
	return access{func(a Mem) vector {
		v := l.t.vec()
		l.m.load(a, v)
		return v
	}, func(v vector, a Mem) { l.m.store(v, a) }}
}

// run emits the loop. next moves on to the next rows.
func (l columnLoop) run(label string, body func(io access), next func()) {
	t := l.t
	blocks := param("m")
	SHRQ(U8(log2(t.lanes)), blocks)
	JZ(LabelRef(label + "Tail"))
	loop(label, blocks, func() {
		body(l.whole())
		next()
	})
	Label(label + "Tail")
	TESTQ(I32(t.lanes-1), l.tail)
	JZ(LabelRef(label + "Done"))
	body(l.masked())
	Label(label + "Done")
}

func newColumnLoop(t isa) columnLoop {
	return columnLoop{t: t, m: t.maskFor(param("m")), tail: mem("m")}
}

// columnProducts emits s_j = x'c_j, four columns at a time.
func columnProducts(t isa) {
	text("columnProducts", t, "func(s, x, c *float64, ldc, cols, m int)",
		"stores the inner products of x with each of cols columns, m >= 1.")
	l := newColumnLoop(t)
	sum := t.newReducer()
	s, c := param("s"), param("c")
	ldc := bytesParam("ldc", 8)
	cp := newRows(GP64(), ldc, 4)
	xp := GP64()
	group := func(n int, label string) {
		acc := t.vecs(n)
		t.zero(acc...)
		MOVQ(mem("x"), xp)
		MOVQ(c, cp.base)
		l.run(label, func(io access) {
			x := io.load(Mem{Base: xp})
			for j := range acc {
				VFMADD231PD(io.load(cp.at(j, 0)), x, acc[j])
			}
		}, func() {
			ADDQ(I32(t.bytes()), xp)
			ADDQ(I32(t.bytes()), cp.base)
		})
		if n == 4 {
			VMOVUPD(sum.sum4(acc).AsY(), Mem{Base: s})
		} else {
			VMOVSD(sum.sum1(acc[0]).AsX(), Mem{Base: s})
		}
		ADDQ(I32(8*n), s)
		for range n {
			ADDQ(ldc, c)
		}
		SUBQ(I32(n), mem("cols"))
	}
	eachGroup(group)
}

// columnUpdate emits c_j -= f_j x, four columns at a time.
func columnUpdate(t isa) {
	text("columnUpdate", t, "func(c *float64, ldc int, x, f *float64, cols, m int)",
		"subtracts f[j] times x from each of cols columns, m >= 1.")
	l := newColumnLoop(t)
	f, c := param("f"), param("c")
	ldc := bytesParam("ldc", 8)
	cp := newRows(GP64(), ldc, 4)
	xp := GP64()
	eachGroup(func(n int, label string) {
		fs := t.vecs(n)
		for j := range fs {
			VBROADCASTSD(Mem{Base: f, Disp: 8 * j}, fs[j])
		}
		MOVQ(mem("x"), xp)
		MOVQ(c, cp.base)
		l.run(label, func(io access) {
			x := io.load(Mem{Base: xp})
			for j := range fs {
				v := io.load(cp.at(j, 0))
				VFNMADD231PD(fs[j], x, v)
				io.store(v, cp.at(j, 0))
			}
		}, func() {
			ADDQ(I32(t.bytes()), xp)
			ADDQ(I32(t.bytes()), cp.base)
		})
		ADDQ(I32(8*n), f)
		for range n {
			ADDQ(ldc, c)
		}
		SUBQ(I32(n), mem("cols"))
	})
}

// eachGroup emits groups of four columns and then of one.
func eachGroup(group func(n int, label string)) {
	Label("fours")
	CMPQ(mem("cols"), I8(4))
	JL(LabelRef("ones"))
	group(4, "four")
	JMP(LabelRef("fours"))
	Label("ones")
	CMPQ(mem("cols"), I8(0))
	JE(LabelRef("end"))
	group(1, "one")
	JMP(LabelRef("ones"))
	Label("end")
	finish()
}

// columnScale emits x *= f.
func columnScale(t isa) {
	text("columnScale", t, "func(x *float64, f float64, m int)", "multiplies x by f, m >= 1.")
	l := newColumnLoop(t)
	x, f := param("x"), t.vec()
	VBROADCASTSD(mem("f"), f)
	l.run("row", func(io access) {
		v := io.load(Mem{Base: x})
		VMULPD(f, v, v)
		io.store(v, Mem{Base: x})
	}, func() { ADDQ(I32(t.bytes()), x) })
	finish()
}
