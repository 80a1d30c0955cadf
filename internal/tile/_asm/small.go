package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// smallColumns is the largest number of columns of A such that [A y] stays in registers.
const smallColumns = 8

// smallVectors returns how many vectors a column may have so that [A y], of r+1 columns, stays in registers.
func (t isa) smallVectors(r int) int {
	switch {
	case !t.evex || r == 0:
		return 0
	case r <= 6:
		return 4
	}
	return 3
}

// leastSquaresSmall emits the solution of one task in registers, with every sum in all lanes: nothing waits
// for memory.
func leastSquaresSmall(t isa, r int) {
	s := smallSolver{t: t, r: r, n: t.smallVectors(r)}
	text(fmt.Sprintf("leastSquaresSmall_%d", r), t, "func(b, e, a *float64, lda, n int, y, f *float64, "+
		"next uintptr, lines int, apart float64) (lo, hi, squares float64)",
		fmt.Sprintf("works like leastSquaresGeneric for r = %d, 0 < n <= %d and apart = SetApart(n, r), "+
			"and leaves e and e'e, and the rows of F, %d apart, in f. It prefetches lines from next on.",
			r, 8*s.n, r+4))
	s.load()
	s.prefetch()
	f := param("f") // with the squared norms on the diagonal
	at := func(k, j int) Mem { return Mem{Base: f, Disp: 8 * (k*(r+4) + j)} }
	apart := s.squares()
	for k := range r {
		x := s.col[k]
		square := s.dot(x, x)
		VMOVSD(square.AsX(), at(k, k))
		nonzero := K()           // all lanes, or none
		const notLessOrEqual = 6 // or NaN
		VCMPPD_BCST(U8(notLessOrEqual), apart, square, nonzero)
		inv := t.vec()
		VMOVSD(s.one, inv.AsX())
		VDIVSD(square.AsX(), inv.AsX(), inv.AsX())
		VBROADCASTSD(inv.AsX(), inv)
		for j := k + 1; j <= r; j++ {
			f := s.dot(x, s.col[j])
			VMULPD_Z(inv, f, nonzero, f)
			VMOVSD(f.AsX(), at(k, j))
			for v, c := range s.col[j] {
				if k == r-1 { // y, the last time
					VSUBPD(c, t.zeros(1)[0], c)
					VFMADD231PD(f, x[v], c)
				} else {
					VFNMADD231PD(f, x[v], c)
				}
			}
		}
	}
	lo := XMM()
	VMOVSD(at(0, 0), lo)
	for k := 1; k < r; k++ {
		VMINSD(at(k, k), lo, lo) // NaN in the last ends there
	}
	VMOVSD(lo, slot("lo"))
	b := param("b")
	solved := make([]reg.VecVirtual, r)
	for k := r - 1; k >= 0; k-- {
		solved[k] = XMM()
		VMOVSD(at(k, r), solved[k])
		for j := r - 1; j > k; j-- {
			VFNMADD231SD(at(k, j), solved[j], solved[k])
		}
		VMOVSD(solved[k], Mem{Base: b, Disp: 8 * k})
	}
	e, left := param("e"), s.col[r]
	for v, x := range left {
		VMOVUPD(x, s.masks[v], Mem{Base: e, Disp: v * t.bytes()})
	}
	VMOVSD(s.dot(left, left).AsX(), slot("squares"))
	finish()
}

type smallSolver struct {
	t     isa
	r, n  int
	col   [][]vector     // of [A y]
	masks []reg.Register // of their rows
	one   Mem
}

// load loads the columns, with zeros below.
func (s *smallSolver) load() {
	rows, bits := param("n"), fresh(U32(1))
	SHLXQ(rows, bits, bits)
	DECQ(bits)
	s.masks = make([]reg.Register, s.n)
	for v := range s.masks {
		s.masks[v] = K()
		KMOVW(bits.As32(), s.masks[v])
		SHRQ(U8(8), bits)
	}
	p, lda := param("a"), bytesParam("lda", 8)
	for j := range s.r + 1 {
		if j == s.r {
			MOVQ(mem("y"), p)
		}
		column := s.t.vecs(s.n)
		for v := range column {
			VMOVUPD_Z(Mem{Base: p, Disp: v * s.t.bytes()}, s.masks[v], column[v])
		}
		s.col = append(s.col, column)
		if j < s.r-1 {
			ADDQ(lda, p)
		}
	}
	s.one = local(fresh(U64(math.Float64bits(1))))
}

func (s *smallSolver) prefetch() {
	next, lines := param("next"), param("lines")
	repeat("prefetch", lines, func() {
		PREFETCHT1(Mem{Base: next})
		advance(64, next)
	})
}

// squares returns the bound that a pivot must exceed, and stores the squares of A as hi.
func (s *smallSolver) squares() Mem {
	sum := s.t.zeros(1)[0]
	for _, column := range s.col[:s.r] {
		own := s.t.zeros(1)[0]
		for _, x := range column {
			VFMADD231PD(x, x, own)
		}
		VADDPD(own, sum, sum)
	}
	s.total(sum)
	VMOVSD(sum.AsX(), slot("hi"))
	VMULSD(mem("apart"), sum.AsX(), sum.AsX())
	apart := AllocLocal(8)
	VMOVSD(sum.AsX(), apart)
	return apart
}

// dot returns the inner product of two columns in all lanes.
func (s *smallSolver) dot(x, y []vector) vector {
	sum := s.t.zeros(1)[0]
	for v := range x {
		VFMADD231PD(x[v], y[v], sum)
	}
	s.total(sum)
	return sum
}

// total sets all lanes of a vector to the sum of its lanes, in the order of storeSums.
func (s *smallSolver) total(sum vector) {
	t := s.t.vec()
	VSHUFF64X2(U8(0x4e), sum, sum, t) // lane l and lane l+4
	VADDPD(t, sum, sum)
	VPERMILPD(U8(0x55), sum, t)
	VADDPD(t, sum, sum)
	VPERMPD(U8(0x4e), sum, t)
	VADDPD(t, sum, sum)
}
