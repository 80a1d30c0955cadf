package fit

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/model"
	"gonum.org/v1/gonum/floats"
)

// A design is a table with the scaling of its training rows.
type design struct {
	model.Scaling
	*assembly
	t      *dataset.Table
	layout dataset.Layout // of the hosted nodes
	rows   [][]int        // of every task
	train  []bool
	fold   []int // of every training row; -1 for the others
	folds  int
	total  int // training rows of all nodes
}

// newDesign lets the nodes agree on what they are about to do, and on the scaling.
func newDesign(ctx context.Context, t *dataset.Table, c *Config) (*design, error) {
	d := &design{assembly: &assembly{net: c.Network}, t: t, train: c.Train, folds: c.Folds}
	layout, err := t.Layout()
	if err == nil {
		err = c.check(t)
	}
	if err := d.check(ctx, err); err != nil {
		return nil, err
	}
	if err := d.introduce(ctx, layout, c); err != nil {
		return nil, err
	}
	d.layout = layout
	if d.folds == 0 {
		d.folds = defaultFolds
	}
	if d.train == nil {
		d.train = make([]bool, t.Rows())
		for i := range d.train {
			d.train[i] = true
		}
	}
	d.groupRows()
	d.fold = t.Folds(d.train, d.folds, c.Options.Seed)
	return d, d.scaleBy(ctx, c)
}

// introduce exchanges the names of the nodes, and refuses to go on unless all have the
// same columns and settings, and tasks of their own.
func (d *design) introduce(ctx context.Context, layout dataset.Layout, c *Config) error {
	own, tasks := make([][]byte, len(layout)), make([][]string, len(layout))
	for i, list := range layout {
		own[i] = []byte(d.t.Nodes()[i])
		for _, k := range list {
			tasks[i] = append(tasks[i], d.t.Tasks()[k])
		}
	}
	names, err := d.gather(ctx, own)
	if err != nil {
		return err
	}
	for _, name := range names {
		d.names = append(d.names, string(name))
	}
	if err := d.compare(ctx, c.terms(d.t)); err != nil {
		return err
	}
	return d.distinct(ctx, tasks)
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

// eachTraining calls visit for every training row of the given tasks.
func (d *design) eachTraining(tasks []int, visit func(i int)) {
	for _, k := range tasks {
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
	d.Fill = mean
	d.Center, d.Scale = make([]float64, len(mean)), make([]float64, len(mean))
	d.Constant = c.Intercept
	for j := range mean {
		d.Scale[j] = 1
		// Rounding leaves a constant column a deviation of this order.
		isConstant := deviation[j] <= 1e-12*math.Abs(mean[j])
		if isConstant && mean[j] != 0 {
			d.Constant = false
		}
		if c.Standardize && !isConstant {
			d.Center[j], d.Scale[j] = mean[j], deviation[j]
		}
	}
	if c.Standardize {
		d.Target = target
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
	z := d.zeros(2*k + 2) // sums, numbers of values, sum of the target, rows
	for g, s := range z {
		d.eachTraining(d.layout[g], func(i int) {
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
	n := sums[2*k+1]
	if n == 0 {
		return nil, nil, 0, errors.New("there are no training rows")
	}
	d.total = int(n)
	mean = make([]float64, k)
	for j := range mean {
		count := sums[k+j]
		if count == 0 {
			return nil, nil, 0, fmt.Errorf("column %q has no value in the training rows: leave it out", d.t.Features()[j])
		}
		mean[j] = sums[j] / count
	}
	target = sums[2*k] / n
	z = d.zeros(k)
	for g, s := range z {
		d.eachTraining(d.layout[g], func(i int) {
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
	d.t.X(z[:len(d.Center)], i)
	d.Apply(z)
	return d.t.Y(i) - d.Target
}

// unit is the mean square of a feature over the training rows of all nodes:
// strengths in its multiples mean the same whatever the units of the features.
func (d *design) unit(ctx context.Context) (float64, error) {
	z := d.zeros(1)
	for g, tasks := range d.layout {
		z[g][0] = d.squares(tasks)
	}
	sum, err := d.sum(ctx, z)
	if err != nil {
		return 0, err
	}
	return d.unitOf(sum[0]), nil
}

// squares returns the sum of the squares of the scaled features of some tasks.
func (d *design) squares(tasks []int) (sum float64) {
	row := make([]float64, d.Width())
	d.eachTraining(tasks, func(i int) {
		d.row(row, i)
		sum += floats.Dot(row, row)
	})
	return sum
}

// unitOf turns the squares of all training rows into the unit.
func (d *design) unitOf(squares float64) float64 {
	if squares == 0 {
		return 1
	}
	return squares / float64(d.total*d.Width())
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
