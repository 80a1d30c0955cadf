package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// readSum emits the fastest way to read memory once, in one stream or in four that
// are a quarter of the memory apart.
func readSum(t isa, streams int) {
	text(fmt.Sprint("readSum_", streams), t, "func(x *float64, n int) float64",
		"returns the sum of n >= 256 float64, a multiple of 256.")
	const unroll = 8 // vectors of a stream in a round
	base, n := param("x"), param("n")
	SHRQ(U8(log2(streams)), n)
	stride := GP64()
	MOVQ(n, stride)
	SHLQ(U8(3), stride)
	x := newRows(base, stride, streams)
	SHRQ(U8(log2(unroll*t.lanes)), n)
	acc := t.vecs(8)
	t.zero(acc...)
	loop("sweep", n, func() {
		for i := range streams {
			for k := range unroll {
				a := acc[(i*unroll+k)%len(acc)]
				VADDPD(x.at(i, k*t.bytes()), a, a)
			}
		}
		ADDQ(I32(unroll*t.bytes()), base)
	})
	t.finishSum(acc)
}

// fmaPeak emits nothing but multiply-adds in registers.
func fmaPeak(t isa) {
	text("fmaPeak", t, "func(rounds int) float64",
		"does 12 vector multiply-adds in each round.")
	n := param("rounds")
	acc := t.vecs(12)
	t.zero(acc...)
	f := t.vec()
	t.zero(f)
	loop("round", n, func() {
		for _, a := range acc {
			VFMADD231PD(f, f, a)
		}
	})
	t.finishSum(acc)
}

// finishSum returns the sum of accumulators.
func (t isa) finishSum(acc []vector) {
	for _, a := range acc[1:] {
		VADDPD(a, acc[0], acc[0])
	}
	VMOVSD(t.newReducer().sum1(acc[0]).AsX(), place(ReturnIndex(0)))
	finish()
}
