package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/nodes"
	"gonum.org/v1/gonum/floats"
)

// scaleBy chooses the scaling from the moments that the nodes agree on.
func (d *design) scaleBy(ctx context.Context, c *Config) error {
	mean, deviation, err := d.moments(ctx)
	if err != nil {
		return err
	}
	k := len(mean) - 1
	d.Fill = mean[:k:k]
	d.Center, d.Scale = make([]float64, k), make([]float64, k)
	d.Target, d.TargetScale, d.Constant = 0, 1, !c.Plain
	for j := range d.Scale {
		d.Scale[j] = 1
	}
	if c.Plain {
		return nil
	}
	for j, v := range deviation[:k] {
		d.Center[j] = mean[j]
		if v > 0 {
			d.Scale[j] = v
		} else {
			d.constant = append(d.constant, j)
		}
	}
	if d.ids, err = d.findIDs(ctx, deviation); err != nil {
		return err
	}
	d.Target = mean[k]
	if d.LogTarget && deviation[k] > mostLogDeviation {
		return fmt.Errorf("the logarithms of the targets have a standard deviation of %.3g, of which squared errors are no numbers: a fit of logarithms takes at most %d", deviation[k], mostLogDeviation)
	}
	if d.equalTarget = deviation[k] == 0; !d.equalTarget {
		_, e := math.Frexp(deviation[k])
		d.TargetScale = math.Ldexp(1, e)
	}
	return nil
}

// moments returns mean and standard deviation of the features and, last, of the target, over the training rows of all nodes:
// a deviation of 0 for a column that differs by no more than rounding. Missing features do not count
// for the mean, and have it as their value. There are three collectives: of the powers of two
// near the largest values, so that no square is out of range; of what the
// means are made of; and of what differs from these means, and of its squares. The
// last keep the digits that the sum of squares less the square of the sum loses,
// and mend the means themselves. Then the weights of rows are scaled to 1 in the mean.
func (d *design) moments(ctx context.Context) (mean, deviation []float64, err error) {
	k := len(d.t.Features())
	unit, err := d.units(ctx)
	if err != nil {
		return nil, nil, err
	}
	var l nodes.Layout
	first, second, rows := l.Span(k+1), l.Span(k+1), l.Span(1)
	x := make([]float64, k+1)
	sum := func(visit func(out []float64, j int, v, weight float64)) ([]float64, error) {
		return d.sumTraining(ctx, l.Len, func(i int, out []float64) {
			d.t.X(x[:k], i)
			x[k] = d.target(i)
			for j, v := range x {
				if !math.IsNaN(v) {
					visit(out, j, v/unit[j], d.weightOf(i))
				}
			}
			rows.Add(out, 1)
		})
	}
	sums, err := sum(func(out []float64, j int, v, weight float64) {
		first.Of(out)[j] += weight * v
		second.Of(out)[j] += weight
	})
	if err != nil {
		return nil, nil, err
	}
	n, weights := rows.First(sums), slices.Clone(second.Of(sums))
	all := weights[k] // of rows: all have a target
	switch j := slices.Index(weights, 0); {
	case n == 0:
		return nil, nil, errors.New("there are no training rows")
	case !(all > 0):
		return nil, nil, errors.New("the weights of all training rows are 0")
	case j >= 0:
		return nil, nil, fmt.Errorf("column %q has no value in the training rows: leave it out", d.t.Features()[j])
	}
	mean, deviation = floats.DivTo(make([]float64, k+1), first.Of(sums), weights), make([]float64, k+1)
	if sums, err = sum(func(out []float64, j int, v, weight float64) {
		v -= mean[j]
		first.Of(out)[j] += weight * v
		second.Of(out)[j] += weight * v * v
	}); err != nil {
		return nil, nil, err
	}
	for j, difference := range first.Of(sums) {
		shift := difference / weights[j]
		mean[j] = (mean[j] + shift) * unit[j]
		if deviation[j] = math.Sqrt(max(second.Of(sums)[j]-difference*shift, 0)/all) * unit[j]; deviation[j] <= 0x1p-49*math.Abs(mean[j]) {
			deviation[j] = 0
		}
	}
	d.total = int(n)
	if d.weight != nil {
		d.weight = slices.Clone(d.weight)
		floats.Scale(n/all, d.weight)
	}
	return mean, deviation, nil
}

// units returns powers of two near the largest absolute value of every feature and,
// last, of the target, over the training rows of all nodes.
func (d *design) units(ctx context.Context) ([]float64, error) {
	k := len(d.t.Features())
	z := d.Zeros(k + 1)
	x := make([]float64, k)
	for g, s := range z {
		d.eachTraining(d.layout[g], func(i int) {
			for j, v := range d.t.X(x, i) {
				if v = math.Abs(v); v > s[j] { // not NaN
					s[j] = v
				}
			}
			s[k] = max(s[k], math.Abs(d.target(i)))
		})
	}
	units, err := d.Largest(ctx, z)
	for j, v := range units {
		if v == 0 {
			units[j] = 1
		}
	}
	return units, err
}

// target returns that of a row, or its logarithm.
func (d *design) target(i int) float64 {
	if d.LogTarget {
		return math.Log(d.t.Y(i))
	}
	return d.t.Y(i)
}

// filled sets x to the features of a row, with the means in place of missing ones.
func (d *design) filled(x []float64, i int) {
	for j, v := range d.t.X(x, i) {
		if math.IsNaN(v) {
			x[j] = d.Fill[j]
		}
	}
}
