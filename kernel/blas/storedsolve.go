package blas

import (
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
)

// together is the number of unknowns of a triangle whose products with others a call of the tiles computes.
const together = 8

// beside returns rows lo to hi of a run without the columns between lo and hi.
func (s *storedRows[F]) beside(lo, hi int) (rows tile.Spans[F]) {
	next := min(lo+1, hi-1)
	rows.A, rows.At, rows.Growth, rows.Rows = s.data, s.origin(lo), s.growth(), hi-lo
	rows.Step = s.origin(next) - rows.At
	if s.upper() {
		rows.First, rows.End = hi, max(hi, min(s.n, lo+s.above+1))
		rows.Ahead = max(hi, min(s.n, next+s.above+1)) - rows.End
		return rows
	}
	rows.First, rows.End = min(lo, max(0, lo-s.below)), lo
	rows.Forward = min(lo, max(0, next-s.below)) - rows.First
	return rows
}

// square returns the columns of row i beside the diagonal between columns lo and hi.
func (s *storedRows[F]) square(i, lo, hi int) (from, end int) {
	if s.upper() {
		return i + 1, min(hi, i+s.above+1)
	}
	return max(lo, i-s.below), i
}

// solve overwrites x by the solution of op(A) times it.
func (s *storedRows[F]) solve(transposed, unit bool, x, memory []F) {
	if transposed {
		s.solveTransposed(unit, x, memory)
		return
	}
	r := s.runs()
	for k := range 3 {
		if s.upper() {
			k = 2 - k
		}
		for done := r[k]; done < r[k+1]; done += together {
			lo, hi := done, min(done+together, r[k+1])
			if s.upper() {
				lo, hi = r[k]+r[k+1]-hi, r[k]+r[k+1]-lo
			}
			s.solveByDots(unit, x, lo, hi)
		}
	}
}

// solveByDots solves for unknowns lo to hi of A x = b, which wait for products of rows and others.
func (s *storedRows[F]) solveByDots(unit bool, x []F, lo, hi int) {
	var sums [together]F
	s.dotsBeside(sums[:], x, lo, hi)
	for k, v := range sums[:hi-lo] {
		x[lo+k] -= v
	}
	if max(s.above, s.below) >= hi-lo-1 && s.solveEight(unit, x[lo:hi], lo) {
		return
	}
	for k := range hi - lo {
		i := lo + k
		if s.upper() {
			i = hi - 1 - k
		}
		at, v := s.origin(i), x[i]
		from, end := s.square(i, lo, hi)
		known := x[from:end]
		for j, e := range s.data[at+from : at+end] {
			v -= F(e * known[j])
		}
		if !unit {
			v /= s.data[at+i]
		}
		x[i] = v
	}
}

// dotsBeside sets sums to the products of rows lo to hi and x, without the columns between lo and hi. Eight
// rows of a band have columns in common, and a triangle beside them.
func (s *storedRows[F]) dotsBeside(sums, x []F, lo, hi int) {
	rows := s.beside(lo, hi)
	switch {
	case s.layout == bandedRows && hi-lo == together && max(s.above, s.below) >= together-1:
	case s.layout == packedRows && hi-lo == together:
		row, others := s.data[rows.At+rows.First:], x[rows.First:rows.End]
		tile.GrowingRowDots(sums, row, rows.Step, rows.Growth, others, together, len(others))
		return
	default:
		rows.Dots(sums, x, nil)
		return
	}
	first, end, corner := max(0, hi-1-s.below), lo, hi-1 > s.below
	if s.upper() {
		first, end, corner = hi, min(s.n, lo+s.above+1), hi+s.above <= s.n
	}
	if first < end {
		tile.RowDots(sums, s.data[s.origin(lo)+first:], s.stride-1, x[first:end], together, end-first)
	}
	if !corner {
		return
	}
	size, row, column, own, step := int(unsafe.Sizeof(F(0))), lo, first-together+1, 0, 1
	if s.upper() {
		row, column, own, step = hi-1, end+together-2, together-1, -1
	}
	var t eight[F] // set entry by entry, as in triangular
	t.x, t.a = unsafe.Pointer(&x[column]), unsafe.Pointer(&s.data[s.origin(row)+column])
	t.apart, t.across, t.down = step*size, step*size, step*size*(s.stride-1)
	t.addCorner(unsafe.Pointer(&sums[own]))
}

// solveEight solves for up to eight unknowns x from lo on, less their products with others. It returns false
// where pivots divide.
func (s *storedRows[F]) solveEight(unit bool, x []F, lo int) bool {
	size, first, step := int(unsafe.Sizeof(F(0))), 0, 1
	if s.upper() {
		first, step = len(x)-1, -1
	}
	var t eight[F] // set entry by entry, as in triangular
	i := lo + first
	at, next, second := s.origin(i), s.origin(i+step), s.origin(i+2*step)
	t.x, t.a, t.n = unsafe.Pointer(&x[first]), unsafe.Pointer(&s.data[at+i]), len(x)
	t.apart, t.across = step*size, step*size
	t.down, t.growth, t.unit = (next-at)*size, (second-2*next+at)*size, unit
	return t.solve()
}

// solveTransposed overwrites x by the solution of A' times it.
func (s *storedRows[F]) solveTransposed(unit bool, x, memory []F) {
	backwards := !s.upper()
	own, change := 0, 1
	if backwards {
		own, change = s.n-1, -1
	}
	var d []F
	if !unit {
		d = s.diagonal(memory, backwards)
	}
	unknowns, done := memory[tile.Pad(s.n):][:s.n], 0
	r := s.runs()
	for k := range 3 {
		rows, ok := s.spans(&r, k, strict, backwards)
		if !ok {
			continue
		}
		pivots := d
		if !unit {
			pivots = d[done:]
		}
		rows.Solve(unknowns[done:], pivots, x, own+done*change, change)
		done += rows.Rows
	}
	for i, v := range unknowns {
		x[own+i*change] = v
	}
}
