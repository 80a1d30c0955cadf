package fit

import (
	"context"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

const (
	widthStep = 0.05 // by which factors that intervals are tried with differ
	// Factors of intervals of one model, from 1 on, and of an average, from narrowest on: not less, since rows that are further out than those of training are not among these.
	widths, narrowest = 21, 0.9
)

// leastWidth returns the least of n factors, from least on, with which 95 % of the training rows lie within their intervals when they are left out of their task, or the last: far
// says of the rows of a task how far they are from what its other rows expect, over half of their interval. The nodes add up how many rows that is.
func (d *design) leastWidth(ctx context.Context, least float64, n int, far func(g, i int) []float64) (float64, error) {
	within := d.Zeros(n + 1)
	for g, list := range d.layout {
		for i := range list {
			for _, v := range far(g, i) {
				within[g][n]++
				for at := range n {
					if v <= least+widthStep*float64(at) {
						within[g][at]++
					}
				}
			}
		}
	}
	sum, err := d.Sum(ctx, within)
	if err != nil {
		return 1, err
	}
	for at, v := range sum[:n] {
		if v >= 0.95*sum[n] {
			return least + widthStep*float64(at), nil
		}
	}
	return least + widthStep*float64(n-1), nil
}

// widening returns by how much intervals of single targets are too narrow. Residuals of a task are those of all
// of its rows over 1 - h, for the leverage h, and its noise is less what the row has added to it.
func (d *design) widening(ctx context.Context, e *estimate, rows *evidence.Rows) (float64, error) {
	by := e.Deviations()
	return d.leastWidth(ctx, 1, widths, func(g, i int) []float64 {
		t, memory := rows.Task(g, i)
		defer memory.Put()
		return d.leftOut(e, by, g, i, d.layout[g][i], rows.Weight(g, i), &t)
	})
}

// narrowing returns by how much intervals of single targets by an average with candidates of rank 0 are too wide. A mixture takes one of its models for true, and adds what they
// differ by to the variance of each; but none is, and their mean errs by less than each of them.
func (d *design) narrowing(ctx context.Context, rows *evidence.Rows, all estimates) (float64, error) {
	return d.leastWidth(ctx, narrowest, int(math.Round((1-narrowest)/widthStep))+1, func(g, i int) []float64 { return d.leftOutOfAll(rows, g, i, all) })
}

// leftOutOfAll returns how far the training rows of a task are from what its other rows expect by the mean of all models, over half of the 95 % interval of their mixture.
func (d *design) leftOutOfAll(rows *evidence.Rows, g, i int, all estimates) (far []float64) {
	n := int(rows.Samples(g, i))
	off, variances, mean := make([]float64, n*len(all)), make([]float64, n), make([]float64, n)
	freedom := 0.0
	for k, e := range all {
		t, memory := rows.Task(g, i)
		v, f := e.noiseOf(g, i)
		freedom += e.weight * f
		row := 0
		d.eachLeftOut(e.Posterior, e.Deviations(), d.layout[g][i], rows.Weight(g, i), &t, func(_ int, own, residual, rest float64) {
			off[k*n+row] = residual / rest
			mean[row] += e.weight * off[k*n+row]
			variances[row] += e.weight * v / (own * rest)
			row++
		})
		memory.Put()
	}
	for row, m := range mean {
		v := variances[row]
		for k, e := range all {
			v += e.weight * math.Pow(off[k*n+row]-m, 2)
		}
		far = append(far, math.Abs(m)/(mixedmodel.Normal95*mixedmodel.Interval95(freedom)*math.Sqrt(v)))
	}
	return far
}

// leftOut returns how far the training rows of a task are from what its other rows expect, over half of their 95 % interval.
func (d *design) leftOut(e *estimate, by *mixedmodel.Deviations, g, i, task int, weight float64, t *mixedmodel.Task) (far []float64) {
	v, freedom := e.noiseOf(g, i)
	if freedom < 2 {
		return nil
	}
	half := mixedmodel.Normal95 * mixedmodel.Interval95(freedom-1)
	d.eachLeftOut(e.Posterior, by, task, weight, t, func(_ int, own, residual, rest float64) {
		square := own * residual * residual / rest
		without := max((freedom*v-square)/(freedom-1), 0.05*v)
		far = append(far, math.Sqrt(square/without)/half)
	})
	return far
}

// eachLeftOut visits the training rows i of a task with their own weights, their residuals and 1 - h for the leverage h of the row, mean and strengths as they
// are: residual / (1 - h) is what the row is from what the other rows of its task expect. It overwrites the task, whose rows are weighted.
func (d *design) eachLeftOut(p *mixedmodel.Posterior, by *mixedmodel.Deviations, task int, weight float64, t *mixedmodel.Task, visit func(i int, own, residual, rest float64)) {
	w := p.W
	k, ok := t.WhitenInPlace(by)
	if !ok {
		return
	}
	z, sz, theta := make([]float64, w), make([]float64, w), slices.Clone(p.Mean)
	k.Gradient(z, p.Mean)
	s := mixedmodel.Square(p.S, w)
	blas64.Gemv(blas.NoTrans, 1, s, mixedmodel.Vector(z), 1, mixedmodel.Vector(theta))
	d.eachTraining([]int{task}, func(row int) {
		y := d.row(z, row)
		own := d.weightOf(row)
		// z'(S - S Z'V^-1 Z S) z
		blas64.Gemv(blas.NoTrans, 1, s, mixedmodel.Vector(z), 0, mixedmodel.Vector(sz))
		h := floats.Dot(z, sz)
		for i := range k.Y {
			h -= math.Pow(floats.Dot(k.Z[i*w:][:w], sz), 2)
		}
		visit(row, own, y-floats.Dot(z, theta), max(1-h*own*weight, 1e-6))
	})
}
