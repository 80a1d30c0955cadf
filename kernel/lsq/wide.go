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
	rank, h, squares := n, ws.split[:n], ws.split[n:][:n] // of W
	clear(b)
	lo, hi := tile.Orthogonalize(h, transposed, r, r, n, b, ws.work, ws.Next)
	w, ldw, f, ldf := tile.Eliminated(ws.work, r, n)
	well := regular(lo, hi)
	if well || ws.independent(blas.ColumnMajor{Rows: r, Cols: n}, lo, hi, tolerance(a)) {
		copy(h, y)
		for i, v := range h {
			for k, x := range f[i*ldf:][i+1 : n] {
				h[i+1+k] -= x * v
			}
			squares[i] = f[i*ldf+i]
		}
	} else if lo, rank, well = ws.solveRows(h, squares, n, r, y, hi, tolerance(a)); well {
		w, ldw = ws.f, r
	} else {
		return false
	}
	for k := rank - 1; k >= 0; k-- {
		x := w[k*ldw:][:r]
		blas.Axpy((h[k]-blas.Dot(x, b))/squares[k], x, b)
	}
	if well {
		return trusted(b, y, lo, hi)
	}
	return inRange(b, y, lo)
}

// solveRows finds h of solveWide for dependent samples, and brings together what belongs to the others: the columns of W
// in ws.f, and their squares. It returns the least of these, how many there are, and whether samples are plainly
// dependent.
func (ws *Workspace) solveRows(h, squares []float64, n, r int, y []float64, hi, tol float64) (lo float64, rank int, ok bool) {
	w, ldw, f, ldf := tile.Eliminated(ws.work, r, n)
	s, lo, ok := ws.sorted(f, ldf, n, hi, tol)
	if !ok {
		return 0, 0, false
	}
	l := ws.split[2*n:][:n*s.rank] // F' without the rows of F that were set apart
	for q, k := range s.order[:s.rank] {
		col := l[q*n:][:n]
		clear(col[:k])
		col[k] = 1
		copy(col[k+1:], f[k*ldf+k+1:])
		squares[q] = f[k*ldf+k]
		copy(ws.f[q*r:][:r], w[k*ldw:])
	}
	least, all, _ := tile.LeastSquares(h, ws.e, l, n, n, s.rank, y, ws.work, 0)
	return lo, s.rank, trusted(h[:s.rank], y, least, all)
}
