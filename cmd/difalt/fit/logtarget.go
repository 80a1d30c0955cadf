package fit

import (
	"context"
	"math"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/parallel"
	"github.com/difalt/difalt/cmd/difalt/model"
)

const (
	// The logarithm of the target is tried where that has this standard deviation: of targets that differ by less it is nearly straight, and squares of
	// what differs by more are no numbers.
	leastLogDeviation, mostLogDeviation = 0.25, 20
	// It is taken where it makes squared errors of training rows that are left out of their task less by this part, and by so many standard errors.
	leastLogGain, leastLogErrors = 0.05, 0.8
	// Of errors larger than that the fourth powers, of all rows, are no numbers.
	mostError = 1e70
)

// byLogarithm returns the beginning of the fit of the logarithm of the target, with which effects multiply it, where targets are more likely by it and training rows that
// are left out of their task are predicted better, in the unit of the target; else what it is given. Both are asked since a likelihood is about most rows, and what is
// off by the largest targets is what errors are made of.
func (b *beginning) byLogarithm(ctx context.Context, c *Config) (*beginning, error) {
	if c.LogTarget != nil || c.Continue != nil || b.owners || b.equalTarget {
		return b, nil
	}
	varies, err := b.variesByOrders(ctx)
	if err != nil || !varies {
		return b, err
	}
	d := &design{Group: b.Group, t: b.t, layout: b.layout, train: c.Train, weight: c.Weights, folds: b.folds, progress: b.design.progress}
	d.LogTarget = true
	if err := d.takeRows(ctx, c); err != nil {
		return nil, err
	}
	d.fold = nil
	by, err := d.begin(ctx, c, false)
	if err != nil {
		return nil, err
	}
	before, after := b.leftOutErrors(ctx, b.TargetScale), by.leftOutErrors(ctx, b.TargetScale)
	var l nodes.Layout
	squares, gain, gains, rows, logs := l.Span(1), l.Span(1), l.Span(1), l.Span(1), l.Span(1)
	z := d.Zeros(l.Len)
	for g, tasks := range d.layout {
		d.eachTraining(tasks, func(i int) {
			if e, f := before[i], after[i]; !math.IsNaN(e) && !math.IsNaN(f) {
				less := d.weightOf(i) * (e*e - f*f)
				squares.Add(z[g], d.weightOf(i)*e*e)
				gain.Add(z[g], less)
				gains.Add(z[g], less*less)
				rows.Add(z[g], 1)
				logs.Add(z[g], math.Log(d.t.Y(i)))
			}
		})
	}
	sum, err := d.Sum(ctx, z)
	if err != nil {
		return nil, err
	}
	less, n := gain.First(sum), rows.First(sum)
	se := math.Sqrt(max(gains.First(sum)-less*less/n, 0))
	// The likelihood of the targets themselves, of which the density is that of the logarithm over the target.
	likelier := (b.first.best.evidence-by.first.best.evidence)/2 - logs.First(sum) - n*math.Log(by.TargetScale/b.TargetScale)
	if likelier > 0 && less > leastLogGain*squares.First(sum) && less > leastLogErrors*se {
		by.gain = less / squares.First(sum)
		return by, nil
	}
	return b, nil
}

// variesByOrders reports whether all targets of training rows are above 0, and differ by their logarithm.
func (d *design) variesByOrders(ctx context.Context) (bool, error) {
	var l nodes.Layout
	refused, rows, logs, squares := l.Span(1), l.Span(1), l.Span(1), l.Span(1)
	sum, err := d.sumTraining(ctx, l.Len, func(i int, out []float64) {
		y := d.t.Y(i)
		if !(y > 0) {
			refused.Add(out, 1)
			return
		}
		v := math.Log(y)
		rows.Add(out, 1)
		logs.Add(out, v)
		squares.Add(out, v*v)
	})
	if err != nil || refused.First(sum) > 0 {
		return false, err
	}
	n, mean := rows.First(sum), logs.First(sum)/rows.First(sum)
	deviation := math.Sqrt(squares.First(sum)/n - mean*mean)
	return deviation >= leastLogDeviation && deviation <= mostLogDeviation, nil
}

// leftOutErrors returns by how much every training row is off what the other rows of its task expect, over unit and at most mostError; NaN for all other rows.
func (b *beginning) leftOutErrors(ctx context.Context, unit float64) []float64 {
	errors := make([]float64, b.t.Rows())
	for i := range errors {
		errors[i] = math.NaN()
	}
	rows, posterior, by := b.first.rows, b.first.best.Posterior(), b.first.best.Deviations()
	for g, list := range b.layout {
		parallel.For(ctx, rows.Workers, len(list), func(_, at int) {
			t, memory := rows.Task(g, at)
			defer memory.Put()
			b.eachLeftOut(posterior, by, list[at], rows.Weight(g, at), &t, func(i int, _, residual, rest float64) {
				errors[i] = min(math.Abs(b.t.Y(i)/unit-b.UnscaleTarget(b.scaledTarget(i)-residual/rest)/unit), mostError)
			})
		})
	}
	return errors
}

// inUnits returns a design of the same rows in whose units errors are told of a fit of the logarithm of the target: of the target itself.
func (d *design) inUnits() *design {
	own := *d
	own.Scaling = inUnits(d.Scaling)
	return &own
}

// inUnits returns the scaling of the target itself where it is that of its logarithm.
func inUnits(s model.Scaling) model.Scaling {
	if s.LogTarget {
		_, e := math.Frexp(s.UnscaleTarget(0))
		s.LogTarget, s.Target, s.TargetScale = false, 0, math.Ldexp(1, e)
	}
	return s
}
