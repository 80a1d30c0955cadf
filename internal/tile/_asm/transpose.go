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
	rows, left := double.firstLanes(t, param("m")), param("n")
	square := func(io access) []vector {
		v := make([]vector, t.lanes)
		for i := range v {
			v[i] = io.load(Mem{Base: src[i]})
		}
		return t.transpose(v)
	}
	SHRQ(U8(log2(t.lanes)), left)
	repeat("square", left, func() {
		for _, column := range square(double.whole(t)) {
			rows.store(column, Mem{Base: dst})
			ADDQ(ldd, dst)
		}
		advance(t.bytes(), src...)
	})
	MOVQ(mem("n"), left)
	ANDQ(I8(t.lanes-1), left)
	JZ(LabelRef("done"))
	columns := square(double.firstLanes(t, fresh(left)))
	for _, column := range columns[:t.lanes-1] {
		rows.store(column, Mem{Base: dst})
		ADDQ(ldd, dst)
		DECQ(left)
		JZ(LabelRef("done"))
	}
	Label("done")
	finish()
}
