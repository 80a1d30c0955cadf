package mixed

import (
	"context"
	"math"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
)

const (
	heldShare = 1.5     // tasks are held if they have that many times the numbers of the training rows
	heldLeast = 1 << 22 // or that many numbers, 32 MiB
)

// hold holds tasks in memory: all where they fit, and otherwise those that optimisers use. Where these do not
// fit, either, tasks are computed from their rows each time.
func (s *stats) hold(ctx context.Context) error {
	tasks := s.tasks
	if !s.fitsInMemory(tasks) {
		tasks = s.some
	}
	if !s.fitsInMemory(tasks) {
		return nil
	}
	_, err := s.reduceOwn(ctx, tasks.own, 0, func(w *worker, k int, _ []float64) error {
		if s.isHeld(k) {
			return nil
		}
		var xx []float64
		if s.hasProducts(k) {
			xx = s.ownProducts(w)
		}
		return s.holdTask(ctx, w, k, nil, xx)
	})
	return err
}

// isHeld reports whether a task is in memory.
func (s *stats) isHeld(k int) bool { return len(s.packed[k]) > 0 || s.held[k] != nil }

// fitsInMemory reports whether tasks may be held.
func (s *stats) fitsInMemory(tasks *taskSet) bool {
	held := 0
	for _, k := range tasks.own {
		if s.hasProducts(k) {
			held += s.packedSize()
		} else {
			held += len(s.rows.of(k)) * (s.p + len(s.targets()))
		}
	}
	most := heldShare * float64(len(s.rows.order)*(len(s.design.Scale)+1))
	return float64(held) <= max(heldLeast, most)
}

// holdTask reads the rows of a task as multiply does. It holds their products where the task has at least as
// many rows as columns, and otherwise the rows.
func (s *stats) holdTask(ctx context.Context, w *worker, k int, varies []bool, xx []float64) error {
	list := s.rows.of(k)
	if s.hasProducts(k) {
		err := s.multiply(ctx, w, list, varies, xx, nil)
		s.packed[k] = s.products(make([]float64, 0, s.packedSize()), w)
		return err
	}
	held := make([]float64, len(list)*(s.p+len(s.targets())))
	s.held[k] = held
	return s.multiply(ctx, w, list, varies, xx, held)
}

// hasProducts reports whether a task has at least as many rows as columns, so that its products are fewer
// numbers than its rows.
func (s *stats) hasProducts(k int) bool { return len(s.rows.of(k)) >= s.p }

// forgotten stands for the products of a task that are computed each time.
var forgotten = []float64{}

// readTask reads the rows of a task, which it holds or forgets. It adds X'X to total, 1 to within for every
// column that varies, and X'y and y'y of every target to xy.
func (s *stats) readTask(ctx context.Context, w *worker, k int, hold bool, total, within, xy []float64) error {
	varies, xx := make([]bool, s.p), total
	if s.hasProducts(k) { // the products of the task are also needed alone
		xx = s.ownProducts(w)
	}
	var err error
	if hold {
		err = s.holdTask(ctx, w, k, varies, xx)
	} else {
		err = s.multiply(ctx, w, s.rows.of(k), varies, xx, nil)
		if s.hasProducts(k) {
			s.packed[k] = forgotten
		}
	}
	if err != nil {
		return err
	}
	if s.hasProducts(k) {
		floats.Add(total, xx)
	}
	for j, v := range varies {
		if v {
			within[j]++
		}
	}
	for i := range s.targets() {
		own := xy[i*(s.p+1):][:s.p+1]
		floats.Add(own[:s.p], w.c[i*s.p:][:s.p])
		own[s.p] += w.squares[i]
	}
	return nil
}

// ownProducts returns g of a worker, p x p, of zeros. Where all tasks have fewer rows than columns, no worker
// has it: it is the largest matrix of one.
func (s *stats) ownProducts(w *worker) []float64 {
	w.g = dense.Grow(w.g, s.p*s.p)
	clear(w.g)
	return w.g
}

// multiply adds X'X of a list of rows, the training rows of a task, to the upper triangle of xx, and sets c
// and squares of a worker to X'y and y'y of every target. It marks the columns that vary in varies, and
// copies the rows to held. xx, varies and held may be nil.
func (s *stats) multiply(ctx context.Context, w *worker, list []int32, varies []bool, xx, held []float64) error {
	p, first := s.p, w.z
	w.c = dense.Grow(w.c, 2*p)
	clear(w.c)
	w.squares = [2]float64{}
	for from := 0; from < len(list); from += batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows := list[from:min(from+batch, len(list))]
		n := len(rows)
		w.x, w.y = dense.Grow(w.x, n*p), dense.Grow(w.y, n)
		s.rows.fill(w.x, w.read, s.design, rows)
		if varies != nil {
			if from == 0 {
				copy(first, w.x)
			}
			for i, v := range w.x[:n*p] {
				if v != first[i%p] {
					varies[i%p] = true
				}
			}
		}
		s.weigh(w.x, rows)
		if held != nil {
			copy(held[from*p:], w.x[:n*p])
		}
		x := dense.General(n, p, w.x)
		if xx != nil {
			dense.Syrk(blas.Trans, 1, x, 1, dense.Symmetric(p, xx))
		}
		for i, log := range s.targets() {
			y := w.y[:n]
			s.fillTargets(y, rows, log)
			if held != nil {
				copy(held[len(list)*(p+i)+from:], y)
			}
			dense.Gemv(blas.Trans, 1, x, dense.Vector(y), 1, dense.Vector(w.c[i*p:][:p]))
			w.squares[i] += rounded.Dot(y, y)
		}
	}
	return nil
}

// products appends what multiply has set to out, see packedSize.
func (s *stats) products(out []float64, w *worker) []float64 {
	out = dense.Pack(out, s.p, w.g)
	for i := range s.targets() {
		out = append(append(out, w.c[i*s.p:][:s.p]...), w.squares[i])
	}
	return out
}

// forget frees the memory of the tasks, here and in all stats of this data. A task that is read again is
// computed again, with equal bits.
func (s *stats) forget() {
	for k := range s.packed {
		s.forgetTask(k)
	}
}

// forgetTask frees the memory of one task, as forget does.
func (s *stats) forgetTask(k int) {
	if s.packed[k] != nil {
		s.packed[k] = forgotten
	}
	s.held[k] = nil
}

// targets lists the targets that products are kept of: the target of the model, and the logarithm beside it
// where the two are compared.
func (s *stats) targets() []bool {
	if s.rows.compares {
		return []bool{false, true}
	}
	return []bool{s.rows.target.Log}
}

// packedSize returns the length of the products of a task: the upper triangle of X'X by rows, and X'y and y'y
// of every target.
func (s *stats) packedSize() int { return dense.Triangle(s.p) + s.productsOfTargets() }

// productsOfTargets returns the number of products X'y and y'y.
func (s *stats) productsOfTargets() int { return len(s.targets()) * (s.p + 1) }

// weigh multiplies rows of the design by the square roots of their weights.
func (s *stats) weigh(x []float64, list []int32) {
	s.rows.weigh(x, list)
	if s.bounds != nil {
		for k, i := range list {
			floats.Scale(math.Sqrt(s.bounds[i]), x[k*s.p:][:s.p])
		}
	}
}

// fillTargets sets y to the standardised targets of training rows, or to the standardised logarithms of
// these, multiplied by the square roots of the weights.
func (s *stats) fillTargets(y []float64, list []int32, log bool) {
	s.rows.fillTargets(y, list, log)
	if s.bounds != nil {
		for k, i := range list {
			y[k] *= math.Sqrt(s.bounds[i])
		}
	}
}

// read sets the task of the worker, in its memory. A context that ends leaves the task where it is.
func (s *stats) read(w *worker, k int) {
	p, list, t := s.p, s.rows.of(k), &w.task
	*t = taskData{Rows: len(list)}
	if s.ratio != nil {
		t.Noise = s.ratio[k]
	}
	if packed := s.packed[k]; packed != nil {
		if len(packed) == 0 { // forgotten
			_ = s.multiply(w.ctx, w, list, nil, s.ownProducts(w), nil)
			w.packed = s.products(w.packed[:0], w)
			packed = w.packed
		}
		w.g = dense.Grow(w.g, p*p)
		dense.Unpack(w.g, p, packed)
		packed = packed[dense.Triangle(p):]
		if s.log && s.rows.compares {
			packed = packed[p+1:]
		}
		t.G, t.C, t.YY = w.g, packed[:p], packed[p]
		return
	}
	if s.held[k] != nil {
		held, n := s.held[k], len(list)
		t.X, t.Y = held[:n*p], held[n*p:][:n]
		if s.log && s.rows.compares {
			t.Y = held[n*(p+1):]
		}
		t.YY = rounded.Dot(t.Y, t.Y)
		return
	}
	w.x, w.y = dense.Grow(w.x, len(list)*p), dense.Grow(w.y, len(list))
	s.rows.fill(w.x, w.read, s.design, list)
	s.weigh(w.x, list)
	s.fillTargets(w.y, list, s.log)
	t.X, t.Y, t.YY = w.x, w.y, rounded.Dot(w.y, w.y)
}
