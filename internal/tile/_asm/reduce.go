package main

import (
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A reducer sums accumulators. The sums of several are taken together, by
// transposing: every level halves the number of registers, so that eight sums
// cost 21 instructions instead of 8 x 6. The accumulators are destroyed.
type reducer struct {
	t          isa
	odd, upper reg.Register // AVX-512 blend masks
}

func (t isa) newReducer() reducer {
	r := reducer{t: t}
	if t.evex {
		m := GP32()
		odd, upper := K(), K()
		MOVL(U32(0xaa), m)
		KMOVW(m, odd)
		MOVL(U32(0xf0), m)
		KMOVW(m, upper)
		r.odd, r.upper = odd, upper
	}
	return r
}

// pairs returns (a0+a1, b0+b1, a2+a3, b2+b3, ...); b may be a.
func (r reducer) pairs(a, b vector) vector {
	s := r.t.vec()
	if !r.t.evex {
		VHADDPD(b, a, s)
		return s
	}
	VSHUFPD(U8(0x55), b, a, s) // a1 b0 a3 b2 ...
	if a != b {
		VMOVAPD(b, r.odd, a) // a0 b1 a2 b3 ...
	}
	VADDPD(a, s, s)
	return s
}

// sum4 returns the sums of up to four accumulators in the lanes of a YMM register.
func (r reducer) sum4(v []vector) vector {
	if len(v)%2 > 0 {
		v = append(slices.Clone(v), v[len(v)-1])
	}
	p := r.pairs(v[0], v[1])
	q, s, u := p, r.t.vec(), r.t.vec()
	if len(v) > 2 {
		q = r.pairs(v[2], v[3])
	}
	switch {
	case r.t.evex:
		h := r.halves(p, q)
		VSHUFF64X2(U8(0x0d), h, h, s) // units 1 3 . .
		VSHUFF64X2(U8(0x08), h, h, u) // units 0 2 . .
	case p == q:
		return r.fold(p)
	default:
		VPERM2F128(U8(0x21), q, p, s) // p.hi q.lo
		VBLENDPD(U8(0x0c), q, p, u)   // p.lo q.hi
	}
	VADDPD(u.AsY(), s.AsY(), s.AsY())
	return s
}

// fold adds the halves of a YMM register.
func (r reducer) fold(p vector) vector {
	s := YMM()
	extractX(r.t, p, s.AsX())
	VADDPD(p.AsX(), s.AsX(), s.AsX())
	return s
}

// sum returns the sums of up to eight accumulators in the lanes of a register, which is a ZMM register for
// more than four.
func (r reducer) sum(v []vector) vector {
	if len(v) <= 4 {
		return r.sum4(v)
	}
	a := r.halves(r.pairs(v[0], v[1]), r.pairs(v[2], v[3]))
	b := r.halves(r.pairs(v[4], v[5]), r.pairs(v[6], v[7]))
	s, u := ZMM(), ZMM()
	VSHUFF64X2(U8(0x8d), b, a, s) // a1 a3 b0 b2
	VSHUFF64X2(U8(0xd8), b, a, u) // a0 a2 b1 b3
	VADDPD(u, s, s)
	return s
}

// halves returns (p.lo+p.hi, q.lo+q.hi).
func (r reducer) halves(p, q vector) vector {
	s := ZMM()
	VSHUFF64X2(U8(0x4e), q, p, s) // p.hi q.lo
	if p != q {
		VMOVAPD(q, r.upper, p) // p.lo q.hi
	}
	VADDPD(p, s, s)
	return s
}

// sum1 returns the sum of one accumulator in lane 0.
func (r reducer) sum1(v vector) vector {
	if r.t.evex {
		s := YMM()
		VEXTRACTF64X4(U8(1), v, s)
		VADDPD(v.AsY(), s, s)
		v = s
	}
	s, u := r.fold(v), XMM()
	VPERMILPD(U8(1), s.AsX(), u)
	VADDSD(u, s.AsX(), s.AsX())
	return s
}

// store32 stores the sums of 8, 4, 2 or 1 accumulators of float32. It is for AVX2.
func (r reducer) store32(v []vector, to reg.GPVirtual) {
	for i := 0; i < len(v); i += 4 {
		four := v[i:min(i+4, len(v))]
		low, high, sum := YMM(), YMM(), XMM()
		VHADDPS(four[1%len(four)], four[0], low)
		VHADDPS(four[3%len(four)], four[2%len(four)], high)
		VHADDPS(high, low, low)
		VEXTRACTF128(U8(1), low, sum)
		VADDPS(low.AsX(), sum, sum)
		switch at := (Mem{Base: to, Disp: 4 * i}); len(four) {
		case 4:
			VMOVUPS(sum, at)
		case 2:
			VMOVSD(sum, at)
		default:
			VMOVSS(sum, at)
		}
	}
}

// storeSums stores the sums of 8, 6, 4 or 1 accumulators of eight lanes, or of four lanes that hold the sums
// of lanes l and l+4 of eight. The order is the same for both: ((0+4)+(1+5)) + ((2+6)+(3+7)).
func (r reducer) storeSums(v []vector, to reg.GPVirtual) {
	switch {
	case len(v) == 1 && r.t.evex:
		s := YMM()
		VEXTRACTF64X4(U8(1), v[0], s)
		VADDPD(v[0].AsY(), s, s)
		u, w := XMM(), XMM()
		VEXTRACTF128(U8(1), s, u)
		VHADDPD(u, s.AsX(), u) // (0+4)+(1+5), (2+6)+(3+7)
		VPERMILPD(U8(1), u, w)
		VADDSD(w, u, u)
		VMOVSD(u, Mem{Base: to})
		return
	case len(v) == 1:
		VMOVSD(r.fold(r.pairs(v[0], v[0])).AsX(), Mem{Base: to})
		return
	case len(v) == 6:
		VMOVUPD(r.fold(r.pairs(v[4], v[5])).AsX(), Mem{Base: to, Disp: 32})
		v = v[:4]
	}
	s := r.dotSums(v)
	if len(v) == 8 {
		VMOVUPD(s, Mem{Base: to})
		return
	}
	VMOVUPD(s.AsY(), Mem{Base: to})
}

// dotSums returns the sums of storeSums in the lanes of a register: of 4 accumulators, or of 8 with AVX-512.
func (r reducer) dotSums(v []vector) vector {
	if !r.t.evex {
		return r.sum4(v)
	}
	p := r.pairs(r.halves(v[0], v[2]), r.halves(v[1], v[3]))
	q, s, u := p, ZMM(), ZMM()
	if len(v) == 8 {
		q = r.pairs(r.halves(v[4], v[6]), r.halves(v[5], v[7]))
	}
	VSHUFF64X2(U8(0x88), q, p, s) // units 0 2 of both
	VSHUFF64X2(U8(0xdd), q, p, u) // units 1 3
	VADDPD(u, s, s)
	return s
}
