package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// A number is a type to compute in.
type number struct {
	typ, suffix               string // the suffix is that of the names of tiles
	size                      int    // bytes
	move, add, fma, broadcast func(...Op)
	maskMove, clearing        func(from, mask, to Op) // with AVX2; loads with AVX-512
	blend                     func(mask, from, or, to Op)
}

var (
	double = &number{"float64", "", 8, VMOVUPD, VADDPD, VFMADD231PD, VBROADCASTSD, VMASKMOVPD, VMOVUPD_Z, VBLENDVPD}
	single = &number{"float32", "32", 4, VMOVUPS, VADDPS, VFMADD231PS, VBROADCASTSS, VMASKMOVPS, VMOVUPS_Z, VBLENDVPS}
)

// lanes is how many of them are in a vector.
func (n *number) lanes(t isa) int { return t.bytes() / n.size }

// samples is how samples are stored; they are multiplied in float64.
type samples struct {
	typ, suffix string // the suffix is that of the names of tiles
	size        int    // bytes of an entry
	// mulBasis prefetches a line from each of basisStreams with every round of four rows: about as many lines
	// as it reads meanwhile. mulTransposed does so from gradientStreams with every round of a panel. Package
	// tile has the reasons at its type prefetch.
	basisStreams, gradientStreams int
}

var (
	samples64 = &samples{"float64", "", 8, 3, 2}
	samples32 = &samples{"float32", "32", 4, 2, 1}
)

// width is how many features a round of a loop along d takes: a cache line of float64.
const width = 8

// add adds a vector of samples times v to sum.
func (x *samples) add(t isa, src Op, v, sum vector) {
	if x.size == 4 {
		w := t.vec()
		VCVTPS2PD(src, w)
		src = w
	}
	VFMADD231PD(src, v, sum)
}

// load loads a vector of samples as float64.
func (x *samples) load(src, dst Op) {
	if x.size == 4 {
		VCVTPS2PD(src, dst)
	} else {
		VMOVUPD(src, dst)
	}
}
