package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The tiles of this file multiply samples of 16 bits. They convert them to float32 as
// they load them, and multiply in float32, twice as many at a time as float64.

// halfStep is the number of features that a round of their loops takes: a vector of
// AVX-512, or two of AVX2.
const halfStep = 16

// halfStreams returns how many lines mulBasisHalf prefetches with every halfStep
// features of four rows. Package tile has the same number.
const halfStreams = 2

// singles is the number of float32 in a vector.
func (t isa) singles() int { return 2 * t.lanes }

// mulBasisHalf emits A = A0 + X U for groups of cols columns each, as mulBasis does.
func mulBasisHalf(t isa, cols int) {
	height := basisRows(t, cols)
	text(fmt.Sprintf("mulBasisHalf_%dx%d", height, cols), t,
		"func(a *float64, lda int, a0 *float64, lda0 int, x *uint16, ldx int, u *float32, ldu int, n, d, groups int, next uintptr, apart, pace int)",
		fmt.Sprintf("works like mulBasisHalfGeneric for groups*%d columns, n >= 2, d a multiple of %d. "+
			"It prefetches %d lines, apart bytes from each other, for every %d features of 4 rows, and moves on by pace bytes.", cols, halfStep, halfStreams, halfStep))
	b := halfTile{t: t, cols: cols}
	b.ldx = param("ldx")
	ADDQ(b.ldx, b.ldx)
	b.us = newRows(GP64(), bytesParam("ldu", true), cols)
	b.xs = newRows(GP64(), b.ldx, height)
	b.pf, b.apart = param("next"), param("apart")
	if t == avx512 {
		m := GP32()
		b.upper = K()
		MOVL(U32(0xff00), m)
		KMOVW(m, b.upper)
	}
	b.first = AllocLocal(8)
	x := param("x")
	MOVQ(x, b.first)
	b.pace = AllocLocal(16)
	pace := param("pace")
	MOVQ(pace, b.pace)
	SHRQ(Imm(1), pace)
	MOVQ(pace, b.pace.Offset(8))
	eachTile("", height, b.first, b.block, b.back)
}

type halfTile struct {
	t      isa
	cols   int
	ldx    reg.GPVirtual
	xs, us rows          // running along d
	pf     reg.GPVirtual // next line to prefetch in the first stream
	apart  reg.GPVirtual // from there to the next stream
	first  Mem           // the first row
	pace   Mem           // how far a step of 4 and of 2 rows moves on
	upper  reg.Register  // AVX-512: the upper half of a vector
}

// back goes back by one row: the same numbers are stored once more.
func (b halfTile) back() {
	SUBQ(Imm(8), mem("a"))
	SUBQ(Imm(8), mem("a0"))
	SUBQ(b.ldx, mem("x"))
	INCQ(mem("n"))
}

// block emits height rows and all groups, and moves on to the next rows.
func (b halfTile) block(height int) {
	label := func(s string) string { return fmt.Sprintf("%s%d", s, height) }
	acc := make([][]vector, b.cols) // by columns
	u, a, a0 := param("u"), AllocLocal(8), AllocLocal(8)
	for _, p := range []struct {
		to   Mem
		name string
	}{{a, "a"}, {a0, "a0"}} {
		v := param(p.name)
		MOVQ(v, p.to)
	}
	left := AllocLocal(8)
	groups := param("groups")
	MOVQ(groups, left)
	Label(label("group"))
	for j := range acc {
		acc[j] = b.t.vecs(height)
		b.t.zero(acc[j]...)
	}
	MOVQ(mem("x"), b.xs.base)
	MOVQ(u, b.us.base)
	k := param("d")
	SHRQ(U8(log2(halfStep)), k)
	loop(label("dot"), k, func() { b.dots(acc, height) })
	b.store(acc, height, a, a0)
	for range b.cols {
		ADDQ(b.us.step, u)
	}
	DECQ(left)
	JNZ(LabelRef(label("group")))
	ADDQ(I32(8*height), mem("a"))
	ADDQ(I32(8*height), mem("a0"))
	for range height {
		ADDQ(b.ldx, mem("x"))
	}
	SUBQ(I32(height), mem("n"))
}

// dots adds the products of halfStep features, and prefetches its share.
func (b halfTile) dots(acc [][]vector, height int) {
	for i := range halfStreams {
		m := Mem{Base: b.pf}
		if i > 0 {
			m.Index, m.Scale = b.apart, uint8(i)
		}
		PREFETCHT1(m)
	}
	ADDQ(b.pace.Offset(8*(4-height)/2), b.pf)
	for k := 0; k < halfStep; k += b.t.singles() {
		if height > b.cols { // keep the shorter side in registers
			u := b.t.vecs(b.cols)
			for j := range u {
				VMOVUPS(b.us.at(j, 4*k), u[j])
			}
			for i := range height {
				x := b.t.vec()
				VCVTPH2PS(b.xs.at(i, 2*k), x)
				for j := range u {
					VFMADD231PS(x, u[j], acc[j][i])
				}
			}
			continue
		}
		x := b.t.vecs(height)
		for i := range x {
			VCVTPH2PS(b.xs.at(i, 2*k), x[i])
		}
		for j := range acc {
			u := b.t.vec()
			VMOVUPS(b.us.at(j, 4*k), u)
			for i := range x {
				VFMADD231PS(x[i], u, acc[j][i])
			}
		}
	}
	ADDQ(I32(2*halfStep), b.xs.base)
	ADDQ(I32(4*halfStep), b.us.base)
}

// store adds the sums of all columns of a group to A0, and moves on to the next group.
func (b halfTile) store(acc [][]vector, height int, a, a0 Mem) {
	to, from := GP64(), GP64()
	MOVQ(a, to)
	MOVQ(a0, from)
	lda, lda0 := bytesParam("lda", false), bytesParam("lda0", false)
	together := b.t.singles() / 4 // columns
	for j := 0; j < len(acc); j += together {
		cols := acc[j:min(j+together, len(acc))]
		sums := b.sums(cols, height)
		for c := range cols {
			s := XMM()
			switch {
			case c == 0:
				s = sums.AsX().(reg.VecVirtual)
			case b.t == avx512:
				VEXTRACTF32X4(U8(c), sums, s)
			default:
				VEXTRACTF128(U8(c), sums, s)
			}
			w := XMM()
			if height == 4 {
				w = YMM()
			}
			VCVTPS2PD(s, w)
			VADDPD(Mem{Base: from}, w, w)
			VMOVUPD(w, Mem{Base: to})
			ADDQ(lda, to)
			ADDQ(lda0, from)
		}
	}
	MOVQ(to, a)
	MOVQ(from, a0)
}

// sums returns a vector whose 128-bit lanes have the sums of one column each, those of
// two rows twice. It destroys the accumulators.
func (b halfTile) sums(cols [][]vector, height int) vector {
	col := func(j, i int) vector { return cols[min(j, len(cols)-1)][i] }
	rows := make([]vector, height) // a row with a column a lane
	for i := range rows {
		if b.t == avx2 {
			rows[i] = foldX(col(0, i), col(1, i))
			continue
		}
		p := b.fold(col(0, i), col(1, i))
		q := p
		if len(cols) > 2 {
			q = b.fold(col(2, i), col(3, i))
		}
		s, u := ZMM(), ZMM()
		VSHUFF64X2(U8(0x88), q, p, s) // quarters 0 and 2 of p, and of q
		VSHUFF64X2(U8(0xdd), q, p, u) // quarters 1 and 3
		VADDPS(u, s, s)
		rows[i] = s
	}
	p := b.neighbours(rows[0], rows[1])
	if height == 2 {
		return b.neighbours(p, p)
	}
	return b.neighbours(p, b.neighbours(rows[2], rows[3]))
}

// fold returns the sums of the halves of two vectors: those of p below, those of q above.
func (b halfTile) fold(p, q vector) vector {
	s := ZMM()
	VSHUFF64X2(U8(0x4e), q, p, s) // p.hi q.lo
	if p != q {
		VMOVAPS(q, b.upper, p) // p.lo q.hi
	}
	VADDPS(p, s, s)
	return s
}

// foldX does the same on AVX2.
func foldX(p, q vector) vector {
	s, u := YMM(), YMM()
	VPERM2F128(U8(0x20), q, p, s) // p.lo q.lo
	VPERM2F128(U8(0x31), q, p, u) // p.hi q.hi
	VADDPS(u, s, s)
	return s
}

// neighbours returns (a0+a1, a2+a3, b0+b1, b2+b3) in every lane of four.
func (b halfTile) neighbours(x, y vector) vector {
	s := b.t.vec()
	if b.t == avx2 {
		VHADDPS(y, x, s)
		return s
	}
	u := b.t.vec()
	VSHUFPS(U8(0x88), y, x, s) // the even ones of x, and of y
	VSHUFPS(U8(0xdd), y, x, u) // the odd ones
	VADDPS(u, s, s)
	return s
}

// mulTransposedHalf emits g = X' e in float32, as mulTransposed does.
func mulTransposedHalf(t isa) {
	text("mulTransposedHalf", t,
		"func(grad *float32, x *uint16, ldx int, e *float32, d, height, count int, add bool, next uintptr, pace int)",
		fmt.Sprintf("sets or adds to grad the product of height*count rows, x and e being those of the last height ones, 1 <= height <= %d, count >= 1, d a multiple of %d, d > 0. "+
			"It prefetches a line for every %d features of height rows, and moves on by pace bytes.", maxRows, halfStep, halfStep))
	x, ldx := param("x"), param("ldx")
	ADDQ(ldx, ldx)
	p := halfPanel{t: t, ldx: ldx, x: x, e: param("e"), g: GP64(), left: GP64()}
	p.pf, p.pace = param("next"), param("pace")
	p.xs = newRows(GP64(), ldx, maxRows)
	for h := 1; h < maxRows; h++ {
		CMPQ(mem("height"), I8(h))
		JEQ(LabelRef(fmt.Sprintf("panel%d", h)))
	}
	for h := maxRows; h > 0; h-- {
		p.emit(h)
	}
	Label("end")
	finish()
}

type halfPanel struct {
	t      isa
	x, ldx reg.GPVirtual // the panel's first row
	e      reg.GPVirtual
	xs     rows          // running along d
	g      reg.GPVirtual // running along d
	pf     reg.GPVirtual // next line to prefetch
	pace   reg.GPVirtual // how far a step moves on
	left   reg.GPVirtual
}

// emit emits the loop over panels of one height.
func (p halfPanel) emit(height int) {
	label := func(s string) string { return fmt.Sprintf("%s%d", s, height) }
	Label(label("panel"))
	es := p.t.vecs(height)
	for i := range es {
		VBROADCASTSS(Mem{Base: p.e, Disp: 4 * i}, es[i])
	}
	MOVQ(p.x, p.xs.base)
	MOVQ(mem("grad"), p.g)
	MOVQ(mem("d"), p.left)
	SHRQ(U8(log2(halfStep)), p.left)
	features := func(add bool) func() {
		return func() {
			p.features(es, add)
			PREFETCHT1(Mem{Base: p.pf})
			ADDQ(p.pace, p.pf)
			ADDQ(I32(2*halfStep), p.xs.base)
			ADDQ(I32(4*halfStep), p.g)
		}
	}
	CMPB(mem("add"), I8(0))
	JNE(LabelRef(label("more")))
	loop(label("first"), p.left, features(false))
	MOVB(I8(1), mem("add"))
	JMP(LabelRef(label("next")))
	Label(label("more"))
	loop(label("feature"), p.left, features(true))
	Label(label("next"))
	SUBQ(I32(4*height), p.e)
	for range height {
		SUBQ(p.ldx, p.x)
	}
	DECQ(mem("count"))
	JNZ(LabelRef(label("panel")))
	JMP(LabelRef("end"))
}

// features sets, or adds to, halfStep entries of the sum.
func (p halfPanel) features(es []vector, add bool) {
	for k := 0; k < halfStep; k += p.t.singles() {
		v := p.t.vec()
		if add {
			VMOVUPS(Mem{Base: p.g, Disp: 4 * k}, v)
		}
		for i := range es {
			w := p.t.vec()
			VCVTPH2PS(p.xs.at(i, 2*k), w)
			if i == 0 && !add {
				VMULPS(w, es[i], v)
			} else {
				VFMADD231PS(w, es[i], v)
			}
		}
		VMOVUPS(v, Mem{Base: p.g, Disp: 4 * k})
	}
}

// addScaled emits v = w + s g.
func addScaled(t isa) {
	text("addScaled", t, "func(v, w, s *float64, grad *float32, n int)",
		"works like addScaledGeneric for n a multiple of 8, n > 0.")
	v, w, s, g, left := param("v"), param("w"), param("s"), param("grad"), param("n")
	SHRQ(U8(3), left)
	loop("eight", left, func() {
		for k := 0; k < 8; k += t.lanes {
			x, y := t.vec(), t.vec()
			VCVTPS2PD(Mem{Base: g, Disp: 4 * k}, x)
			VMOVUPD(Mem{Base: w, Disp: 8 * k}, y)
			VFMADD231PD(Mem{Base: s, Disp: 8 * k}, x, y)
			VMOVUPD(y, Mem{Base: v, Disp: 8 * k})
		}
		for _, p := range []reg.GPVirtual{v, w, s} {
			ADDQ(I32(64), p)
		}
		ADDQ(I32(32), g)
	})
	finish()
}

// halve emits the conversion of a row of samples to 16 bits.
func halve(t isa, f32 bool) {
	typ, suffix, size := elem(f32)
	text("halve"+suffix, t, fmt.Sprintf("func(dst *uint16, x *%s, c, s *float64, n int) float64", typ),
		"works like halveGeneric for n a multiple of 8, n > 0.")
	dst, x, c, s, left := param("dst"), param("x"), param("c"), param("s"), param("n")
	SHRQ(U8(3), left)
	sum := t.vec()
	t.zero(sum)
	loop("eight", left, func() {
		for k := 0; k < 8; k += t.lanes {
			v := t.vec()
			t.load(Mem{Base: x, Disp: size * k}, v, f32)
			VSUBPD(Mem{Base: c, Disp: 8 * k}, v, v)
			VMULPD(Mem{Base: s, Disp: 8 * k}, v, v)
			VFMADD231PD(v, v, sum)
			if t == avx512 {
				w := YMM()
				VCVTPD2PS(v, w)
				h := XMM()
				VCVTPS2PH(U8(0), w, h)
				VMOVUPS(h, Mem{Base: dst, Disp: 2 * k})
			} else {
				w := XMM()
				VCVTPD2PSY(v, w)
				VCVTPS2PH(U8(0), w, Mem{Base: dst, Disp: 2 * k})
			}
		}
		ADDQ(I32(16), dst)
		ADDQ(I32(8*size), x)
		ADDQ(I32(64), c)
		ADDQ(I32(64), s)
	})
	Store(t.newReducer().sum1(sum).AsX(), ReturnIndex(0))
	finish()
}
