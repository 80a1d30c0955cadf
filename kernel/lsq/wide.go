package lsq

import (
	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/internal/tile"
)

// solveWide solves for fewer samples than columns, if the samples are independent beyond doubt or plainly
// dependent. With A' = W F as Orthogonalize leaves them, W having orthogonal columns,
//
//	b = W (W'W)^-1 h,   h = argmin |F'h - y|
//
// without the columns of W and the rows of F that were set apart.
// Taking what W'b already is off h, column by column, makes that as stable as by Householder
// reflectors (Bjorck and Paige, 1992, section 5).
func (ws *Workspace) solveWide(b []float64, a blas.ColumnMajor, y []float64) bool {
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
		blas.Axpy((h[k]-blas.Dot(x, b))/squares[k], x, b)
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
