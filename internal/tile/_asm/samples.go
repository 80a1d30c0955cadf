package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A number is a type of operands or of samples.
type number struct {
	suffix                    string // of the names of tiles
	size                      int    // bytes
	move, add, fma, broadcast func(...Op)
	multiply, subtract        func(...Op)             // subtract subtracts a product
	multiplyAdd               func(...Op)             // the last operand is a factor, and fma's is a term
	maskMove, clearing        func(from, mask, to Op) // with AVX2; loads with AVX-512
	blend                     func(mask, from, or, to Op)
	fmaBroadcast              func(...Op) // AVX-512: the first factor is a number in memory
}

var (
	double = &number{"", 8, VMOVUPD, VADDPD, VFMADD231PD, VBROADCASTSD, VMULPD, VFNMADD231PD, VFMADD213PD,
		VMASKMOVPD, VMOVUPD_Z, VBLENDVPD, VFMADD231PD_BCST}
	single = &number{"32", 4, VMOVUPS, VADDPS, VFMADD231PS, VBROADCASTSS, VMULPS, VFNMADD231PS, VFMADD213PS,
		VMASKMOVPS, VMOVUPS_Z, VBLENDVPS, VFMADD231PS_BCST}
)

// lanes is how many of them are in a vector.
func (n *number) lanes(t isa) int { return t.bytes() / n.size }

// streamBytes sets the number of streams, size/streamBytes. mulTransposed prefetches a line from each of
// them with every round of a panel, mulBasis from one more with every round of four rows. So they prefetch
// about as many lines as they read meanwhile. Package tile has the reasons at its type prefetch.
const streamBytes = 4

// singles is the index of the tiles for float32 in the table of an operation: no size is as large.
const singles = 16

// width is how many features a round of a loop along d takes: a cache line of float64.
const width = 8

// addProduct adds a vector of samples times v, in float64, to sum.
func (x *number) addProduct(t isa, src Op, v, sum vector) {
	if x.size == 4 {
		w := t.vec()
		VCVTPS2PD(src, w)
		src = w
	}
	VFMADD231PD(src, v, sum)
}

// load loads a vector of samples as float64.
func (x *number) load(src, dst Op) {
	if x.size == 4 {
		VCVTPS2PD(src, dst)
	} else {
		VMOVUPD(src, dst)
	}
}

// streams is how many streams mulTransposed prefetches in.
func (x *number) streams() int { return x.size / streamBytes }

// request prefetches the share of a round: a line of each stream, apart bytes from each other.
func request(next, apart reg.GPVirtual, pace Op, streams int) {
	for i := range streams {
		m := Mem{Base: next}
		if i > 0 {
			m.Index, m.Scale = apart, uint8(i)
		}
		PREFETCHT1(m)
	}
	ADDQ(pace, next)
}
