package mixed

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
)

// stats are the data of all tasks under one design of p columns: the products of a task with at least as
// many rows as columns, packed, and the rows of the other tasks. Tasks that would take too much memory are
// computed from the table each time.
type stats struct {
	rows    *rows
	design  *Design
	columns []Column
	p       int
	log     bool        // the targets are logarithms
	linear  int         // columns before the columns of curves: the constant and one per feature
	active  []bool      // columns that vary, and the constant
	group   []int       // of the mean's strengths, see varianceComponents.tau, for every column
	within  []bool      // those that vary within a task, and the constant: others have no deviations
	barred  []bool      // columns with rare values at some owner: they have neither deviations nor loadings
	packed  [][]float64 // products of every task, see packedSize; nil for a task of rows, empty if not held
	held    [][]float64 // design rows of other tasks, then targets, as in taskData; nil: not held
	bounds  []float64   // weights of rows of the table by their distance, see boundRows; nil: 1
	ratio   []float64   // noise variance of every task over the common one; nil where all are 1
	tasks   *taskSet    // tasks with rows
	some    *taskSet    // tasks that optimisers use
	total   []float64   // sum of X'X over tasks, p x p; only the upper triangle
	xy      []float64   // sums of X'y and y'y over tasks, of every target that products are kept of
	gram    []float64   // Cholesky factor of the linear block of total with a small ridge
	workers int
	idle    *sync.Pool // of *worker
}

// A worker holds the scratch of one goroutine.
type worker struct {
	solver    solver
	task      taskData // of the solver
	x, y      []float64
	g, c      []float64  // of multiply
	squares   [2]float64 // the same
	packed    []float64  // products of the task, where they were forgotten
	read      *reader
	u, v, z   []float64     // p entries each
	cov       []float64     // of coefficients, p x p
	far       []outlier     // of the task
	less      meanPosterior // without the task
	uncertain []float64     // see choice.uncertain, p x p
	ctx       context.Context
}

// cancelled reports whether the context of the sum has ended: then long work on a task stops, whatever it
// has.
func (w *worker) cancelled() bool { return w.ctx.Err() != nil }

// batch is the number of rows in one matrix product.
const batch = 512

// newStats reads the rows of all tasks once. It takes one sum: X'X, and which columns vary within tasks.
func newStats(ctx context.Context, r *rows, d *Design, workers int) (*stats, error) {
	return newBoundedStats(ctx, r, d, workers, nil)
}

// newBoundedStats is newStats where the rows of the table have weights besides their own.
func newBoundedStats(ctx context.Context, r *rows, d *Design, workers int, bounds []float64) (*stats, error) {
	s := &stats{
		rows: r, bounds: bounds, log: r.target.Log,
		design: d, columns: d.Columns(), p: d.Width(), linear: 1 + d.linear(),
		tasks: r.tasks, some: r.tasks, workers: workers, idle: new(sync.Pool),
		packed: make([][]float64, len(r.names)), held: make([][]float64, len(r.names)),
	}
	s.active, s.within, s.group = make([]bool, s.p), make([]bool, s.p), d.groups()
	for j, c := range s.columns {
		switch {
		case c.Kind == LinearColumn && c.Feature >= 0:
			s.active[j] = d.Scale[c.Feature] > 0
		default:
			s.active[j] = j != d.distance()
		}
	}
	return s, s.addUp(ctx)
}

// addUp reads the rows of all tasks, and sets what follows from the total of their products and of votes.
func (s *stats) addUp(ctx context.Context) error {
	p, r, hold := s.p, s.rows, s.fitsInMemory(s.tasks)
	size := p*p + p
	votes := size + p + 1 // where the products of targets begin, behind the votes
	numbers := votes + s.productsOfTargets()
	sum, err := s.reduceOwn(ctx, s.tasks.own, numbers, func(w *worker, k int, part []float64) error {
		return s.readTask(ctx, w, k, hold, part[:p*p], part[p*p:size], part[votes:])
	})
	if err != nil {
		return err
	}
	for j, v := range sum[p*p : size] { // the number of tasks would disclose too much
		sum[p*p+j] = min(v, 1)
	}
	if s.barred, err = r.guard.rare(ctx, s.design); err != nil {
		return err
	}
	few := len(s.design.Curves) == 0 && r.guard.wantsFewKnots(s.linear, len(r.numeric()))
	for i, vote := range append(slices.Clone(s.barred), few) {
		sum[size+i] = map[bool]float64{true: 1}[vote]
	}
	grows := func(i int) bool { // of X'X the diagonal, of the targets the squares
		if i >= votes {
			return (i-votes)%(p+1) == p
		}
		return i >= p*p || i%(p+1) == 0
	}
	t := &total{v: sum, order: p, grows: grows}
	const name = "X'X, X'y, y'y, owners for whom columns vary within tasks, have rare values, or need few knots"
	if err = r.add(ctx, name, t); err != nil {
		return err
	}
	s.total, s.xy = t.v[:p*p], slices.Clone(t.v[votes:])
	for j, vote := range t.v[size:][:p] {
		s.barred[j] = s.barred[j] || vote > 0
		deviates := s.columns[j].Kind != PeriodColumn && t.v[p*p+j] > 0
		s.within[j] = j == 0 || deviates && s.active[j] && !s.barred[j]
	}
	r.fewKnots = r.fewKnots || t.v[size+p] > 0
	return nil
}

// withLogarithm returns stats of this data with the logarithm of the target.
func (s *stats) withLogarithm() *stats {
	out := *s
	out.log = true
	return &out
}

// withNoise returns stats of this data where every task has a noise variance of its own; variances are in
// units of the common variance.
func (s *stats) withNoise(variances []float64, common float64) *stats {
	out := *s
	out.ratio = make([]float64, len(variances))
	for k, v := range variances {
		out.ratio[k] = v / common
	}
	return &out
}

// worker returns scratch for one goroutine, whose work a context ends. Callers put it back into idle.
func (s *stats) worker(ctx context.Context) *worker {
	w, ok := s.idle.Get().(*worker)
	if !ok {
		w = &worker{read: s.rows.newReader()}
		w.solver.cancelled = w.cancelled
		w.u, w.v, w.z = make([]float64, s.p), make([]float64, s.p), make([]float64, s.p)
	}
	w.ctx = ctx
	return w
}

// reduceOwn returns the sum over tasks of this owner of the numbers that f adds to part, which has the given
// size. f runs in several goroutines; the bits of the sum do not depend on their number. The error is the
// error of the first task, or of the context.
func (s *stats) reduceOwn(ctx context.Context, tasks []int, size int,
	f func(w *worker, k int, part []float64) error) ([]float64, error) {
	return sumParts(s.workers, len(tasks), size, func(part []float64, from, to int) error {
		w := s.worker(ctx)
		defer s.idle.Put(w)
		for _, k := range tasks[from:to] {
			err := ctx.Err()
			if err == nil {
				err = f(w, k, part)
			}
			if err != nil {
				return cmp.Or(ctx.Err(), err)
			}
		}
		return ctx.Err() // f leaves a task where it is when the context ends
	})
}

// set sets the task of the worker and its covariance under a prior. The error names the task.
func (s *stats) set(w *worker, prior *Prior, k int) error {
	s.read(w, k)
	if err := w.solver.Set(prior, &w.task); err != nil {
		return &Error{fmt.Errorf("task %q: %w", s.rows.in.Table.Tasks()[k], err), "numbers are out of range", false}
	}
	return nil
}

// solveOwn is reduceOwn for an f that needs the solver of the task under a prior. The total that it returns
// has the part of this owner, with the error of its first task that is out of range.
func (s *stats) solveOwn(ctx context.Context, prior *Prior, tasks *taskSet, size int,
	f func(w *worker, k int, part []float64)) *total {
	sum, err := s.reduceOwn(ctx, tasks.own, size, func(w *worker, k int, part []float64) error {
		err := s.set(w, prior, k)
		if err == nil {
			f(w, k, part)
		}
		return err
	})
	if err != nil {
		sum = make([]float64, size)
	}
	return &total{v: sum, err: err}
}

// coefficients sets theta and cov, P x P or nil, to the coefficients of a task and their covariance.
func (s *stats) coefficients(ctx context.Context, m *meanPosterior, k int, theta, cov []float64) error {
	if cov == nil && !m.prior.deviates() {
		copy(theta, m.mean)
		return nil
	}
	w := s.worker(ctx)
	defer s.idle.Put(w)
	err := s.set(w, m.prior, k)
	if err == nil {
		w.solver.Coefficients(theta, cov, m.mean, m.c)
	}
	return cmp.Or(ctx.Err(), err)
}
