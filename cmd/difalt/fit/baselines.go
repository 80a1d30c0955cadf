package fit

import (
	"context"
	"fmt"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/parallel"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/floats"
)

// Names of the methods in a Report. The model is Ours, or Mixed where its rank is 0 and tasks share no representation.
const (
	Ours     = "shared representation"
	Mixed    = "mixed model"
	Shrunken = "pooled ridge with intercepts"
	// ShrunkenLog is that of the logarithm of the target, where the model is of that too.
	ShrunkenLog = "pooled ridge of the logarithm"
	Splines     = "splines with intercepts"
	Pooled      = "pooled ridge"
	Single      = "one ridge per task"
	TaskMean    = "mean of the task"
)

// nameOf returns that of a model.
func nameOf(rank int) string {
	if rank == 0 {
		return Mixed
	}
	return Ours
}

const baselineStage = "baselines" // of progress

// A method has coefficients for every task of this process until its errors are known.
type method struct {
	Score
	theta  thetas
	of     *design // whose rows these are about
	errors tallies
}

// thetas are the coefficients of the tasks of this process, one after the other, or of all of them alike: of each so many, the constant last.
type thetas struct {
	width  int
	values []float64
}

func (d *design) newThetas() thetas {
	return thetas{d.width(), make([]float64, len(d.t.Tasks())*d.width())}
}

// of returns those of a task.
func (t thetas) of(k int) []float64 {
	if len(t.values) == t.width {
		return t.values
	}
	return t.values[k*t.width:][:t.width]
}

// baselines fits what the model has to be compared with, shrunken among it, and returns the features that are combinations of
// others.
func (d *design) baselines(ctx context.Context, rows *evidence.Rows, shrunken *evidence.Point) (methods []method, dependent []int, err error) {
	d.show(baselineStage, 0, 1)
	pooled, unit, dependent, err := d.fitPooled(ctx)
	if err != nil {
		return nil, nil, err
	}
	intercepts := method{Score: Score{Method: Shrunken, Ridge: 1 / shrunken.MeanVariance}, of: d}
	if intercepts.theta, err = d.coefficients(ctx, rows, shrunken.Posterior()); err != nil {
		return nil, nil, err
	}
	single, err := d.fitSingle(ctx, unit, rows.Workers)
	if err != nil {
		return nil, nil, err
	}
	if d.directions != nil {
		dependent = nil
	}
	for i, j := range dependent {
		dependent[i] = d.featureOf()[j]
	}
	return []method{intercepts, *pooled, *single, d.taskMeans()}, dependent, nil
}

// coefficients returns the coefficients of the hosted tasks by their rows; some are zero
// if the context has ended, which the next sum says.
func (d *design) coefficients(ctx context.Context, rows *evidence.Rows, p *mixedmodel.Posterior) (thetas, error) {
	theta := d.newThetas()
	for g, tasks := range d.layout {
		out := make([]bool, len(tasks)) // of range
		parallel.For(ctx, rows.Workers, len(tasks), func(_, i int) {
			t, memory := rows.Task(g, i)
			defer memory.Put()
			out[i] = !p.Coefficients(&t, theta.of(tasks[i]), nil)
		})
		if i := slices.Index(out, true); i >= 0 {
			return thetas{}, fmt.Errorf("the coefficients of task %q are out of range", d.t.Tasks()[tasks[i]])
		}
	}
	return theta, nil
}

// taskMeans predicts the mean of a task's training rows, and that of all for tasks
// without any.
func (d *design) taskMeans() method {
	m := method{Score: Score{Method: TaskMean}, of: d, theta: d.newThetas()}
	for k := range d.t.Tasks() {
		sum, weights := 0.0, 0.0
		d.eachTraining([]int{k}, func(i int) {
			w := d.weightOf(i)
			sum += w * d.scaledTarget(i)
			weights += w
		})
		if weights > 0 {
			m.theta.of(k)[d.width()-1] = sum / weights
		}
	}
	return m
}

// fitSingle fits a ridge regression with a free intercept to every task, all of one strength,
// by cross-validation on rows of all tasks.
func (d *design) fitSingle(ctx context.Context, unit float64, workers int) (*method, error) {
	grid := decades(-2, 6, unit)
	z := d.Zeros(len(grid) + 1)
	for g, tasks := range d.layout {
		floats.Add(z[g], d.singleErrors(ctx, tasks, grid, workers))
	}
	sum, err := d.Sum(ctx, z)
	if err != nil {
		return nil, err
	}
	m := &method{Score: Score{Method: Single}, of: d}
	m.Ridge, m.Tried = bestRidge(grid, sum, sum[len(grid)], d.TargetScale)
	m.theta = d.singles(ctx, slices.Concat(d.layout...), m.Ridge, workers)
	return m, nil
}

// singleErrors returns the weighted squared errors in cross-validation of every strength of one ridge regression on the
// rows of each of the given tasks, summed over these, and the sum of the weights. Tasks are cut into fixed chunks: the
// bits do not depend on the workers.
func (d *design) singleErrors(ctx context.Context, tasks []int, grid []float64, workers int) []float64 {
	const chunks = 64 // at least, of so many tasks
	size := max(len(tasks)/chunks, 1)
	parts := make([][]float64, (len(tasks)+size-1)/size)
	paths := make([]ridgePath, workers)
	parallel.For(ctx, workers, len(parts), func(worker, at int) {
		d.show(baselineStage, at, len(parts))
		s := make([]float64, len(grid)+1)
		for _, k := range tasks[at*size : min((at+1)*size, len(tasks))] {
			if ctx.Err() != nil {
				return
			}
			d.addSingleErrors(&paths[worker], k, grid, s)
		}
		parts[at] = s
	})
	sum := make([]float64, len(grid)+1)
	for _, s := range parts {
		if s != nil { // the context has not ended
			floats.Add(sum, s)
		}
	}
	return sum
}

// addSingleErrors adds what singleErrors returns of one task.
func (d *design) addSingleErrors(p *ridgePath, task int, grid, s []float64) {
	z, rows := make([]float64, d.width()), d.rows[task]
	for fold := range d.folds {
		if !slices.ContainsFunc(rows, func(i int) bool { return d.fold[i] == fold }) {
			continue
		}
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
}

// singles returns the coefficients of one ridge regression on the training rows of every given task.
func (d *design) singles(ctx context.Context, tasks []int, ridge float64, workers int) thetas {
	theta := d.newThetas()
	paths := make([]ridgePath, workers)
	parallel.For(ctx, workers, len(tasks), func(worker, at int) {
		k := tasks[at]
		paths[worker].read(d, d.rows[k], func(i int) bool { return d.train[i] })
		copy(theta.of(k), paths[worker].solve([]float64{ridge}))
	})
	return theta
}
