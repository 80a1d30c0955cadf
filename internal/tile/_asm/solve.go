package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// leastSquares emits the solution of one task. The columns of [A y] and three zero columns are copied to
// work, each padded with zeros to a multiple of 8; the rows of the factor F follow. Columns are updated in
// groups of four, from the next pivot on. The same pass computes their products with that pivot: one pass
// over the matrix is one step of the elimination.
func leastSquares(t isa) {
	text("leastSquares", t, "func(b, a *float64, lda, n, r int, y, work *float64, "+
		"next uintptr, pace int, apart float64) (lo, hi float64)",
		"works like leastSquaresGeneric for n >= 1, r >= 1 and apart = SetApart(n, r), "+
			"and prefetches from next on, pace bytes for each four columns of eight rows.")
	s := solver{t: t, sum: t.newReducer(), height: param("n"), col: param("work")}
	ADDQ(Imm(7), s.height)
	ANDQ(I8(-8), s.height)
	SHLQ(U8(3), s.height) // bytes of a column in work
	s.copyIn()

	// f: rows of F, each of r+4 entries, after the columns.
	s.f = param("r")
	ADDQ(Imm(4), s.f)
	IMULQ(s.height, s.f)
	ADDQ(mem("work"), s.f)
	s.group, s.fp = GP64(), GP64()
	s.cols = newRows(GP64(), s.height, 4)
	if t.evex {
		s.mask = K()
	}
	s.pf = param("next")
	s.first()
	s.eliminate()
	s.substitute()
	finish()
}

type solver struct {
	t      isa
	sum    reducer
	height reg.GPVirtual // bytes of a column
	col    reg.GPVirtual // the pivot column
	f      reg.GPVirtual // row of F that belongs to the pivot, at the pivot's entry

	// On the stack, since AVX2 has few registers: what the square of a pivot must exceed, one, and the
	// inverse of that square.
	apart, one, inverse Mem
	// The lanes of a row of F that are not zero, all or none: a mask of AVX-512, or 64 bits on the stack.
	mask reg.Register
	bits Mem

	group, fp reg.GPVirtual
	pf        reg.GPVirtual // next line to prefetch
	cols      rows          // of columns in work
}

// copyIn copies A and y to work and clears three columns behind. The squares of A are hi.
func (s *solver) copyIn() {
	t := s.t
	src, dst, lda, cols, n := param("a"), param("work"), bytesParam("lda", 8), param("r"), param("n")
	last := s.lastRows()
	squares, own := t.zeros(t.dotRegisters()), t.vecs(t.dotRegisters()) // of all columns, and of one
	column := func(label string, add func(k int, v vector)) {
		from, left := fresh(src), fresh(n)
		next := func(k int, v vector) {
			VMOVUPD(v, Mem{Base: dst, Disp: k * t.bytes()})
			add(k, v)
		}
		SHRQ(U8(log2(dotLanes)), left)
		repeat(label+"Block", left, func() {
			for k := range own {
				next(k, t.load(Mem{Base: from, Disp: k * t.bytes()}))
			}
			advance(8*dotLanes, from, dst)
		})
		TESTQ(U32(dotLanes-1), n)
		JZ(LabelRef(label + "Done"))
		for k, rows := range last {
			next(k, rows.load(Mem{Base: from, Disp: k * t.bytes()})) // or zeros
		}
		advance(8*dotLanes, dst)
		Label(label + "Done")
	}
	loop("copy", cols, func() {
		t.zero(own...)
		column("copyColumn", func(k int, v vector) { VFMADD231PD(v, v, own[k]) })
		for k := range own {
			VADDPD(own[k], squares[k], squares[k])
		}
		ADDQ(lda, src)
	})
	MOVQ(mem("y"), src)
	column("copyY", func(int, vector) {})
	z, left := t.zeros(1), sum(s.height, s.height, 2, 0)
	SHRQ(U8(log2(t.bytes())), left)
	loop("clear", left, func() {
		t.store(dst, z...)
		advance(t.bytes(), dst)
	})
	all := s.sum.dotSum(addRegisters(squares, 1)[0])
	VMOVSD(all, slot("hi"))
	VMULSD(mem("apart"), all, all)
	s.apart, s.inverse, s.bits = AllocLocal(8), AllocLocal(8), AllocLocal(8)
	s.one = local(fresh(U64(math.Float64bits(1))))
	VMOVSD(all, s.apart)
}

// lastRows returns the access to the rows behind the last multiple of dotLanes, in each register of them.
func (s *solver) lastRows() (last []access) {
	t, left := s.t, param("n")
	ANDQ(U8(dotLanes-1), left)
	for range t.dotRegisters() {
		rows, all := fresh(left), fresh(U32(t.lanes))
		CMPQ(rows, all)
		CMOVQGT(all, rows)
		SUBQ(rows, left)
		last = append(last, double.firstLanes(t, rows))
	}
	return last
}

// first takes the inner products of the first column with all.
func (s *solver) first() {
	MOVQ(s.col, s.cols.base)
	MOVQ(s.f, s.fp)
	MOVQ(mem("r"), s.group)
	s.groups("first", func(label string, lead bool) {
		acc := s.t.zeros(4 * s.t.dotRegisters())
		xp, left := s.column()
		loop(label, left, func() {
			for k := range s.t.dotRegisters() {
				x := s.t.load(Mem{Base: xp, Disp: k * s.t.bytes()})
				for j, sum := range acc[4*k:][:4] {
					VFMADD231PD(s.cols.at(j, k*s.t.bytes()), x, sum)
				}
			}
			advance(8*dotLanes, xp, s.cols.base)
		})
		s.finishGroup(acc, lead)
		if lead {
			lo := XMM()
			VMOVSD(Mem{Base: s.f}, lo)
			VMOVSD(lo, slot("lo"))
		}
	})
}

// groups emits body for the leading group of columns and, as a loop, for later groups, given one column less
// than there are.
func (s *solver) groups(label string, body func(label string, lead bool)) {
	ADDQ(Imm(4), s.group)
	SHRQ(U8(2), s.group)
	body(label+"Lead", true)
	DECQ(s.group)
	JZ(LabelRef(label + "Done"))
	loop(label+"Group", s.group, func() { body(label+"Rest", false) })
	Label(label + "Done")
}

// column returns the pivot column and how many times dotLanes rows it has.
func (s *solver) column() (at, steps reg.GPVirtual) {
	at, steps = fresh(s.col), fresh(s.height)
	SHRQ(U8(log2(8*dotLanes)), steps)
	return at, steps
}

// finishGroup divides the inner products of a group by the pivot's, the first of the leading group. If the
// pivot is dropped it sets them to zero. It stores them as part of a row of F, with the pivot on the
// diagonal, and moves on by four columns. It multiplies by the inverse of the pivot, as the tiles of small
// tasks do.
func (s *solver) finishGroup(acc []vector, lead bool) {
	v := s.sum.dotSums(addRegisters(acc, 4))
	inverse, q := YMM(), YMM()
	if lead {
		s.startRow(v, inverse)
	} else {
		VBROADCASTSD(s.inverse, inverse)
	}
	if s.t.evex {
		VMULPD_Z(inverse, v.AsY(), s.mask, q)
	} else {
		nonzero := s.t.broadcast(s.bits)
		VMULPD(inverse, v, q)
		VANDPD(nonzero, q, q)
	}
	VMOVUPD(q, Mem{Base: s.fp})
	if lead {
		VMOVSD(v.AsX(), Mem{Base: s.fp})
	}
	ADDQ(Imm(32), s.fp)
	// The base has run down one column.
	LEAQ(Mem{Base: s.cols.base, Index: s.cols.odd[3], Scale: 1}, s.cols.base)
}

// startRow inverts the square of the pivot, the first lane of v. It keeps the inverse, and which lanes of the
// row are not zero, for the other groups of the row.
func (s *solver) startRow(v, inverse vector) {
	pivot, apart := YMM(), YMM()
	VMOVSD(s.one, inverse.AsX())
	VDIVSD(v.AsX(), inverse.AsX(), inverse.AsX())
	VMOVSD(inverse.AsX(), s.inverse)
	VBROADCASTSD(inverse.AsX(), inverse)
	VBROADCASTSD(v.AsX(), pivot)
	VBROADCASTSD(s.apart, apart)
	const notLessOrEqual = 6 // or NaN
	if s.t.evex {
		VCMPPD(U8(notLessOrEqual), apart, pivot, s.mask)
		return
	}
	VCMPPD(U8(notLessOrEqual), apart, pivot, apart)
	VMOVSD(apart.AsX(), s.bits)
}

// eliminate runs the steps k = 0 to r-2.
func (s *solver) eliminate() {
	steps, row := param("r"), param("r") // bytes of a row of F and one entry
	DECQ(steps)
	JZ(LabelRef("eliminated"))
	left := local(steps)
	ADDQ(Imm(5), row)
	SHLQ(U8(3), row)
	Label("step")
	MOVQ(s.col, s.cols.base)
	ADDQ(s.height, s.cols.base)
	// Rows of F: fo of this pivot, from the next column on; fp of the next.
	fo := fresh(s.f)
	advance(8, fo)
	ADDQ(row, s.f)
	MOVQ(s.f, s.fp)
	MOVQ(left, s.group) // columns k+1 to r: left+1 of them
	s.groups("step", func(label string, lead bool) {
		s.pass(label, fo, lead)
		if lead {
			lo := XMM()
			VMOVSD(slot("lo"), lo)
			VMINSD(Mem{Base: s.f}, lo, lo) // NaN in the pivot ends in lo
			VMOVSD(lo, slot("lo"))
		}
	})
	ADDQ(s.height, s.col)
	DECQ(left)
	JNZ(LabelRef("step"))
	Label("eliminated")
}

// pass updates a group of four columns by the factors at fo, which it moves on, and
// multiplies them by the next pivot: the first of them, if the group leads.
func (s *solver) pass(label string, fo reg.GPVirtual, lead bool) {
	t := s.t
	acc, f := t.zeros(4*t.dotRegisters()), double.broadcasts(t, fo, 4)
	advance(32, fo)
	xp, left := s.column()
	loop(label, left, func() {
		PREFETCHT1(Mem{Base: s.pf})
		PREFETCHT1(Mem{Base: s.pf, Disp: 64})
		ADDQ(mem("pace"), s.pf)
		for k := range t.dotRegisters() {
			x, next, disp := t.load(Mem{Base: xp, Disp: k * t.bytes()}), t.vec(), k*t.bytes()
			if !lead {
				VMOVUPD(Mem{Base: xp, Index: s.height, Scale: 1, Disp: disp}, next)
			}
			for j, sum := range acc[4*k:][:4] {
				c := t.vec()
				if lead && j == 0 {
					c = next
				}
				VMOVUPD(s.cols.at(j, disp), c)
				VFNMADD231PD(x, f[j], c)
				VMOVUPD(c, s.cols.at(j, disp))
				VFMADD231PD(c, next, sum)
			}
		}
		advance(8*dotLanes, xp, s.cols.base)
	})
	s.finishGroup(acc, lead)
}

// substitute solves F b = f_y. On entry f is at the last pivot's entry of the last
// row. Row k is worked off from the right, so that only its last product waits
// for the coefficient before.
func (s *solver) substitute() {
	r := param("r")
	row := fresh(r) // bytes of a row of F
	ADDQ(Imm(4), row)
	SHLQ(U8(3), row)
	last, end := fresh(U32(0)), fresh(s.f) // products of the present row, and the entry of y in it
	advance(8, end)
	b := sum(param("b"), r, 8, -8) // the address of b[r-1]
	top := fresh(b)
	loop("coefficient", r, func() {
		v, fp, bp, left := XMM(), fresh(end), fresh(top), fresh(last)
		VMOVSD(Mem{Base: end}, v)
		repeat("product", left, func() {
			w := XMM()
			VMOVSD(Mem{Base: fp, Disp: -8}, w)
			VFNMADD231SD(Mem{Base: bp}, w, v)
			advance(-8, fp, bp)
		})
		VMOVSD(v, Mem{Base: b})
		advance(-8, b)
		INCQ(last)
		SUBQ(row, end)
	})
}
