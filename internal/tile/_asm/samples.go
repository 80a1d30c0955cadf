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

// samples is how samples are stored and multiplied.
type samples struct {
	typ             string
	suffix, generic string // of the names of tiles, and of their definition
	size            int    // bytes of an entry
	in              *number
	convert         func(...Op) // to a vector of numbers, nil if they are some
	// mulBasis prefetches a line from each of basisStreams with every round of four rows: about as many lines
	// as it reads meanwhile. mulTransposed does so from gradientStreams with every round of a panel. Package
	// tile has the reasons at its type prefetch.
	basisStreams, gradientStreams int
}

var (
	samples64 = &samples{"float64", "", "", 8, double, nil, 3, 2}
	samples32 = &samples{"float32", "32", "", 4, double, VCVTPS2PD, 2, 1}
	samples16 = &samples{"uint16", "Half", "Half", 2, single, VCVTPH2PS, 2, 1}
)

// step is how many features a round of a loop along d takes: 64 bytes of numbers.
func (x *samples) step() int { return 64 / x.in.size }

// add adds a vector of samples times v to sum.
func (x *samples) add(t isa, src Op, v, sum vector) {
	if x.convert != nil {
		w := t.vec()
		x.convert(src, w)
		src = w
	}
	x.in.fma(src, v, sum)
}

// load loads a vector of samples as numbers.
func (x *samples) load(src, dst Op) {
	if x.convert == nil {
		x.in.move(src, dst)
	} else {
		x.convert(src, dst)
	}
}
