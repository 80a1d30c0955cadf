package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lastPairs makes the mask of the last vector of two rows in the halves of a register.
func (p *productsTile) lastPairs() {
	tail, bits, k := param("n"), fresh(I32(0xff00)), K()
	ANDQ(I8(lanesOfPairs-1), tail)
	SHRXQ(tail, bits, bits) // the last of the lower eight lanes, and others
	KMOVW(bits.As32(), k)
	KUNPCKBW(k, k, k)
	p.lanes = k
}

// lanesOfPairs is the number of partial sums of an inner product in float32.
const lanesOfPairs = 8

// two loads two rows of float32 to the halves of a register, and both one row to both: all lanes, or the last
// ones and zeros. The rows can be read as a whole.
func (p *productsTile) two(low, high Mem, last bool) vector {
	v := p.t.vec()
	VBROADCASTF32X8(low, v)
	VINSERTF32X8(U8(1), high, v, v)
	if last {
		VMOVAPS_Z(v, p.lanes, v)
	}
	return v
}

func (p *productsTile) both(row Mem, last bool) vector {
	v := p.t.vec()
	if last {
		VBROADCASTF32X8_Z(row, p.lanes, v)
	} else {
		VBROADCASTF32X8(row, v)
	}
	return v
}

// rowsOfPairs returns the addresses of rows of W, an even number of them; the last one may be the one before.
func (p *productsTile) rowsOfPairs(pairs int, height Mem) func(i int) Mem {
	last, before := GP64(), GP64()
	LEAQ(p.w.at(2*pairs-2, 0), before)
	SUBQ(p.w.base, before)
	LEAQ(Mem{Base: before, Index: p.w.step, Scale: 1}, last)
	CMPQ(height, I8(2*pairs))
	CMOVQNE(before, last)
	return func(i int) Mem {
		if i == 2*pairs-1 {
			return Mem{Base: p.w.base, Index: last, Scale: 1}
		}
		return p.w.at(i, 0)
	}
}

// somePairs is some for two rows of W in each register. An odd number of rows has the last one twice.
func (p *productsTile) somePairs(pairs int, height Mem, c reg.GPVirtual) {
	t := p.t
	t.part = fmt.Sprint("of", 2*pairs)
	acc := t.zeros(pairs * p.columns)
	row := p.rowsOfPairs(pairs, height)
	add := func(last bool) {
		var w []vector
		for i := range pairs {
			w = append(w, p.two(row(2*i), row(2*i+1), last))
		}
		for j := range p.columns {
			z := p.both(p.z.at(j, 0), last)
			for i := range pairs {
				p.x.fma(z, w[i], acc[i*p.columns+j])
			}
		}
	}
	pointers := []reg.GPVirtual{p.w.base, p.z.base}
	TESTQ(I32(lanesOfPairs-1), mem("n"))
	JZ(LabelRef(t.part + "whole"))
	end := beforeEnd(p.x, lanesOfPairs, pointers)
	add(true)
	for _, at := range pointers {
		SUBQ(end, at)
	}
	Label(t.part + "whole")
	left := param("n")
	SHRQ(U8(log2(lanesOfPairs)), left)
	loop(t.part+"block", left, func() {
		add(false)
		advance(lanesOfPairs*p.x.size, pointers...)
	})
	p.storePairs(acc, height, c)
}

// storePairs stores the sums of two rows in each register, four rows at a time.
func (p *productsTile) storePairs(acc []vector, height Mem, c reg.GPVirtual) {
	pairs, to, ldc := len(acc)/p.columns, fresh(c), bytesParam("ldc", p.x.size)
	for i := 0; i < pairs; i += 2 {
		var four []vector
		for j := i; j < min(i+2, pairs); j++ {
			four = append(four, p.sumFours(acc[j*p.columns:][:p.columns]))
		}
		rows := p.fourRows(four)
		for k := range 2 * len(four) {
			if i+k > 0 {
				ADDQ(ldc, to)
			}
			if 2*i+k == 2*pairs-1 {
				CMPQ(height, I8(2*pairs))
				JNE(LabelRef("stored"))
			}
			if k == 0 {
				VMOVUPS(rows.AsX(), Mem{Base: to})
			} else {
				VEXTRACTF32X4(U8(k), rows, Mem{Base: to})
			}
		}
	}
}

// sumFours returns four sums of four lanes in each quarter of a register, in the order of store32.
func (p *productsTile) sumFours(v []vector) vector {
	neighbours := func(a, b vector) vector {
		s, u := p.t.vec(), p.t.vec()
		VSHUFPS(U8(0x88), b, a, s)
		VSHUFPS(U8(0xdd), b, a, u)
		VADDPS(u, s, s)
		return s
	}
	return neighbours(neighbours(v[0], v[1]), neighbours(v[2], v[3]))
}

// fourRows returns the sums of the quarters of one or two registers: of the first two, and of the others.
func (p *productsTile) fourRows(v []vector) vector {
	s, u, second := p.t.vec(), p.t.vec(), v[len(v)-1]
	VSHUFF32X4(U8(0x88), second, v[0], s)
	VSHUFF32X4(U8(0xdd), second, v[0], u)
	VADDPS(u, s, s)
	return s
}
