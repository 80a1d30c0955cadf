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

// four returns the sums of up to four accumulators of four lanes in the lanes of a register. It is for AVX2.
func (r reducer) four(v []vector) vector {
	if len(v)%2 > 0 {
		v = append(slices.Clone(v), v[len(v)-1])
	}
	p := r.pairs(v[0], v[1])
	if len(v) == 2 {
		return r.fold(p)
	}
	q, s, u := r.pairs(v[2], v[3]), YMM(), YMM()
	VPERM2F128(U8(0x21), q, p, s) // p.hi q.lo
	VBLENDPD(U8(0x0c), q, p, u)   // p.lo q.hi
	VADDPD(u, s, s)
	return s
}

// fold adds the halves of a YMM register.
func (r reducer) fold(p vector) vector {
	s := YMM()
	extractX(r.t, p, s.AsX())
	VADDPD(p.AsX(), s.AsX(), s.AsX())
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
	if len(v) == 1 {
		VMOVSS(r.sum32(v[0]), Mem{Base: to})
		return
	}
	for i := 0; i < len(v); i += 4 {
		four := v[i:min(i+4, len(v))]
		sum := r.four32(four)
		switch at := (Mem{Base: to, Disp: 4 * i}); len(four) {
		case 4:
			VMOVUPS(sum, at)
		default:
			VMOVSD(sum, at)
		}
	}
}

// four32 returns the sums of store32 of 4 or 2 accumulators.
func (r reducer) four32(v []vector) reg.Register {
	low, high, sum := YMM(), YMM(), XMM()
	VHADDPS(v[1%len(v)], v[0], low)
	VHADDPS(v[3%len(v)], v[2%len(v)], high)
	VHADDPS(high, low, low)
	VEXTRACTF128(U8(1), low, sum)
	VADDPS(low.AsX(), sum, sum)
	return sum
}

// sum32 returns the sum of store32 of one accumulator.
func (r reducer) sum32(v vector) reg.Register {
	pairs, other, high := YMM(), YMM(), XMM()
	VMOVSHDUP(v, pairs)
	VADDPS(pairs, v, pairs) // 0+1 in lane 0, 2+3 in lane 2
	VPERMILPD(U8(0xf), pairs, other)
	VADDPS(other, pairs, pairs)
	VEXTRACTF128(U8(1), pairs, high)
	VADDSS(high, pairs.AsX(), high)
	return high
}

// storeSums stores the sums of 8, 6, 4 or 1 accumulators of eight lanes, or of four lanes that hold the sums
// of lanes l and l+4 of eight. The order is the same for both: ((0+4)+(1+5)) + ((2+6)+(3+7)).
func (r reducer) storeSums(v []vector, to reg.GPVirtual) {
	switch {
	case len(v) == 1:
		VMOVSD(r.dotSum(v[0]), Mem{Base: to})
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

// dotSum returns the sum of storeSums of one accumulator.
func (r reducer) dotSum(v vector) reg.Register {
	if !r.t.evex {
		other := YMM()
		VPERMILPD(U8(0xf), v, other)
		VADDPD(other, v, other)
		return r.fold(other).AsX()
	}
	s, u, w := YMM(), XMM(), XMM()
	VEXTRACTF64X4(U8(1), v, s)
	VADDPD(v.AsY(), s, s)
	VEXTRACTF128(U8(1), s, u)
	VHADDPD(u, s.AsX(), u) // (0+4)+(1+5), (2+6)+(3+7)
	VPERMILPD(U8(1), u, w)
	VADDSD(w, u, u)
	return u
}

// dotSums returns the sums of storeSums in the lanes of a register: of up to 4 accumulators, or of 8 with
// AVX-512, whose register has the first 4 in its lower half.
func (r reducer) dotSums(v []vector) vector {
	if !r.t.evex {
		return r.four(v)
	}
	p := r.units(v[:min(len(v), 4)])
	q, s, u := p, ZMM(), ZMM()
	if len(v) > 4 {
		q = r.units(v[4:])
	}
	VSHUFF64X2(U8(0x88), q, p, s) // units 0 2 of both
	VSHUFF64X2(U8(0xdd), q, p, u) // units 1 3
	VADDPD(u, s, s)
	return s
}

// units returns two parts of each sum of up to 4 accumulators of eight lanes: the parts of the first two
// accumulators are in the units 0 and 1 of a register, those of the next two in its units 2 and 3.
func (r reducer) units(v []vector) vector {
	even, odd := v[0], v[0]
	if len(v) > 2 {
		even = v[2]
	}
	first := r.halves(v[0], even)
	if len(v) == 1 {
		return r.pairs(first, first)
	}
	odd = v[1]
	if len(v) > 3 {
		odd = v[3]
	}
	return r.pairs(first, r.halves(v[1], odd))
}

// addRegisters adds the registers of each of n accumulators, which are n apart, to the first one: lane l+4 to
// lane l of eight.
func addRegisters(acc []vector, n int) []vector {
	for i := n; i < len(acc); i++ {
		VADDPD(acc[i], acc[i%n], acc[i%n])
	}
	return acc[:n]
}
