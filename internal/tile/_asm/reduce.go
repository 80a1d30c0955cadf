package main

import (
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

// pairs returns (a0+a1, b0+b1, a2+a3, b2+b3, ...); b may be nil.
func (r reducer) pairs(a, b reg.VecVirtual) reg.VecVirtual {
	if b == nil {
		b = a
	}
	if !r.t.evex {
		s := YMM()
		VHADDPD(b, a, s)
		return s
	}
	s := ZMM()
	VSHUFPD(U8(0x55), b, a, s) // a1 b0 a3 b2 ...
	if a != b {
		VMOVAPD(b, r.odd, a) // a0 b1 a2 b3 ...
	}
	VADDPD(a, s, s)
	return s
}

// sum4 returns the sums of up to four accumulators in the lanes of a YMM register.
func (r reducer) sum4(v []reg.VecVirtual) reg.VecVirtual {
	at := func(i int) reg.VecVirtual {
		if i < len(v) {
			return v[i]
		}
		return nil
	}
	p := r.pairs(v[0], at(1))
	if !r.t.evex {
		if len(v) <= 2 {
			return r.fold2(p)
		}
		q := r.pairs(v[2], at(3))
		s, u := YMM(), YMM()
		VPERM2F128(U8(0x21), q, p, s) // p.hi q.lo
		VBLENDPD(U8(0x0c), q, p, u)   // p.lo q.hi
		VADDPD(u, s, s)
		return s
	}
	q := p
	if len(v) > 2 {
		q = r.pairs(v[2], at(3))
	}
	h := r.halves(p, q)
	s, u := ZMM(), ZMM()
	VSHUFF64X2(U8(0x0d), h, h, s) // units 1 3 . .
	VSHUFF64X2(U8(0x08), h, h, u) // units 0 2 . .
	VADDPD(u.AsY(), s.AsY(), s.AsY())
	return s
}

// fold2 adds the halves of a YMM register.
func (r reducer) fold2(p reg.VecVirtual) reg.VecVirtual {
	s := YMM()
	VEXTRACTF128(U8(1), p, s.AsX())
	VADDPD(p.AsX(), s.AsX(), s.AsX())
	return s
}

// sum returns the sums of up to eight accumulators in the lanes of a register: of more than four in those of
// a ZMM register.
func (r reducer) sum(v []reg.VecVirtual) reg.VecVirtual {
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
func (r reducer) halves(p, q reg.VecVirtual) reg.VecVirtual {
	s := ZMM()
	VSHUFF64X2(U8(0x4e), q, p, s) // p.hi q.lo
	if p != q {
		VMOVAPD(q, r.upper, p) // p.lo q.hi
	}
	VADDPD(p, s, s)
	return s
}

// sum1 returns the sum of one accumulator in lane 0.
func (r reducer) sum1(v reg.VecVirtual) reg.VecVirtual {
	s := YMM()
	if r.t.evex {
		VEXTRACTF64X4(U8(1), v, s)
		VADDPD(v.AsY(), s, s)
	} else {
		VMOVAPD(v, s)
	}
	u := YMM()
	extractX(r.t, s, u.AsX())
	VADDPD(u.AsX(), s.AsX(), s.AsX())
	VPERMILPD(U8(1), s.AsX(), u.AsX())
	VADDSD(u.AsX(), s.AsX(), s.AsX())
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
