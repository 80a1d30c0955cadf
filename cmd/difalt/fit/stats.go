package fit

import (
	"context"
	"fmt"
	"sync"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/cmd/difalt/model"
	"gonum.org/v1/gonum/floats"
)

// stats are the data of all tasks under one design of p columns: the products of a task with at least as
// many rows as columns, packed; the rows of the other tasks are computed from the table when they are read.
type stats struct {
	rows    *rows
	design  *model.Design
	columns []model.Column
	p       int
	wide    int         // columns of the widest form that is compared, for climbTasks
	linear  int         // columns before those of curves: the constant and one per feature
	active  []bool      // columns that vary, and the constant
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
	solver mixedmodel.Solver
	task   mixedmodel.Task
	prior  *mixedmodel.Prior
	x, y   []float64
	row    []float64
	u, v   []float64 // p entries each
	z      []float64
}

// batch is the number of rows in one matrix product.
const batch = 512

// newStats reads the rows of all tasks once.
func newStats(ctx context.Context, r *rows, d *model.Design, workers int) (*stats, error) {
	s := &stats{rows: r, design: d, columns: d.Columns(), p: d.Width(), linear: 1 + len(d.Scale), workers: workers}
	s.active = make([]bool, s.p)
	for j, c := range s.columns {
		s.active[j] = c.Kind != model.Linear || d.Scale[c.Feature] > 0
	}
	s.packed = make([][]float64, len(r.start)-1)
	for k := range s.packed {
		if len(r.of(k)) > 0 {
			s.tasks = append(s.tasks, k)
		}
	}
	var err error
	s.total, err = s.reduce(ctx, nil, s.tasks, s.p*s.p, func(w *worker, k int, part []float64) error {
		list := r.of(k)
		if len(list) >= s.p {
			s.packed[k] = s.products(w, list)
		}
		t := s.task(w, k)
		if t.G == nil {
			one := mixedmodel.Task{G: part, C: w.u}
			one.AddRows(t.X, t.Y)
		} else {
			floats.Add(part, t.G)
		}
		return nil
	})
	return s, err
}

// products returns the packed products of rows.
func (s *stats) products(w *worker, list []int32) []float64 {
	p := s.p
	t := mixedmodel.Task{G: grow(w.task.G, p*p), C: grow(w.task.C, p)}
	w.task.G, w.task.C = t.G, t.C
	clear(t.G)
	clear(t.C)
	yy := 0.0
	for len(list) > 0 {
		n := min(len(list), batch)
		w.x, w.y = grow(w.x, n*p), grow(w.y, n)
		s.rows.fill(w.x, w.y, w.row, s.design, list[:n])
		t.AddRows(w.x, w.y)
		yy += floats.Dot(w.y, w.y)
		list = list[n:]
	}
	out := make([]float64, 0, p*(p+1)/2+p+1)
	for i := range p {
		out = append(out, t.G[i*p+i:(i+1)*p]...)
	}
	return append(append(out, t.C...), yy)
}

// task returns the data of a task in the memory of the worker.
func (s *stats) task(w *worker, k int) *mixedmodel.Task {
	p, list := s.p, s.rows.of(k)
	t := mixedmodel.Task{Rows: len(list)}
	if s.ratio != nil {
		t.Noise = s.ratio[k]
	}
	if packed := s.packed[k]; packed != nil {
		t.G, t.C = grow(w.task.G, p*p), packed[p*(p+1)/2:][:p]
		w.task.G = t.G
		t.YY = packed[len(packed)-1]
		for i := range p {
			copy(t.G[i*p+i:(i+1)*p], packed)
			packed = packed[p-i:]
		}
	} else {
		w.x, w.y = grow(w.x, len(list)*p), grow(w.y, len(list))
		s.rows.fill(w.x, w.y, w.row, s.design, list)
		t.X, t.Y = w.x, w.y
		t.YY = floats.Dot(t.Y, t.Y)
	}
	return &t
}

// grow returns a slice of n entries of any value, in the memory of x where that is enough.
func grow(x []float64, n int) []float64 {
	if cap(x) < n {
		return make([]float64, n)
	}
	return x[:n]
}

// worker returns scratch for one goroutine, whose solver has the given prior unless that is nil. Callers
// put it back into idle.
func (s *stats) worker(prior *mixedmodel.Prior) *worker {
	w, ok := s.idle.Get().(*worker)
	if !ok {
		w = &worker{row: make([]float64, len(s.rows.t.Features())), u: make([]float64, s.p), v: make([]float64, s.p)}
	}
	if w.prior = prior; prior != nil {
		w.solver.Reset(prior)
	}
	return w
}

// chunks is the number of parts into which a sum over tasks is cut.
const chunks = 64

// reduce returns the sum over tasks of the numbers that f adds to part, which has the given size. Tasks are
// cut into chunks whose sums are added in their order, so that the bits do not depend on the workers. f
// runs in several goroutines. The error is that of the first task, or the context's.
func (s *stats) reduce(ctx context.Context, prior *mixedmodel.Prior, tasks []int, size int,
	f func(w *worker, task int, part []float64) error) ([]float64, error) {
	total := make([]float64, size)
	each := max((len(tasks)+chunks-1)/chunks, 1)
	count := (len(tasks) + each - 1) / each
	var mu sync.Mutex
	turn := sync.NewCond(&mu)
	next, done := 0, 0
	var first error
	work := func() {
		w, part := s.worker(prior), make([]float64, size)
		defer s.idle.Put(w)
		for {
			mu.Lock()
			at := next
			next++
			stop := first != nil
			mu.Unlock()
			if at >= count || stop {
				return
			}
			clear(part)
			err := ctx.Err()
			for _, k := range tasks[at*each : min((at+1)*each, len(tasks))] {
				if err == nil {
					err = f(w, k, part)
				}
			}
			mu.Lock()
			for done != at && first == nil {
				turn.Wait()
			}
			if first == nil {
				first = err
				floats.Add(total, part)
				done++
			}
			turn.Broadcast()
			mu.Unlock()
		}
	}
	var group sync.WaitGroup
	for range max(min(s.workers, count), 1) {
		group.Go(work)
	}
	group.Wait()
	return total, first
}

// rowsTotal returns the number of rows of tasks.
func (s *stats) rowsTotal(tasks []int) (n float64) {
	for _, k := range tasks {
		n += float64(len(s.rows.of(k)))
	}
	return n
}

// complain names the task of an error.
func (s *stats) complain(task int, err error) error {
	return fmt.Errorf("task %q: %w", s.rows.t.Tasks()[task], err)
}
