package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// panelRows returns the heights of the broadcast tiles, the tallest first.
func panelRows(t isa) []int {
	if t.evex {
		return []int{12, 8, 4, 2, 1}
	}
	return []int{6, 4, 2, 1}
}

// panel emits C = W Z, or C += W Z, for a tile of height rows and two vectors of columns, all row-major: two
// vectors of a row of Z are multiplied by one entry of each row of W.
func panel(t isa, height int) {
	const unroll = 8
	text(fmt.Sprintf("panel_%d", height), t,
		"func(c *float64, ldc int, w *float64, ldw int, z *float64, ldz, n int, add bool, next uintptr, ldnext, step int)",
		fmt.Sprintf("sets or adds to %d rows of %d columns of C the product of n columns of W and rows of Z. "+
			"For every %d of the n it prefetches a line of each of as many rows from next on, ldnext bytes apart, "+
			"and moves next on by step bytes.", height, 2*t.lanes, unroll))
	p := newPanelTile(t, double, height, 2)
	p.start()
	p.factors()
	pf, ldnext, left := param("next"), param("ldnext"), param("n")
	back := AllocLocal(8) // from the line of the last row to the next one of the first
	offset := GP64()
	IMUL3Q(I32(-height), ldnext, offset)
	ADDQ(mem("step"), offset)
	MOVQ(offset, back)
	SHRQ(U8(log2(unroll)), left)
	JZ(LabelRef("rest"))
	loop("unrolled", left, func() {
		fetched := 0
		for k := range unroll {
			for ; fetched*unroll < (k+1)*height; fetched++ {
				PREFETCHT1(Mem{Base: pf})
				ADDQ(ldnext, pf)
			}
			p.step(k)
		}
		ADDQ(back, pf)
		p.advance(unroll)
	})
	Label("rest")
	left = param("n")
	ANDQ(I32(unroll-1), left)
	JZ(LabelRef("store"))
	loop("single", left, func() {
		p.step(0)
		p.advance(1)
	})
	Label("store")
	p.store()
	finish()
}

// A panelTile is a tile of C = W Z in registers.
type panelTile struct {
	t           isa
	x           *number
	c, ldc      reg.GPVirtual
	z, ldz      reg.GPVirtual // the present row of Z
	low, high   rows          // rows of W up to the eighth, and those after it
	acc         [][]vector    // by rows
	whole, last access        // to vectors, and to the last one of a row
}

func newPanelTile(t isa, x *number, height, vectors int) *panelTile {
	p := &panelTile{t: t, x: x, c: param("c"), ldc: bytesParam("ldc", x.size), acc: make([][]vector, height), whole: x.whole(t)}
	for i := range p.acc {
		p.acc[i] = t.vecs(vectors)
	}
	p.last = p.whole
	return p
}

// factors loads the addresses of W and Z.
func (p *panelTile) factors() {
	height := len(p.acc)
	p.z, p.ldz = param("z"), bytesParam("ldz", p.x.size)
	p.low = newRows(param("w"), bytesParam("ldw", p.x.size), min(height, 8))
	if p.high = p.low; height > 8 {
		p.high.base = GP64()
		LEAQ(Mem{Base: p.low.base, Index: p.low.step, Scale: 8}, p.high.base)
	}
}

// access returns that to vector j of a row.
func (p *panelTile) access(j int) access {
	if j+1 == len(p.acc[0]) {
		return p.last
	}
	return p.whole
}

func (p *panelTile) eachVector(f func(io access, at Mem, v vector)) {
	row := GP64()
	MOVQ(p.c, row)
	for i := range p.acc {
		for j, v := range p.acc[i] {
			f(p.access(j), Mem{Base: row, Disp: j * p.t.bytes()}, v)
		}
		if i+1 < len(p.acc) {
			ADDQ(p.ldc, row)
		}
	}
}

// start loads the sums or clears them.
func (p *panelTile) start() {
	CMPB(mem("add"), I8(0))
	JEQ(LabelRef("zero"))
	p.eachVector(func(io access, at Mem, v vector) { p.x.move(io.load(at), v) })
	JMP(LabelRef("start"))
	Label("zero")
	for i := range p.acc {
		p.t.zero(p.acc[i]...)
	}
	Label("start")
}

func (p *panelTile) store() {
	p.eachVector(func(io access, at Mem, v vector) { io.store(v, at) })
}

// step adds the products of column k, counted from the present one, of W.
func (p *panelTile) step(k int) {
	zs := make([]vector, len(p.acc[0]))
	for j := range zs {
		zs[j] = p.access(j).load(Mem{Base: p.z, Disp: j * p.t.bytes()})
	}
	for i, acc := range p.acc {
		at := p.low.at(min(i, 7), p.x.size*k)
		if i > 7 {
			at = p.high.at(i-8, p.x.size*k)
		}
		w := p.t.vec()
		p.x.broadcast(at, w)
		for j := range acc {
			p.x.fma(zs[j], w, acc[j])
		}
	}
	ADDQ(p.ldz, p.z)
}

// advance moves on by k columns of W.
func (p *panelTile) advance(k int) {
	ADDQ(I32(p.x.size*k), p.low.base)
	if len(p.acc) > 8 {
		ADDQ(I32(p.x.size*k), p.high.base)
	}
}

// transposeSquares emits the copy of as many rows as a vector has lanes to columns, a square at a time.
func transposeSquares(t isa) {
	text("transposeSquares", t, "func(dst *float64, ldd int, src *float64, lds, n int)",
		fmt.Sprintf("copies %d rows of n entries to n rows of %[1]d, n a multiple of %[1]d, n > 0.", t.lanes))
	dst, ldd, left := param("dst"), bytesParam("ldd", 8), param("n")
	src := newRows(param("src"), bytesParam("lds", 8), t.lanes)
	SHRQ(U8(log2(t.lanes)), left)
	loop("square", left, func() {
		v := t.vecs(t.lanes)
		for i := range v {
			VMOVUPD(src.at(i, 0), v[i])
		}
		for _, row := range t.transpose(v) {
			VMOVUPD(row, Mem{Base: dst})
			ADDQ(ldd, dst)
		}
		ADDQ(I32(t.bytes()), src.base)
	})
	finish()
}

// transpose returns the columns of a square, given its rows v.
func (t isa) transpose(v []vector) []vector {
	out := make([]vector, len(v))
	for odd := range 2 {
		pairs := make([]vector, len(v)/2) // entries 0 2 4 6, or 1 3 5 7, of two rows
		for i := range pairs {
			pairs[i] = t.vec()
			if odd == 0 {
				VUNPCKLPD(v[2*i+1], v[2*i], pairs[i])
			} else {
				VUNPCKHPD(v[2*i+1], v[2*i], pairs[i])
			}
		}
		if !t.evex {
			for i, half := range []uint8{0x20, 0x31} {
				out[2*i+odd] = YMM()
				VPERM2F128(U8(half), pairs[1], pairs[0], out[2*i+odd])
			}
			continue
		}
		for i, halves := range []uint8{0x44, 0xee} { // entries 0 2, or 4 6, of four rows
			low, high := ZMM(), ZMM()
			VSHUFF64X2(U8(halves), pairs[1], pairs[0], low)
			VSHUFF64X2(U8(halves), pairs[3], pairs[2], high)
			for k, quarters := range []uint8{0x88, 0xdd} {
				at := 4*i + 2*k + odd
				out[at] = ZMM()
				VSHUFF64X2(U8(quarters), high, low, out[at])
			}
		}
	}
	return out
}
