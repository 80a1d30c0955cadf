package main

import (
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A symmetricTile multiplies some of eight rows of a symmetric matrix by a vector: as many rows as a vector
// has lanes of float64. Beside the square on the diagonal every entry counts twice, for its row and for its
// mirror image; of the square itself only one triangle is there.
//
// All tiers add in one order: of the upper triangle the rows from the first one on, of the lower triangle
// rows 4 to 7 before rows 0 to 3. So a row's own product is the last term of its sum in rows of either half.
type symmetricTile struct {
	t     isa
	of    *number
	upper bool
	order []int // of the rows in the tile, counted from first on
	first int   // of the eight rows
	a     rows
	x, y  reg.GPVirtual
	sums  [][]vector // of the rows, by registers of dotLanes
}

// symmetricRows emits the tiles, two for each half of eight rows: of the upper triangle with an odd index, of
// the lower triangle with an even one. AVX-512 uses those of AVX2 for float32.
func symmetricRows(t isa, of *number) {
	for half := range dotLanes / t.lanes {
		for lower := range 2 {
			s := symmetricTile{t: t, of: of, upper: lower == 0, first: half * t.lanes}
			for i := range t.lanes {
				s.order = append(s.order, i)
			}
			if t.evex && !s.upper {
				s.order = []int{4, 5, 6, 7, 0, 1, 2, 3}
			}
			s.emit(1 + lower + 2*half)
		}
	}
	if !t.evex && of == double {
		symmetricRows(t, single)
	}
}

// registers returns how many registers hold the eight columns of the square.
func (s *symmetricTile) registers() int { return dotLanes / s.of.lanes(s.t) }

// emit emits a tile.
func (s *symmetricTile) emit(index int) {
	t, of := s.t, s.of
	vectorText(t, of, "symmetricRows", index, "y, a *F, lda int, x *F, beside, n int",
		"works like symmetricRowsGeneric for a part of the rows. Pointers are those of the square on the diagonal; "+
			"the n entries beside it, n >= 0, begin beside entries further on. Part %d.")
	s.a = newRows(param("a"), bytesParam("lda", of.size), t.lanes)
	s.x, s.y = param("x"), param("y")
	b := t.vecs(t.lanes)
	for i := range b {
		of.broadcast(Mem{Base: s.x, Disp: of.size * (s.first + i)}, b[i])
	}
	beside := bytesParam("beside", of.size)
	for _, p := range []reg.GPVirtual{s.a.base, s.x, s.y} {
		ADDQ(beside, p)
	}
	s.sums = make([][]vector, t.lanes)
	for i := range s.sums {
		s.sums[i] = t.zeros(s.registers())
	}
	blends := of == single // of float64 no register is left for masks
	dotLoop(t, of, 1, blends, []reg.GPVirtual{s.a.base, s.x, s.y}, func(io access, k, disp int) {
		v, sum := io.load(Mem{Base: s.x, Disp: disp}), io.load(Mem{Base: s.y, Disp: disp})
		for _, i := range s.order {
			row := io.load(s.a.at(i, disp))
			of.fma(row, v, s.sums[i][k])
			of.fma(row, b[i], sum)
		}
		io.store(sum, Mem{Base: s.y, Disp: disp})
	})
	s.prefetchNext()
	MOVQ(mem("a"), s.a.base)
	MOVQ(mem("x"), s.x)
	MOVQ(mem("y"), s.y)
	s.square()
	finish()
}

// fewBeside is the number of entries beside the square below which no rows are prefetched: they are in the
// first-level cache. firstLines is the number of lines of a row that are prefetched.
const fewBeside, firstLines = 40, 3

// prefetchNext prefetches the first lines of the next rows, and those of their tails, which come first: while
// sums of rows are added, nothing else comes from the second-level cache. With AVX2, whose tiles have half as
// many rows, it saves no time.
func (s *symmetricTile) prefetchNext() {
	t := s.t
	if !t.evex {
		return
	}
	CMPQ(mem("n"), I32(fewBeside))
	JLT(LabelRef("fetched"))
	next, below := s.a, fresh(s.a.step)
	next.base = param("a")
	SHLQ(U8(log2(t.lanes)), below)
	ADDQ(below, next.base)
	ADDQ(bytesParam("beside", 8), next.base)
	if s.upper { // the square is further on, and rows are as much shorter
		advance(8*t.lanes, next.base)
	}
	for line := range firstLines {
		for i := range t.lanes {
			PREFETCHT0(next.at(i, 64*line))
		}
	}
	if s.upper {
		ADDQ(bytesParam("n", 8), next.base)
		for i := range t.lanes {
			PREFETCHT0(next.at(i, -8*t.lanes-8)) // the last entry
		}
	}
	Label("fetched")
}

// square adds the products of the square on the diagonal, and then those of the rows to their entries of y.
func (s *symmetricTile) square() {
	t, of, registers := s.t, s.of, s.registers()
	xs, ys := make([]vector, registers), make([]vector, registers)
	for k := range registers {
		xs[k], ys[k] = t.load(Mem{Base: s.x, Disp: k * t.bytes()}), t.load(Mem{Base: s.y, Disp: k * t.bytes()})
	}
	for _, i := range s.order {
		b := t.vec()
		of.broadcast(Mem{Base: s.x, Disp: of.size * (s.first + i)}, b)
		for k := range registers {
			s.squareRow(i, k, b, xs[k], ys[k])
		}
	}
	s.addOwn(ys)
	for k, v := range ys {
		VMOVUPD(v, Mem{Base: s.y, Disp: k * t.bytes()})
	}
}

// addOwn adds the sums of the rows to their entries of y.
func (s *symmetricTile) addOwn(ys []vector) {
	var sums []vector
	for _, of := range s.sums {
		sums = append(sums, addRegisters(of, 1)...)
	}
	r := s.t.newReducer()
	if s.of == double {
		own := ys[s.first/s.t.lanes]
		VADDPD(r.dotSums(sums), own, own)
		return
	}
	half, own := U8(s.first/s.t.lanes), XMM()
	VEXTRACTF128(half, ys[0], own)
	VADDPS(r.four32(sums), own, own)
	VINSERTF128(half, own, ys[0], ys[0])
}

// squareRow adds the products of row i of the square in the lanes of register k.
func (s *symmetricTile) squareRow(i, k int, b, x, y vector) {
	var stored, mirrored []bool // lanes of the triangle, and those without the diagonal
	for lane := range s.of.lanes(s.t) {
		row, column := s.first+i, k*s.of.lanes(s.t)+lane
		inside := column > row
		if !s.upper {
			inside = column < row
		}
		mirrored = append(mirrored, inside)
		stored = append(stored, inside || column == row)
	}
	if !slices.Contains(stored, true) {
		return
	}
	row := s.t.load(s.a.at(i, k*s.t.bytes()))
	s.addLanes(stored, row, x, s.sums[i][k])
	s.addLanes(mirrored, row, b, y)
}

// addLanes adds the products of two vectors in some lanes, which are the first ones or the last ones.
func (s *symmetricTile) addLanes(lanes []bool, v, w, sum vector) {
	switch {
	case !slices.Contains(lanes, true):
	case !slices.Contains(lanes, false):
		s.of.fma(v, w, sum)
	case s.t.evex:
		bits := uint32(0)
		for l, is := range lanes {
			if is {
				bits |= 1 << l
			}
		}
		m, k := GP32(), K()
		MOVL(U32(bits), m)
		KMOVW(m, k)
		VFMADD231PD(v, w, k, sum)
	default: // zeros in both factors, since zero by NaN or infinity is NaN
		at := slices.Index(lanes, false) // of the ones, zeros and ones of the table
		from := len(lanes) - at
		if !lanes[0] {
			from = 2*len(lanes) - slices.Index(lanes, true)
		}
		mask := maskTable.Offset(s.of.size * from)
		first, second := s.t.vec(), s.t.vec()
		VANDPD(mask, v, first)
		VANDPD(mask, w, second)
		s.of.fma(first, second, sum)
	}
}
