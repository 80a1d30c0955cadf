package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// mostPairRows is the largest number of rows of a tile of a product of complex numbers: their sums are twice
// as many.
func mostPairRows(t isa) int {
	if t.evex {
		return mostFewRows
	}
	return mostFewRows / 2
}

// fewPairs emits the product of complex W and Z, a few rows at a time. An entry of W is two factors of the
// same numbers of Z: the sums of the products with imaginary parts are swapped in the end.
func fewPairs(t isa, x *number) {
	text("fewPairs"+x.suffix, t,
		"func(c *F, ldc int, w *F, down, across int, z *F, ldz, n, height, rows, lower, cols int, by, signs *F)",
		fmt.Sprintf("sets rows of C to the product of n >= 1 columns of complex W and rows of complex Z, for cols "+
			"reals. It takes height <= %d rows at a time, and one row less for the last lower rows. Sums of products "+
			"with real parts of W have the signs of a pair, swapped pairs of the others those of the next pair. %s",
			mostPairRows(t), scaledSums))
	p := newFewRows(t, x, mostPairRows(t), 4)
	p.next = local(bytesParam("across", x.size))
	p.allRows()
}

// loadSigns loads the signs of pairs, and of swapped pairs.
func (p *fewColumns) loadSigns(own, swapped vector) {
	of, with := p.x.byPairs(p.t, param("signs"))
	VMOVAPD(of, own)
	VMOVAPD(with, swapped)
}

// combine emits the sums of complex numbers, from the last row to the first one: of their products with real
// parts, and of those with imaginary ones, swapped.
func (p *fewColumns) combine(own, swapped vector) {
	for i := len(p.acc) - 1; i >= 0; i-- {
		Label(p.label("Combine", i+1))
		for j, v := range p.sums[i] {
			w := p.turned(i)[j]
			p.x.swapPairs(p.t, w, w)
			VXORPD(own, v, v)
			VXORPD(swapped, w, w)
			p.x.add(w, v, v)
		}
	}
	CMPQ(mem("by"), I8(0))
	JNE(LabelRef(p.label("Scale", len(p.acc))))
	for i := range len(p.acc) - 1 {
		p.exit(i, "Store")
	}
	JMP(LabelRef(p.label("Store", len(p.acc))))
}

// pairTerm adds the products of a complex entry of a row of W and a row of Z.
func (p *fewColumns) pairTerm(row int, zs []vector) {
	for part, acc := range [][]vector{p.sums[row], p.turned(row)[:len(zs)]} {
		at := p.w.at(row, part*p.x.size)
		if p.t.evex && len(zs) == 1 {
			p.x.fmaBroadcast(at, zs[0], acc[0])
			continue
		}
		w := p.t.vec()
		p.x.broadcast(at, w)
		for j := range acc {
			p.x.fma(zs[j], w, acc[j])
		}
	}
}
