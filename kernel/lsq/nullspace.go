package lsq

import (
	"math"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
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

// allowed returns how long columns of N, the root of their mean square, may be: the computed null space is off by so many
// times the rounding, where solutions of problems with c columns are by some multiple of c.
func allowed(c int) float64 { return 10 * float64(max(c, 10)) }

// transposed sets t to T' with rows and columns backwards, which is upper triangular; see project.
func (s split) transposed(t, r []float64, row, col int, at []int) {
	last := s.rank - 1
	for i, p := range at[:s.rank] {
		to, from := t[(last-i)*s.rank:], r[p*row:]
		for k := i + 1; k < s.rank; k++ {
			to[last-k] = from[at[k]*col]
		}
	}
}

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
	// X (T')^-1 for X = V', backwards.
	t, x, n := take(s.rank*s.rank), take(others*s.rank), take(s.c*others)
	s.transposed(t, r, row, col, at)
	last := s.rank - 1
	for i, p := range at[:s.rank] {
		to, from := x[(last-i)*others:][:others], r[p*row:]
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
	most := allowed(s.c)
	return squares <= most*most*float64(others) && before <= most*tile.MaxAbs(b)
}

// A partition sorts the columns of a matrix, of which LeastSquares or Orthogonalize have left F: those that were set apart
// last.
type partition struct {
	split
	f        []float64
	ldf      int
	smallest float64 // square of what is left of the others
}

// sorted sorts the columns of an m x c matrix with a sum of squares. It reports whether the rank is beyond doubt: the columns
// that were set apart are null, and the others independent.
func (ws *Workspace) sorted(m, c int, squares float64, tol float64) (p partition, ok bool) {
	p = partition{split: split{c: c, order: ws.order[:c]}, smallest: math.Inf(1)}
	_, _, p.f, p.ldf = tile.Eliminated(ws.work, m, c)
	apart := tile.SetApart(m, c) * squares
	for k := range c {
		if pivot := p.f[k*p.ldf+k]; pivot <= apart {
			p.order[c-1-(k-p.rank)] = k
		} else {
			p.smallest = min(p.smallest, pivot)
			p.order[p.rank] = k
			p.rank++
		}
	}
	return p, p.rank > 0 && p.smallest > smallest && squares < largest && ws.independent(p, squares, tol)
}

// shown reports whether the diagonal of T, of some columns, shows that none of its singular values is null, given a sum of
// squares: the product of the squares of the diagonal is that of the squares of the singular values, of which all but the
// smallest make at most (|T|^2 / (c-1))^(c-1). That shows it for nearly all matrices.
func shown(f []float64, ldf int, columns []int, squares, tol float64) bool {
	others := float64(max(len(columns)-1, 1))
	product, unit := 1.0, others/squares
	for _, k := range columns {
		product *= f[k*(ldf+1)] * unit
	}
	return product >= others*tol*tol && product <= math.MaxFloat64 && squares < largest
}

// slack is by how much T may be nearer to a matrix of lower rank than what counts as null where columns have been
// set apart: where singular values fall without a gap some rank must be chosen, and any near that line will do.
const slack = 16

// independent reports whether T, see split, has no singular value that is null, with the slack. Where the diagonal does not show it
// |T^-1| does, whose inverse is at most the smallest singular value.
func (ws *Workspace) independent(p partition, squares float64, tol float64) bool {
	if shown(p.f, p.ldf, p.order[:p.rank], squares, tol) {
		return true
	}
	inverse, t := ws.split[:p.rank*p.rank], ws.split[p.rank*p.rank:]
	clear(inverse)
	p.transposed(t, p.f, p.ldf, 1, p.order)
	for i, k := range p.order[:p.rank] { // of T = D^1/2 F, backwards
		inverse[(p.rank-1-i)*(p.rank+1)] = 1 / math.Sqrt(p.f[k*p.ldf+k])
	}
	const few = 32
	for i := 0; i < p.rank; i += few { // rows, which are zero before entry i
		at, n := i*(p.rank+1), p.rank-i
		tile.SolveUpper(inverse[at:], p.rank, t[at:], p.rank, ws.ones[:n], min(few, n), n)
	}
	if p.rank < p.c {
		tol /= slack
	}
	return tol*tol*squares*tile.Dot(inverse, inverse) <= 1
}

// basic takes the basic solution b that LeastSquares has left to that of minimum norm, if no digits are lost so.
func (ws *Workspace) basic(b []float64, p partition, y []float64) bool {
	return ws.project(b, p.split, p.f, p.ldf, 1, p.order, ws.ones[:p.rank]) && inRange(b, y, p.smallest)
}

// solveWide solves for fewer samples than columns, if the samples are independent beyond doubt or plainly
// dependent. With A' = W F as Orthogonalize leaves them, W having orthogonal columns,
//
//	b = W (W'W)^-1 h,   h = argmin |F'h - y|
//
// without the columns of W and the rows of F that were set apart.
// Taking what W'b already is off h, column by column, makes that as stable as by Householder
// reflectors (Bjorck and Paige, 1992, section 5).
func (ws *Workspace) solveWide(b []float64, a blas64.GeneralCols, y []float64) bool {
	n, r := a.Rows, a.Cols
	transposed := ws.f[:r*n]
	tile.Transpose(transposed, r, a.Data, a.Stride, r, n)
	h, squares := ws.split[:n], ws.split[n:][:n] // of W
	clear(b)
	lo, hi := tile.Orthogonalize(h, transposed, r, r, n, b, ws.work, ws.Next)
	w, ldw, f, ldf := tile.Eliminated(ws.work, r, n)
	p, ok := partition{split: split{rank: n}, smallest: lo}, shown(f, ldf, ws.identity[:n], hi, tolerance(n, r))
	if !ok {
		if p, ok = ws.sorted(r, n, hi, tolerance(n, r)); !ok {
			return false
		}
	}
	if p.rank < n {
		if !ws.solveRows(h, squares, p, r, y) {
			return false
		}
		w, ldw = ws.f, r
	} else {
		copy(h, y)
		for i, v := range h {
			row := f[i*ldf:]
			for k, x := range row[i+1 : n] {
				h[i+1+k] -= x * v
			}
			squares[i] = row[i]
		}
	}
	for k := p.rank - 1; k >= 0; k-- {
		x := w[k*ldw:][:r]
		dense.Axpy((h[k]-dense.Dot(x, b))/squares[k], x, b)
	}
	return inRange(b, y, p.smallest)
}

// solveRows finds h of solveWide for dependent samples, and brings together what belongs to the others: the columns of W
// in ws.f, and their squares. It reports whether no digits were lost.
func (ws *Workspace) solveRows(h, squares []float64, p partition, r int, y []float64) bool {
	n := p.c
	w, ldw, _, _ := tile.Eliminated(ws.work, r, n)
	l := ws.split[2*n:][:n*p.rank] // F' without the rows of F that were set apart
	for q, k := range p.order[:p.rank] {
		row, col := p.f[k*p.ldf:], l[q*n:][:n]
		clear(col[:k])
		col[k] = 1
		copy(col[k+1:], row[k+1:])
		squares[q] = row[k]
		copy(ws.f[q*r:][:r], w[k*ldw:])
	}
	lo, hi, _ := tile.LeastSquares(h, ws.e, l, n, n, p.rank, y, ws.work, 0)
	return lo > tile.SetApart(n, p.rank)*hi && hi < largest && inRange(h[:p.rank], y, lo)
}
