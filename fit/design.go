package fit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/dataset"
)

// ConstantFeature is the name of the feature that Config.Intercept adds.
const ConstantFeature = "(intercept)"

// A scaling takes rows of a table to what the algorithm sees.
type scaling struct {
	fill          []float64 // in place of missing features
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
	s.replaceMissing(z[:len(s.fill)])
	for j, c := range s.center {
		z[j] = (z[j] - c) / s.scale[j]
	}
	if s.constant {
		z[len(s.center)] = 1
	}
}

// replaceMissing puts the fill in place of every NaN of x, a row of the table.
func (s *scaling) replaceMissing(x []float64) {
	for j, v := range x {
		if math.IsNaN(v) {
			x[j] = s.fill[j]
		}
	}
}

// A design is a table with the scaling of its training rows.
type design struct {
	scaling
	*consensus
	t      *dataset.Table
	layout dataset.Layout
	rows   [][]int // of every task
	train  []bool
	fold   []int // of every training row; -1 for the others
	folds  int
	total  int // training rows of all nodes
}

func newDesign(ctx context.Context, t *dataset.Table, c *Config) (*design, error) {
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
	if d.consensus, err = newConsensus(c.Network); err != nil {
		return nil, err
	}
	d.groupRows()
	d.fold = t.Folds(d.train, d.folds, c.Options.Seed)
	return d, d.scaleBy(ctx, c)
}

// groupRows lists the rows of every task.
func (d *design) groupRows() {
	d.rows = make([][]int, len(d.t.Tasks()))
	for k, n := range d.t.Samples(nil) {
		d.rows[k] = make([]int, 0, n)
	}
	for i := range d.train {
		d.rows[d.t.Task(i)] = append(d.rows[d.t.Task(i)], i)
	}
}

// eachTraining calls visit for every training row of node g.
func (d *design) eachTraining(g int, visit func(i int)) {
	for _, k := range d.layout[g] {
		for _, i := range d.rows[k] {
			if d.train[i] {
				visit(i)
			}
		}
	}
}

// scaleBy chooses the scaling from the moments that the nodes agree on.
func (d *design) scaleBy(ctx context.Context, c *Config) error {
	mean, deviation, target, err := d.moments(ctx)
	if err != nil {
		return err
	}
	d.fill = mean
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
	return nil
}

// moments returns mean and standard deviation of the features, and the mean of the
// target, over the training rows of all nodes. The nodes meet twice: for the sums
// that the means are made of, and for the squares of what differs from the means,
// which keeps the digits that the sum of squares less the square of the sum loses.
// Missing features do not count for the mean, and have it as their value.
func (d *design) moments(ctx context.Context) (mean, deviation []float64, target float64, err error) {
	k := len(d.t.Features())
	x := make([]float64, k)
	z := d.perNode(2*k + 2) // sums, numbers of values, sum of the target, rows
	for g, s := range z {
		d.eachTraining(g, func(i int) {
			for j, v := range d.t.X(x, i) {
				if !math.IsNaN(v) {
					s[j] += v
					s[k+j]++
				}
			}
			s[2*k] += d.t.Y(i)
			s[2*k+1]++
		})
	}
	sums, err := d.sum(ctx, z)
	if err != nil {
		return nil, nil, 0, err
	}
	n := math.Round(sums[2*k+1])
	d.total = int(n)
	mean = make([]float64, k)
	for j := range mean {
		count := math.Round(sums[k+j])
		if count == 0 {
			return nil, nil, 0, fmt.Errorf("column %q has no value in the training rows: leave it out", d.t.Features()[j])
		}
		mean[j] = sums[j] / count
	}
	target = sums[2*k] / n
	z = d.perNode(k)
	for g, s := range z {
		d.eachTraining(g, func(i int) {
			for j, v := range d.t.X(x, i) {
				if !math.IsNaN(v) {
					s[j] += (v - mean[j]) * (v - mean[j])
				}
			}
		})
	}
	if sums, err = d.sum(ctx, z); err != nil {
		return nil, nil, 0, err
	}
	deviation = make([]float64, k)
	for j := range deviation {
		deviation[j] = math.Sqrt(max(sums[j], 0) / n)
	}
	return mean, deviation, target, nil
}

// row sets z to the scaled features of a row and returns its scaled target.
func (d *design) row(z []float64, i int) float64 {
	d.t.X(z[:len(d.center)], i)
	d.apply(z)
	return d.t.Y(i) - d.target
}

// unit is the mean square of a feature over the training rows of all nodes:
// strengths in its multiples mean the same whatever the units of the features.
func (d *design) unit(ctx context.Context) (float64, error) {
	row := make([]float64, d.width())
	z := d.perNode(1)
	for g, s := range z {
		d.eachTraining(g, func(i int) {
			d.row(row, i)
			s[0] += dot(row, row)
		})
	}
	sum, err := d.sum(ctx, z)
	if err != nil {
		return 0, err
	}
	if sum[0] == 0 {
		return 1, nil
	}
	return sum[0] / float64(d.total*d.width()), nil
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
