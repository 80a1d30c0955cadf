package blas

import "github.com/difalt/difalt/internal/tile"

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
	rows := s.beside(lo, hi)
	rows.Dots(sums[:], x, nil)
	for k := range hi - lo {
		i := lo + k
		if s.upper() {
			i = hi - 1 - k
		}
		at, v := s.origin(i), x[i]-sums[i-lo]
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
