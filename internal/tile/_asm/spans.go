package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// spanParams describe rows of a triangle or a band: column 0 of the first row is at a[at], or would be, and
// column 0 of the next row is step further on; step changes by growth from row to row. The first row has
// columns first to end, and the next row has columns first+forward to end+ahead.
const spanParams = "a *F, at, step, growth, first, forward, end, ahead, rows int"

// A spanTile computes with rows of a triangle or a band, one after the other. It takes vectors of dotLanes
// columns from multiples of dotLanes on, in all rows alike. So the entries of vectors that a row adds to are
// loaded by the next row as they were stored. A partial sum has the products of every dotLanes-th column.
type spanTile struct {
	t          isa
	x          *number
	count      int // of vectors
	a, step    reg.GPVirtual
	first, end reg.GPVirtual
	at         reg.GPVirtual // offset of the first of some columns, in bytes
	dots, adds []reg.GPVirtual
	by         []vector
	sums       [][]vector    // by vector and register of dotLanes columns
	negative   bool          // the products with rows are subtracted
	own        reg.GPVirtual // the address of the unknown of a row
}

// outerVectors is the largest number of vectors whose multiples are added to rows together: one more of them
// would need more registers for addresses.
const outerVectors = 4

// spans emits the tiles of rows of triangles and bands.
func spans(t isa) {
	for _, x := range []*number{double, single} {
		if t.evex && x == single {
			continue
		}
		for count := 1; count <= 2; count++ {
			spanDots(t, x, count)
			spanAdd(t, x, count)
			spanBoth(t, x, count)
		}
		for count := 1; count <= outerVectors; count *= 2 {
			spanOuter(t, x, count)
		}
		spanSolve(t, x)
	}
}

// begin loads what all tiles have.
func (s *spanTile) begin() {
	s.a, s.step = param("a"), bytesParam("step", s.x.size)
	s.first, s.end, s.at = param("first"), param("end"), bytesParam("at", s.x.size)
	ADDQ(s.at, s.a)
	growth := mem("growth")
	SHLQ(U8(log2(s.x.size)), growth)
}

// registers returns how many registers hold dotLanes columns.
func (s *spanTile) registers() int { return dotLanes * s.x.size / s.t.bytes() }

// A spanMask selects some of dotLanes columns: the columns before the end of a row, or from its first column
// on.
type spanMask struct {
	k reg.Register // with AVX-512
	y []vector
}

// spanTable has 64 bytes of ones, 64 of zeros and 64 of ones.
var spanTable Mem

func emitSpanTable() {
	spanTable = GLOBL("spanMask", 8|16) // RODATA|NOPTR
	for i := range 24 {
		v := uint64(0)
		if i < 8 || i >= 16 {
			v = ^uint64(0)
		}
		DATA(8*i, U64(v))
	}
}

// mask returns the mask of columns from one on, or before one, counted from a multiple of dotLanes.
func (s *spanTile) mask(column reg.GPVirtual, before bool) (m spanMask) {
	count := fresh(column)
	ANDQ(I32(dotLanes-1), count)
	if s.t.evex {
		bits, k := fresh(I32(-1)), K()
		SHLXQ(count, bits, bits)
		if before {
			NOTQ(bits)
		}
		KMOVW(bits.As32(), k)
		m.k = k
		return m
	}
	table, from := GP64(), 128
	if before {
		from = 64
	}
	NEGQ(count)
	LEAQ(spanTable.Offset(from), table)
	for k := range s.registers() {
		y := YMM()
		VMOVUPD(Mem{Base: table, Index: count, Scale: uint8(s.x.size), Disp: k * s.t.bytes()}, y)
		m.y = append(m.y, y)
	}
	return m
}

// and returns the intersection of two masks.
func (s *spanTile) and(m, n spanMask) spanMask {
	if s.t.evex {
		KANDW(m.k, n.k, m.k)
	}
	for k, y := range m.y {
		VANDPD(n.y[k], y, y)
	}
	return m
}

// vector computes with dotLanes columns: with the columns of a mask, or with all.
func (s *spanTile) vector(m *spanMask) {
	for k := range s.registers() {
		s.register(m, k)
	}
}

// place returns the address of the columns of register k, for a pointer to column 0.
func (s *spanTile) place(p reg.GPVirtual, k int) Mem {
	return Mem{Base: p, Index: s.at, Scale: 1, Disp: k * s.t.bytes()}
}

// register computes with the columns of a register.
func (s *spanTile) register(m *spanMask, k int) {
	x, t, row := s.x, s.t, s.t.vec()
	switch {
	case m == nil:
		x.move(s.place(s.a, k), row)
	case t.evex:
		x.clearing(s.place(s.a, k), m.k, row)
	default:
		x.maskMove(s.place(s.a, k), m.y[k], row)
	}
	for i, p := range s.dots {
		s.multiplyAdd(m, k, row, s.place(p, k), s.sums[i][k])
	}
	for i, p := range s.adds {
		y := t.vec()
		x.move(s.place(p, k), y)
		s.addRow(m, k, row, s.by[i], y)
		x.move(y, s.place(p, k))
	}
}

// multiplyAdd adds the products of a row and a vector to sums. Entries outside of the mask may be NaN.
func (s *spanTile) multiplyAdd(m *spanMask, k int, row vector, from Mem, sum vector) {
	switch {
	case m == nil:
		s.x.fma(from, row, sum)
	case s.t.evex:
		VFMADD231PD(from, row, m.k, sum)
	default:
		v := s.t.vec()
		s.x.move(from, v)
		VANDPD(m.y[k], v, v)
		s.x.fma(v, row, sum)
	}
}

// addRow adds a row, times a number, to y in the columns of a mask.
func (s *spanTile) addRow(m *spanMask, k int, row, by, y vector) {
	fma := s.x.fma
	if s.negative {
		fma = s.x.subtract
	}
	switch {
	case m == nil:
		fma(row, by, y)
	case s.t.evex && s.negative:
		VFNMADD231PD(row, by, m.k, y)
	case s.t.evex:
		VFMADD231PD(row, by, m.k, y)
	default:
		old := s.t.vec()
		VMOVAPD(y, old)
		fma(row, by, y)
		s.x.blend(m.y[k], y, old, y)
	}
}

// row computes with a row.
func (s *spanTile) row() {
	CMPQ(s.first, s.end)
	JGE(LabelRef("empty"))
	from, to := fresh(s.first), fresh(s.end)
	SARQ(U8(log2(dotLanes)), from)
	SARQ(U8(log2(dotLanes)), to)
	MOVQ(from, s.at)
	SHLQ(U8(log2(dotLanes)+log2(s.x.size)), s.at)
	left := s.mask(s.first, false)
	SUBQ(from, to) // the number of whole vectors from the first one on
	JNZ(LabelRef("several"))
	one := s.and(left, s.mask(s.end, true))
	s.vector(&one)
	JMP(LabelRef("empty"))
	Label("several")
	left = s.mask(s.first, false)
	s.vector(&left)
	ADDQ(I32(dotLanes*s.x.size), s.at)
	DECQ(to)
	JZ(LabelRef("last"))
	loop("vector", to, func() {
		s.vector(nil)
		ADDQ(I32(dotLanes*s.x.size), s.at)
	})
	Label("last")
	TESTQ(I32(dotLanes-1), s.end)
	JZ(LabelRef("empty"))
	right := s.mask(s.end, true)
	s.vector(&right)
	Label("empty")
}

// each emits the loop over all rows.
func (s *spanTile) each(body func()) {
	Label("row")
	body()
	ADDQ(s.step, s.a)
	ADDQ(mem("growth"), s.step)
	ADDQ(mem("forward"), s.first)
	ADDQ(mem("ahead"), s.end)
	rows := mem("rows")
	DECQ(rows)
	JNZ(LabelRef("row"))
}

// clear clears the sums of a row.
func (s *spanTile) clear() {
	for _, of := range s.sums {
		s.t.zero(of...)
	}
}

// newSums makes registers for sums.
func (s *spanTile) newSums() {
	for range s.count {
		s.sums = append(s.sums, s.t.vecs(s.registers()))
	}
}

// sum returns the sum of a row with one of the vectors, in lane 0.
func (s *spanTile) sum(i int, r reducer) reg.Register {
	if s.x == double && s.t.evex {
		return r.dotSum(s.sums[i][0])
	}
	if s.x == double { // leaves the same one of two NaN as AVX-512
		v, high, pairs, other := s.sums[i][0], XMM(), XMM(), XMM()
		VADDPD(v, s.sums[i][1], v)
		VEXTRACTF128(U8(1), v, high)
		VHADDPD(high, v.AsX(), pairs)
		VPERMILPD(U8(1), pairs, other)
		VADDSD(other, pairs, pairs)
		return pairs
	}
	v, low, sum := s.sums[i][0], YMM(), XMM()
	VHADDPS(v, v, low)
	VHADDPS(low, low, low)
	VEXTRACTF128(U8(1), low, sum)
	VADDPS(low.AsX(), sum, sum)
	return sum
}

// scalar moves a number from or to memory.
func (x *number) scalar(from, to Op) {
	if x == double {
		VMOVSD(from, to)
	} else {
		VMOVSS(from, to)
	}
}

// pointers loads parameters.
func pointers(names ...string) (all []reg.GPVirtual) {
	for _, name := range names {
		all = append(all, param(name))
	}
	return all
}

// storeSums stores the sums of a row, and moves on.
func (s *spanTile) storeSums(r reducer, to reg.GPVirtual) {
	for i := range s.sums {
		s.x.scalar(s.sum(i, r), Mem{Base: to, Disp: i * s.x.size})
	}
	advance(s.count*s.x.size, to)
}

// loadMultiples loads the multiples of a row, and moves on.
func (s *spanTile) loadMultiples(from reg.GPVirtual) {
	for i := range s.by {
		s.x.broadcast(Mem{Base: from, Disp: i * s.x.size}, s.by[i])
	}
	advance(s.count*s.x.size, from)
}

// names returns the names of two vectors as parameters, and those that the tile uses.
func (s *spanTile) names(p, q string) (list string, used []string) {
	return p + ", " + q, []string{p, q}[:s.count]
}

func newSpan(t isa, x *number, count int) *spanTile { return &spanTile{t: t, x: x, count: count} }

// text begins the tile of a number of vectors.
func (s *spanTile) text(name, params, doc string) {
	text(fmt.Sprintf("%s%s_%d", name, s.x.suffix, s.count), s.t, "func("+params+")", doc+
		" Vectors have multiples of 8 entries, rows >= 1.")
}

// spanDots emits inner products of rows.
func spanDots(t isa, x *number, count int) {
	s := newSpan(t, x, count)
	list, names := s.names("x", "z")
	s.text("spanDots", "sums, "+list+", "+spanParams, "sets sums to the products of rows and x, and z.")
	s.begin()
	s.dots = pointers(names...)
	sums, r := param("sums"), t.newReducer()
	s.newSums()
	s.each(func() {
		s.clear()
		s.row()
		s.storeSums(r, sums)
	})
	finish()
}

// spanAdd emits the addition of multiples of rows.
func spanAdd(t isa, x *number, count int) {
	s := newSpan(t, x, count)
	list, names := s.names("y", "w")
	s.text("spanAdd", "b, "+list+", "+spanParams, "adds rows, times numbers of b, to y, and w.")
	s.begin()
	s.adds, s.by = pointers(names...), t.vecs(count)
	b := param("b")
	s.each(func() {
		s.loadMultiples(b)
		s.row()
	})
	finish()
}

// spanBoth emits inner products of rows, and the addition of multiples of them.
func spanBoth(t isa, x *number, count int) {
	s := newSpan(t, x, count)
	from, reads := s.names("x", "z")
	to, adds := s.names("y", "w")
	s.text("spanBoth", "sums, b, "+from+", "+to+", "+spanParams,
		"does what spanDots and spanAdd do, with rows that it loads once.")
	s.begin()
	s.dots, s.adds, s.by = pointers(reads...), pointers(adds...), t.vecs(count)
	sums, b, r := mem("sums"), mem("b"), t.newReducer()
	s.newSums()
	s.each(func() {
		by := fresh(b)
		s.loadMultiples(by)
		MOVQ(by, b)
		s.clear()
		s.row()
		to := fresh(sums)
		s.storeSums(r, to)
		MOVQ(to, sums)
	})
	finish()
}
