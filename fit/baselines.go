package fit

import (
	"context"
	"fmt"
	"slices"

	"github.com/difalt/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/fit/internal/parallel"
	"github.com/difalt/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/floats"
)

// Names of the methods in a Report.
const (
	Ours     = "shared representation"
	Shrunken = "pooled ridge with intercepts"
	Pooled   = "pooled ridge"
	Single   = "one ridge per task"
	TaskMean = "mean of the task"
)

// A method has coefficients for every task of this process, the constant last.
type method struct {
	Score
	theta [][]float64
}

// baselines fits what the model has to be compared with, shrunken among it, and returns the features that are combinations of
// others.
func (d *design) baselines(ctx context.Context, rows *evidence.Rows, shrunken *evidence.Point, progress func(stage string, done, total int)) (methods []method, dependent []int, err error) {
	progress("baselines", 0, 3)
	pooled, unit, dependent, err := d.fitPooled(ctx)
	if err != nil {
		return nil, nil, err
	}
	progress("baselines", 1, 3)
	intercepts := method{Score: Score{Method: Shrunken, Ridge: 1 / shrunken.MeanVariance}}
	if intercepts.theta, err = d.coefficients(rows, shrunken.Posterior()); err != nil {
		return nil, nil, err
	}
	progress("baselines", 2, 3)
	single, err := d.fitSingle(ctx, unit, rows.Workers)
	if err != nil {
		return nil, nil, err
	}
	progress("baselines", 3, 3)
	return []method{intercepts, *pooled, *single, d.taskMeans()}, dependent, nil
}

// coefficients returns the coefficients of the hosted tasks by their rows, in the order of the table.
func (d *design) coefficients(rows *evidence.Rows, p *mixedmodel.Posterior) ([][]float64, error) {
	theta := make([][]float64, len(d.rows))
	for g, tasks := range d.layout {
		for i, k := range tasks {
			var ok bool
			if theta[k], _, ok = p.Coefficients(&rows.Tasks[g][i], false); !ok {
				return nil, fmt.Errorf("the coefficients of task %q are out of range", d.t.Tasks()[k])
			}
		}
	}
	return theta, nil
}

// taskMeans predicts the mean of a task's training rows, and that of all for tasks
// without any.
func (d *design) taskMeans() method {
	m := method{Score: Score{Method: TaskMean}, theta: make([][]float64, len(d.rows))}
	for k := range m.theta {
		m.theta[k] = make([]float64, d.width())
		sum, weights := 0.0, 0.0
		d.eachTraining([]int{k}, func(i int) {
			w := d.weightOf(i)
			sum += w * d.scaledTarget(i)
			weights += w
		})
		if weights > 0 {
			m.theta[k][d.width()-1] = sum / weights
		}
	}
	return m
}

// fitSingle fits a ridge regression with a free intercept to every task, all of one strength,
// by cross-validation on rows of all tasks.
func (d *design) fitSingle(ctx context.Context, unit float64, workers int) (*method, error) {
	grid := decades(-2, 6, unit)
	tasks := slices.Concat(d.layout...)
	errors := d.singleErrors(tasks, grid, workers)
	z := d.Zeros(len(grid) + 1)
	for g, list := range d.layout {
		for range list {
			floats.Add(z[g], errors[0])
			errors = errors[1:]
		}
	}
	sum, err := d.Sum(ctx, z)
	if err != nil {
		return nil, err
	}
	m := &method{Score: Score{Method: Single}}
	m.Ridge, m.Tried = bestRidge(grid, sum, sum[len(grid)], d.TargetScale)
	m.theta = d.singles(tasks, m.Ridge, workers)
	return m, nil
}

// singleErrors returns, for each of the given tasks, the weighted squared errors in cross-validation
// of every strength of one ridge regression on its rows, and the sum of their weights.
func (d *design) singleErrors(tasks []int, grid []float64, workers int) [][]float64 {
	sums := make([][]float64, len(tasks))
	paths := make([]ridgePath, workers)
	parallel.For(workers, len(tasks), func(worker, at int) {
		p, s, z := &paths[worker], make([]float64, len(grid)+1), make([]float64, d.width())
		rows := d.rows[tasks[at]]
		for fold := range d.folds {
			p.read(d, rows, func(i int) bool { return d.fold[i] >= 0 && d.fold[i] != fold })
			thetas := p.solve(grid)
			for _, i := range rows {
				if d.fold[i] != fold {
					continue
				}
				y, w := d.row(z, i), d.weightOf(i)
				for g := range grid {
					e := y - floats.Dot(z, thetas[g*len(z):][:len(z)])
					s[g] += w * e * e
				}
				s[len(grid)] += w
			}
		}
		sums[at] = s
	})
	return sums
}

// singles returns the coefficients of one ridge regression on the training rows of every given task,
// in the order of the table.
func (d *design) singles(tasks []int, ridge float64, workers int) [][]float64 {
	theta := make([][]float64, len(d.rows))
	paths := make([]ridgePath, workers)
	parallel.For(workers, len(tasks), func(worker, at int) {
		k := tasks[at]
		paths[worker].read(d, d.rows[k], func(i int) bool { return d.train[i] })
		theta[k] = slices.Clone(paths[worker].solve([]float64{ridge}))
	})
	return theta
}
