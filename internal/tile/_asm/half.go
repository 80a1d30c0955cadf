package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// This file has what the tiles for samples of 16 bits do otherwise than those for other
// samples, and what goes with them.

// corrected is the result A = A0 + X U, where X U is in float32.
type corrected struct {
	t     isa
	upper reg.Register // AVX-512: the upper half of a vector
	a, a0 Mem          // the next columns
}

func newCorrected(t isa) *corrected {
	c := &corrected{t: t}
	if t.evex {
		m := GP32()
		c.upper = K()
		MOVL(U32(0xff00), m)
		KMOVW(m, c.upper)
	}
	return c
}

func (c *corrected) begin() {
	c.a, c.a0 = AllocLocal(8), AllocLocal(8)
	a := param("a")
	MOVQ(a, c.a)
	a0 := param("a0")
	MOVQ(a0, c.a0)
}

func (c *corrected) move(rows int) {
	ADDQ(I32(8*rows), mem("a"))
	ADDQ(I32(8*rows), mem("a0"))
}

func (c *corrected) store(acc [][]vector, height int) {
	to, from := GP64(), GP64()
	MOVQ(c.a, to)
	MOVQ(c.a0, from)
	lda, lda0 := bytesParam("lda", 8), bytesParam("lda0", 8)
	together := single.lanes(c.t) / 4 // columns
	for j := 0; j < len(acc); j += together {
		cols := acc[j:min(j+together, len(acc))]
		sums := c.sums(cols, height)
		for i := range cols {
			s := XMM()
			switch {
			case i == 0:
				s = sums.AsX().(reg.VecVirtual)
			case c.t.evex:
				VEXTRACTF32X4(U8(i), sums, s)
			default:
				VEXTRACTF128(U8(i), sums, s)
			}
			w := XMM()
			if height == 4 {
				w = YMM()
			}
			VCVTPS2PD(s, w)
			VADDPD(Mem{Base: from}, w, w)
			VMOVUPD(w, Mem{Base: to})
			ADDQ(lda, to)
			ADDQ(lda0, from)
		}
	}
	MOVQ(to, c.a)
	MOVQ(from, c.a0)
}

// sums returns a vector whose 128-bit lanes have the sums of one column each, those of
// two rows twice. It destroys the accumulators. Rows are brought together first: a column
// that is alone then needs no more than its share of the work.
func (c *corrected) sums(cols [][]vector, height int) vector {
	q := make([]vector, len(cols)) // a column with a row an entry, and a part of the sums a lane
	for j, rows := range cols {
		q[j] = c.neighbours(rows[0], rows[1])
		switch {
		case height == 4:
			q[j] = c.neighbours(q[j], c.neighbours(rows[2], rows[3]))
		case len(cols) == 1:
			q[j] = c.neighbours(q[j], q[j])
		}
	}
	s := c.lanes(q)
	if height == 2 && len(cols) > 1 {
		return c.neighbours(s, s)
	}
	return s
}

// lanes returns the sums over the 128-bit lanes of each of up to four vectors, on AVX2 two,
// in a lane of their own; of a single vector in the first lane only.
func (c *corrected) lanes(q []vector) vector {
	switch {
	case !c.t.evex && len(q) == 1:
		s := YMM()
		VEXTRACTF128(U8(1), q[0], s.AsX())
		VADDPS(q[0].AsX(), s.AsX(), s.AsX())
		return s
	case !c.t.evex:
		return foldX(q[0], q[1])
	case len(q) == 1:
		h, s := ZMM(), ZMM()
		VEXTRACTF64X4(U8(1), q[0], h.AsY())
		VADDPS(q[0].AsY(), h.AsY(), h.AsY())
		VEXTRACTF32X4(U8(1), h.AsY(), s.AsX())
		VADDPS(h.AsX(), s.AsX(), s.AsX())
		return s
	}
	low := c.fold(q[0], q[1])
	high := low
	switch len(q) {
	case 3:
		high = c.fold(q[2], q[2])
	case 4:
		high = c.fold(q[2], q[3])
	}
	s, u := ZMM(), ZMM()
	VSHUFF64X2(U8(0x88), high, low, s) // quarters 0 and 2 of low, and of high
	VSHUFF64X2(U8(0xdd), high, low, u) // quarters 1 and 3
	VADDPS(u, s, s)
	return s
}

// fold returns the sums of the halves of two vectors: those of p below, those of q above.
func (c *corrected) fold(p, q vector) vector {
	s := ZMM()
	VSHUFF64X2(U8(0x4e), q, p, s) // p.hi q.lo
	if p != q {
		VMOVAPS(q, c.upper, p) // p.lo q.hi
	}
	VADDPS(p, s, s)
	return s
}

// foldX does the same on AVX2.
func foldX(p, q vector) vector {
	s, u := YMM(), YMM()
	VPERM2F128(U8(0x20), q, p, s) // p.lo q.lo
	VPERM2F128(U8(0x31), q, p, u) // p.hi q.hi
	VADDPS(u, s, s)
	return s
}

// neighbours returns (a0+a1, a2+a3, b0+b1, b2+b3) in every lane of four.
func (c *corrected) neighbours(x, y vector) vector {
	s := c.t.vec()
	if !c.t.evex {
		VHADDPS(y, x, s)
		return s
	}
	u := c.t.vec()
	VSHUFPS(U8(0x88), y, x, s) // the even ones of x, and of y
	VSHUFPS(U8(0xdd), y, x, u) // the odd ones
	VADDPS(u, s, s)
	return s
}

// addScaled emits v = w + s g.
func addScaled(t isa) {
	text("addScaled", t, "func(v, w, s *float64, grad *float32, n int)",
		"works like addScaledGeneric for n a multiple of 8, n > 0.")
	v, w, s, g, left := param("v"), param("w"), param("s"), param("grad"), param("n")
	SHRQ(U8(3), left)
	loop("eight", left, func() {
		for k := 0; k < 8; k += t.lanes {
			x, y := t.vec(), t.vec()
			VCVTPS2PD(Mem{Base: g, Disp: 4 * k}, x)
			VMOVUPD(Mem{Base: w, Disp: 8 * k}, y)
			VFMADD231PD(Mem{Base: s, Disp: 8 * k}, x, y)
			VMOVUPD(y, Mem{Base: v, Disp: 8 * k})
		}
		for _, p := range []reg.GPVirtual{v, w, s} {
			ADDQ(I32(64), p)
		}
		ADDQ(I32(32), g)
	})
	finish()
}

// halve emits the conversion of a row of samples to 16 bits.
func halve(t isa, from *samples) {
	text("halve"+from.suffix, t, fmt.Sprintf("func(dst *uint16, x *%s, c, s *float64, n int) float64", from.typ),
		"works like halveGeneric for n a multiple of 8, n > 0.")
	dst, x, c, s, left := param("dst"), param("x"), param("c"), param("s"), param("n")
	SHRQ(U8(3), left)
	sum := t.vec()
	t.zero(sum)
	loop("eight", left, func() {
		for k := 0; k < 8; k += t.lanes {
			v := t.vec()
			from.load(Mem{Base: x, Disp: from.size * k}, v)
			VSUBPD(Mem{Base: c, Disp: 8 * k}, v, v)
			VMULPD(Mem{Base: s, Disp: 8 * k}, v, v)
			VFMADD231PD(v, v, sum)
			if t.evex {
				w := YMM()
				VCVTPD2PS(v, w)
				h := XMM()
				VCVTPS2PH(U8(0), w, h)
				VMOVUPS(h, Mem{Base: dst, Disp: 2 * k})
			} else {
				w := XMM()
				VCVTPD2PSY(v, w)
				VCVTPS2PH(U8(0), w, Mem{Base: dst, Disp: 2 * k})
			}
		}
		ADDQ(I32(16), dst)
		ADDQ(I32(8*from.size), x)
		ADDQ(I32(64), c)
		ADDQ(I32(64), s)
	})
	t.finishSum([]vector{sum})
}
