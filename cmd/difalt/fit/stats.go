package fit

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/difalt/difalt/cmd/difalt/internal/reduce"
	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/mixed"
	"gonum.org/v1/gonum/floats"
)

// stats are the data of all tasks under one design of p columns: the products of a task with at least as
// many rows as columns, packed; the rows of the other tasks are computed from the table when they are read.
type stats struct {
	rows    *rows
	design  *mixed.Design
	columns []mixed.Column
	p       int
	wide    int         // columns of the widest form that is compared, for climbTasks
	linear  int         // columns before those of curves: the constant and one per feature
	active  []bool      // columns that vary, and the constant
	within  []bool      // those that vary within a task, and the constant: others have no deviations
	packed  [][]float64 // upper triangle of X'X by rows, then X'y and y'y; nil for a task of rows
	ratio   []float64   // noise variance of every task over the common one; nil where all are 1
	tasks   []int       // tasks with rows
	total   []float64   // sum of X'X over tasks, p x p; only the upper triangle
	gram    []float64   // Cholesky factor of the linear block of total with a small ridge
	workers int
	idle    sync.Pool // of *worker
}

// A worker holds the scratch of one goroutine.
type worker struct {
	solver  mixed.Solver
	task    mixed.Task // of the solver
	x, y    []float64
	g, c    []float64
	row     []float64 // one entry per feature
	u, v, z []float64 // p entries each
}

// batch is the number of rows in one matrix product.
const batch = 512

// newStats reads the rows of all tasks once.
func newStats(ctx context.Context, r *rows, d *mixed.Design, workers int) (*stats, error) {
	s := &stats{rows: r, design: d, columns: d.Columns(), p: d.Width(), linear: 1 + len(d.Scale), workers: workers}
	s.active = make([]bool, s.p)
	for j, c := range s.columns {
		s.active[j] = c.Kind != mixed.Linear || d.Scale[c.Feature] > 0
	}
	s.packed = make([][]float64, len(r.start)-1)
	for k := range s.packed {
		if len(r.of(k)) > 0 {
			s.tasks = append(s.tasks, k)
		}
	}
	s.varyWithin()
	var err error
	s.total, err = s.reduce(ctx, s.tasks, s.p*s.p, func(w *worker, k int, part []float64) error {
		list := r.of(k)
		if len(list) >= s.p {
			s.packed[k] = s.products(w, list)
		}
		if s.read(w, k); w.task.G == nil {
			one := mixed.Task{G: part, C: w.u}
			one.AddRows(w.task.X, w.task.Y)
		} else {
			floats.Add(part, w.task.G)
		}
		return nil
	})
	return s, err
}

// varyWithin sets within.
func (s *stats) varyWithin() {
	s.within = make([]bool, s.p)
	x, first, row := make([]float64, len(s.rows.t.Features())), make([]float64, s.p), make([]float64, s.p)
	for _, k := range s.tasks {
		for i, at := range s.rows.of(k) {
			if s.design.Apply(row, s.rows.t.X(x, int(at))); i == 0 {
				copy(first, row)
			}
			for j, v := range row {
				s.within[j] = s.within[j] || j == 0 || v != first[j]
			}
		}
	}
}

// products returns the packed products of rows.
func (s *stats) products(w *worker, list []int32) []float64 {
	p := s.p
	w.g, w.c = dense.Grow(w.g, p*p), dense.Grow(w.c, p)
	clear(w.g)
	clear(w.c)
	t := mixed.Task{G: w.g, C: w.c}
	yy := 0.0
	for len(list) > 0 {
		n := min(len(list), batch)
		w.x, w.y = dense.Grow(w.x, n*p), dense.Grow(w.y, n)
		s.rows.fill(w.x, w.y, w.row, s.design, list[:n])
		t.AddRows(w.x, w.y)
		yy += floats.Dot(w.y, w.y)
		list = list[n:]
	}
	out := dense.Pack(make([]float64, 0, dense.Triangle(p)+p+1), p, t.G)
	return append(append(out, t.C...), yy)
}

// read sets the task of the worker, in its memory.
func (s *stats) read(w *worker, k int) {
	p, list, t := s.p, s.rows.of(k), &w.task
	*t = mixed.Task{Rows: len(list)}
	if s.ratio != nil {
		t.Noise = s.ratio[k]
	}
	if packed := s.packed[k]; packed != nil {
		w.g = dense.Grow(w.g, p*p)
		t.G, t.C, t.YY = w.g, packed[dense.Triangle(p):][:p], packed[len(packed)-1]
		dense.Unpack(t.G, p, packed)
		return
	}
	w.x, w.y = dense.Grow(w.x, len(list)*p), dense.Grow(w.y, len(list))
	s.rows.fill(w.x, w.y, w.row, s.design, list)
	t.X, t.Y, t.YY = w.x, w.y, floats.Dot(w.y, w.y)
}

// worker returns scratch for one goroutine. Callers put it back into idle.
func (s *stats) worker() *worker {
	w, ok := s.idle.Get().(*worker)
	if !ok {
		w = &worker{row: make([]float64, len(s.rows.t.Features()))}
		w.u, w.v, w.z = make([]float64, s.p), make([]float64, s.p), make([]float64, s.p)
	}
	return w
}

// reduce returns the sum over tasks of the numbers that f adds to part, which has the given size. f runs in
// several goroutines; the bits of the sum do not depend on their number. The error is that of the first task,
// or the context's.
func (s *stats) reduce(ctx context.Context, tasks []int, size int,
	f func(w *worker, k int, part []float64) error) ([]float64, error) {
	return reduce.Sum(s.workers, len(tasks), size, func(part []float64, from, to int) error {
		w := s.worker()
		defer s.idle.Put(w)
		for _, k := range tasks[from:to] {
			if err := cmp.Or(ctx.Err(), f(w, k, part)); err != nil {
				return err
			}
		}
		return nil
	})
}

// set sets the task of the worker and its covariance under a prior. The error names the task.
func (s *stats) set(w *worker, prior *mixed.Prior, k int) error {
	s.read(w, k)
	if err := w.solver.Set(prior, &w.task); err != nil {
		return fmt.Errorf("task %q: %w", s.rows.t.Tasks()[k], err)
	}
	return nil
}

// solve is reduce for an f that needs the solver of the task under a prior.
func (s *stats) solve(ctx context.Context, prior *mixed.Prior, tasks []int, size int,
	f func(w *worker, k int, part []float64)) ([]float64, error) {
	return s.reduce(ctx, tasks, size, func(w *worker, k int, part []float64) error {
		err := s.set(w, prior, k)
		if err == nil {
			f(w, k, part)
		}
		return err
	})
}

// coefficients sets theta and cov, P x P or nil, to the coefficients of a task and their covariance.
func (s *stats) coefficients(m *moments, k int, theta, cov []float64) error {
	w := s.worker()
	defer s.idle.Put(w)
	err := s.set(w, m.prior, k)
	if err == nil {
		w.solver.Coefficients(theta, cov, m.mean, m.c)
	}
	return err
}

// rowsTotal returns the number of rows of tasks.
func (s *stats) rowsTotal(tasks []int) (n float64) {
	for _, k := range tasks {
		n += float64(len(s.rows.of(k)))
	}
	return n
}
