package main

import (
	"fmt"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// requestSteps is how many steps of a row share a round of prefetches.
const requestSteps = 8

// blockSteps returns how many steps, of 8 features, the blocks of sumBlocks have: wide ones as long as more
// than narrow steps are left, and then one block. The sums of a block stay in registers.
func (t isa) blockSteps() (wide []int, narrow int) {
	if t.evex {
		return []int{16, 8}, 7
	}
	return []int{4}, 5
}

// sumBlocks emits g = X' e for blocks of features, each for all rows: from the last one up, since the last
// rows are what mulBasis has just left in the first-level cache.
func sumBlocks(t isa, x *number) {
	wide, narrow := t.blockSteps()
	text("sumBlocks"+x.suffix, t,
		"func(grad *float64, x *F, ldx int, e *float64, n, steps int, next uintptr, apart, pace int)",
		fmt.Sprintf("sets steps times %d features of grad to the product of n rows, n > 0, steps > 0, "+
			"in blocks of %v steps and one of up to %d. It prefetches %d lines, apart bytes from each other, "+
			"for every %d steps of a row, "+
			"or the last ones of a block, and moves on by pace bytes.",
			width, wide, narrow, x.streams(), requestSteps))
	p := blockSum{t: t, x: x, first: param("x"), ldx: bytesParam("ldx", x.size), e: param("e"), g: param("grad")}
	p.pf, p.apart, p.pace = param("next"), param("apart"), param("pace")
	rows := param("n")
	LEAQ(Mem{Base: p.e, Index: rows, Scale: 8, Disp: -8}, p.e)
	sizes := slices.Clone(wide)
	for steps := narrow; steps > 0; steps-- {
		sizes = append(sizes, steps)
	}
	for i, steps := range sizes {
		label, least := fmt.Sprint("block", i), steps
		if i < len(wide) {
			least = max(steps, narrow+1)
		}
		while(label, mem("steps"), least, func() {
			p.block(label, steps)
			SUBQ(I32(steps), mem("steps"))
		})
	}
	finish()
}

type blockSum struct {
	t          isa
	x          *number
	first, ldx reg.GPVirtual // the block, in the first row;
	e          reg.GPVirtual // the last entry;
	g          reg.GPVirtual // the block of the sum;
	pf         reg.GPVirtual // next line to prefetch in the first stream
	apart      reg.GPVirtual // from one stream to the next
	pace       reg.GPVirtual // how far a round moves on
}

// block emits the sum of a block of the given number of steps, and moves on.
func (p blockSum) block(label string, steps int) {
	each := width / p.t.lanes // vectors of a step
	sums, left, e := p.t.zeros(steps*each), param("n"), fresh(p.e)
	row := fresh(left)
	DECQ(row)
	IMULQ(p.ldx, row)
	ADDQ(p.first, row)
	loop(label+"Row", left, func() {
		ei := p.t.broadcast(Mem{Base: e})
		for i := range sums {
			if i%(requestSteps*each) == 0 {
				request(p.pf, p.apart, p.pace, p.x.streams())
			}
			p.x.addProduct(p.t, Mem{Base: row, Disp: i * p.t.lanes * p.x.size}, ei, sums[i])
		}
		SUBQ(p.ldx, row)
		SUBQ(Imm(8), e)
	})
	p.t.store(p.g, sums...)
	advance(8*width*steps, p.g)
	advance(steps*width*p.x.size, p.first)
}

// panelHeight is the number of rows of a panel of addPanels.
const panelHeight = 8

// addPanels emits g += X' e for panels of rows, each read along its rows: as many streams as rows, which the
// processor's own prefetching follows.
func addPanels(t isa, x *number) {
	text("addPanels"+x.suffix, t,
		"func(grad *float64, x *F, ldx int, e *float64, d, count int, next uintptr, apart, pace int)",
		fmt.Sprintf("adds to grad the product of %d*count rows, x and e being those of the last %[1]d, count >= 1, "+
			"d a multiple of %d, d > 0. It prefetches %d lines, apart bytes from each other, "+
			"for every %[2]d features of a panel, and moves on by pace bytes.", panelHeight, width, x.streams()))
	first, e := param("x"), param("e")
	p := blockSum{t: t, x: x, ldx: bytesParam("ldx", x.size)}
	p.pf, p.apart, p.pace = param("next"), param("apart"), param("pace")
	xs := newRows(GP64(), p.ldx, panelHeight)
	Label("panel")
	es := double.broadcasts(t, e, panelHeight)
	MOVQ(first, xs.base)
	g, left := param("grad"), param("d")
	SHRQ(U8(log2(width)), left)
	loop("feature", left, func() {
		for k := 0; k < width; k += t.lanes {
			v := t.load(Mem{Base: g, Disp: 8 * k})
			for i := range es {
				x.addProduct(t, xs.at(i, x.size*k), es[i], v)
			}
			VMOVUPD(v, Mem{Base: g, Disp: 8 * k})
		}
		request(p.pf, p.apart, p.pace, p.x.streams())
		advance(width*x.size, xs.base)
		advance(width*8, g)
	})
	advance(-8*panelHeight, e)
	for range panelHeight {
		SUBQ(p.ldx, first)
	}
	DECQ(mem("count"))
	JNZ(LabelRef("panel"))
	finish()
}

// rankUpdate emits G += V B' for m vectors: every vector of G is loaded and
// stored once for all m.
func rankUpdate(t isa, m int) {
	text(fmt.Sprintf("rankUpdate_%d", m), t,
		"func(grad *float64, ldg int, v *float64, ldv int, b *float64, ldb, d, r int)",
		fmt.Sprintf("works like rankUpdateGeneric for m = %d and d a multiple of 8.", m))
	g, ldg, blocks := param("grad"), bytesParam("ldg", 8), param("d")
	v := newRows(param("v"), bytesParam("ldv", 8), m)
	SHRQ(U8(log2(t.lanes)), blocks)
	loop("block", blocks, func() {
		vs := make([]vector, m)
		for i := range vs {
			vs[i] = t.load(v.at(i, 0))
		}
		gp, cols, b, ldb := fresh(g), param("r"), param("b"), bytesParam("ldb", 8)
		loop("column", cols, func() {
			c, bp := t.load(Mem{Base: gp}), fresh(b)
			for i := range vs {
				VFMADD231PD(vs[i], t.broadcast(Mem{Base: bp}), c)
				if i+1 < len(vs) {
					ADDQ(ldb, bp)
				}
			}
			VMOVUPD(c, Mem{Base: gp})
			ADDQ(ldg, gp)
			advance(8, b)
		})
		advance(t.bytes(), g, v.base)
	})
	finish()
}

// residual emits e = A b - y and the sum of its squares.
func residual(t isa) {
	text("residual", t, "func(e, a *float64, lda int, b, y *float64, n, r int) float64",
		"works like residualGeneric for n >= 1, r >= 1.")
	e, a, lda, y, loops := param("e"), param("a"), bytesParam("lda", 8), param("y"), 0
	sums := t.zeros(t.dotRegisters())
	eachLanes(t, 1, true, []reg.GPVirtual{e, a, y}, func(io access, k, disp int) {
		s := t.zeros(1)[0]
		VSUBPD(io.load(Mem{Base: y, Disp: disp}), s, s)
		ap, bp := fresh(a), param("b")
		loops++
		loop(fmt.Sprint("columns", loops), param("r"), func() {
			VFMADD231PD(io.operand(Mem{Base: ap, Disp: disp}), t.broadcast(Mem{Base: bp}), s)
			ADDQ(lda, ap)
			advance(8, bp)
		})
		io.store(s, Mem{Base: e, Disp: disp})
		io.clear(s) // 0 * b may be NaN
		VFMADD231PD(s, s, sums[k])
	})
	VMOVSD(t.newReducer().dotSum(addRegisters(sums, 1)[0]), place(ReturnIndex(0)))
	finish()
}
