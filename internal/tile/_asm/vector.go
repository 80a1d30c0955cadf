package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vectorRows are the numbers of rows that a tile of a matrix and a vector takes, down to one.
var vectorRows = []int{8, 4, 1}

// dotRows are the numbers of rows of products in float64, for as many sums as registers hold.
func dotRows(t isa) []int {
	if t.evex {
		return vectorRows
	}
	return []int{6, 4, 1}
}

// dotLanes are the partial sums of an inner product in float64, on all tiers: one register of AVX-512, two of
// AVX2. The product of a single row has dotUnroll times as many.
const dotLanes, dotUnroll = 8, 4

// dotRegisters returns how many registers hold dotLanes partial sums.
func (t isa) dotRegisters() int { return dotLanes / t.lanes }

// vectors emits the tiles of products and sums of matrices and vectors of any length. With AVX-512,
// operations on float64 that only read their matrix are faster by a quarter where it comes from memory.
func vectors(t isa) {
	for _, m := range dotRows(t) {
		rowDots(t, double, m)
	}
	for _, m := range vectorRows {
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
	sumColumns(t, double)
	if !t.evex { // AVX-512 uses it too
		sumColumns(t, single)
	}
	innerProduct(t, double, "Double", "float64")
	addScaled(t, double, "Double", "float64")
	addScaled(t, single, "Single", "float32")
	if !t.evex {
		innerProduct(t, single, "Single", "float32")
	}
	twoVectors(t)
	rowProducts(t, double)
	rowProducts(t, single)
	spans(t)
	if !t.evex {
		for _, x := range []*number{double, single} {
			packComplex(t, x)
			turnPairs(t, x)
			combinePairs(t, x)
			splitPairs(t, x)
		}
		transposeComplex(t)
		pairsApart(t)
		for _, x := range []*number{double, single} {
			narrowColumns(t, x)
			narrowRows(t, x)
			narrowPairs(t, x)
		}
		addAbs(t)
		squares(t)
		absolutes(t, double)
		absolutes(t, single)
	}
	scale(t, double)
	scale(t, single)
	symmetricRows(t, double)
	for groups := 1; groups <= 4; groups++ {
		reflect(t, groups)
	}
}

// vectorText begins a tile of m rows.
func vectorText(t isa, x *number, name string, m int, params, doc string) {
	text(fmt.Sprintf("%s%s_%d", name, x.suffix, m), t, "func("+params+")", fmt.Sprintf(doc, m))
}

// rowDots emits the inner products of m rows and a vector. The order of a sum is the same on all tiers.
func rowDots(t isa, x *number, m int) {
	vectorText(t, x, "rowDots", m, "sums, a *F, lda, growth int, x *F, n int",
		"sets sums to the products of %d rows of n entries and x, n >= 1.")
	a, with := apartRows(x, m), param("x")
	unroll, registers := max(1, dotUnroll/m), 1 // sums of a row, for the latency
	if x == double {
		registers = t.dotRegisters()
		if m > 1 {
			unroll = 1
		}
	}
	acc := t.zeros(unroll * registers * m)
	pointers := []reg.GPVirtual{a.base, with}
	var v [8]vector // of x
	dotLoop(t, x, unroll, false, pointers, func(io access, k, disp int) {
		v[k] = io.load(Mem{Base: with, Disp: disp})
		for i := range m {
			x.fma(io.operand(a.at(i, disp)), v[k], acc[k*m+i])
		}
	})
	addUnrolled(x, acc, unroll)
	sums, r := param("sums"), t.newReducer()
	if x == single {
		r.store32(acc[:m], sums)
		finish()
		return
	}
	r.storeSums(addRegisters(acc[:registers*m], m), sums)
	finish()
}

// dotLoop emits the loop of inner products, whose partial sums are the same on all tiers.
func dotLoop(
	t isa, x *number, unroll int, stores bool, pointers []reg.GPVirtual, add func(io access, k, disp int),
) {
	if x == double {
		eachLanes(t, unroll, stores, pointers, add)
	} else {
		eachVector(t, x, unroll, stores, pointers, add)
	}
}

// addUnrolled adds the accumulators of the second vector of a round and of those behind it to the first ones.
func addUnrolled(x *number, acc []vector, unroll int) {
	each := len(acc) / unroll
	for i := each; i < len(acc); i++ {
		x.add(acc[i], acc[i%each], acc[i%each])
	}
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
	vectorText(t, x, "addRows", m, "y, a *F, lda int, b *F, n int",
		"adds %d rows of n entries, times the entries of b, to y, n >= 1.")
	y, a := param("y"), newRows(param("a"), bytesParam("lda", x.size), m)
	b := x.broadcasts(t, param("b"), m)
	changeVectors(t, x, 1, []reg.GPVirtual{a.base, y}, func(io access, _, disp int) {
		sum := io.load(Mem{Base: y, Disp: disp})
		for i := range b {
			x.fma(io.operand(a.at(i, disp)), b[i], sum)
		}
		io.store(sum, Mem{Base: y, Disp: disp})
	})
	finish()
}

// addOuter emits the addition of multiples of a vector to m rows.
func addOuter(t isa, x *number, m int) {
	vectorText(t, x, "addOuter", m, "a *F, lda int, b, y *F, n int",
		"adds n entries of y, times the entries of b, to %d rows, n >= 1.")
	y, a := param("y"), newRows(param("a"), bytesParam("lda", x.size), m)
	b := x.broadcasts(t, param("b"), m)
	changeVectors(t, x, 4/m, []reg.GPVirtual{a.base, y}, func(io access, _, disp int) {
		ys := io.load(Mem{Base: y, Disp: disp})
		for i := range b {
			row := io.load(a.at(i, disp))
			x.fma(ys, b[i], row)
			io.store(row, a.at(i, disp))
		}
	})
	finish()
}

// scale emits the multiplication of a vector by a number, for AVX-512 too.
func scale(t isa, x *number) {
	text("scale"+x.suffix, t, "func(y, by *F, n int)", "multiplies n numbers by the number at by, n >= 1.")
	y, by := param("y"), t.vec()
	x.broadcast(Mem{Base: param("by")}, by)
	changeVectors(t, x, 4, []reg.GPVirtual{y}, func(io access, _, disp int) {
		v := io.load(Mem{Base: y, Disp: disp})
		x.multiply(by, v, v)
		io.store(v, Mem{Base: y, Disp: disp})
	})
	finish()
}

// addAbs emits the sums of absolute values.
func addAbs(t isa) {
	text("addAbs", t, "func(y, a *float64, n int) float64",
		"adds the absolute values of n entries of a to y, and returns their sum, n >= 1.")
	y, a, sign, sums := param("y"), param("a"), t.broadcast(local(fresh(U64(1<<63)))), t.zeros(2)
	eachVector(t, double, 2, true, []reg.GPVirtual{a, y}, func(io access, k, disp int) {
		v := io.load(Mem{Base: a, Disp: disp})
		VANDNPD(v, sign, v)
		VADDPD(v, sums[k], sums[k])
		VADDPD(io.load(Mem{Base: y, Disp: disp}), v, v)
		io.store(v, Mem{Base: y, Disp: disp})
	})
	t.finishSum(sums)
}

// absolutes emits the sum of absolute values, for AVX-512 too.
func absolutes(t isa, x *number) {
	const vectors = 4
	text("absolutes"+x.suffix, t, "func(sums, x *F, n int)",
		fmt.Sprintf("sets %d sums to those of the absolute values of n numbers, n > 0 a multiple of that.",
			vectors*x.lanes(t)))
	from, left, sums := param("x"), param("n"), t.zeros(vectors)
	bits := uint64(1 << 63)
	if x == single {
		bits = 1<<63 | 1<<31
	}
	sign := t.broadcast(local(fresh(U64(bits))))
	SHRQ(U8(log2(vectors*x.lanes(t))), left)
	loop("block", left, func() {
		for k := range sums {
			v := t.vec()
			VANDNPD(Mem{Base: from, Disp: k * t.bytes()}, sign, v)
			x.add(v, sums[k], sums[k])
		}
		advance(vectors*t.bytes(), from)
	})
	t.store(param("sums"), sums...)
	finish()
}

// squares emits the sum of the squares of float32 in float64, for AVX-512 too.
func squares(t isa) {
	const vectors = 4
	text("squares32", t, "func(x *F, n int) float64",
		fmt.Sprintf("returns the sum of the squares of n numbers, n > 0 a multiple of %d.", vectors*t.lanes))
	x, left, sums := param("x"), param("n"), t.zeros(vectors)
	SHRQ(U8(log2(vectors*t.lanes)), left)
	loop("block", left, func() {
		for k := range sums {
			v := t.vec()
			VCVTPS2PD(Mem{Base: x, Disp: k * t.bytes() / 2}, v)
			VFMADD231PD(v, v, sums[k])
		}
		advance(vectors*t.bytes()/2, x)
	})
	t.finishSum(sums)
}

// reflect emits one pass of a reflection over the rows of a panel, and the products that the next reflection
// needs: the sum of the first operation of a row waits for no other row.
func reflect(t isa, groups int) {
	text(fmt.Sprintf("reflect_%d", groups), t,
		"func(a, col, next *float64, ld int, w, sums *float64, scale float64, m int)",
		fmt.Sprintf("works like reflectGeneric for %d columns, m >= 1.", 8*groups))
	a, col, next, ld, left := param("a"), param("col"), param("next"), bytesParam("ld", 8), param("m")
	wp, n := param("w"), 8*groups/t.lanes
	acc, w := t.zeros(n), make([]Op, n)
	for k := range w {
		w[k] = Mem{Base: wp, Disp: k * t.bytes()}
		if t.evex || n <= 4 { // registers enough
			w[k] = t.load(w[k])
		}
	}
	offset := fresh(next) // of the next column
	SUBQ(a, offset)
	scale, wnext := t.broadcast(mem("scale")), t.broadcast(Mem{Base: wp, Index: offset, Scale: 1})
	loop("row", left, func() {
		// To broadcast from memory takes no port of arithmetic.
		vs, xs := t.broadcast(Mem{Base: col}), t.broadcast(Mem{Base: next})
		VMULPD(scale, vs, vs)
		VFNMADD231PD(vs, wnext, xs)
		for k := range acc {
			row := t.load(Mem{Base: a, Disp: k * t.bytes()})
			VFNMADD231PD(w[k], vs, row)
			VMOVUPD(row, Mem{Base: a, Disp: k * t.bytes()})
			VFMADD231PD(row, xs, acc[k])
		}
		VMOVSD(vs.AsX(), Mem{Base: col})
		for _, p := range []reg.GPVirtual{a, col, next} {
			ADDQ(ld, p)
		}
	})
	t.store(param("sums"), acc...)
	finish()
}

// peakVectors is the number of independent multiply-adds of fmaPeak, enough for their latency.
const peakVectors = 12

// fmaPeak emits nothing but multiply-adds in registers.
func fmaPeak(t isa) {
	text("fmaPeak", t, "func(rounds int) float64",
		fmt.Sprintf("does %d vector multiply-adds in each round.", peakVectors))
	n := param("rounds")
	acc, f := t.zeros(peakVectors), t.zeros(1)[0]
	loop("round", n, func() {
		for _, a := range acc {
			VFMADD231PD(f, f, a)
		}
	})
	t.finishSum(acc)
}

// finishSum returns the sum of accumulators.
func (t isa) finishSum(acc []vector) {
	for _, a := range acc[1:] {
		VADDPD(a, acc[0], acc[0])
	}
	VMOVSD(t.newReducer().sum1(acc[0]).AsX(), place(ReturnIndex(0)))
	finish()
}

// rotate emits plane rotations of neighbouring rows, the last pair first: what a pair leaves of its upper row
// stays in registers for the next one.
func rotate(t isa) {
	const vectors = 4
	text("rotate", t, "func(z *float64, ldz int, c, s *float64, n int)",
		"rotates rows i and i+1 of four vectors of columns by c[i] and s[i], for i from n-1 down to 0, n >= 1.")
	z, ldz, c, s, n := param("z"), bytesParam("ldz", 8), param("c"), param("s"), param("n")
	at := fresh(ldz)
	IMULQ(n, at)
	ADDQ(at, z)
	upper := t.vecs(vectors)
	for v := range upper {
		VMOVUPD(Mem{Base: z, Disp: v * t.bytes()}, upper[v])
	}
	loop("pair", n, func() {
		cs := t.broadcast(Mem{Base: c, Index: n, Scale: 8, Disp: -8})
		sn := t.broadcast(Mem{Base: s, Index: n, Scale: 8, Disp: -8})
		next := fresh(z)
		SUBQ(ldz, next)
		for v := range upper {
			row, sum := t.load(Mem{Base: next, Disp: v * t.bytes()}), t.vec()
			VMULPD(sn, row, sum)
			VFMADD231PD(cs, upper[v], sum) // s z_i + c z_i+1
			VMOVUPD(sum, Mem{Base: z, Disp: v * t.bytes()})
			VMULPD(sn, upper[v], sum)
			VMOVAPD(row, upper[v])
			VFMSUB213PD(sum, cs, upper[v]) // c z_i - s z_i+1
		}
		MOVQ(next, z)
	})
	t.store(z, upper...)
	finish()
}

// sumDifferences emits the weighted sum of the differences of rows from a row: eight vectors
// of entries at a time, and then one, over all rows. Every operation rounds.
func sumDifferences(t isa) {
	text("sumDifferences", t, "func(sum, x *float64, ldx int, own int, rows *int, w *float64, count, n int)",
		"works like sumDifferencesGeneric for n a multiple of 8, count > 0.")
	d := differences{t: t, sum: param("sum"), x: param("x"), ldx: bytesParam("ldx", 8), own: param("own")}
	d.n = param("n")
	IMULQ(d.ldx, d.own)
	ADDQ(d.x, d.own)
	for _, vectors := range []int{8, 1} {
		label := fmt.Sprint("vectors", vectors)
		while(label, d.n, vectors*t.lanes, func() { d.block(label+"Row", vectors) })
	}
	finish()
}

type differences struct {
	t                   isa
	sum, x, ldx, own, n reg.GPVirtual
}

// block sums the given number of vectors of entries, and moves on.
func (d differences) block(label string, vectors int) {
	acc := d.t.zeros(vectors)
	rows, w, count := param("rows"), param("w"), param("count")
	loop(label, count, func() {
		row := fresh(Mem{Base: rows})
		IMULQ(d.ldx, row)
		ADDQ(d.x, row)
		s := d.t.broadcast(Mem{Base: w})
		for i := range acc {
			v := d.t.load(Mem{Base: row, Disp: i * d.t.bytes()})
			VSUBPD(Mem{Base: d.own, Disp: i * d.t.bytes()}, v, v)
			VMULPD(s, v, v)
			VADDPD(v, acc[i], acc[i])
		}
		advance(8, rows, w)
	})
	d.t.store(d.sum, acc...)
	advance(vectors*d.t.bytes(), d.sum, d.x, d.own)
	SUBQ(Imm(uint64(vectors*d.t.lanes)), d.n)
}
