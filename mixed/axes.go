package mixed

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

const (
	mostColumns = 1000 // columns of a design without curves: a matrix of them has 8 MB

	// A row lies in the span of other rows if its squared distance is at most this share of the largest
	// square.
	sameRow = 1e-10

	axisRows    = 64   // rows between two checks of the context
	axisColumns = 1024 // features between two checks of the context
)

// setAxes lets a design with more than 300 features, and more than training rows, work in the span of these
// rows. Coefficients of the features differ from their projection on the span by a part that no training row
// sees. All features have one prior deviation, so that all axes have one, too, and the model is equal. The
// error states the limit of a design that has too many columns in either space.
func (r *rows) setAxes(ctx context.Context, d *Design) error {
	n, f, all := len(r.order), len(d.Scale), len(r.order)
	if r.refits { // to more rows
		all = len(r.whole.order)
	}
	alone := r.sums.Owners() == 1
	switch {
	case f > mostColumns && !(alone && f > all && all <= mostColumns):
		const format = "the table has %d features, levels of categories among them, and %d training rows: " +
			"models have at most %d features, or at most %d rows of one owner: leave features out"
		return &Error{fmt.Errorf(format, f, all, mostColumns, mostColumns), "its table has too many features", false}
	case alone && f > widest && f > n && n <= mostColumns:
		x, err := r.standardised(ctx, d)
		if err == nil {
			d.Axes, err = axes(ctx, x, n, f)
		}
		if err == nil && d.Axes == nil && f > mostColumns {
			const format = "none of the %d features varies in the training rows: leave features out"
			err = &Error{fmt.Errorf(format, f), "its features do not vary", false}
		}
		return err
	}
	return nil
}

// freeAxes frees the axes of a fit and of its model while another fit has its own: both may take as much
// memory as the table.
func (f *fitter) freeAxes(m *Model) {
	f.plain.design.Axes, m.p.Design.Axes = nil, nil
}

// restoreAxes computes the axes that freeAxes has freed again, with equal bits.
func (f *fitter) restoreAxes(ctx context.Context, m *Model) error {
	err := f.rows.setAxes(ctx, f.plain.design)
	m.p.Design.Axes = f.plain.design.Axes
	return err
}

// standardised returns the standardised features of the training rows, by rows, which are multiplied by the
// square roots of their weights.
func (r *rows) standardised(ctx context.Context, d *Design) ([]float64, error) {
	n, f := len(r.order), len(d.Scale)
	x, read := make([]float64, n*f), r.newReader()
	for from := 0; from < n; from += axisRows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		read.each(r.order[from:min(from+axisRows, n)], func(at int, features []float64) {
			d.standardise(x[(from+at)*f:][:f], features, nil)
		})
	}
	r.weigh(x, r.order)
	return x, nil
}

// axes returns orthogonal rows of one length that span the rows of x, n x f by rows. The places of the rows
// of x along the axes have the mean square 1, over all axes. x is overwritten. Rows of zeros have no axes.
func axes(ctx context.Context, x []float64, n, f int) ([]float64, error) {
	squares := rounded.Dot(x, x)
	rank := n
	for range 2 { // the second pass removes what rounding has left in the first
		g, err := gramOfRows(ctx, x, rank, f)
		if err != nil {
			return nil, err
		}
		largest := 0.0
		for i := range rank {
			largest = max(largest, g[i*rank+i])
		}
		if largest == 0 {
			return nil, nil
		}
		// G = R'R of the rows in the order of pivots: R'^-1 X has orthogonal rows of length 1.
		pivots := make([]int, rank)
		factor, k := dense.Pstrf(dense.Symmetric(rank, g), pivots, sameRow*largest, make([]float64, 2*rank))
		factor.N, rank = k, k
		x = selected(x, pivots[:k], f)
		for at := 0; at < f; at += axisColumns {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			part := blas64.General{Rows: k, Cols: min(axisColumns, f-at), Stride: f, Data: x[at:]}
			dense.Trsm(blas.Left, blas.Trans, 1, factor, part)
		}
	}
	floats.Scale(math.Sqrt(float64(n)*float64(rank)/squares), x)
	return x, nil
}

// gramOfRows returns X X' for x of n x f by rows. Only its upper triangle is set.
func gramOfRows(ctx context.Context, x []float64, n, f int) ([]float64, error) {
	g := make([]float64, n*n)
	for at := 0; at < n; at += axisRows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		to := min(at+axisRows, n)
		some, later := dense.General(to-at, f, x[at*f:to*f]), dense.General(n-at, f, x[at*f:])
		part := blas64.General{Rows: to - at, Cols: n - at, Stride: n, Data: g[at*n+at:]}
		dense.Gemm(blas.NoTrans, blas.Trans, 1, some, later, 0, part)
	}
	return g, nil
}

// selected moves the given rows of x, f numbers each, to its front, in their order, and returns that part.
func selected(x []float64, rows []int, f int) []float64 {
	place := make([]int, len(x)/max(f, 1)) // of every row
	for i := range place {
		place[i] = i
	}
	row := slices.Clone(place) // at every place
	for i, want := range rows {
		from, other := place[want], row[i]
		if from == i {
			continue
		}
		a, b := x[i*f:][:f], x[from*f:][:f]
		for j := range a {
			a[j], b[j] = b[j], a[j]
		}
		row[i], place[want] = want, i
		row[from], place[other] = other, from
	}
	return x[:len(rows)*f]
}
