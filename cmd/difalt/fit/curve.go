package fit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/parallel"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// CurveConfig says how LearningCurve measures. The zero value is the default.
type CurveConfig struct {
	// Samples are the numbers of training rows to try, ascending; by default 1, 2, 3, 5,
	// 8, ... up to half of the rows that the median task has.
	Samples []int
	// Repeats is the number of random choices of training rows, 5 by default.
	Repeats int
	// Seed of the choices.
	Seed uint64
	// Workers is the number of threads; 0 means GOMAXPROCS.
	Workers int
}

// maxRepeats is more than anybody waits for.
const maxRepeats = 1_000_000

// A CurvePoint holds the errors on held-out rows of new tasks after training on a
// number of rows of each: of the model adapted to them, of the mean that all tasks share (Pooled), which
// is what it predicts of a task without rows, of one ridge
// regression per task, of the strength that cross-validation on the same training
// rows chooses, and of the mean of the task's training rows.
type CurvePoint struct {
	Samples                    int
	Ours, Pooled, Single, Mean Errors
}

// LearningCurve measures how well a model does on tasks that it has never seen,
// against the number of their rows that it adapts to. For every repeat the rows of
// a task are put in random order: the first are for training, and those after the
// largest number of training rows are held out, the same for all points. Tasks
// without a row to hold out are left out; leftOut names them. Pooled is zero, with no
// rows, for a model without a shared mean.
func LearningCurve(m *model.Model, t *dataset.Table, c CurveConfig) (points []CurvePoint, leftOut []string, err error) {
	p := m.Parameters()
	if _, err := m.Adapt(t); err != nil {
		return nil, nil, err // what is wrong with the table is so with all of its parts
	}
	if err := c.complete(t); err != nil {
		return nil, nil, err
	}
	l := &curve{c: &c, t: t, scaling: inUnits(p.Scaling), sums: make([]curveSums, len(c.Samples))}
	most := c.Samples[len(c.Samples)-1]
	for k, n := range t.Samples(nil) {
		if n > most {
			l.tasks = append(l.tasks, k)
		} else {
			leftOut = append(leftOut, fmt.Sprintf("%q (%s)", t.Tasks()[k], text.Plural(n, "row")))
		}
	}
	if l.tasks == nil {
		return nil, nil, fmt.Errorf("no task has more than %d rows, so that some remain to be held out", most)
	}
	// The tasks that the model has learned do not matter here, and take time to copy.
	p.Tasks, p.NodeOf, p.Samples, p.Theta, p.Covariance, p.CovarianceOf, p.Noise, p.Freedom = nil, nil, nil, nil, nil, nil, nil, nil
	if l.model, err = model.New(p); err != nil {
		return nil, nil, err
	}
	for repeat := range c.Repeats {
		if err := l.repeat(rand.New(rand.NewPCG(c.Seed, uint64(repeat)))); err != nil {
			return nil, nil, err
		}
	}
	shared := slices.ContainsFunc(p.Mean, func(v float64) bool { return v != 0 })
	for i, n := range c.Samples {
		s := &l.sums[i]
		p := CurvePoint{n, s.ours.errors(s.rows, s.spread, 1), s.pooled.errors(s.rows, s.spread, 1), s.single.errors(s.rows, s.spread, 1), s.mean.errors(s.rows, s.spread, 1)}
		if !shared {
			p.Pooled = s.pooled.errors(0, 0, 1)
		}
		points = append(points, p)
	}
	return points, leftOut, nil
}

// complete checks a configuration and fills in the defaults.
func (c *CurveConfig) complete(t *dataset.Table) error {
	if c.Repeats == 0 {
		c.Repeats = 5
	}
	if c.Repeats < 0 || c.Repeats > maxRepeats {
		return fmt.Errorf("the number of repeats is %d: must be from 0 to %d", c.Repeats, maxRepeats)
	}
	if c.Workers < 0 || c.Workers > kernel.MaxWorkers {
		return fmt.Errorf("the number of workers is %d: must be from 0 to %d", c.Workers, kernel.MaxWorkers)
	}
	if len(c.Samples) == 0 {
		rows := slices.Sorted(slices.Values(t.Samples(nil)))
		for a, b := 1, 2; a <= max(1, rows[len(rows)/2]/2); a, b = b, a+b {
			c.Samples = append(c.Samples, a)
		}
	}
	for i, n := range c.Samples {
		if n < 1 || i > 0 && n <= c.Samples[i-1] {
			return fmt.Errorf("the numbers of rows to train on are %d: want ascending numbers from 1", c.Samples)
		}
	}
	return nil
}

// A curve is a learning curve while it is measured.
type curve struct {
	c       *CurveConfig
	t       *dataset.Table
	model   *model.Model // without tasks
	scaling model.Scaling
	tasks   []int // with rows to hold out
	sums    []curveSums
}

// curveSums are the errors at one number of rows.
type curveSums struct {
	ours, pooled, single, mean tally
	rows, spread               float64
}

// A part is some rows of a table, as a table of its own.
type part struct {
	*dataset.Table
	rows []int
}

func (p *part) Rows() int                          { return len(p.rows) }
func (p *part) Task(row int) int                   { return p.Table.Task(p.rows[row]) }
func (p *part) X(dst []float64, row int) []float64 { return p.Table.X(dst, p.rows[row]) }
func (p *part) Y(row int) float64                  { return p.Table.Y(p.rows[row]) }

// repeat adds the errors of one choice of rows.
func (l *curve) repeat(r *rand.Rand) error {
	t := l.t
	rows := make([][]int, len(t.Tasks()))
	for i := range t.Rows() {
		rows[t.Task(i)] = append(rows[t.Task(i)], i)
	}
	held, mean := &part{Table: t}, 0.0
	for _, k := range l.tasks {
		r.Shuffle(len(rows[k]), func(i, j int) { rows[k][i], rows[k][j] = rows[k][j], rows[k][i] })
		held.rows = append(held.rows, rows[k][l.c.Samples[len(l.c.Samples)-1]:]...)
	}
	for _, i := range held.rows {
		mean += t.Y(i) / float64(len(held.rows))
	}
	for at, n := range l.c.Samples {
		l.sums[at].rows += float64(len(held.rows))
		for _, i := range held.rows {
			l.sums[at].spread += (t.Y(i) - mean) * (t.Y(i) - mean)
		}
		if err := l.point(rows, n, held, &l.sums[at]); err != nil {
			return fmt.Errorf("%d rows a task: %w", n, err)
		}
	}
	return nil
}

// point adds the errors on held rows after training on the first n rows of every task.
func (l *curve) point(rows [][]int, n int, held *part, s *curveSums) error {
	train := &part{Table: l.t}
	for _, k := range l.tasks {
		train.rows = append(train.rows, rows[k][:n]...)
	}
	adapted, err := l.model.Adapt(train)
	if err != nil {
		return err
	}
	predicted, err := adapted.PredictTable(held)
	if err != nil {
		return err
	}
	d := l.design(train.rows)
	workers := parallel.Workers(l.c.Workers)
	grid := decades(-2, 6, 1)
	sum := d.singleErrors(context.Background(), l.tasks, grid, workers)
	ridge, _ := bestRidge(grid, sum, sum[len(grid)], 1)
	single := d.singles(context.Background(), l.tasks, ridge, workers)
	mean := make([]float64, len(l.t.Tasks()))
	for _, i := range train.rows {
		mean[l.t.Task(i)] += l.t.Y(i) / float64(n)
	}
	z, x := make([]float64, d.width()), make([]float64, len(l.t.Features()))
	for i, y := range predicted {
		row := held.rows[i]
		k, target := l.t.Task(row), held.Y(i)
		s.ours.add(target - y)
		scaled := d.row(z, row)
		l.model.FillMissing(l.t.X(x, row))
		usual, _, err := l.model.PredictAny("", x)
		if err != nil {
			return err
		}
		s.pooled.add(target - usual)
		s.single.add((scaled - floats.Dot(z, single.of(k))) * d.TargetScale)
		s.mean.add(target - mean[k])
	}
	return nil
}

// design holds the given rows for training, in folds.
func (l *curve) design(train []int) *design {
	n := len(train) / len(l.tasks)
	d := &design{
		Scaling: l.scaling, t: l.t, train: make([]bool, l.t.Rows()), fold: make([]int, l.t.Rows()),
		folds: max(2, min(defaultFolds, n)), total: len(train),
	}
	d.Constant = true // for the single regressions, whatever the model has
	for i := range d.fold {
		d.fold[i] = -1
	}
	for j, i := range train {
		k := l.t.Task(i)
		d.train[i] = true
		d.fold[i] = (j%n + k) % d.folds
	}
	d.groupRows(func(i int) bool { return !d.train[i] })
	return d
}
