package lsq

import (
	"math"

	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/internal/tile"
)

// A split sorts the columns of a matrix M, m x c, into rank independent ones and others that are
// combinations of these: with T upper triangular,
//
//	M P = Q [T V; 0 0],   null(M) = P range N,   N = [-T^-1 V; I].
//
// So a solution c that is zero in the other columns leads to the one of minimum norm, which is
// what is left of c when its part in the null space is taken off.
type split struct {
	c, rank int
	order   []int // column k of M P is column order[k] of M
}

// splitWork returns the length of the memory for matrices of c columns.
func splitWork(c int) int { return 3*c*c + 3*c }

// longest is the largest mean of the squares of the columns of N with which digits are kept: the
// computed null space is off by |N| times the rounding.
const longest = 1e4

// project overwrites the solution b with zeros in the other columns by that of minimum norm. Entry
// (i, k) of [T V] is r[at[i]*row+at[k]*col], and zero for at[i] > at[k]; inv holds the inverses of
// the diagonal of T, the last one first. It reports whether N is so short, and so little of b in
// the null space, that no digits were lost.
func (ws *Workspace) project(b []float64, s split, r []float64, row, col int, at []int, inv []float64) bool {
	others := s.c - s.rank
	if others == 0 || s.rank == 0 {
		return true
	}
	room := ws.split
	take := func(n int) []float64 {
		part := room[:n:n]
		room = room[n:]
		return part
	}
	// X (T')^-1 for X = V', backwards, so that T' is upper triangular, too.
	t, x, n := take(s.rank*s.rank), take(others*s.rank), take(s.c*others)
	last := s.rank - 1
	for i, p := range at[:s.rank] {
		to, from := t[(last-i)*s.rank:], r[p*row:]
		for k := i + 1; k < s.rank; k++ {
			to[last-k] = from[at[k]*col]
		}
		to = x[(last-i)*others:][:others]
		for j, k := range at[s.rank:s.c] {
			if to[j] = 0; p < k {
				to[j] = from[k*col]
			}
		}
	}
	tile.SolveUpper(x, others, t, s.rank, inv, others, s.rank)
	for j, k := range s.order[s.rank:] {
		column := n[j*s.c:][:s.c]
		for _, q := range s.order[s.rank:] {
			column[q] = 0
		}
		column[k] = 1
		for i, p := range s.order[:s.rank] {
			column[p] = -x[(last-i)*others+j]
		}
	}
	before := tile.MaxAbs(b)
	g := take(others)
	_, squares, _ := tile.LeastSquares(g, b, n, s.c, s.c, others, b, ws.work, 0)
	for i, v := range b {
		b[i] = -v
	}
	return squares <= longest*float64(others) && before <= math.Sqrt(longest)*tile.MaxAbs(b)
}

// independent reports whether the columns of a matrix, of which LeastSquares or Orthogonalize have left
// F in ws.work, are independent beyond doubt: R^-1 is F^-1 D^-1/2 for the diagonal D of F, and
// 1/|R^-1| is at most the smallest singular value.
func (ws *Workspace) independent(m blas.ColumnMajor, lo, squares, tol float64) bool {
	const beyond = 8 // times what counts as null
	if !(lo > tile.SetApart*squares && lo > smallest && squares < largest) {
		return false
	}
	c := m.Cols
	_, _, f, ldf := tile.Eliminated(ws.work, m.Rows, c)
	inverse, t := ws.split[:c*c], ws.split[c*c:][:c*c]
	clear(inverse)
	for i := range c { // F' backwards is upper triangular
		row := f[i*ldf:][:c]
		inverse[(c-1-i)*(c+1)] = 1 / math.Sqrt(row[i])
		to := t[(c-1-i)*c:]
		for k := i + 1; k < c; k++ {
			to[c-1-k] = row[k]
		}
	}
	tile.SolveUpper(inverse, c, t, c, ws.ones[:c], c, c)
	size := 0.0
	for _, v := range inverse {
		size += v * v
	}
	return beyond*beyond*tol*tol*squares*size < 1
}

// sorted sorts the columns of a matrix with a sum of squares, of which LeastSquares or Orthogonalize have left F: those that
// were set apart last. It returns the least square of what is left of the others, and reports whether these are far from
// dependent, and what is left of those that were set apart is within tol of the Frobenius norm.
func (ws *Workspace) sorted(f []float64, ldf, c int, squares, tol float64) (s split, lo float64, ok bool) {
	s = split{c: c, order: ws.order[:c]}
	lo, left := math.Inf(1), 0.0
	for k := range c {
		if pivot := f[k*ldf+k]; pivot <= tile.SetApart*squares {
			left += pivot
			s.order[c-1-(k-s.rank)] = k
		} else {
			lo = min(lo, pivot)
			s.order[s.rank] = k
			s.rank++
		}
	}
	return s, lo, s.rank > 0 && regular(lo, squares) && left <= tol*tol*squares
}

// dependent takes the basic solution b that LeastSquares has left, with ws.work, of a problem with
// the matrix m, which has a sum of squares, to that of minimum norm, and returns the rank, if that is
// beyond doubt.
func (ws *Workspace) dependent(b []float64, m blas.ColumnMajor, y []float64, squares, tol float64) (rank int, ok bool) {
	_, _, f, ldf := tile.Eliminated(ws.work, m.Rows, m.Cols)
	s, lo, ok := ws.sorted(f, ldf, m.Cols, squares, tol)
	if !ok {
		return 0, false
	}
	ok = ws.project(b, s, f, ldf, 1, s.order, ws.ones[:s.rank])
	return s.rank, ok && trusted(b, y, lo, squares)
}
