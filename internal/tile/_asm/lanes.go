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

// overlapping emits a loop over the n vectors of a block, size at a time, where n >= size. The last vectors
// may be computed twice. next moves on by a number of vectors.
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
		from, basis := newRows(fresh(x), ldx, laneRows), newRows(param("u"), ldu, columns)
		sums := make([][]vector, columns)
		for j := range sums {
			sums[j] = t.zeros(laneRows)
		}
		loop("feature", param("d"), func() {
			v := make([]vector, laneRows)
			for i := range v {
				PREFETCHT0(from.at(i, laneAhead))
				v[i] = t.load(from.at(i, 0))
			}
			for j := range sums {
				factor := t.broadcast(basis.at(j, 0))
				for i := range v {
					VFMADD231PD(factor, v[i], sums[j][i])
				}
			}
			advance(t.bytes(), from.base)
			advance(8, basis.base)
		})
		for j := range sums {
			for i := range sums[j] {
				VMOVUPD(sums[j][i], to.at(i, j*t.bytes()))
			}
		}
	}, func(by reg.GPVirtual) {
		step := fresh(by)
		IMULQ(ldx, step)
		ADDQ(step, x)
		IMULQ(lda, by)
		ADDQ(by, to.base)
	})
}

// mulTransposedLanes emits X'e of a block of tasks, one vector for each: the last row first, which is still
// in the first-level cache.
func mulTransposedLanes(t isa) {
	text("mulTransposedLanes", t, "func(v *float64, ldv int, x, e *float64, lde, n, d int)",
		fmt.Sprintf("works like MulTransposedLanes for n >= 1 and d >= %d.", laneFeatures))
	v := newRows(param("v"), bytesParam("ldv", 8), t.lanes)
	x, lde, ldx := param("x"), bytesParam("lde", 8), bytesParam("d", t.bytes())
	overlapping(param("d"), laneFeatures, func() {
		sums, left := t.zeros(laneFeatures), param("n")
		e := fresh(left)
		DECQ(e)
		from := fresh(e)
		IMULQ(ldx, from)
		ADDQ(x, from)
		IMULQ(lde, e)
		ADDQ(mem("e"), e)
		loop("row", left, func() {
			factor := t.load(Mem{Base: e})
			for k := range sums {
				VFMADD231PD(Mem{Base: from, Disp: k * t.bytes()}, factor, sums[k])
			}
			SUBQ(ldx, from)
			SUBQ(lde, e)
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

// A laneSolver emits leastSquaresLanes: the elimination of solver, with all columns from the pivot on at a
// time.
type laneSolver struct {
	t                isa
	rank, row        reg.GPVirtual // row: bytes of a row of [A y], and of a row of F
	a                reg.GPVirtual // the pivot column
	pivots, step     reg.GPVirtual // the pivot column before, and its step;
	factors, f       reg.GPVirtual // its row of F from the pivot column on, and the row of the pivot
	inverse, lo, one vector
}

// leastSquaresLanes emits the solution of a block of tasks. work begins with zeros, which stand for a pivot
// and its factors before the first ones.
func leastSquaresLanes(t isa) {
	text("leastSquaresLanes", t, "func(a *float64, m, n, r int, work *float64)",
		fmt.Sprintf("works like LeastSquaresLanes for m >= n >= 1 and 1 <= r <= %d.", laneColumns))
	constant := func(value float64) vector { return t.broadcast(local(fresh(U64(math.Float64bits(value))))) }
	s := &laneSolver{t: t, rank: param("r"), a: param("a"), pivots: param("work"), step: fresh(U32(0)),
		inverse: t.vec(), lo: constant(math.Inf(1)), one: constant(1)}
	s.row = fresh(s.rank)
	INCQ(s.row)
	SHLQ(U8(log2(t.bytes())), s.row)
	s.factors, s.f = fresh(s.pivots), fresh(s.pivots)
	advance((laneColumns+1)*t.bytes(), s.f)
	for columns := 1; columns < laneColumns; columns++ {
		CMPQ(s.rank, Imm(uint64(columns)))
		JEQ(LabelRef(fmt.Sprint("columns", columns)))
	}
	for columns := laneColumns; columns > 0; columns-- {
		s.factor(s.stage(columns, "m"))
	}
	s.substitute(s.stage(0, "n")[0])
	finish()
}

// stage subtracts the multiples of the pivot before from some columns of A, and y, and returns their products
// with the first of them, the next pivot.
func (s *laneSolver) stage(columns int, rows string) (sums []vector) {
	label := fmt.Sprint("columns", columns)
	Label(label)
	t, to, from, left, pivot := s.t, fresh(s.a), fresh(s.pivots), param(rows), s.t.vec()
	sums = t.zeros(columns + 1)
	loop(label+"Row", left, func() {
		x := t.load(Mem{Base: from})
		for j, sum := range sums {
			v, at := t.vec(), j*t.bytes()
			if j == 0 {
				v = pivot
			}
			VMOVUPD(Mem{Base: to, Disp: at}, v)
			VFNMADD231PD(Mem{Base: s.factors, Disp: at}, x, v)
			VMOVUPD(v, Mem{Base: to, Disp: at})
			if columns > 2 {
				VFMADD231PD(v, pivot, sum)
			} else { // few sums wait for each other, and for additions less long
				product := t.vec()
				VMULPD(v, pivot, product)
				VADDPD(product, sum, sum)
			}
		}
		ADDQ(s.row, to)
		ADDQ(s.step, from)
	})
	return sums
}

// factor divides the products by the pivot's product with itself. It stores them as a row of F with that
// product on the diagonal, and moves on to the next pivot.
func (s *laneSolver) factor(products []vector) {
	t := s.t
	VMINPD(products[0], s.lo, s.lo) // NaN in the last ends there
	VDIVPD(products[0], s.one, s.inverse)
	for _, v := range products[1:] {
		VMULPD(s.inverse, v, v)
	}
	t.store(s.f, products...)
	LEAQ(Mem{Base: s.f, Disp: t.bytes()}, s.factors)
	LEAQ(Mem{Base: s.factors, Index: s.row, Scale: 1}, s.f)
	MOVQ(s.a, s.pivots)
	advance(t.bytes(), s.a)
	MOVQ(s.row, s.step)
}

// substitute replaces the last column of F by b, and stores the results behind F.
func (s *laneSolver) substitute(squares vector) {
	t := s.t
	zeros := t.zeros(3)
	zero, hi, size := zeros[0], zeros[1], zeros[2]
	done, f, b, last := fresh(U32(0)), GP64(), GP64(), fresh(s.factors) // b of the last row
	Label("coefficient")
	v, norm, products := t.load(Mem{Base: s.factors}), t.vec(), fresh(done)
	VMOVAPD(s.one, norm)
	MOVQ(s.factors, f)
	MOVQ(last, b)
	repeat("product", products, func() {
		advance(-t.bytes(), f)
		x := t.load(Mem{Base: f})
		VFNMADD231PD(Mem{Base: b}, x, v)
		VFMADD231PD(x, x, norm)
		SUBQ(s.row, b)
	})
	t.store(s.factors, v)
	minus := t.vec()
	VSUBPD(v, zero, minus)
	VMAXPD(minus, size, size)
	VMAXPD(v, size, size) // which skips NaN like the minimum in lo
	VFMADD231PD(Mem{Base: f, Disp: -t.bytes()}, norm, hi)
	SUBQ(s.row, s.factors)
	INCQ(done)
	CMPQ(done, s.rank)
	JLT(LabelRef("coefficient"))
	product := t.vec()
	VMOVAPD(s.one, product)
	VDIVPD(hi, s.one, s.one)
	loop("pivot", done, func() { // each pivot is one column to the right of the pivot above
		VMULPD(Mem{Base: f, Disp: -t.bytes()}, s.one, zero)
		VMULPD(zero, product, product)
		LEAQ(Mem{Base: f, Index: s.row, Scale: 1, Disp: t.bytes()}, f)
	})
	advance(t.bytes(), last)
	t.store(last, s.lo, hi, size, squares, product)
}
