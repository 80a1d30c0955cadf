package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Problems of up to maxSmall columns, and up to eight times smallVectors rows, stay in registers.
const maxSmall = 5

var smallVectors = []int{2, 4}

// leastSquaresSmall emits the solution of one task in registers: [A y] by columns, every sum in all
// lanes at once, so that nothing waits for memory.
func leastSquaresSmall(r, vectors int) {
	t := avx512
	text(fmt.Sprintf("leastSquaresSmall_%dx%d", r, vectors), t, "func(b, a *float64, lda, n int, y *float64, next uintptr, lines int) (lo, hi float64)",
		fmt.Sprintf("works like leastSquaresGeneric for r = %d and 0 < n <= %d, and leaves nothing in work. It prefetches lines from next on.", r, 8*vectors))
	s := small{t: t, r: r, n: vectors}
	s.load()
	s.prefetch()
	f := AllocLocal(8 * r * (r + 1)) // rows of F, with the squared norms on the diagonal
	at := func(k, j int) Mem { return f.Offset(8 * (k*(r+1) + j)) }
	for k := range r {
		x := s.col[k]
		sums := make([]vector, r+1)
		for j := k; j <= r; j++ {
			sums[j] = s.dot(x, s.col[j])
		}
		VMOVSD(sums[k].AsX(), at(k, k))
		inv := t.vec()
		quotient := XMM()
		VMOVSD(s.one, quotient)
		VDIVSD(sums[k].AsX(), quotient, quotient)
		VBROADCASTSD(quotient, inv)
		for j := k + 1; j <= r; j++ {
			VMULPD(inv, sums[j], sums[j])
			VMOVSD(sums[j].AsX(), at(k, j))
			for v := range x {
				VFNMADD231PD(sums[j], x[v], s.col[j][v])
			}
		}
	}
	// The squares of A are those of all rows of F, each times its diagonal entry.
	lo, hi := XMM(), XMM()
	for k := range r {
		d, row := XMM(), XMM()
		VMOVSD(at(k, k), d)
		if k == 0 {
			VMOVAPD(d, lo)
			VXORPD(hi, hi, hi)
		} else {
			VMINSD(d, lo, lo) // NaN in the last ends there
		}
		VMOVSD(s.one, row)
		for j := k + 1; j < r; j++ {
			v := XMM()
			VMOVSD(at(k, j), v)
			VFMADD231SD(v, v, row)
		}
		VFMADD231SD(d, row, hi)
	}
	Store(lo, Return("lo"))
	Store(hi, Return("hi"))
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
	finish()
}

type small struct {
	t    isa
	r, n int
	col  [][]vector // of [A y]
	one  Mem
}

// load loads the columns, with zeros below.
func (s *small) load() {
	rows, bits := param("n"), GP64()
	MOVQ(U32(1), bits)
	SHLXQ(rows, bits, bits)
	DECQ(bits)
	masks := make([]reg.Register, s.n)
	for v := range masks {
		masks[v] = K()
		KMOVW(bits.As32(), masks[v])
		SHRQ(U8(8), bits)
	}
	p, lda := param("a"), bytesParam("lda", 8)
	for j := range s.r + 1 {
		if j == s.r {
			MOVQ(mem("y"), p)
		}
		column := s.t.vecs(s.n)
		for v := range column {
			VMOVUPD_Z(Mem{Base: p, Disp: v * s.t.bytes()}, masks[v], column[v])
		}
		s.col = append(s.col, column)
		if j < s.r-1 {
			ADDQ(lda, p)
		}
	}
	one := GP64()
	MOVQ(U64(0x3ff0000000000000), one)
	s.one = AllocLocal(8)
	MOVQ(one, s.one)
}

func (s *small) prefetch() {
	next, lines := param("next"), param("lines")
	TESTQ(lines, lines)
	JZ(LabelRef("prefetched"))
	loop("prefetch", lines, func() {
		PREFETCHT1(Mem{Base: next})
		ADDQ(Imm(64), next)
	})
	Label("prefetched")
}

// dot returns the inner product of two columns in all lanes.
func (s *small) dot(x, y []vector) vector {
	sum, t := s.t.vec(), s.t.vec()
	VMULPD(x[0], y[0], sum)
	for v := 1; v < len(x); v++ {
		VFMADD231PD(x[v], y[v], sum)
	}
	VSHUFF64X2(U8(0x4e), sum, sum, t)
	VADDPD(t, sum, sum)
	VPERMPD(U8(0x4e), sum, t)
	VADDPD(t, sum, sum)
	VPERMILPD(U8(0x55), sum, t)
	VADDPD(t, sum, sum)
	return sum
}
