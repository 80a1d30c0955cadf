package fit

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

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
	name  string
	ridge float64
	tried []Tried
	theta [][]float64
}

// baselines fits what the model has to be compared with.
func (f *fitter) baselines(ctx context.Context) ([]method, error) {
	f.progress("baselines", 0, 3)
	pooled, err := f.fitPooled(ctx)
	if err != nil {
		return nil, err
	}
	f.progress("baselines", 1, 3)
	shrunken, err := f.coefficients(f.shrunken.given())
	if err != nil {
		return nil, err
	}
	f.progress("baselines", 2, 3)
	single, err := f.fitSingle(ctx, pooled.unit)
	if err != nil {
		return nil, err
	}
	f.progress("baselines", 3, 3)
	theta := make([][]float64, len(f.rows))
	for k := range theta {
		theta[k] = pooled.theta
	}
	return []method{{name: Shrunken, ridge: 1 / f.shrunken.MeanVariance, theta: shrunken}, {Pooled, pooled.ridge, pooled.tried, theta}, *single, f.taskMeans()}, nil
}

// fitShrunken fits a ridge regression for all tasks with an intercept for each that is shrunken
// towards that of all: the model of rank 0 without other deviations, its two strengths by
// their evidence.
func (f *fitter) fitShrunken(ctx context.Context) (*point, error) {
	start := &point{Prior: &mixedmodel.Prior{W: f.width(), Intercept: 0.1, MeanVariance: 0.1}}
	if f.before.shrunken != nil {
		start = f.before.shrunken
	}
	pt, _, err := f.evidence.maximize(ctx, start, nil, known{math.NaN(), 0, math.NaN()}, closely, stepsMost)
	return pt, err
}

// coefficients returns the coefficients of the hosted tasks at a point, in the order of the table.
func (f *fitter) coefficients(p *mixedmodel.Posterior) ([][]float64, error) {
	theta := make([][]float64, len(f.rows))
	for g, tasks := range f.layout {
		for i, k := range tasks {
			var ok bool
			if theta[k], _, ok = p.Coefficients(&f.evidence.tasks[g][i], false); !ok {
				return nil, fmt.Errorf("the coefficients of task %q are out of range", f.t.Tasks()[k])
			}
		}
	}
	return theta, nil
}

// given returns what a point says about coefficients, with its strengths as known.
func (pt *point) given() *mixedmodel.Posterior {
	return &mixedmodel.Posterior{Prior: pt.Prior, Mean: pt.shift, MeanCovariance: pt.cover, S: pt.Covariance(), Noise: pt.noise}
}

// taskMeans predicts the mean of a task's training rows, and that of all for tasks
// without any.
func (f *fitter) taskMeans() method {
	m := method{name: TaskMean, theta: make([][]float64, len(f.rows))}
	for k := range m.theta {
		m.theta[k] = make([]float64, f.width())
		sum, weights := 0.0, 0.0
		f.eachTraining([]int{k}, func(i int) {
			w := f.weightOf(i)
			sum += w * f.scaledTarget(i)
			weights += w
		})
		if weights > 0 {
			m.theta[k][f.width()-1] = sum / weights
		}
	}
	return m
}

// fitSingle fits a ridge regression with a free intercept to every task, all of one strength,
// by cross-validation on rows of all tasks.
func (f *fitter) fitSingle(ctx context.Context, unit float64) (*method, error) {
	grid := decades(-2, 6, unit)
	workers := f.evidence.workers
	tasks := slices.Concat(f.layout...)
	errors := f.singleErrors(tasks, grid, workers)
	z := f.zeros(len(grid) + 1)
	for g, list := range f.layout {
		for range list {
			floats.Add(z[g], errors[0])
			errors = errors[1:]
		}
	}
	sum, err := f.sum(ctx, z)
	if err != nil {
		return nil, err
	}
	m := &method{name: Single}
	m.ridge, m.tried = bestSingle(sum, grid, f.TargetScale)
	m.theta = f.singles(tasks, m.ridge, workers)
	return m, nil
}

// bestSingle returns the strength of the smallest sum of singleErrors.
func bestSingle(sum, grid []float64, unit float64) (ridge float64, tried []Tried) {
	for g, ridge := range grid {
		tried = append(tried, Tried{ridge, math.Sqrt(sum[g]/max(sum[len(grid)], 1)) * unit})
	}
	return best(tried), tried
}

// singleErrors returns, for each of the given tasks, the weighted squared errors in cross-validation
// of every strength of one ridge regression on its rows, and the sum of their weights.
func (d *design) singleErrors(tasks []int, grid []float64, workers int) [][]float64 {
	sums := make([][]float64, len(tasks))
	paths := d.newPaths(workers)
	parallel(workers, len(tasks), func(worker, at int) {
		p, s, z := paths[worker], make([]float64, len(grid)+1), make([]float64, d.width())
		rows := d.rows[tasks[at]]
		for fold := range d.folds {
			d.fill(p, rows, func(i int) bool { return d.fold[i] >= 0 && d.fold[i] != fold })
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
	paths := d.newPaths(workers)
	parallel(workers, len(tasks), func(worker, at int) {
		k := tasks[at]
		d.fill(paths[worker], d.rows[k], func(i int) bool { return d.train[i] })
		theta[k] = slices.Clone(paths[worker].solve([]float64{ridge}))
	})
	return theta
}

// newPaths returns one ridgePath a worker.
func (d *design) newPaths(workers int) []*ridgePath {
	paths := make([]*ridgePath, workers)
	for i := range paths {
		paths[i] = newRidgePath(d.width() - 1)
	}
	return paths
}

// fill takes those of the rows that use chooses.
func (d *design) fill(p *ridgePath, rows []int, use func(i int) bool) {
	p.reset()
	for _, i := range rows {
		if use(i) {
			row := p.next()
			p.add(d.row(row, i), d.weightOf(i))
		}
	}
}

// parallel calls f(worker, 0), ..., f(worker, n-1) on the given number of workers,
// each a thread.
func parallel(workers, n int, f func(worker, i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for worker := range min(workers, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(worker, i)
			}
		})
	}
	wg.Wait()
}

// workersFor returns the number of threads that an option stands for.
func workersFor(workers int) int {
	if workers == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return workers
}
