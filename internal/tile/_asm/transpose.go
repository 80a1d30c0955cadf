package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// transposeEdge emits the copy of rows to columns, a square at a time, with the last entries of the rows.
// There are at most as many rows as a vector has lanes. The last row stands for missing ones.
func transposeEdge(t isa) {
	text("transposeEdge", t, "func(dst *float64, ldd int, src *float64, lds, m, n int)",
		fmt.Sprintf("copies m rows of n entries to n rows of m, 0 < m <= %d, n > 0.", t.lanes))
	dst, ldd, lds := param("dst"), bytesParam("ldd", 8), bytesParam("lds", 8)
	src := []reg.GPVirtual{param("src")}
	zero := GP64()
	XORQ(zero, zero)
	for i := 1; i < t.lanes; i++ {
		step, next := fresh(lds), fresh(src[i-1])
		CMPQ(mem("m"), I8(i))
		CMOVQLE(zero, step)
		ADDQ(step, next)
		src = append(src, next)
	}
	rows, left := t.columnStores(param("m")), param("n")
	square := func(io access) []vector {
		v := make([]vector, t.lanes)
		for i := range v {
			v[i] = io.load(Mem{Base: src[i]})
		}
		return t.transpose(v)
	}
	SHRQ(U8(log2(t.lanes)), left)
	repeat("square", left, func() {
		columns := square(double.whole(t))
		rows("whole", func(store func(vector, Mem)) {
			for _, column := range columns {
				store(column, Mem{Base: dst})
				ADDQ(ldd, dst)
			}
		})
		advance(t.bytes(), src...)
	})
	MOVQ(mem("n"), left)
	ANDQ(I8(t.lanes-1), left)
	JZ(LabelRef("done"))
	columns := square(double.firstLanes(t, fresh(left)))
	rows("last", func(store func(vector, Mem)) {
		for _, column := range columns[:t.lanes-1] {
			store(column, Mem{Base: dst})
			ADDQ(ldd, dst)
			DECQ(left)
			JZ(LabelRef("done"))
		}
	})
	Label("done")
	finish()
}

// columnStores returns what emits stores of the first m lanes of vectors, 0 < m <= lanes. With AVX2 masked
// stores take long on some processors, so that there are stores for each number of lanes.
func (t isa) columnStores(m reg.GPVirtual) func(label string, each func(store func(vector, Mem))) {
	if t.evex {
		masked := double.firstLanes(t, m)
		return func(_ string, each func(store func(vector, Mem))) { each(masked.store) }
	}
	whole := double.whole(t)
	pair := func(v vector, to Mem) { VMOVUPD(v.AsX(), to) }
	three := func(v vector, to Mem) {
		high := XMM()
		VEXTRACTF128(U8(1), v, high)
		VMOVUPD(v.AsX(), to)
		VMOVSD(high, to.Offset(16))
	}
	one := func(v vector, to Mem) { VMOVSD(v.AsX(), to) }
	return func(label string, each func(store func(vector, Mem))) {
		for lanes, store := range []func(vector, Mem){nil, one, pair, three} {
			if store == nil {
				continue
			}
			CMPQ(mem("m"), I8(lanes))
			JNE(LabelRef(fmt.Sprint(label, lanes)))
			each(store)
			JMP(LabelRef(label + "Stored"))
			Label(fmt.Sprint(label, lanes))
		}
		each(whole.store)
		Label(label + "Stored")
	}
}

// transposeSquares emits the copy of as many rows as a vector has lanes to columns, a square at a time.
func transposeSquares(t isa) {
	text("transposeSquares", t, "func(dst *F, ldd int, src *F, lds, n int)",
		fmt.Sprintf("copies %d rows of n entries to n rows of %[1]d, n a multiple of %[1]d, n > 0.", t.lanes))
	dst, ldd, left := param("dst"), bytesParam("ldd", 8), param("n")
	src := newRows(param("src"), bytesParam("lds", 8), t.lanes)
	SHRQ(U8(log2(t.lanes)), left)
	loop("square", left, func() {
		v := make([]vector, t.lanes)
		for i := range v {
			v[i] = t.load(src.at(i, 0))
		}
		for _, row := range t.transpose(v) {
			VMOVUPD(row, Mem{Base: dst})
			ADDQ(ldd, dst)
		}
		advance(t.bytes(), src.base)
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
	text("transposeSquares32", t, "func(dst *F, ldd int, src *F, lds, n int)",
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
		advance(32, src.base)
	})
	finish()
}

// transposeFours32 emits the transposition of squares of four rows of float32, in a row or in a column.
// AVX-512 uses it too.
func transposeFours32(t isa) {
	text("transposeFours32", t, "func(dst *F, ldd, nextd int, src *F, lds, nexts, n int)",
		"transposes n > 0 squares of 4 rows of 4 entries. The next ones are nextd and nexts entries further on.")
	dst := newRows(param("dst"), bytesParam("ldd", 4), 4)
	src := newRows(param("src"), bytesParam("lds", 4), 4)
	nextd, nexts, left := bytesParam("nextd", 4), bytesParam("nexts", 4), param("n")
	loop("square", left, func() {
		v := make([]Op, 4)
		for i := range v {
			v[i] = XMM()
			VMOVUPS(src.at(i, 0), v[i])
		}
		row := 0
		for _, unpack := range []func(...Op){VUNPCKLPS, VUNPCKHPS} {
			low, high := XMM(), XMM() // two entries of rows 0 and 1, and of rows 2 and 3
			unpack(v[1], v[0], low)
			unpack(v[3], v[2], high)
			for _, pick := range []func(...Op){VUNPCKLPD, VUNPCKHPD} {
				column := XMM()
				pick(high, low, column)
				VMOVUPS(column, dst.at(row, 0))
				row++
			}
		}
		ADDQ(nextd, dst.base)
		ADDQ(nexts, src.base)
	})
	finish()
}

// fewTogether is how many of the rows or columns beside a few others are copied at a time.
const fewTogether = 4

// joinFew32 emits the copy of two or three rows of float32 to columns, four columns at a time. AVX-512 uses
// it and splitFew32 too.
func joinFew32(t isa) {
	text("joinFew32", t, "func(dst *F, ldd int, src *F, lds, many, n int)",
		"copies n rows, 2 or 3, of many entries to many rows of n, many >= 4.")
	to := newRows(param("dst"), bytesParam("ldd", 4), fewTogether)
	from := newRows(param("src"), bytesParam("lds", 4), 3)
	groupsOf(to, from, func() {
		a, b := XMM(), XMM()
		VMOVUPS(from.at(0, 0), a)
		VMOVUPS(from.at(1, 0), b)
		for i, unpack := range []func(...Op){VUNPCKLPS, VUNPCKHPS} {
			two := XMM()
			unpack(b, a, two)
			VMOVSD(two, to.at(2*i, 0))
			VMOVHPD(two, to.at(2*i+1, 0))
		}
		ifThree(func() {
			VMOVUPS(from.at(2, 0), a)
			VMOVSS(a, to.at(0, 8))
			for i := 1; i < fewTogether; i++ {
				VEXTRACTPS(U8(i), a, to.at(i, 8))
			}
		})
	})
	finish()
}

// splitFew32 emits the copy of two or three columns of float32 to rows, four rows at a time.
func splitFew32(t isa) {
	text("splitFew32", t, "func(dst *F, ldd int, src *F, lds, many, n int)",
		"copies many rows of n entries, 2 or 3, to n rows of many entries, many >= 4.")
	from := newRows(param("src"), bytesParam("lds", 4), fewTogether)
	to := newRows(param("dst"), bytesParam("ldd", 4), 3)
	groupsOf(from, to, func() {
		two := []Op{XMM(), XMM()}
		for i, v := range two {
			VMOVSD(from.at(2*i, 0), v)
			VMOVHPD(from.at(2*i+1, 0), v, v)
		}
		for i, odd := range []uint8{0x88, 0xdd} {
			row := XMM()
			VSHUFPS(U8(odd), two[1], two[0], row)
			VMOVUPS(row, to.at(i, 0))
		}
		ifThree(func() {
			row := XMM()
			VMOVSS(from.at(0, 8), row)
			for i := 1; i < fewTogether; i++ {
				VINSERTPS(U8(i<<4), from.at(i, 8), row, row)
			}
			VMOVUPS(row, to.at(2, 0))
		})
	})
	finish()
}

// groupsOf emits the loop over groups of fewTogether short rows, and of as many entries of long rows. The
// last group ends with the last row.
func groupsOf(short, long rows, group func()) {
	left, by, most := param("many"), GP64(), fresh(I32(fewTogether))
	Label("group")
	group()
	SUBQ(most, left)
	JLE(LabelRef("done"))
	MOVQ(most, by)
	CMPQ(left, most)
	CMOVQLT(left, by)
	CMOVQLT(most, left)
	LEAQ(Mem{Base: long.base, Index: by, Scale: 4}, long.base)
	IMULQ(short.step, by)
	ADDQ(by, short.base)
	JMP(LabelRef("group"))
	Label("done")
}

// ifThree emits what is done where there are three long rows.
func ifThree(body func()) {
	CMPQ(mem("n"), I8(3))
	JNE(LabelRef("two"))
	body()
	Label("two")
}
