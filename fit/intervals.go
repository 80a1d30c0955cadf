package fit

import (
	"context"
	"math"
	"slices"

	"github.com/difalt/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// widths are the factors that intervals are tried with.
const widths, widthStep = 21, 0.05

// widening returns by how much intervals of single targets are too narrow: the least factor, 1 or more, with which 95 % of the training rows lie within theirs when they are left out of their task. Residuals of a task are then those of all
// of its rows over 1 - h, for the leverage h, and its noise is less what the row has added to it. The nodes add up how many rows that is.
func (d *design) widening(ctx context.Context, e *estimate, rows *evidence.Rows) (float64, error) {
	within, by := d.Zeros(widths+1), e.Deviations()
	for g, list := range d.layout {
		for i, k := range list {
			t, memory := rows.Task(g, i)
			far := d.leftOut(e, by, g, i, k, rows.Weight(g, i), &t)
			memory.Put()
			within[g][widths] += float64(len(far))
			for _, v := range far {
				for at := range widths {
					if v <= 1+widthStep*float64(at) {
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
	for at, n := range sum[:widths] {
		if n >= 0.95*sum[widths] {
			return 1 + widthStep*float64(at), nil
		}
	}
	return 1 + widthStep*(widths-1), nil
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
