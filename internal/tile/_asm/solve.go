package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// leastSquares emits the solution of one task. The columns of [A y] and three zero columns are copied to
// work, each padded with zeros to a multiple of 8; the rows of the factor F follow. Columns are updated in
// groups of four, from the next pivot on. The same pass computes their products with that pivot: one pass
// over the matrix is one step of the elimination.
func leastSquares(t isa) {
	text("leastSquares", t, "func(b, a *float64, lda, n, r int, y, work *float64, next uintptr, pace int, apart float64) (lo, hi float64)",
		"works like leastSquaresGeneric for n >= 1, r >= 1 and apart = SetApart(n, r), "+
			"and prefetches from next on, pace bytes for each four columns of a vector.")
	s := solver{t: t, sum: t.newReducer()}
	s.height = param("n")
	ADDQ(Imm(7), s.height)
	ANDQ(I8(-8), s.height)
	SHLQ(U8(3), s.height) // bytes of a column in work
	s.col = param("work")
	s.copyIn()

	// f: rows of F, each of r+4 entries, after the columns.
	s.f = param("r")
	ADDQ(Imm(4), s.f)
	IMULQ(s.height, s.f)
	ADDQ(mem("work"), s.f)
	s.lo = XMM()
	if t.evex {
		s.nonzero = K()
	} else {
		s.nonzero = YMM()
	}
	s.group, s.fp = GP64(), GP64()
	s.cols = newRows(GP64(), s.height, 4)
	s.pf = param("next")
	s.first()
	s.eliminate()
	s.substitute()
	VMOVSD(s.lo, slot("lo"))
	finish()
}

type solver struct {
	t       isa
	sum     reducer
	height  reg.GPVirtual // bytes of a column
	col     reg.GPVirtual // the pivot column
	f       reg.GPVirtual // row of F that belongs to the pivot, at the pivot's entry
	lo      reg.VecVirtual
	pivot   reg.VecVirtual // its squared norm in all lanes
	apart   reg.VecVirtual // what a pivot must exceed
	nonzero reg.Register   // the lanes of a row of F that are not zero: all, or none

	group, fp reg.GPVirtual
	pf        reg.GPVirtual // next line to prefetch
	cols      rows          // of columns in work
}

// copyIn copies A and y to work and clears three columns behind. The squares of A are hi.
func (s *solver) copyIn() {
	t := s.t
	src, dst := param("a"), param("work")
	lda := bytesParam("lda", 8)
	tail, n := param("n"), param("n")
	m := t.maskFor(tail)
	// left counts blocks of eight rows; the last one is masked (a full mask would be
	// zero, so that it is taken apart).
	cols := param("r")
	squares, own := t.vec(), t.vec() // of all columns, and of the one in work
	t.zero(squares)
	column := func(label string, add func(v vector)) {
		from, left := GP64(), GP64()
		MOVQ(src, from)
		MOVQ(n, left)
		SHRQ(U8(log2(t.lanes)), left)
		JZ(LabelRef(label + "Tail"))
		loop(label+"Block", left, func() {
			v := t.vec()
			VMOVUPD(Mem{Base: from}, v)
			VMOVUPD(v, Mem{Base: dst})
			add(v)
			ADDQ(I32(t.bytes()), from)
			ADDQ(I32(t.bytes()), dst)
		})
		Label(label + "Tail")
		TESTQ(U32(7), n)
		JZ(LabelRef(label + "Done"))
		s.copyTail(label, from, dst, n, m, add)
		Label(label + "Done")
	}
	loop("copy", cols, func() {
		t.zero(own)
		column("copyColumn", func(v vector) { VFMADD231PD(v, v, own) })
		VADDPD(own, squares, squares)
		ADDQ(lda, src)
	})
	MOVQ(mem("y"), src)
	column("copyY", func(vector) {})
	z := t.vec()
	t.zero(z)
	left := GP64()
	LEAQ(Mem{Base: s.height, Index: s.height, Scale: 2}, left)
	SHRQ(U8(log2(t.bytes())), left)
	loop("clear", left, func() {
		VMOVUPD(z, Mem{Base: dst})
		ADDQ(I32(t.bytes()), dst)
	})
	all := s.sum.sum1(squares).AsX()
	VMOVSD(all, slot("hi"))
	s.apart = XMM()
	VMULSD(mem("apart"), all, s.apart)
}

// copyTail copies the rows after the last full vector and fills up with zeros.
func (s *solver) copyTail(label string, from, dst, n reg.GPVirtual, m mask, add func(v vector)) {
	t := s.t
	v := t.vec()
	if t.evex {
		m.load(Mem{Base: from}, v)
		VMOVUPD(v, Mem{Base: dst})
		add(v)
		ADDQ(Imm(64), dst)
		return
	}
	z := t.vec()
	t.zero(z)
	TESTQ(U32(3), n)
	JZ(LabelRef(label + "Upper"))
	m.load(Mem{Base: from}, v)
	VMOVUPD(v, Mem{Base: dst})
	add(v)
	ADDQ(Imm(32), dst)
	TESTQ(U32(4), n)
	JNZ(LabelRef(label + "Done"))
	Label(label + "Upper")
	VMOVUPD(z, Mem{Base: dst})
	ADDQ(Imm(32), dst)
}

// first takes the inner products of the first column with all.
func (s *solver) first() {
	t := s.t
	MOVQ(s.col, s.cols.base)
	MOVQ(s.f, s.fp)
	MOVQ(mem("r"), s.group)
	ADDQ(Imm(4), s.group) // ceil((r+1)/4) groups
	SHRQ(U8(2), s.group)
	s.pivot = YMM()
	loopWith := func(label string, lead bool) {
		acc := t.vecs(4)
		t.zero(acc...)
		xp, left := s.column()
		loop(label, left, func() {
			x := t.vec()
			VMOVUPD(Mem{Base: xp}, x)
			for j := range acc {
				VFMADD231PD(s.cols.at(j, 0), x, acc[j])
			}
			ADDQ(I32(t.bytes()), xp)
			ADDQ(I32(t.bytes()), s.cols.base)
		})
		s.finishGroup(acc, lead)
	}
	loopWith("firstLead", true)
	VMOVAPD(s.pivot.AsX(), s.lo)
	DECQ(s.group)
	JZ(LabelRef("firstDone"))
	Label("firstGroup")
	loopWith("firstRest", false)
	DECQ(s.group)
	JNZ(LabelRef("firstGroup"))
	Label("firstDone")
}

// column returns the pivot column and how many vectors it has.
func (s *solver) column() (at, vectors reg.GPVirtual) {
	at, vectors = GP64(), GP64()
	MOVQ(s.col, at)
	MOVQ(s.height, vectors)
	SHRQ(U8(log2(s.t.bytes())), vectors)
	return at, vectors
}

// finishGroup divides the inner products of a group by the pivot's, the first of the leading group, or sets
// them to zero if the pivot is dropped. It stores them as part of a row of F, with the pivot on the diagonal,
// and moves on by four columns.
func (s *solver) finishGroup(acc []reg.VecVirtual, lead bool) {
	v := s.sum.sum4(acc)
	q := YMM()
	if lead {
		VBROADCASTSD(v.AsX(), s.pivot)
		const notLessOrEqual = 6 // or NaN
		VBROADCASTSD(s.apart, q)
		VCMPPD(U8(notLessOrEqual), q, s.pivot, s.nonzero)
	}
	if s.t.evex {
		VDIVPD_Z(s.pivot, v.AsY(), s.nonzero, q)
	} else {
		VDIVPD(s.pivot, v.AsY(), q)
		VANDPD(s.nonzero, q, q)
	}
	VMOVUPD(q, Mem{Base: s.fp})
	if lead {
		VMOVSD(s.pivot.AsX(), Mem{Base: s.fp})
	}
	ADDQ(Imm(32), s.fp)
	// The base has run down one column.
	LEAQ(Mem{Base: s.cols.base, Index: s.cols.odd[3], Scale: 1}, s.cols.base)
}

// eliminate runs the steps k = 0 to r-2.
func (s *solver) eliminate() {
	steps := param("r")
	DECQ(steps)
	JZ(LabelRef("eliminated"))
	left := AllocLocal(8)
	MOVQ(steps, left)
	row := param("r") // bytes of a row of F and one entry
	ADDQ(Imm(5), row)
	SHLQ(U8(3), row)

	Label("step")
	MOVQ(s.col, s.cols.base)
	ADDQ(s.height, s.cols.base)
	// Rows of F: fo of this pivot, from the next column on; fp of the next.
	fo := GP64()
	LEAQ(Mem{Base: s.f, Disp: 8}, fo)
	ADDQ(row, s.f)
	MOVQ(s.f, s.fp)
	MOVQ(left, s.group) // columns k+1 to r: left+1 of them
	ADDQ(Imm(4), s.group)
	SHRQ(U8(2), s.group)
	s.pass("lead", fo, true)
	// NaN in the pivot ends in lo.
	VMINSD(s.pivot.AsX(), s.lo, s.lo)
	DECQ(s.group)
	JZ(LabelRef("stepped"))
	Label("group")
	s.pass("rest", fo, false)
	DECQ(s.group)
	JNZ(LabelRef("group"))
	Label("stepped")
	ADDQ(s.height, s.col)
	DECQ(left)
	JNZ(LabelRef("step"))
	Label("eliminated")
}

// pass updates a group of four columns by the factors at fo, which it moves on, and
// multiplies them by the next pivot: the first of them, if the group leads.
func (s *solver) pass(label string, fo reg.GPVirtual, lead bool) {
	t := s.t
	acc, f := t.vecs(4), t.vecs(4)
	t.zero(acc...)
	for j := range f {
		VBROADCASTSD(Mem{Base: fo, Disp: 8 * j}, f[j])
	}
	ADDQ(Imm(32), fo)
	xp, left := s.column()
	loop(label, left, func() {
		x, next := t.vec(), t.vec()
		VMOVUPD(Mem{Base: xp}, x)
		if !lead {
			VMOVUPD(Mem{Base: xp, Index: s.height, Scale: 1}, next)
		}
		for i := range t.lanes / 4 {
			PREFETCHT1(Mem{Base: s.pf, Disp: 64 * i})
		}
		ADDQ(mem("pace"), s.pf)
		for j := range acc {
			c := t.vec()
			if lead && j == 0 {
				c = next
			}
			VMOVUPD(s.cols.at(j, 0), c)
			VFNMADD231PD(x, f[j], c)
			VMOVUPD(c, s.cols.at(j, 0))
			VFMADD231PD(c, next, acc[j])
		}
		ADDQ(I32(t.bytes()), xp)
		ADDQ(I32(t.bytes()), s.cols.base)
	})
	s.finishGroup(acc, lead)
}

// substitute solves F b = f_y. On entry f is at the last pivot's entry of the last
// row. Row k is worked off from the right, so that only its last product waits
// for the coefficient before.
func (s *solver) substitute() {
	b, r := param("b"), param("r")
	row := GP64()
	LEAQ(Mem{Base: r, Disp: 5}, row)
	SHLQ(U8(3), row)
	last := GP64() // products of the present row
	XORQ(last, last)
	end := GP64() // entry of y in the row
	LEAQ(Mem{Base: s.f, Disp: 8}, end)
	LEAQ(Mem{Base: b, Index: r, Scale: 8, Disp: -8}, b) // b[r-1]
	top := GP64()
	MOVQ(b, top)
	loop("coefficient", r, func() {
		v := XMM()
		VMOVSD(Mem{Base: end}, v)
		fp, bp, left := GP64(), GP64(), GP64()
		MOVQ(end, fp)
		MOVQ(top, bp)
		MOVQ(last, left)
		TESTQ(left, left)
		JZ(LabelRef("solved"))
		loop("product", left, func() {
			w := XMM()
			VMOVSD(Mem{Base: fp, Disp: -8}, w)
			VFNMADD231SD(Mem{Base: bp}, w, v)
			SUBQ(Imm(8), fp)
			SUBQ(Imm(8), bp)
		})
		Label("solved")
		VMOVSD(v, Mem{Base: b})
		SUBQ(Imm(8), b)
		INCQ(last)
		SUBQ(row, end)
		ADDQ(Imm(8), end)
	})
}
