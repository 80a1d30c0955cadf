package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/dataset"
)

// ConstantFeature is the name of the feature that Config.Intercept adds.
const ConstantFeature = "(intercept)"

// A scaling takes rows of a table to what the algorithm sees.
type scaling struct {
	center, scale []float64 // of the table's features
	target        float64   // subtracted from the target
	constant      bool      // a feature that is always 1 comes last
}

// width is the number of features d that the algorithm sees.
func (s *scaling) width() int {
	if s.constant {
		return len(s.center) + 1
	}
	return len(s.center)
}

// apply scales the leading entries of z, a row of the table, in place.
func (s *scaling) apply(z []float64) {
	for j, c := range s.center {
		z[j] = (z[j] - c) / s.scale[j]
	}
	if s.constant {
		z[len(s.center)] = 1
	}
}

// A design is a table with the scaling of its training rows.
type design struct {
	scaling
	t      *dataset.Table
	layout dataset.Layout
	train  []bool
	fold   []int // of every training row; -1 for the others
	folds  int
}

func newDesign(t *dataset.Table, c *Config) (*design, error) {
	layout, err := t.Layout()
	if err != nil {
		return nil, err
	}
	d := &design{t: t, layout: layout, train: c.Train, folds: c.Folds}
	if d.folds == 0 {
		d.folds = defaultFolds
	}
	if d.train == nil {
		d.train = make([]bool, t.Rows())
		for i := range d.train {
			d.train[i] = true
		}
	}
	if !slices.Contains(d.train, true) {
		return nil, fmt.Errorf("there are no training rows")
	}
	d.fold = t.Folds(d.train, d.folds, c.Options.Seed)
	mean, deviation, target := d.moments()
	d.center, d.scale = make([]float64, len(mean)), make([]float64, len(mean))
	d.constant = c.Intercept
	for j := range mean {
		d.scale[j] = 1
		// Rounding leaves a constant column a deviation of this order.
		isConstant := deviation[j] <= 1e-12*math.Abs(mean[j])
		if isConstant && mean[j] != 0 {
			d.constant = false
		}
		if c.Standardize && !isConstant {
			d.center[j], d.scale[j] = mean[j], deviation[j]
		}
	}
	if c.Standardize {
		d.target = target
	}
	return d, nil
}

// moments returns mean and standard deviation of the features, and the mean of the
// target, over the training rows.
func (d *design) moments() (mean, deviation []float64, target float64) {
	k := len(d.t.Features())
	mean, deviation = make([]float64, k), make([]float64, k)
	x := make([]float64, k)
	n := 0
	for i := range d.train {
		if !d.train[i] {
			continue
		}
		n++
		for j, v := range d.t.X(x, i) {
			mean[j] += v
		}
		target += d.t.Y(i)
	}
	for j := range mean {
		mean[j] /= float64(n)
	}
	for i := range d.train {
		if !d.train[i] {
			continue
		}
		for j, v := range d.t.X(x, i) {
			deviation[j] += (v - mean[j]) * (v - mean[j])
		}
	}
	for j := range deviation {
		deviation[j] = math.Sqrt(deviation[j] / float64(n))
	}
	return mean, deviation, target / float64(n)
}

// row sets z to the scaled features of a row and returns its scaled target.
func (d *design) row(z []float64, i int) float64 {
	d.t.X(z[:len(d.center)], i)
	d.apply(z)
	return d.t.Y(i) - d.target
}

// unit is the mean square of a feature over the training rows: strengths in its
// multiples mean the same whatever the units of the features.
func (d *design) unit() float64 {
	sum, n := 0.0, 0
	z := make([]float64, d.width())
	for i, on := range d.train {
		if on {
			d.row(z, i)
			sum += dot(z, z)
			n += len(z)
		}
	}
	if sum == 0 {
		return 1
	}
	return sum / float64(n)
}

// without returns the training rows that are not in a fold; fold -1 leaves out
// none.
func (d *design) without(fold int) []bool {
	rows := make([]bool, len(d.train))
	for i, on := range d.train {
		rows[i] = on && (fold < 0 || d.fold[i] != fold)
	}
	return rows
}

func dot(x, y []float64) float64 {
	s := 0.0
	for i, v := range x {
		s += v * y[i]
	}
	return s
}
