package main

import . "github.com/mmcloughlin/avo/build"

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
