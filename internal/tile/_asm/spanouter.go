package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// spanOuter emits the addition of multiples of vectors to rows.
func spanOuter(t isa, x *number, count int) {
	s := newSpan(t, x, count)
	s.text("spanOuter", "b, y *F, apart int, "+spanParams,
		"adds vectors, times numbers of b, to rows. The first vector is y, and the next one is apart further on.")
	s.begin()
	s.adds, s.by = pointers("y"), t.vecs(count)
	apart := bytesParam("apart", x.size)
	for i := range count - 1 {
		s.adds = append(s.adds, sum(s.adds[i], apart, 1, 0))
	}
	b := param("b")
	s.each(func() {
		s.loadMultiples(b)
		s.outerRow()
	})
	finish()
}

// outerRow adds to a row. Its first and last vectors are loaded before the loop and stored behind it, as in
// changeVectors: no other row has its entries. Those of the loop are aligned in memory: stores to two lines
// of a cache take twice as long. A row of fewer entries than lanes has a mask.
func (s *spanTile) outerRow() {
	t, x, n := s.t, s.x, fresh(s.end)
	SUBQ(s.first, n)
	JLE(LabelRef("empty"))
	CMPQ(n, I32(x.lanes(t)))
	JLT(LabelRef("few"))
	whole, begin, behind := x.whole(t), s.offset(s.first), s.offset(s.end)
	first, last := s.outerVector(whole, begin, 0), s.outerVector(whole, behind, -t.bytes())
	ADDQ(s.a, begin)
	ORQ(I32(t.bytes()-1), begin) // less than the address of the first aligned vector by one
	LEAQ(Mem{Base: s.a, Index: behind, Scale: 1, Disp: -t.bytes()}, behind)
	left := fresh(behind)
	SUBQ(begin, left)
	SUBQ(s.a, begin)
	LEAQ(Mem{Base: begin, Disp: 1}, s.at)
	ADDQ(I32(t.bytes()-2), left)
	SARQ(U8(log2(t.bytes())), left) // the vectors between, none if negative
	JLE(LabelRef("ends"))
	loop("vector", left, func() {
		whole.store(s.outerVector(whole, s.at, 0), Mem{Base: s.a, Index: s.at, Scale: 1})
		ADDQ(I32(t.bytes()), s.at)
	})
	Label("ends")
	whole.store(first, Mem{Base: s.a, Index: s.first, Scale: uint8(x.size)})
	whole.store(last, Mem{Base: behind})
	JMP(LabelRef("empty"))
	Label("few")
	masked := x.firstLanes(t, n)
	begin = s.offset(s.first)
	masked.store(s.outerVector(masked, begin, 0), Mem{Base: s.a, Index: begin, Scale: 1})
	Label("empty")
}

// offset returns the offset of a column in bytes.
func (s *spanTile) offset(column reg.GPVirtual) reg.GPVirtual {
	at := fresh(column)
	SHLQ(U8(log2(s.x.size)), at)
	return at
}

// outerVector returns a vector of a row with what is added to it.
func (s *spanTile) outerVector(io access, at reg.GPVirtual, disp int) vector {
	row := io.load(Mem{Base: s.a, Index: at, Scale: 1, Disp: disp})
	for i, y := range s.adds {
		s.x.fma(io.operand(Mem{Base: y, Index: at, Scale: 1, Disp: disp}), s.by[i], row)
	}
	return row
}

// divide divides a number by the number at a pointer, unless the pointer is 0. The pointer moves on.
func (s *spanTile) divide(v reg.VecVirtual) {
	d := fresh(mem("d"))
	TESTQ(d, d)
	JZ(LabelRef("unit"))
	if s.x == double {
		VDIVSD(Mem{Base: d}, v, v)
	} else {
		VDIVSS(Mem{Base: d}, v, v)
	}
	ADDQ(I32(s.x.size), d)
	MOVQ(d, mem("d"))
	Label("unit")
}

// nextOwn moves on to the next unknown.
func (s *spanTile) nextOwn() {
	change := fresh(mem("change"))
	LEAQ(Mem{Base: s.own, Index: change, Scale: uint8(s.x.size)}, s.own)
}

// spanSolve emits the solution of a triangle by rows: an unknown is known before its row is subtracted.
func spanSolve(t isa, x *number) {
	s := newSpan(t, x, 1)
	s.text("spanSolve", "b, d, y, own *F, change int, "+spanParams,
		"sets b to unknowns, the number at own in y over that at d; own moves by change. It subtracts rows, times "+
			"unknowns, from y. d is 0 for ones.")
	s.begin()
	s.negative, s.adds, s.by = true, pointers("y"), t.vecs(1)
	s.own = param("own")
	b := param("b")
	s.each(func() {
		v := XMM()
		x.scalar(Mem{Base: s.own}, v)
		s.divide(v)
		x.scalar(v, Mem{Base: b})
		advance(x.size, b)
		x.broadcast(v, s.by[0])
		s.nextOwn()
		s.row()
	})
	finish()
}
