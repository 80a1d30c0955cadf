package fit

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/fit/internal/parallel"
	"github.com/difalt/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/model"
	"gonum.org/v1/gonum/floats"
)

// A design is a table with the scaling of its training rows.
type design struct {
	model.Scaling
	*nodes.Group
	t      *dataset.Table
	layout dataset.Layout // tasks of the hosted nodes
	rows   [][]int        // of every task
	train  []bool
	fold   []int // of every training row; -1 for the others
	folds  int
	total  int       // training rows of all nodes
	weight []float64 // of every row, 1 in the mean over training rows; nil is 1 for all
	// directions, p x features row by row, are orthonormal: what the fit works on in place
	// of more features than it can; nil keeps them all. See reduce.
	directions  []float64
	equalTarget bool // of all training rows
	// Features that do not vary, and that look like numbers of rows.
	constant, ids []int
}

// newDesign lets the nodes agree on what they are about to do, and on the scaling.
func newDesign(ctx context.Context, t *dataset.Table, c *Config) (*design, error) {
	d := &design{Group: &nodes.Group{Net: c.Network}, t: t, train: c.Train, folds: c.Folds}
	layout, err := t.Layout()
	if err == nil {
		err = c.check(t)
	}
	if err := d.Check(ctx, err); err != nil {
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
	if err := d.scaleBy(ctx, c); err != nil {
		return nil, err
	}
	if most := max(d.total, commonFolds); d.folds > most {
		return nil, fmt.Errorf("the number of folds is %d: want at most %d for so few training rows", d.folds, most)
	}
	d.fold = t.Folds(d.train, d.folds, c.Options.Seed)
	return d, nil
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
	names, err := d.Gather(ctx, own)
	if err != nil {
		return err
	}
	for _, name := range names {
		d.Names = append(d.Names, string(name))
	}
	if err := d.CheckAlike(ctx, c.settings(d.t)); err != nil {
		return err
	}
	return d.CheckDistinct(ctx, tasks)
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
	m, err := d.moments(ctx, c.Weights, c.TargetColumn)
	if err != nil {
		return err
	}
	k := len(m.mean) - 1
	d.Fill = m.mean[:k:k]
	d.Center, d.Scale = make([]float64, k), make([]float64, k)
	d.Target, d.TargetScale, d.Constant = 0, 1, !c.Plain
	for j := range d.Scale {
		d.Scale[j] = 1
	}
	if c.Plain {
		return nil
	}
	for j, v := range m.deviation[:k] {
		d.Center[j] = m.mean[j]
		if m.constant(j) {
			d.constant = append(d.constant, j)
		} else {
			d.Scale[j] = v
		}
	}
	if d.ids, err = d.findIDs(ctx); err != nil {
		return err
	}
	d.Target = m.mean[k]
	if d.equalTarget = m.constant(k); !d.equalTarget {
		_, e := math.Frexp(m.deviation[k])
		d.TargetScale = math.Ldexp(1, e)
	}
	return nil
}

// moments are mean and standard deviation of the features and, last, of the target.
type moments struct{ mean, deviation []float64 }

// constant reports whether a column differs by no more than rounding.
func (m *moments) constant(j int) bool { return m.deviation[j] <= 0x1p-49*math.Abs(m.mean[j]) }

// moments returns those of the training rows of all nodes. Missing features do not count
// for the mean, and have it as their value. The nodes meet three times: for the powers of two
// near the largest values, so that no square is out of range; for the sums that the
// means are made of; and for sums of what differs from these means, and of its squares. The
// last keep the digits that the sum of squares less the square of the sum loses,
// and mend the means themselves.
func (d *design) moments(ctx context.Context, weights []float64, target string) (*moments, error) {
	k := len(d.t.Features())
	unit, err := d.units(ctx)
	if err != nil {
		return nil, err
	}
	for j, v := range unit {
		if v >= 0x1p1023 { // a difference of two of them is out of range
			return nil, fmt.Errorf("column %q has values beyond %.3g: divide it by a power of ten", append(d.t.Features()[:k:k], target)[j], v)
		}
	}
	var l nodes.Layout
	values, weightOfValues, weightOfRows, rows := l.Span(k+1), l.Span(k+1), l.Span(1), l.Span(1)
	z := d.Zeros(l.Len)
	x := make([]float64, k+1)
	d.eachWeighted(weights, func(g, i int, w float64) {
		value, weight := values.Of(z[g]), weightOfValues.Of(z[g])
		for j, v := range d.unscaled(x, i, unit) {
			if !math.IsNaN(v) {
				value[j] += w * v
				weight[j] += w
			}
		}
		weightOfRows.Add(z[g], w)
		rows.Add(z[g], 1)
	})
	sums, err := d.Sum(ctx, z)
	if err != nil {
		return nil, err
	}
	n, weight, weightOf := rows.First(sums), weightOfRows.First(sums), weightOfValues.Of(sums)
	if n == 0 {
		return nil, errors.New("there are no training rows")
	}
	if !(weight > 0) {
		return nil, errors.New("the weights of all training rows are 0")
	}
	d.total = int(n)
	d.setWeights(weights, n/weight)
	m := &moments{mean: make([]float64, k+1), deviation: make([]float64, k+1)}
	for j := range m.mean {
		if weightOf[j] == 0 {
			return nil, noValue(d.t.Features()[j])
		}
		m.mean[j] = values.Of(sums)[j] / weightOf[j]
	}
	return m, d.mendMoments(ctx, m, weights, weightOf, weight, unit)
}

// mendMoments mends means by the sums of what differs from them, and sets deviations, by weights of values and of all rows;
// then it leaves the units.
func (d *design) mendMoments(ctx context.Context, m *moments, weights, weightOf []float64, weight float64, unit []float64) error {
	var l nodes.Layout
	differences, squares := l.Span(len(unit)), l.Span(len(unit))
	z, x := d.Zeros(l.Len), make([]float64, len(unit))
	d.eachWeighted(weights, func(g, i int, w float64) {
		difference, square := differences.Of(z[g]), squares.Of(z[g])
		for j, v := range d.unscaled(x, i, unit) {
			if !math.IsNaN(v) {
				v -= m.mean[j]
				difference[j] += w * v
				square[j] += w * v * v
			}
		}
	})
	sums, err := d.Sum(ctx, z)
	if err != nil {
		return err
	}
	for j, difference := range differences.Of(sums) {
		shift := difference / weightOf[j]
		m.mean[j] = (m.mean[j] + shift) * unit[j]
		m.deviation[j] = math.Sqrt(max(squares.Of(sums)[j]-difference*shift, 0)/weight) * unit[j]
	}
	return nil
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
			s[k] = max(s[k], math.Abs(d.t.Y(i)))
		})
		for j, v := range s {
			s[j] = powerOfTwo(v)
		}
	}
	return d.Max(ctx, z)
}

// powerOfTwo returns the largest power of two that is not above v, and for 0 the smallest
// number, which is in the way of no other node's.
func powerOfTwo(v float64) float64 {
	if v == 0 {
		return 0x1p-1074
	}
	_, e := math.Frexp(v)
	return math.Ldexp(1, e-1)
}

// unscaled sets x to the features and the target of a row in their units.
func (d *design) unscaled(x []float64, i int, unit []float64) []float64 {
	k := len(x) - 1
	d.t.X(x[:k], i)
	x[k] = d.t.Y(i)
	for j := range x {
		x[j] /= unit[j]
	}
	return x
}

// eachWeighted calls visit for every training row of every node, with its weight as it was
// given.
func (d *design) eachWeighted(weights []float64, visit func(g, i int, w float64)) {
	for g, tasks := range d.layout {
		d.eachTraining(tasks, func(i int) {
			w := 1.0
			if weights != nil {
				w = weights[i]
			}
			visit(g, i, w)
		})
	}
}

func (d *design) setWeights(weights []float64, factor float64) {
	if weights == nil {
		return
	}
	d.weight = make([]float64, len(weights))
	for i, w := range weights {
		d.weight[i] = w * factor
	}
}

// weightOf is the weight of a row.
func (d *design) weightOf(i int) float64 {
	if d.weight == nil {
		return 1
	}
	return d.weight[i]
}

// scaledTarget returns that of a row.
func (d *design) scaledTarget(i int) float64 { return (d.t.Y(i) - d.Target) / d.TargetScale }

// width is the number of entries of row.
func (d *design) width() int {
	if d.directions == nil {
		return d.Width()
	}
	return len(d.directions)/len(d.Center) + 1
}

func noValue(column string) error {
	return fmt.Errorf("column %q has no value in the training rows: leave it out", column)
}

// sufficientRows returns the tasks of every node as the estimator needs them: weighted, and of no more rows than
// coefficients.
func (d *design) sufficientRows(ctx context.Context, workers int) (*evidence.Rows, error) {
	out := make([][]mixedmodel.Task, len(d.layout))
	w := d.width()
	compressors := make([]*mixedmodel.Compressor, workers)
	for g, tasks := range d.layout {
		out[g] = make([]mixedmodel.Task, len(tasks))
		parallel.For(workers, len(tasks), func(worker, at int) {
			if compressors[worker] == nil {
				compressors[worker] = mixedmodel.NewCompressor(w)
			}
			c := compressors[worker]
			d.eachTraining(tasks[at:at+1], func(i int) {
				row := c.Next()
				row[w] = d.row(row[:w], i)
				if d.weight != nil {
					floats.Scale(math.Sqrt(d.weight[i]), row)
				}
			})
			out[g][at] = c.Task()
		})
	}
	return evidence.NewRows(ctx, d.Group, out, w, d.total, workers)
}
