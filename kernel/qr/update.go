package qr

import (
	"math"

	"github.com/difalt/difalt/internal/leastsq"
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
)

const (
	badTriangle  = "qr: need a of m x n and r of n x n"
	badRows      = "qr: need rows of n columns and r of n x n"
	badWorkspace = "qr: workspace too small"
	tooLarge     = "qr: dimensions too large"
)

// A Workspace is the scratch memory of R and Update. It serves one call at a time.
type Workspace struct {
	n     int // columns
	block int // most rows at a time
	// x has the rows of R and then new rows, by columns. It has all columns but the last one, which is y.
	x       blas64.GeneralCols
	y       []float64
	scale   []float64 // powers of two near the largest entries of the columns
	leastsq *leastsq.Workspace
}

// NewWorkspace returns scratch memory for matrices of n columns.
func NewWorkspace(n int) *Workspace {
	const cached = 1 << 16 // entries that stay in a second-level cache
	checkOrder(n)
	w := &Workspace{n: n, block: max(32, n, min(4*n, cached/max(n, 1))), scale: make([]float64, n)}
	rows := n + w.block
	w.y = make([]float64, rows)
	if n > 1 {
		stride := tile.Stride(rows)
		w.x = blas64.GeneralCols{Rows: rows, Cols: n - 1, Stride: stride, Data: make([]float64, stride*(n-1))}
		w.leastsq = leastsq.NewWorkspace(rows, n-1)
	}
	return w
}

// R computes the factor R of A = Q R without Q, for a matrix a of m x n of any shape. It stores R in the n x
// n matrix r, with zeros below the diagonal, which is not negative. a is not written. For m >= n this is the
// R of Factor, to rounding. With fewer rows than columns or dependent columns, R has zero or tiny diagonal
// entries, and R'R = A'A still holds to the rounding of every column.
//
// R, with a last column for the responses, holds all that a least squares needs of its rows: see Update. ws
// is of NewWorkspace(n), or for more columns; it is allocated if it is nil. NaN or Inf in a shows as NaN or
// Inf in R. On 21 x 13 R takes 0.4 times the time of Factor, on 200 x 30 as long, on 1000 x 50 twice as long.
func R(a, r blas64.GeneralCols, ws *Workspace) {
	n := a.Cols
	if a.Rows < 0 || n < 0 || r.Rows != n || r.Cols != n {
		panic(badTriangle)
	}
	check(a)
	check(r)
	ws = ws.of(n)
	for j := range n {
		clear(r.Data[j*r.Stride:][:n])
	}
	for i := 0; i < a.Rows && n > 0; i += ws.block {
		m := min(ws.block, a.Rows-i)
		filled := ws.load(r, i > 0)
		for j := range n {
			copy(ws.column(j)[filled:][:m], a.Data[j*a.Stride+i:])
		}
		ws.reduce(r, filled+m)
	}
}

// Update replaces the upper triangular n x n matrix r by the factor R of the QR factorisation of
//
//	[r   ]
//	[rows]
//
// for new rows (m x n, by rows). So R of a stream of rows, from a matrix of zeros on, is the R of all of
// them. The diagonal is not negative; entries below it are neither read nor written. ws is as for R.
func Update(r blas64.GeneralCols, rows blas64.General, ws *Workspace) {
	n := rows.Cols
	if rows.Rows < 0 || n < 0 || r.Rows != n || r.Cols != n {
		panic(badRows)
	}
	check(r)
	if rows.Stride < max(1, n) || rows.Rows > 0 && beyond(rows.Rows-1, rows.Stride, n, len(rows.Data)) {
		panic(badSlice)
	}
	ws = ws.of(n)
	if rows.Rows == 0 && n > 0 {
		ws.reduce(r, ws.load(r, true)) // its diagonal may be negative
	}
	for i := 0; i < rows.Rows && n > 0; i += ws.block {
		m := min(ws.block, rows.Rows-i)
		filled := ws.load(r, true)
		if n > 1 {
			tile.Transpose(ws.x.Data[filled:], ws.x.Stride, rows.Data[i*rows.Stride:], rows.Stride, m, n-1)
		}
		for k := range m {
			ws.y[filled+k] = rows.Data[(i+k)*rows.Stride+n-1]
		}
		ws.reduce(r, filled+m)
	}
}

// of returns a workspace for n columns: a new one if w is nil. It panics if w is too small.
func (w *Workspace) of(n int) *Workspace {
	if w == nil {
		return NewWorkspace(n)
	}
	if w.block == 0 || w.n < n {
		panic(badWorkspace)
	}
	w.x.Cols = max(n-1, 0)
	return w
}

// column returns column j of the rows.
func (w *Workspace) column(j int) []float64 {
	if j < w.x.Cols {
		return w.x.Data[j*w.x.Stride:][:w.x.Rows]
	}
	return w.y
}

// load copies the rows of r, unless it is zero, and returns their number.
func (w *Workspace) load(r blas64.GeneralCols, nonzero bool) int {
	if !nonzero {
		return 0
	}
	for j := range r.Cols {
		column := w.column(j)[:r.Cols]
		clear(column[copy(column, r.Data[j*r.Stride:][:j+1]):])
	}
	return r.Cols
}

// reduce sets r to the factor R of the first m rows. Columns are divided by powers of two near their largest
// entries, so that small ones keep their digits.
func (w *Workspace) reduce(r blas64.GeneralCols, m int) {
	n := r.Cols
	last := r.Data[(n-1)*r.Stride:][:n]
	for j := range n {
		column := w.column(j)[:m]
		w.scale[j] = leastsq.PowerOfTwo(tile.MaxAbs(column))
		for i := range column {
			column[i] /= w.scale[j]
		}
	}
	if n == 1 {
		last[0] = w.scale[0] * math.Sqrt(tile.Dot(w.y[:m], w.y[:m]))
		return
	}
	a := w.x
	a.Rows = m
	rest := leastsq.Triangle(w.x, w.y, 0, a, w.y[:m], 0, w.leastsq)
	for j := range n - 1 {
		for i, v := range w.column(j)[:j+1] {
			r.Data[j*r.Stride+i] = v * w.scale[j]
		}
	}
	for i, v := range w.y[:n-1] {
		last[i] = v * w.scale[n-1]
	}
	last[n-1] = rest * w.scale[n-1]
}
