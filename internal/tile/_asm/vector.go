package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vectorRows are the numbers of rows that a tile of a matrix and a vector takes, down to one.
var vectorRows = []int{8, 4, 1}

// vectors emits the tiles of products and sums of matrices and vectors of any length. AVX-512 makes those of
// float64 that only read their matrix faster, by a quarter, where it comes from memory.
func vectors(t isa) {
	for _, m := range vectorRows {
		rowDots(t, double, m)
		addRows(t, double, m)
		if t.evex {
			continue
		}
		rowDots(t, single, m)
		addRows(t, single, m)
		if m <= 4 {
			addOuter(t, double, m)
			addOuter(t, single, m)
		}
	}
	if !t.evex {
		addAbs(t)
	}
	for groups := 1; groups <= 4; groups++ {
		reflect(t, groups)
	}
}

// eachVector emits a loop over the whole vectors of n entries, unroll of them a round, after the rest. body
// handles the vector at an offset of disp bytes from pointers, which move on. The rest are the last lanes of
// a vector that ends where the entries end: one that reached into a page that is not there would take an
// exception, although masked. They come first since a load soon after a store to a part of the same vector
// waits for it.
func eachVector(t isa, x *number, unroll int, stores bool, pointers []reg.GPVirtual, body func(io access, k, disp int)) {
	tail, last, lanes, whole := param("n"), param("n"), x.lanes(t), x.whole(t)
	ANDQ(I32(lanes-1), tail)
	JZ(LabelRef("whole"))
	m := x.lastLanes(t, tail)
	SUBQ(I32(lanes), last)
	SHLQ(U8(log2(x.size)), last)
	for _, p := range pointers {
		ADDQ(last, p)
	}
	if stores && !t.evex { // whose masked stores take long on some processors
		CMPQ(mem("n"), I32(lanes))
		JLT(LabelRef("short"))
		body(m.blended(), 0, 0)
		JMP(LabelRef("back"))
		Label("short")
	}
	body(m.masked(), 0, 0)
	if stores && !t.evex {
		Label("back")
	}
	for _, p := range pointers {
		SUBQ(last, p)
	}
	Label("whole")
	left := param("n")
	step := func(vectors int) {
		for _, p := range pointers {
			ADDQ(I32(vectors*t.bytes()), p)
		}
	}
	SHRQ(U8(log2(lanes)+log2(unroll)), left)
	JZ(LabelRef("single"))
	loop("block", left, func() {
		for k := range unroll {
			body(whole, k, k*t.bytes())
		}
		step(unroll)
	})
	Label("single")
	if unroll > 1 {
		left = param("n")
		SHRQ(U8(log2(lanes)), left)
		ANDQ(I32(unroll-1), left)
		JZ(LabelRef("end"))
		loop("vector", left, func() {
			body(whole, 0, 0)
			step(1)
		})
		Label("end")
	}
}

// vectorText begins a tile of m rows.
func vectorText(t isa, x *number, name string, m int, params, doc string) {
	text(fmt.Sprintf("%s%s_%d", name, x.suffix, m), t, fmt.Sprintf("func("+params+")", x.typ), fmt.Sprintf(doc, m))
}

// rowDots emits the inner products of m rows and a vector.
func rowDots(t isa, x *number, m int) {
	vectorText(t, x, "rowDots", m, "sums, a *%[1]s, lda int, x *%[1]s, n int",
		"sets sums to the products of %d rows of n entries and x, n >= 1.")
	a, with := newRows(param("a"), bytesParam("lda", x.size), m), param("x")
	unroll := max(1, 4/m) // sums of a row, for the latency
	acc := t.vecs(unroll * m)
	t.zero(acc...)
	eachVector(t, x, unroll, false, []reg.GPVirtual{a.base, with}, func(io access, k, disp int) {
		v := io.load(Mem{Base: with, Disp: disp})
		for i := range m {
			x.fma(io.load(a.at(i, disp)), v, acc[k*m+i])
		}
	})
	for k := 1; k < unroll; k++ {
		for i := range m {
			x.add(acc[k*m+i], acc[i], acc[i])
		}
	}
	sums, r := param("sums"), t.newReducer()
	switch {
	case x == single:
		r.store32(acc[:m], sums)
	case m == 8 && t.evex:
		VMOVUPD(r.sum(acc), Mem{Base: sums})
	case m >= 4:
		for i := 0; i < m; i += 4 {
			VMOVUPD(r.sum4(acc[i:i+4]).AsY(), Mem{Base: sums, Disp: 8 * i})
		}
	default:
		VMOVSD(r.sum1(acc[0]).AsX(), Mem{Base: sums})
	}
	finish()
}

// broadcasts loads m entries, each to all lanes of a register.
func (x *number) broadcasts(t isa, from reg.GPVirtual, m int) []vector {
	v := t.vecs(m)
	for i := range v {
		x.broadcast(Mem{Base: from, Disp: x.size * i}, v[i])
	}
	return v
}

// addRows emits the addition of multiples of m rows to a vector.
func addRows(t isa, x *number, m int) {
	vectorText(t, x, "addRows", m, "y, a *%[1]s, lda int, b *%[1]s, n int",
		"adds %d rows of n entries, times the entries of b, to y, n >= 1.")
	y, a := param("y"), newRows(param("a"), bytesParam("lda", x.size), m)
	b := x.broadcasts(t, param("b"), m)
	eachVector(t, x, 1, true, []reg.GPVirtual{a.base, y}, func(io access, _, disp int) {
		sum := io.load(Mem{Base: y, Disp: disp})
		for i := range b {
			x.fma(io.load(a.at(i, disp)), b[i], sum)
		}
		io.store(sum, Mem{Base: y, Disp: disp})
	})
	finish()
}

// addOuter emits the addition of multiples of a vector to m rows.
func addOuter(t isa, x *number, m int) {
	vectorText(t, x, "addOuter", m, "a *%[1]s, lda int, b, y *%[1]s, n int",
		"adds n entries of y, times the entries of b, to %d rows, n >= 1.")
	y, a := param("y"), newRows(param("a"), bytesParam("lda", x.size), m)
	b := x.broadcasts(t, param("b"), m)
	eachVector(t, x, 4/m, true, []reg.GPVirtual{a.base, y}, func(io access, _, disp int) {
		ys := io.load(Mem{Base: y, Disp: disp})
		for i := range b {
			row := io.load(a.at(i, disp))
			x.fma(ys, b[i], row)
			io.store(row, a.at(i, disp))
		}
	})
	finish()
}

// addAbs emits the sums of absolute values.
func addAbs(t isa) {
	text("addAbs", t, "func(y, a *float64, n int) float64",
		"adds the absolute values of n entries of a to y, and returns their sum, n >= 1.")
	y, a, sign, bits := param("y"), param("a"), t.vec(), GP64()
	MOVQ(U64(1<<63), bits)
	slot := AllocLocal(8)
	MOVQ(bits, slot)
	VBROADCASTSD(slot, sign)
	sums := t.vecs(2)
	t.zero(sums...)
	eachVector(t, double, 2, true, []reg.GPVirtual{a, y}, func(io access, k, disp int) {
		v := io.load(Mem{Base: a, Disp: disp})
		VANDNPD(v, sign, v)
		VADDPD(v, sums[k], sums[k])
		VADDPD(io.load(Mem{Base: y, Disp: disp}), v, v)
		io.store(v, Mem{Base: y, Disp: disp})
	})
	t.finishSum(sums)
}

// reflect emits one pass of a reflection over the rows of a panel, and the products that the next reflection
// needs: the sum of the first operation of a row waits for no other row.
func reflect(t isa, groups int) {
	text(fmt.Sprintf("reflect_%d", groups), t, "func(a, col, next *float64, ld int, w, sums *float64, scale float64, m int)",
		fmt.Sprintf("works like reflectGeneric for %d columns, m >= 1.", 8*groups))
	a, col, next, ld, left := param("a"), param("col"), param("next"), bytesParam("ld", 8), param("m")
	wp, n := param("w"), 8*groups/t.lanes
	acc := t.vecs(n)
	t.zero(acc...)
	w := make([]Op, n)
	for k := range w {
		w[k] = Mem{Base: wp, Disp: k * t.bytes()}
		if t.evex || n <= 4 { // registers enough
			v := t.vec()
			VMOVUPD(w[k], v)
			w[k] = v
		}
	}
	scale, wnext := XMM(), XMM()
	VMOVSD(mem("scale"), scale)
	offset := GP64() // of the next column
	MOVQ(next, offset)
	SUBQ(a, offset)
	VMOVSD(Mem{Base: wp, Index: offset, Scale: 1}, wnext)
	loop("row", left, func() {
		v, x := XMM(), XMM()
		VMULSD(Mem{Base: col}, scale, v)
		VMOVSD(Mem{Base: next}, x)
		VFNMADD231SD(v, wnext, x)
		vs, xs := t.vec(), t.vec()
		VBROADCASTSD(v, vs)
		VBROADCASTSD(x, xs)
		for k := range acc {
			row := t.vec()
			VMOVUPD(Mem{Base: a, Disp: k * t.bytes()}, row)
			VFNMADD231PD(w[k], vs, row)
			VMOVUPD(row, Mem{Base: a, Disp: k * t.bytes()})
			VFMADD231PD(row, xs, acc[k])
		}
		VMOVSD(v, Mem{Base: col})
		for _, p := range []reg.GPVirtual{a, col, next} {
			ADDQ(ld, p)
		}
	})
	sums := param("sums")
	for k := range acc {
		VMOVUPD(acc[k], Mem{Base: sums, Disp: k * t.bytes()})
	}
	finish()
}
