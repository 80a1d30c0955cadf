package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lowPanel is the height of the tile of a product's last rows. It may have fewer of them: to compute one row
// four times takes as long as to compute it once, since the sums of a step wait for those of the step before
// it.
const lowPanel = 4

// panelRows returns the heights of the tiles of a product of matrices.
func panelRows(t isa) []int {
	if t.evex {
		return []int{12, lowPanel}
	}
	return []int{6, lowPanel}
}

// panels emits the tiles of products of matrices.
func panels(t isa) {
	for _, height := range panelRows(t) {
		panel(t, height)
		for _, x := range []*number{double, single} {
			panelHalf(t, x, height)
		}
		panel32(t, height)
	}
}

// panel emits C = W Z, or C += W Z, for a tile of height rows and two vectors of columns, all row-major: two
// vectors of a row of Z are multiplied by one entry of each row of W.
func panel(t isa, height int) {
	const line = 8 // entries of W
	text(fmt.Sprintf("panel_%d", height), t,
		"func(c *float64, ldc int, w *float64, ldw int, z *float64, ldz, n, rows int, add bool, next uintptr, ldnext, step int)",
		fmt.Sprintf("sets or adds to %d rows of %d columns of C the product of n columns of W and rows of Z. "+
			"For every %d of the n it prefetches a line of each of as many rows from next on, ldnext bytes apart, "+
			"and moves next on by step bytes.%s", height, 2*t.lanes, line, lowDoc(height)))
	p := newPanelTile(t, double, height, 2)
	pf, ldnext, left := param("next"), param("ldnext"), param("n")
	back := AllocLocal(8) // from the line of the last row to the next one of the first
	offset := GP64()
	IMUL3Q(I32(-height), ldnext, offset)
	ADDQ(mem("step"), offset)
	MOVQ(offset, back)
	together := 2 // steps, which share whole prefetches
	if height%4 != 0 {
		together = 4
	}
	SHRQ(U8(log2(line)), left)
	JZ(LabelRef("rest"))
	loop("line", left, func() {
		steps := GP64()
		MOVQ(I32(line/together), steps)
		loop("steps", steps, func() {
			fetched := 0
			for k := range together {
				for ; fetched*line < (k+1)*height; fetched++ {
					PREFETCHT1(Mem{Base: pf})
					ADDQ(ldnext, pf)
				}
				p.step(k)
			}
			p.advance(together)
		})
		ADDQ(back, pf)
	})
	Label("rest")
	left = param("n")
	ANDQ(I32(line-1), left)
	JZ(LabelRef("store"))
	loop("single", left, func() {
		p.step(0)
		p.advance(1)
	})
	Label("store")
	p.store("stored")
	finish()
}

// lowDoc documents the number of rows.
func lowDoc(height int) string {
	if height == lowPanel {
		return " The parameter rows is the number of these rows of C and W that exist, at least 1."
	}
	return ""
}

// panel32 is panel in float32, without prefetching.
func panel32(t isa, height int) {
	text(fmt.Sprintf("panel32_%d", height), t,
		"func(c *float32, ldc int, w *float32, ldw int, z *float32, ldz, n, rows int, add bool)",
		fmt.Sprintf("sets or adds to %d rows of %d columns of C the product of n columns of W and rows of Z, n >= 1.%s",
			height, 4*t.lanes, lowDoc(height)))
	p := newPanelTile(t, single, height, 2)
	p.pairs()
	p.store("stored")
	finish()
}

// panelHalf is a panel of one vector of columns, or of a part of one, which is loaded and stored by a mask.
func panelHalf(t isa, x *number, height int) {
	text(fmt.Sprintf("panel%sHalf_%d", x.suffix, height), t,
		fmt.Sprintf("func(c *%[1]s, ldc int, w *%[1]s, ldw int, z *%[1]s, ldz, n, rows, cols int, add bool)", x.typ),
		fmt.Sprintf("sets or adds to %d rows of up to %d columns of C the product of n columns of W and rows of Z, n >= 1.%s",
			height, x.lanes(t), lowDoc(height)))
	cols := param("cols")
	p := newPanelTile(t, x, height, 1, x.firstLanes(t, cols).masked())
	p.pairs()
	if !t.evex { // whose masked stores take long on some processors
		CMPQ(mem("cols"), I8(x.lanes(t)))
		JNE(LabelRef("part"))
		whole := *p
		whole.io = x.whole(t)
		whole.store("wholeStored")
		finish()
		Label("part")
	}
	p.store("stored")
	finish()
}

// A panelTile is a tile of C = W Z in registers.
type panelTile struct {
	t     isa
	x     *number
	z     reg.GPVirtual // the present row of Z
	ldz   reg.GPVirtual
	w     []Mem           // the present entries of W, by rows
	bases []reg.GPVirtual // of w
	acc   [][]vector      // by rows
	io    access
}

// newPanelTile loads the sums, or clears them, and loads the addresses of W and Z. A mask limits the columns.
func newPanelTile(t isa, x *number, height, vectors int, masked ...access) *panelTile {
	p := &panelTile{t: t, x: x, acc: make([][]vector, height), io: x.whole(t)}
	if len(masked) > 0 {
		p.io = masked[0]
	}
	for i := range p.acc {
		p.acc[i] = t.vecs(vectors)
		t.zero(p.acc[i]...)
	}
	CMPB(mem("add"), I8(0))
	JEQ(LabelRef("start"))
	p.eachVector("start", func(at Mem, v vector) {
		if len(masked) > 0 {
			VMOVAPD(p.io.load(at), v)
		} else {
			x.move(at, v)
		}
	})
	Label("start")
	p.factors()
	return p
}

// factors loads the addresses of W and Z.
func (p *panelTile) factors() {
	height := len(p.acc)
	p.z, p.ldz = param("z"), bytesParam("ldz", p.x.size)
	w, ldw := param("w"), bytesParam("ldw", p.x.size)
	p.bases = []reg.GPVirtual{w}
	if height == lowPanel { // rows that are not there are the last one that is
		p.w = []Mem{{Base: w}}
		last := GP64()
		XORQ(last, last)
		for i := 1; i < height; i++ {
			row := GP64()
			LEAQ(Mem{Base: last, Index: ldw, Scale: 1}, row)
			CMPQ(mem("rows"), I8(i+1))
			CMOVQLT(last, row)
			p.w = append(p.w, Mem{Base: w, Index: row, Scale: 1})
			last = row
		}
		return
	}
	low := newRows(w, ldw, min(height, 8))
	high := low
	if height > 8 {
		high.base = GP64()
		LEAQ(Mem{Base: w, Index: ldw, Scale: 8}, high.base)
		p.bases = append(p.bases, high.base)
	}
	for i := range height {
		if i < 8 {
			p.w = append(p.w, low.at(i, 0))
		} else {
			p.w = append(p.w, high.at(i-8, 0))
		}
	}
}

// eachVector calls f for the vectors of C, and goes to the label behind those that are there.
func (p *panelTile) eachVector(end string, f func(at Mem, v vector)) {
	row, ldc := param("c"), bytesParam("ldc", p.x.size)
	for i := range p.acc {
		for j, v := range p.acc[i] {
			f(Mem{Base: row, Disp: j * p.t.bytes()}, v)
		}
		if i+1 == len(p.acc) {
			break
		}
		if len(p.acc) == lowPanel {
			CMPQ(mem("rows"), I8(i+1))
			JEQ(LabelRef(end))
		}
		ADDQ(ldc, row)
	}
}

// store stores the sums, before a label.
func (p *panelTile) store(label string) {
	p.eachVector(label, func(at Mem, v vector) { p.io.store(v, at) })
	Label(label)
}

// pairs emits the loop over pairs of columns of W; an odd n begins in the middle of one.
func (p *panelTile) pairs() {
	pairs := param("n")
	INCQ(pairs)
	SHRQ(U8(1), pairs)
	JCC(LabelRef("second"))
	loop("pair", pairs, func() {
		p.step(0)
		p.advance(1)
		Label("second")
		p.step(0)
		p.advance(1)
	})
}

// step adds the products of column k, counted from the present one, of W.
func (p *panelTile) step(k int) {
	zs := make([]vector, len(p.acc[0]))
	for j := range zs {
		zs[j] = p.io.load(Mem{Base: p.z, Disp: j * p.t.bytes()})
	}
	for i, acc := range p.acc {
		w := p.t.vec()
		p.x.broadcast(p.w[i].Offset(p.x.size*k), w)
		for j := range acc {
			p.x.fma(zs[j], w, acc[j])
		}
	}
	ADDQ(p.ldz, p.z)
}

// advance moves on by k columns of W.
func (p *panelTile) advance(k int) {
	for _, base := range p.bases {
		ADDQ(I32(p.x.size*k), base)
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

// transposeSquares32 emits the copy of eight rows of float32 to columns, a square at a time. AVX-512 uses it
// too.
func transposeSquares32(t isa) {
	text("transposeSquares32", t, "func(dst *float32, ldd int, src *float32, lds, n int)",
		"copies 8 rows of n entries to n rows of 8, n a multiple of 8, n > 0.")
	dst, ldd, left := param("dst"), bytesParam("ldd", 4), param("n")
	src := newRows(param("src"), bytesParam("lds", 4), 8)
	SHRQ(U8(3), left)
	loop("square", left, func() {
		for half := range 2 {
			v := t.vecs(4) // four entries of row i, and four of row i+4
			for i := range v {
				VMOVUPS(src.at(i, 16*half), v[i].AsX())
				VINSERTF128(U8(1), src.at(i+4, 16*half), v[i], v[i])
			}
			for _, unpack := range []func(...Op){VUNPCKLPS, VUNPCKHPS} {
				low, high := t.vec(), t.vec() // two entries of rows 0 and 1, and of rows 2 and 3
				unpack(v[1], v[0], low)
				unpack(v[3], v[2], high)
				for _, pick := range []func(...Op){VUNPCKLPD, VUNPCKHPD} {
					row := t.vec()
					pick(high, low, row)
					VMOVUPS(row, Mem{Base: dst})
					ADDQ(ldd, dst)
				}
			}
		}
		ADDQ(U8(32), src.base)
	})
	finish()
}
