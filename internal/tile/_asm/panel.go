package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lowPanel is the height of the tile of the last rows of MulPacked. There may be fewer rows: to compute one
// row four times takes no longer than to compute it once. The sums of a step wait for the sums of the step
// before.
const lowPanel = 4

// highPanel returns the height of the tile of a product of matrices.
func highPanel(t isa) int {
	if t.evex {
		return 12
	}
	return 6
}

// panels emits the tiles of products of matrices.
func panels(t isa) {
	for _, x := range []*number{double, single} {
		panel(t, x, highPanel(t))
		fewRows(t, x)
		fewPairs(t, x)
	}
	panel(t, double, lowPanel)
}

// panel emits C = W Z, or C += W Z, by tiles of height rows and two vectors of columns, all row-major: two
// vectors of a row of Z are multiplied by one entry of each row of W.
func panel(t isa, x *number, height int) {
	line := 64 / x.size // entries of W
	text(fmt.Sprintf("panel%s_%d", x.suffix, height), t,
		"func(c *F, ldc int, w *F, down, next, across int, z *F, ldz, n, rows int, add bool, by *F, "+
			"panels, nextc, nextz, groups int, behind, then uintptr, ldthen, thenstep int)",
		fmt.Sprintf("sets or adds to rows of C, a multiple of %d (with the lower tile any number), the product of "+
			"n columns of W and rows of Z, for %d columns; %s "+
			"Then it computes further panels of as many columns, nextc columns of C further on, and nextz "+
			"entries of Z. "+
			"For every %d of the n it prefetches a group of lines, one of each of as many rows as a tile "+
			"has: some groups "+
			"of the rows of C below a tile, for the last tile from behind on, and then groups of rows from then on, "+
			"ldthen bytes apart, each thenstep bytes behind the one before.", height, 2*x.lanes(t), scaledSums, line))
	p := newPanelTile(t, x, height)
	after := AllocLocal(8) // how many groups follow the groups of C
	Label("panel")
	p.eachTile(func() {
		CMPQ(mem("across"), I8(1))
		JNE(LabelRef("lineDone"))
		left := param("n")
		SHRQ(U8(log2(line)), left)
		JZ(LabelRef("lineDone"))
		p.lines(line, left, after)
		Label("lineDone")
		left = param("n")
		CMPQ(mem("across"), I8(1))
		JNE(LabelRef("rest"))
		ANDQ(I32(line-1), left)
		JZ(LabelRef("summed"))
		Label("rest")
		p.pairs(left)
		Label("summed")
	}, func() { p.store("stored") })
	DECQ(mem("panels"))
	JZ(LabelRef("allDone"))
	for _, next := range [][2]string{{"c", "nextc"}, {"z", "nextz"}} {
		by := bytesParam(next[1], x.size)
		ADDQ(by, mem(next[0]))
	}
	JMP(LabelRef("panel"))
	Label("allDone")
	finish()
}

// lines emits the loop over a number of lines of W, with the prefetches of panel. Its counters and distances
// are in registers: two of them in memory took 5 % of the time of a tile.
func (p *panelTile) lines(line int, left reg.GPVirtual, after Mem) {
	height, together := len(p.acc), line/4 // together: steps, which share whole prefetches
	if height%4 != 0 {
		together = line / 2
	}
	z, fetched := newRows(p.z, p.ldz, together), together*height/line
	pf, apart, back := GP64(), GP64(), GP64() // back: from the end of a group to the next one
	streams, further := newRows(pf, apart, fetched), GP64()
	begin := func(step Op) {
		IMUL3Q(I32(-height), apart, back)
		ADDQ(step, back)
		IMUL3Q(I32(fetched), apart, further)
	}
	MOVQ(left, after)
	MOVQ(mem("groups"), left)
	SUBQ(left, after)
	JGE(LabelRef("enough"))
	ADDQ(after, left)
	MOVQ(U32(0), after)
	Label("enough")
	TESTQ(left, left)
	JZ(LabelRef("elsewhere"))
	MOVQ(mem("ldc"), apart)
	SHLQ(U8(log2(p.x.size)), apart)
	IMUL3Q(I32(height), apart, pf)
	ADDQ(p.row, pf)
	CMPQ(p.left, I8(height))
	JG(LabelRef("below"))
	MOVQ(mem("behind"), pf)
	Label("below")
	begin(I32(64))
	loop("line", left, func() {
		loop("steps", fresh(I32(line/together)), func() {
			next := 0
			for k := range together {
				for ; next*line < (k+1)*height; next++ {
					PREFETCHT1(streams.at(next, 0))
				}
				p.step(k, z.at(k, 0))
			}
			LEAQ(Mem{Base: p.z, Index: p.ldz, Scale: uint8(together)}, p.z)
			ADDQ(further, pf)
			advance(together*p.x.size, p.bases...)
		})
		ADDQ(back, pf)
	})
	Label("elsewhere")
	MOVQ(after, left)
	TESTQ(left, left)
	JZ(LabelRef("lineDone"))
	MOVQ(U32(0), after)
	MOVQ(mem("then"), pf)
	MOVQ(mem("ldthen"), apart)
	begin(mem("thenstep"))
	JMP(LabelRef("line"))
}

// panelBytes is the size of a row of a panel.
const panelBytes = 128

// copyPieces emits the copy of rows in pieces of the size of a row of a panel. It prefetches rows that come
// later.
func copyPieces(t isa) {
	text("copyPieces", t, "func(dst *float64, down, across int, src *float64, stride, ahead, pieces, rows int)",
		fmt.Sprintf("copies rows of pieces times %d bytes, stride bytes apart, pieces > 0 and rows > 0. Pieces are "+
			"across bytes apart in dst, and rows down bytes. It prefetches what is ahead bytes behind a row.",
			panelBytes))
	row, first, stride, ahead, across := param("src"), param("dst"), param("stride"), param("ahead"), param("across")
	rows, down := param("rows"), param("down")
	loop("row", rows, func() {
		src, dst, left := fresh(row), fresh(first), param("pieces")
		loop("piece", left, func() {
			for at := 0; at < panelBytes; at += 64 {
				PREFETCHT0(Mem{Base: src, Index: ahead, Scale: 1, Disp: at})
			}
			for at := 0; at < panelBytes; at += t.bytes() {
				VMOVUPD(t.load(Mem{Base: src, Disp: at}), Mem{Base: dst, Disp: at})
			}
			advance(panelBytes, src)
			ADDQ(across, dst)
		})
		ADDQ(stride, row)
		ADDQ(down, first)
	})
	finish()
}

// scaledSums is the part of a doc comment about the factors of sums.
const scaledSums = "by, unless nil, has two numbers, and C is the first one times the product plus the second one " +
	"times C, which is not read for 0."

// A panelTile is a tile of C = W Z in registers.
type panelTile struct {
	t     isa
	x     *number
	z     reg.GPVirtual // the present row of Z
	ldz   reg.GPVirtual
	down  reg.GPVirtual
	w     []Mem           // the present entries of W, by rows
	bases []reg.GPVirtual // of w
	acc   [][]vector      // by rows
	io    access
	eight rows // the addresses of up to eight rows of W
	// Of the present tile: the address of C and of W, and the number of rows from there on.
	row, from, left Mem
}

// newPanelTile loads the distances of rows.
func newPanelTile(t isa, x *number, height int) *panelTile {
	p := &panelTile{t: t, x: x, acc: make([][]vector, height), io: x.whole(t)}
	for i := range p.acc {
		p.acc[i] = []vector{t.vec(), t.vec()}
	}
	p.ldz, p.down = bytesParam("ldz", x.size), bytesParam("down", x.size)
	if height > lowPanel {
		p.eight = newRows(nil, p.down, min(height, 8))
	}
	p.row, p.from, p.left = AllocLocal(8), AllocLocal(8), AllocLocal(8)
	return p
}

// eachTile emits the loop over the tiles of all rows, one below the other. sum adds the products to the sums,
// which are loaded or cleared, and store stores them.
func (p *panelTile) eachTile(sum, store func()) {
	height := len(p.acc)
	MOVQ(param("c"), p.row)
	MOVQ(param("w"), p.from)
	MOVQ(param("rows"), p.left)
	Label("tile")
	for _, acc := range p.acc {
		p.t.zero(acc...)
	}
	CMPB(mem("add"), I8(0))
	JEQ(LabelRef("start"))
	p.eachVector("start", func(_ access, at Mem, v vector) { p.x.move(at, v) })
	Label("start")
	p.factors()
	sum()
	p.scale()
	store()
	left := GP64()
	MOVQ(p.left, left)
	SUBQ(I8(height), left)
	JLE(LabelRef("tilesDone"))
	MOVQ(left, p.left)
	p.moveOn(p.row, "ldc", p.x.size)
	p.moveOn(p.from, "down", p.x.size)
	p.moveOn(mem("then"), "ldthen", 1)
	JMP(LabelRef("tile"))
	Label("tilesDone")
}

// moveOn moves an address on by the rows of a tile, whose distance is a parameter in units of some bytes.
func (p *panelTile) moveOn(address Mem, distance string, unit int) {
	by := param(distance)
	IMUL3Q(I32(len(p.acc)*unit), by, by)
	ADDQ(by, address)
}

// factors loads the addresses of W and Z of a tile.
func (p *panelTile) factors() {
	height := len(p.acc)
	p.z = param("z")
	w := GP64()
	MOVQ(p.from, w)
	p.bases = []reg.GPVirtual{w}
	if height == lowPanel { // rows that are not there are the last one that is
		p.w = []Mem{{Base: w}}
		last := fresh(U32(0))
		for i := 1; i < height; i++ {
			row := sum(last, p.down, 1, 0)
			CMPQ(p.left, I8(i+1))
			CMOVQLT(last, row)
			p.w = append(p.w, Mem{Base: w, Index: row, Scale: 1})
			last = row
		}
		return
	}
	p.w, p.bases = panelRowsAt(w, p.eight, height)
}

// panelRowsAt returns the addresses of rows of W, and the pointers in them.
func panelRowsAt(w reg.GPVirtual, eight rows, height int) (at []Mem, bases []reg.GPVirtual) {
	bases = []reg.GPVirtual{w}
	eight.base = w
	for i := range height {
		if i == 8 {
			eight.base = sum(w, eight.step, 8, 0)
			bases = append(bases, eight.base)
		}
		at = append(at, eight.at(i%8, 0))
	}
	return at, bases
}

// eachVector calls f for the vectors of C, and goes to the label behind those that are there.
func (p *panelTile) eachVector(end string, f func(io access, at Mem, v vector)) {
	row, ldc := GP64(), bytesParam("ldc", p.x.size)
	MOVQ(p.row, row)
	for i := range p.acc {
		for j, v := range p.acc[i] {
			f(p.io, Mem{Base: row, Disp: j * p.t.bytes()}, v)
		}
		if i+1 == len(p.acc) {
			break
		}
		if len(p.acc) == lowPanel {
			CMPQ(p.left, I8(i+1))
			JEQ(LabelRef(end))
		}
		ADDQ(ldc, row)
	}
}

// scale multiplies the sums by the first of the factors of a tile, and adds the multiple of C.
func (p *panelTile) scale() {
	by, factor := param("by"), p.t.vec()
	TESTQ(by, by)
	JZ(LabelRef("scaled"))
	p.x.broadcast(Mem{Base: by}, factor)
	for _, acc := range p.acc {
		for _, v := range acc {
			p.x.multiply(factor, v, v)
		}
	}
	p.x.isZero(Mem{Base: by, Disp: p.x.size})
	JZ(LabelRef("scaled"))
	p.x.broadcast(Mem{Base: by, Disp: p.x.size}, factor)
	p.eachVector("scaled", func(io access, at Mem, v vector) {
		old := io.load(at)
		p.x.multiply(factor, old, old)
		p.x.add(old, v, v)
	})
	Label("scaled")
}

// isZero sets the flag of zero if a number in memory is zero, of either sign.
func (x *number) isZero(at Mem) {
	bits := GP64()
	if x.size == 8 {
		MOVQ(at, bits)
		ADDQ(bits, bits) // without the sign
	} else {
		MOVL(at, bits.As32())
		ADDL(bits.As32(), bits.As32())
	}
}

// store stores the sums, before a label.
func (p *panelTile) store(label string) {
	p.eachVector(label, func(io access, at Mem, v vector) { io.store(v, at) })
	Label(label)
}

// pairs emits the loop over pairs of a number of columns of W; an odd number begins in the middle of one.
func (p *panelTile) pairs(pairs reg.GPVirtual) {
	next, across := bytesParam("next", p.x.size), bytesParam("across", p.x.size)
	INCQ(pairs)
	SHRQ(U8(1), pairs)
	JCC(LabelRef("second"))
	row := Mem{Base: p.z}
	loop("pair", pairs, func() {
		p.step(0, row)
		ADDQ(p.ldz, p.z)
		for _, base := range p.bases {
			ADDQ(next, base)
		}
		Label("second")
		p.step(0, row)
		ADDQ(p.ldz, p.z)
		for _, base := range p.bases {
			ADDQ(across, base)
		}
	})
}

// step adds the products of column k, counted from the present one, of W stored by rows, and a row of Z.
func (p *panelTile) step(k int, z Mem) {
	zs := make([]vector, len(p.acc[0]))
	for j := range zs {
		zs[j] = p.io.load(z.Offset(j * p.t.bytes()))
	}
	for i, acc := range p.acc {
		w := p.t.vec()
		p.x.broadcast(p.w[i].Offset(p.x.size*k), w)
		for j := range acc {
			p.x.fma(zs[j], w, acc[j])
		}
	}
}
