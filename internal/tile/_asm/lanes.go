package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Tasks in the lanes of vectors: package tile has the definitions.
const (
	laneColumns  = 8     // the largest rank
	laneRows     = 5     // rows of a block that are multiplied at a time
	laneFeatures = 8     // features of a block whose products with e are summed at a time
	laneAhead    = 10240 // bytes of samples ahead of their use that are prefetched
)

// lanes emits the operations of a block of tasks.
func lanes(t isa) {
	for columns := 1; columns <= 2 || columns <= 4 && t.evex; columns++ {
		mulBasisLanes(t, columns)
	}
	leastSquaresLanes(t)
	mulTransposedLanes(t)
}

// overlapping emits a loop over the n vectors of a block, size at a time, where n >= size. The last ones
// overlap those before. next moves on by a number of vectors.
func overlapping(n reg.GPVirtual, size int, body func(), next func(by reg.GPVirtual)) {
	Label("block")
	body()
	by := GP64()
	MOVQ(U32(size), by)
	SUBQ(by, n)
	JZ(LabelRef("done"))
	CMPQ(n, by)
	CMOVQLT(n, by)
	next(by)
	CMPQ(n, Imm(uint64(size)))
	JGE(LabelRef("block"))
	MOVQ(U32(size), n)
	JMP(LabelRef("block"))
	Label("done")
	finish()
}

// mulBasisLanes emits the product of a block with some columns of a basis.
func mulBasisLanes(t isa, columns int) {
	text(fmt.Sprintf("mulBasisLanes_%d", columns), t, "func(a *float64, lda int, x, u *float64, ldu, n, d int)",
		fmt.Sprintf("works like MulBasisLanes for r = %d, n >= %d and d >= 1.", columns, laneRows))
	x, lda, ldu, ldx := param("x"), bytesParam("lda", 8), bytesParam("ldu", 8), bytesParam("d", t.bytes())
	to := newRows(param("a"), lda, laneRows)
	overlapping(param("n"), laneRows, func() {
		from, basis := newRows(GP64(), ldx, laneRows), newRows(param("u"), ldu, columns)
		MOVQ(x, from.base)
		sums := make([][]vector, columns)
		for j := range sums {
			sums[j] = t.vecs(laneRows)
			t.zero(sums[j]...)
		}
		loop("feature", param("d"), func() {
			v := t.vecs(laneRows)
			for i := range v {
				PREFETCHT0(from.at(i, laneAhead))
				VMOVUPD(from.at(i, 0), v[i])
			}
			for j := range sums {
				factor := t.vec()
				VBROADCASTSD(basis.at(j, 0), factor)
				for i := range v {
					VFMADD231PD(factor, v[i], sums[j][i])
				}
			}
			ADDQ(Imm(uint64(t.bytes())), from.base)
			ADDQ(Imm(8), basis.base)
		})
		for j := range sums {
			for i := range sums[j] {
				VMOVUPD(sums[j][i], to.at(i, j*t.bytes()))
			}
		}
	}, func(by reg.GPVirtual) {
		step := GP64()
		MOVQ(by, step)
		IMULQ(ldx, step)
		ADDQ(step, x)
		IMULQ(lda, by)
		ADDQ(by, to.base)
	})
}

// mulTransposedLanes emits X'e of a block of tasks, one vector for each.
func mulTransposedLanes(t isa) {
	text("mulTransposedLanes", t, "func(v *float64, ldv int, x, e *float64, lde, n, d int)",
		fmt.Sprintf("works like MulTransposedLanes for n >= 1 and d >= %d.", laneFeatures))
	v := newRows(param("v"), bytesParam("ldv", 8), t.lanes)
	x, lde, ldx := param("x"), bytesParam("lde", 8), bytesParam("d", t.bytes())
	overlapping(param("d"), laneFeatures, func() {
		sums, from, e := t.vecs(laneFeatures), GP64(), param("e")
		t.zero(sums...)
		MOVQ(x, from)
		loop("row", param("n"), func() {
			factor := t.vec()
			VMOVUPD(Mem{Base: e}, factor)
			for k := range sums {
				VFMADD231PD(Mem{Base: from, Disp: k * t.bytes()}, factor, sums[k])
			}
			ADDQ(ldx, from)
			ADDQ(lde, e)
		})
		for k := 0; k < laneFeatures; k += t.lanes {
			for i, task := range t.transpose(sums[k : k+t.lanes]) {
				VMOVUPD(task, v.at(i, 8*k))
			}
		}
	}, func(by reg.GPVirtual) {
		LEAQ(Mem{Base: v.base, Index: by, Scale: 8}, v.base)
		SHLQ(U8(log2(t.bytes())), by)
		ADDQ(by, x)
	})
}

// A laneSolver emits leastSquaresLanes: an elimination as that of solver, which takes columns in groups of
// four from the pivot on. The columns behind y affect no other one.
type laneSolver struct {
	t                isa
	rank, row        reg.GPVirtual // row: bytes of a row of [A y], and of F
	a                reg.GPVirtual // the pivot column
	pivots, step     reg.GPVirtual // the one before, and its step
	factors, f       reg.GPVirtual // the row of F before, from the pivot column on, and that of the pivot
	to               reg.GPVirtual // the group of columns
	inverse, lo, one vector
}

// leastSquaresLanes emits the solution of a block of tasks. work begins with zeros, which stand for a pivot
// and its factors before the first ones.
func leastSquaresLanes(t isa) {
	text("leastSquaresLanes", t, "func(a *float64, m, n, r int, work *float64)",
		fmt.Sprintf("works like LeastSquaresLanes for m >= n >= 1 and 1 <= r <= %d.", laneColumns))
	s := &laneSolver{t: t, rank: param("r"), row: GP64(), a: param("a"), pivots: param("work"), step: GP64(),
		factors: GP64(), f: GP64(), to: GP64(), inverse: t.vec(), lo: t.vec(), one: t.vec()}
	LEAQ(Mem{Base: s.rank, Disp: 4}, s.row)
	SHLQ(U8(log2(t.bytes())), s.row)
	MOVQ(s.pivots, s.factors)
	LEAQ(Mem{Base: s.pivots, Disp: (laneColumns + 4) * t.bytes()}, s.f)
	XORQ(s.step, s.step)
	bits, slot := GP64(), AllocLocal(8)
	MOVQ(U64(math.Float64bits(math.Inf(1))), bits)
	MOVQ(bits, slot)
	VBROADCASTSD(slot, s.lo)
	MOVQ(U64(math.Float64bits(1)), bits)
	MOVQ(bits, slot)
	VBROADCASTSD(slot, s.one)
	left, next := AllocLocal(8), GP64()
	MOVQ(s.rank, next)
	Label("stage")
	MOVQ(next, left)
	MOVQ(s.a, s.to)
	s.group("lead", true)
	SUBQ(Imm(3), next) // of r-k columns and y, four are done
	JLE(LabelRef("staged"))
	Label("group")
	s.group("rest", false)
	SUBQ(Imm(4), next)
	JG(LabelRef("group"))
	Label("staged")
	// Back to the columns of the groups, and on to the next pivot.
	MOVQ(s.f, s.factors)
	SUBQ(s.to, s.factors)
	ADDQ(s.a, s.factors)
	LEAQ(Mem{Base: s.factors, Index: s.row, Scale: 1, Disp: t.bytes()}, s.f)
	ADDQ(Imm(uint64(t.bytes())), s.factors)
	MOVQ(s.a, s.pivots)
	ADDQ(Imm(uint64(t.bytes())), s.a)
	MOVQ(s.row, s.step)
	MOVQ(left, next)
	DECQ(next)
	JNZ(LabelRef("stage"))
	s.residual()
	finish()
}

// group subtracts the multiples of the pivot before from four columns, and computes their factors by the
// pivot, the first column of the group that leads.
func (s *laneSolver) group(label string, lead bool) {
	t := s.t
	sums, factors := t.vecs(4), t.vecs(4)
	t.zero(sums...)
	for j := range factors {
		VMOVUPD(Mem{Base: s.factors, Disp: j * t.bytes()}, factors[j])
	}
	to, from, pivots, left := GP64(), GP64(), GP64(), param("m")
	MOVQ(s.to, to)
	MOVQ(s.pivots, from)
	if !lead {
		MOVQ(s.a, pivots)
	}
	loop(label, left, func() {
		x, pivot := t.vec(), t.vec()
		VMOVUPD(Mem{Base: from}, x)
		if !lead {
			VMOVUPD(Mem{Base: pivots}, pivot)
			ADDQ(s.row, pivots)
		}
		for j := range sums {
			v := t.vec()
			if lead && j == 0 {
				v = pivot
			}
			VMOVUPD(Mem{Base: to, Disp: j * t.bytes()}, v)
			VFNMADD231PD(factors[j], x, v)
			VMOVUPD(v, Mem{Base: to, Disp: j * t.bytes()})
			VFMADD231PD(v, pivot, sums[j])
		}
		ADDQ(s.row, to)
		ADDQ(s.step, from)
	})
	for j, sum := range sums {
		if lead && j == 0 {
			VMINPD(sum, s.lo, s.lo) // NaN in the last ends there
			VDIVPD(sum, s.one, s.inverse)
		} else {
			VMULPD(s.inverse, sum, sum)
		}
		VMOVUPD(sum, Mem{Base: s.f, Disp: j * t.bytes()})
	}
	for _, p := range []reg.GPVirtual{s.to, s.factors, s.f} {
		ADDQ(I32(4*t.bytes()), p)
	}
}

// residual replaces y by A b - y, without the rows of a ridge. On entry a is at y, and factors at that of the
// last pivot.
func (s *laneSolver) residual() {
	t, factor, squares, left, to := s.t, s.t.vec(), s.t.vec(), param("n"), GP64()
	VMOVUPD(Mem{Base: s.factors}, factor)
	t.zero(squares)
	MOVQ(s.a, to)
	loop("residual", left, func() {
		x, y := t.vec(), t.vec()
		VMOVUPD(Mem{Base: to}, y)
		VMOVUPD(Mem{Base: s.pivots}, x)
		VFMSUB231PD(factor, x, y)
		VMOVUPD(y, Mem{Base: to})
		VFMADD231PD(y, y, squares)
		ADDQ(s.row, to)
		ADDQ(s.row, s.pivots)
	})
	s.substitute(squares)
}

// substitute replaces the last column of F by b, and stores the results behind F.
func (s *laneSolver) substitute(squares vector) {
	t := s.t
	zero, hi, size := t.vec(), t.vec(), t.vec()
	t.zero(zero, hi, size)
	done, f, b, last := GP64(), GP64(), GP64(), GP64()
	MOVQ(s.factors, last) // b of the last row
	XORQ(done, done)
	Label("coefficient")
	v, norm := t.vec(), t.vec()
	VMOVAPD(s.one, norm)
	VMOVUPD(Mem{Base: s.factors}, v)
	MOVQ(s.factors, f)
	MOVQ(last, b)
	products := GP64()
	MOVQ(done, products)
	TESTQ(products, products)
	JZ(LabelRef("solved"))
	loop("product", products, func() {
		x := t.vec()
		SUBQ(Imm(uint64(t.bytes())), f)
		VMOVUPD(Mem{Base: f}, x)
		VFNMADD231PD(Mem{Base: b}, x, v)
		VFMADD231PD(x, x, norm)
		SUBQ(s.row, b)
	})
	Label("solved")
	VMOVUPD(v, Mem{Base: s.factors})
	minus := t.vec()
	VSUBPD(v, zero, minus)
	VMAXPD(minus, size, size)
	VMAXPD(v, size, size) // as for lo
	VFMADD231PD(Mem{Base: f, Disp: -t.bytes()}, norm, hi)
	SUBQ(s.row, s.factors)
	INCQ(done)
	CMPQ(done, s.rank)
	JLT(LabelRef("coefficient"))
	product := t.vec()
	VMOVAPD(s.one, product)
	VDIVPD(hi, s.one, s.one)
	loop("pivot", done, func() { // each one column to the right of the one above
		VMULPD(Mem{Base: f, Disp: -t.bytes()}, s.one, zero)
		VMULPD(zero, product, product)
		LEAQ(Mem{Base: f, Index: s.row, Scale: 1, Disp: t.bytes()}, f)
	})
	for i, result := range []vector{s.lo, hi, size, squares, product} {
		VMOVUPD(result, Mem{Base: last, Disp: (i + 4) * t.bytes()})
	}
}
