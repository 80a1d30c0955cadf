package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pairsApart emits the tiles of pairs of numbers that are not beside each other. AVX-512 uses those of AVX2.
func pairsApart(t isa) {
	for _, x := range []*number{double, single} {
		gatherPairs(t, x)
		scalePairs(t, x)
	}
}

// apartTogether is the number of pairs of a round.
const apartTogether = 4

// eachApart emits the loop over pairs, step bytes apart, apartTogether of them a round.
func eachApart(from, step reg.GPVirtual, body func(r rows)) {
	r, left := newRows(from, step, apartTogether), param("n")
	SHRQ(U8(log2(apartTogether)), left)
	loop("pairs", left, func() {
		body(r)
		LEAQ(Mem{Base: from, Index: step, Scale: apartTogether}, from)
	})
}

// gatherPairs emits the copy of pairs to memory where they are beside each other.
func gatherPairs(t isa, x *number) {
	text("gatherPairs"+x.suffix, t, "func(dst, src *F, step, n int)",
		"copies n pairs, step bytes apart, n > 0 a multiple of 4.")
	to := param("dst")
	eachApart(param("src"), param("step"), func(r rows) {
		if x == double {
			for k := 0; k < apartTogether; k += 2 {
				v := YMM()
				VMOVUPD(r.at(k, 0), v.AsX())
				VINSERTF128(U8(1), r.at(k+1, 0), v, v)
				VMOVUPD(v, Mem{Base: to, Disp: k * 2 * x.size})
			}
		} else {
			v, w := YMM(), XMM()
			VMOVSD(r.at(0, 0), v.AsX())
			VMOVHPD(r.at(1, 0), v.AsX(), v.AsX())
			VMOVSD(r.at(2, 0), w)
			VMOVHPD(r.at(3, 0), w, w)
			VINSERTF128(U8(1), w, v, v)
			VMOVUPD(v, Mem{Base: to})
		}
		advance(apartTogether*2*x.size, to)
	})
	finish()
}

// scalePairs emits the multiplication of pairs by a number.
func scalePairs(t isa, x *number) {
	text("scalePairs"+x.suffix, t, "func(x, by *F, step, n int)",
		"multiplies n pairs, step bytes apart, by the number at by, n > 0 a multiple of 4.")
	from, number := Mem{Base: param("by")}, XMM()
	if x == double {
		VMOVDDUP(from, number)
	} else {
		VBROADCASTSS(from, number)
	}
	eachApart(param("x"), param("step"), func(r rows) {
		for k := range apartTogether {
			v := XMM()
			if x == double {
				VMULPD(r.at(k, 0), number, v)
				VMOVUPD(v, r.at(k, 0))
			} else {
				VMOVSD(r.at(k, 0), v)
				VMULPS(v, number, v)
				VMOVSD(v, r.at(k, 0))
			}
		}
	})
	finish()
}
