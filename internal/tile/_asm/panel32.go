package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A panel32 emits C = W Z, or C += W Z, in float32, for a tile of rows and one or two vectors of columns, all
// by rows. With AVX-512, and for a single vector of AVX2, only the first columns of C and Z are loaded and
// stored.
type panel32 struct {
	t         isa
	masked    bool
	c, ldc    reg.GPVirtual
	z, ldz    reg.GPVirtual // the present row of Z
	behind    reg.Register  // bytes between both vectors of a row, nil if that is always the length of one
	low, high rows          // rows of W up to the eighth, and those after it
	acc       [][]vector    // by rows
	masks     []mask32      // of the vectors
}

func emitPanel32(t isa, height, vectors int) {
	width := vectors * single.lanes(t)
	text(fmt.Sprintf("%s_%d", []string{"panel32Half", "panel32"}[vectors-1], height), t,
		"func(c *float32, ldc int, w *float32, ldw int, z *float32, ldz, n, columns int, add bool)",
		fmt.Sprintf("sets or adds to %d rows of C the product of n > 0 columns of W and rows of Z, at most %d columns wide.", height, width))
	p := &panel32{t: t, masked: t.evex || vectors == 1, c: param("c"), ldc: bytesParam("ldc", 4), acc: make([][]vector, height)}
	for i := range p.acc {
		p.acc[i] = t.vecs(vectors)
	}
	if p.masked {
		p.masks = newMasks32(t, param("columns"), vectors)
	}
	if p.masked && vectors > 1 {
		p.second()
	}
	p.load()
	p.z, p.ldz = param("z"), bytesParam("ldz", 4)
	p.low = newRows(param("w"), bytesParam("ldw", 4), min(height, 8))
	if p.high = p.low; height > 8 {
		p.high.base = GP64()
		LEAQ(Mem{Base: p.low.base, Index: p.low.step, Scale: 8}, p.high.base)
	}
	pairs := param("n") // of columns of W; an odd n begins in the middle of one
	INCQ(pairs)
	SHRQ(U8(1), pairs)
	JCC(LabelRef("second"))
	loop("pair", pairs, func() {
		p.step()
		Label("second")
		p.step()
	})
	p.store()
	finish()
}

// second sets how far behind the first vector of a row the second one is: at the same place if it has no
// columns, since the memory there may belong to nobody, which costs much even if all lanes are masked.
func (p *panel32) second() {
	behind, bytes := GP64(), GP64()
	XORL(behind.As32(), behind.As32())
	MOVQ(I32(p.t.bytes()), bytes)
	CMPQ(mem("columns"), I8(single.lanes(p.t)))
	CMOVQGT(bytes, behind)
	p.behind = behind
}

// at returns the address of vector j of a row.
func (p *panel32) at(row reg.GPVirtual, j int) Mem {
	if j == 1 && p.behind != nil {
		return Mem{Base: row, Index: p.behind, Scale: 1}
	}
	return Mem{Base: row, Disp: j * p.t.bytes()}
}

// load loads C, or clears the sums, by masks if there are some.
func (p *panel32) load() {
	if p.masked {
		n := GP64()
		MOVBQZX(mem("add"), n)
		NEGQ(n)
		ANDQ(mem("columns"), n)
		masks := newMasks32(p.t, n, len(p.acc[0]))
		p.eachRow(func(j int, row Mem, v vector) { masks[j].load(row, v) })
		return
	}
	CMPB(mem("add"), I8(0))
	JEQ(LabelRef("zero"))
	p.eachRow(func(_ int, row Mem, v vector) { VMOVUPS(row, v) })
	JMP(LabelRef("start"))
	Label("zero")
	for i := range p.acc {
		p.t.zero(p.acc[i]...)
	}
	Label("start")
}

// store stores C. With AVX2, whose masked stores are slow, whole vectors are stored without masks.
func (p *panel32) store() {
	whole := func(j int, row Mem, v vector) { VMOVUPS(v, row) }
	if !p.masked {
		p.eachRow(whole)
		return
	}
	if !p.t.evex {
		CMPQ(mem("columns"), I8(single.lanes(p.t)))
		JNE(LabelRef("part"))
		p.eachRow(whole)
		finish()
		Label("part")
	}
	p.eachRow(func(j int, row Mem, v vector) { p.masks[j].store(v, row) })
}

// eachRow moves the vectors of C.
func (p *panel32) eachRow(move func(j int, row Mem, v vector)) {
	at := GP64()
	MOVQ(p.c, at)
	for i, row := range p.acc {
		for j, v := range row {
			move(j, p.at(at, j), v)
		}
		if i+1 < len(p.acc) {
			ADDQ(p.ldc, at)
		}
	}
}

// step adds the products of the next column of W.
func (p *panel32) step() {
	zs := p.t.vecs(len(p.acc[0]))
	for j, z := range zs {
		if p.masked {
			p.masks[j].load(p.at(p.z, j), z)
		} else {
			VMOVUPS(p.at(p.z, j), z)
		}
	}
	for i, acc := range p.acc {
		from := p.low.at(min(i, 7), 0)
		if i > 7 {
			from = p.high.at(i-8, 0)
		}
		w := p.t.vec()
		VBROADCASTSS(from, w)
		for j := range acc {
			VFMADD231PS(zs[j], w, acc[j])
		}
	}
	ADDQ(p.ldz, p.z)
	ADDQ(U8(4), p.low.base)
	if len(p.acc) > 8 {
		ADDQ(U8(4), p.high.base)
	}
}

// A mask32 limits loads and stores to the first lanes of a vector of float32.
type mask32 struct {
	t isa
	k reg.Register
	y vector
}

// newMasks32 returns the masks for the first n lanes of several vectors, of one with AVX2. It destroys n.
func newMasks32(t isa, n reg.GPVirtual, vectors int) []mask32 {
	masks := make([]mask32, vectors)
	if t.evex {
		m := GP64()
		MOVQ(I32(1), m)
		SHLXQ(n, m, m)
		DECQ(m)
		for j := range masks {
			masks[j] = mask32{t: t, k: K()}
			KMOVW(m.As32(), masks[j].k)
			if j+1 < vectors {
				SHRQ(U8(16), m)
			}
		}
		return masks
	}
	// Lane i is used when i < n: a window into the eight ones and eight zeros of the table.
	table, y := GP64(), YMM()
	LEAQ(maskTable().Offset(32), table)
	NEGQ(n)
	VMOVUPS(Mem{Base: table, Index: n, Scale: 4}, y)
	return []mask32{{t: t, y: y}}
}

// load loads the masked lanes and clears the others.
func (m mask32) load(src Mem, dst vector) {
	if m.t.evex {
		VMOVUPS_Z(src, m.k, dst)
	} else {
		VMASKMOVPS(src, m.y, dst)
	}
}

// store stores the masked lanes.
func (m mask32) store(src vector, dst Mem) {
	if m.t.evex {
		VMOVUPS(src, m.k, dst)
	} else {
		VMASKMOVPS(src, m.y, dst)
	}
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

// narrowRows32 returns the heights of tiles of one vector: with AVX2 they do what is less than two.
func narrowRows32(t isa) []int {
	if t.evex {
		return panelRows(t)[:1]
	}
	return panelRows(t)
}

// emit32 emits the tiles of a tier for BLAS in float32.
func emit32(t isa) {
	for _, height := range narrowRows32(t) {
		emitPanel32(t, height, 1)
	}
	for _, height := range panelRows(t) {
		emitPanel32(t, height, 2)
	}
	if !t.evex {
		transposeSquares32(t)
		rowDots32(t, 4)
		rowDots32(t, 1)
		addRows32(t)
		addOuter32(t)
	}
}
