package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// eachVector emits a loop over the whole vectors of n entries, unroll of them a round, after the tail. body
// handles the vector at an offset of disp bytes from pointers, which move on. The tail is the last lanes of
// a vector that ends where the entries end: one that reached into a page that is not there would take an
// exception, although masked. It comes first since a load soon after a store to a part of its vector waits
// for the store.
func eachVector(
	t isa, x *number, unroll int, stores bool, pointers []reg.GPVirtual, body func(io access, k, disp int),
) {
	tail := param("n")
	ANDQ(I32(x.lanes(t)-1), tail)
	JZ(LabelRef(t.part + "whole"))
	masked, blended := x.lastLanes(t, tail)
	last := beforeEnd(x, x.lanes(t), pointers)
	if !stores || t.evex {
		body(masked, 0, 0)
	} else {
		blendedOr(x.lanes(t), func() { body(blended, 0, 0) }, func() { body(masked, 0, 0) })
	}
	for _, p := range pointers {
		SUBQ(last, p)
	}
	Label(t.part + "whole")
	wholeVectors(x.whole(t), t, x, unroll, 1, pointers, body)
}

// blendedOr emits blended for at least as many entries as there are lanes, and masked for fewer: with AVX2
// masked stores take long on some processors.
func blendedOr(lanes int, blended, masked func()) {
	CMPQ(mem("n"), I32(lanes))
	JLT(LabelRef("short"))
	blended()
	JMP(LabelRef("back"))
	Label("short")
	masked()
	Label("back")
}

// beforeEnd moves pointers to the last lanes of n entries, and returns the number of bytes.
func beforeEnd(x *number, lanes int, pointers []reg.GPVirtual) reg.GPVirtual {
	last := param("n")
	SUBQ(I32(lanes), last)
	SHLQ(U8(log2(x.size)), last)
	for _, p := range pointers {
		ADDQ(last, p)
	}
	return last
}

// changeVectors is eachVector for vectors that change, and whose lanes are independent. Behind the whole
// vectors comes a last one, which ends where the entries end. It is loaded before the loop and stored behind
// it. In the lanes that it shares with the last whole vector it stores the same numbers. A mask would take
// longer, and so would a load of entries that the loop has just stored. Fewer entries than lanes have a mask.
func changeVectors(t isa, x *number, unroll int, pointers []reg.GPVirtual, body func(io access, k, disp int)) {
	changeBy(x.whole(t), t, x, unroll, pointers, body)
}

// changeBy is changeVectors with an access for whole vectors.
func changeBy(
	whole access, t isa, x *number, unroll int, pointers []reg.GPVirtual, body func(io access, k, disp int),
) {
	lanes, tail := x.lanes(t), param("n")
	CMPQ(tail, I32(lanes))
	JLT(LabelRef("few"))
	ANDQ(I32(lanes-1), tail)
	JZ(LabelRef("whole"))
	before, last := beforeEnd(x, lanes, pointers), x.held(t)
	body(last, 0, 0)
	for _, p := range pointers {
		SUBQ(before, p)
	}
	Label("whole")
	wholeVectors(whole, t, x, unroll, 1, pointers, body)
	tail = param("n")
	ANDQ(I32(lanes-1), tail)
	JZ(LabelRef("done"))
	SUBQ(I32(lanes), tail) // from the end of the whole vectors back to the last one
	SHLQ(U8(log2(x.size)), tail)
	for _, p := range pointers {
		ADDQ(tail, p)
	}
	last.flush()
	JMP(LabelRef("done"))
	Label("few")
	body(x.firstLanes(t, param("n")), 0, 0)
	Label("done")
}

// wholeVectors emits the loop of eachVector behind the tail, for vectors of some registers.
func wholeVectors(
	whole access, t isa, x *number, unroll, registers int, pointers []reg.GPVirtual, body func(io access, k, disp int),
) {
	lanes := registers * x.lanes(t)
	left := param("n")
	SHRQ(U8(log2(lanes)+log2(unroll)), left)
	repeat(t.part+"block", left, func() {
		for k := range unroll * registers {
			body(whole, k, k*t.bytes())
		}
		whole.flush()
		advance(unroll*registers*t.bytes(), pointers...)
	})
	if unroll > 1 {
		left = param("n")
		SHRQ(U8(log2(lanes)), left)
		ANDQ(I32(unroll-1), left)
		repeat(t.part+"vector", left, func() {
			for k := range registers {
				body(whole, k, k*t.bytes())
			}
			whole.flush()
			advance(registers*t.bytes(), pointers...)
		})
	}
}

// eachLanes is eachVector for vectors of dotLanes float64, on all tiers.
func eachLanes(t isa, unroll int, stores bool, pointers []reg.GPVirtual, body func(io access, k, disp int)) {
	registers := t.dotRegisters()
	if registers == 1 {
		eachVector(t, double, unroll, stores, pointers, body)
		return
	}
	tail := param("n")
	ANDQ(I32(dotLanes-1), tail)
	JZ(LabelRef(t.part + "whole"))
	last := beforeEnd(double, dotLanes, pointers)
	// The second register has up to all of its lanes in the tail, the first one has the others.
	first, none := fresh(tail), GP64()
	XORQ(none, none)
	SUBQ(I32(t.lanes), first)
	CMOVQLT(none, first)
	SUBQ(first, tail)
	parts := []reg.GPVirtual{first, tail}
	if stores {
		masked, blended := make([]access, registers), make([]access, registers)
		for k, lanes := range parts {
			masked[k], blended[k] = double.lastLanes(t, lanes)
		}
		each := func(io []access) func() {
			return func() {
				for k := range io {
					body(io[k], k, k*t.bytes())
				}
			}
		}
		blendedOr(dotLanes, each(blended), each(masked))
	} else { // in some bodies no register is left for a second mask
		for k, lanes := range parts {
			masked, _ := double.lastLanes(t, lanes)
			body(masked, k, k*t.bytes())
		}
	}
	for _, p := range pointers {
		SUBQ(last, p)
	}
	Label(t.part + "whole")
	wholeVectors(double.whole(t), t, double, unroll, registers, pointers, body)
}
