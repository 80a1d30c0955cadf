package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// rotate emits plane rotations of neighbouring rows, the last pair first: what a pair leaves of its upper row
// stays in registers for the next one.
func rotate(t isa) {
	const vectors = 4
	text("rotate", t, "func(z *float64, ldz int, c, s *float64, n int)",
		"rotates rows i and i+1 of four vectors of columns by c[i] and s[i], for i from n-1 down to 0, n >= 1.")
	z, ldz, c, s, n := param("z"), bytesParam("ldz", 8), param("c"), param("s"), param("n")
	at := GP64()
	MOVQ(ldz, at)
	IMULQ(n, at)
	ADDQ(at, z)
	upper := t.vecs(vectors)
	for v := range upper {
		VMOVUPD(Mem{Base: z, Disp: v * t.bytes()}, upper[v])
	}
	loop("pair", n, func() {
		cs, sn := t.vec(), t.vec()
		VBROADCASTSD(Mem{Base: c, Index: n, Scale: 8, Disp: -8}, cs)
		VBROADCASTSD(Mem{Base: s, Index: n, Scale: 8, Disp: -8}, sn)
		lower := z
		next := GP64()
		MOVQ(z, next)
		SUBQ(ldz, next)
		for v := range upper {
			row, sum := t.vec(), t.vec()
			VMOVUPD(Mem{Base: next, Disp: v * t.bytes()}, row)
			VMULPD(sn, row, sum)
			VFMADD231PD(cs, upper[v], sum) // s z_i + c z_i+1
			VMOVUPD(sum, Mem{Base: lower, Disp: v * t.bytes()})
			VMULPD(sn, upper[v], sum)
			VMOVAPD(row, upper[v])
			VFMSUB213PD(sum, cs, upper[v]) // c z_i - s z_i+1
		}
		MOVQ(next, z)
	})
	for v := range upper {
		VMOVUPD(upper[v], Mem{Base: z, Disp: v * t.bytes()})
	}
	finish()
}
