package kernel

import (
	"math"
	"slices"

	"github.com/difalt/difalt/internal/leastsq"
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
)

// Compressed returns tasks with at most d+1 samples each that have the coefficients, gradient and objective
// of t for every U and every ridge. [X_t y_t] of a task with more samples is replaced by the factor R of its
// QR factorisation, whose rows are the samples: X_t U b - y_t is multiplied by an orthogonal matrix, which
// changes neither its length nor X_t'(X_t U b - y_t). A step then takes (d+1)/n of the time; the
// factorisation takes the time of some d/r to 2 d/r steps, once.
//
// Results agree to the rounding of that factorisation: a few n eps, relative to the norms of the columns of
// [X_t y_t]. Entries are float64 whatever the storage of t, since R is not float32. Tasks with at most d+1
// samples stay as they are; if no task has more, Compressed returns t itself. Else the result has no weights:
// its rows are those of the weighted problem. Part, Row and sums over some rows of the result have no
// meaning. NaN or Inf in a task makes all of it NaN.
func (t *Tasks) Compressed() *Tasks {
	rows, most := make([]int, len(t.rows)), t.d+1
	if t.maxRows <= most {
		return t
	}
	for i, n := range t.rows {
		rows[i] = min(n, most)
	}
	b, k := NewBuilder(t.d, rows, Float64), newCompressor(t.d)
	for task, n := range t.rows {
		if n > most {
			k.compress(b, t, task)
			continue
		}
		for i := range n {
			b.SetRow(task, i, t.Row(k.row, task, i), t.Y(task)[i])
		}
	}
	small := b.Tasks()
	small.before = t.before
	if t.before == nil {
		small.before = slices.Clone(t.rows)
	}
	return small
}

// original returns the number of samples of a task before Compressed.
func (t *Tasks) original(task int) int {
	if t.before != nil {
		return t.before[task]
	}
	return t.rows[task]
}

// tolerance returns the part of the norm at which a direction of X_t U counts as null for rank r. Compressed
// samples carry the rounding errors of the original ones, whose number decides.
func (t *Tasks) tolerance(task, r int) float64 { return leastsq.Tolerance(t.original(task), r) }

// A compressor reads the rows of a task, a block at a time, and replaces them by the factor R of all rows so
// far.
type compressor struct {
	d, block   int
	row, scale []float64
	x          blas64.GeneralCols // the rows of R and behind them a block of rows, by columns
	y          []float64
	ws         *leastsq.Workspace
}

func newCompressor(d int) *compressor {
	k := &compressor{d: d, block: 4 * tile.Pad(d+1), row: make([]float64, d), scale: make([]float64, d+1)}
	n := k.block + d + 1
	k.x = blas64.GeneralCols{Rows: n, Cols: d, Stride: tile.Stride(n), Data: alignedFloat64(tile.Stride(n) * d)}
	k.y, k.ws = make([]float64, n), leastsq.NewWorkspace(n, d)
	return k
}

// compress sets the d+1 rows of a task of b to the factor R of the rows of t. Columns are divided by powers
// of two near their largest entries, so that small ones keep their digits.
func (k *compressor) compress(b *Builder, t *Tasks, task int) {
	d, n, y := k.d, t.rows[task], t.Y(task)
	clear(k.scale)
	for i := range n {
		for j, v := range t.Row(k.row, task, i) {
			k.scale[j] = max(k.scale[j], math.Abs(v))
		}
		k.scale[d] = max(k.scale[d], math.Abs(y[i]))
	}
	for j, v := range k.scale {
		k.scale[j] = leastsq.PowerOfTwo(v)
	}
	filled := 0 // rows of x
	for i := range n {
		for j, v := range t.Row(k.row, task, i) {
			k.x.Data[j*k.x.Stride+filled] = v / k.scale[j]
		}
		k.y[filled] = y[i] / k.scale[d]
		if filled++; filled == k.x.Rows || i == n-1 {
			a := k.x
			a.Rows = filled
			rest := leastsq.Triangle(k.x, k.y, 0, a, k.y[:filled], 0, k.ws)
			for j := range d {
				k.x.Data[j*k.x.Stride+d] = 0
			}
			k.y[d], filled = rest, d+1
		}
	}
	for i := range d + 1 {
		for j := range k.row {
			k.row[j] = k.x.Data[j*k.x.Stride+i] * k.scale[j]
		}
		b.SetRow(task, i, k.row, k.y[i]*k.scale[d])
	}
}
