package kernel

import (
	"math"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/qr"
	"gonum.org/v1/gonum/blas/blas64"
)

// Compressed returns tasks with at most d+1 samples each that have the same coefficients, gradient
// and objective, for every U and every ridge. [X_t y_t] of a task with more samples is replaced with
// the factor R of its QR factorisation, whose rows are the samples: X_t U b - y_t is multiplied by an
// orthogonal matrix, which changes neither its length nor X_t'(X_t U b - y_t). A step then takes
// (d+1)/n of the time; the factorisations take that of some 6 d/r steps, once.
//
// Results agree to the rounding of that factorisation: a few n eps, relative to the norms of the
// columns of [X_t y_t]. Entries are float64 whatever the storage of t, since R is not float32. Tasks
// with at most d+1 samples stay as they are; without others Compressed returns t itself. Samples of
// weighted rows have their weights in X and y before. Rows of the result are no samples: Part, Row and
// sums over some of them mean nothing. NaN or Inf in a task makes it one of NaN.
func (t *Tasks) Compressed() *Tasks {
	rows, most := make([]int, len(t.rows)), t.d+1
	if t.maxRows <= most {
		return t
	}
	for i, n := range t.rows {
		rows[i] = min(n, most)
	}
	b := NewBuilder(t.d, rows, Float64)
	stride, row := dense.Stride(t.maxRows), make([]float64, most)
	a := blas64.GeneralCols{Cols: most, Stride: stride, Data: alignedFloat64(stride * most)}
	r := blas64.GeneralCols{Rows: most, Cols: most, Stride: most, Data: make([]float64, most*most)}
	scale, work := make([]float64, most), make([]float64, qr.WorkLen(most))
	for task, n := range t.rows {
		for i := range n {
			t.Row(row[:t.d], task, i)
			row[t.d] = t.Y(task)[i]
			if n <= most {
				b.SetRow(task, i, row[:t.d], row[t.d])
				continue
			}
			for j, v := range row {
				a.Data[j*stride+i] = v
			}
		}
		if n <= most {
			continue
		}
		a.Rows = n
		factor(a, r, scale, work)
		for i := range most {
			for j := range row {
				row[j] = r.Data[j*most+i]
			}
			b.SetRow(task, i, row[:t.d], row[t.d])
		}
	}
	return b.Tasks()
}

// factor overwrites r by the factor R of a, whose columns may have any length that is a number.
func factor(a, r blas64.GeneralCols, scale, work []float64) {
	for j := range a.Cols {
		column := a.Data[j*a.Stride:][:a.Rows]
		size := tile.MaxAbs(column)
		scale[j] = 1
		if size > 0 && size <= math.MaxFloat64 {
			scale[j] = math.Ldexp(1, max(math.Ilogb(size), leastScale))
		}
		for i := range column {
			column[i] /= scale[j]
		}
	}
	qr.Factor(a, r, work)
	for j, s := range scale {
		for i := range j + 1 {
			r.Data[j*r.Stride+i] *= s
		}
	}
}
