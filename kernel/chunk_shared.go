package kernel

import (
	"sync/atomic"
	"time"

	"github.com/difalt/difalt/internal/leastsq"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

const (
	// Workers share the rows of a task of at least sharedBytes and sharedRows.
	sharedBytes = 4 << 20
	sharedRows  = 128
	// A slice of a shared task has about sliceBytes, so that no call into assembly, which the runtime cannot
	// preempt, takes much longer than some 100 us.
	sliceBytes = 512 << 10
	// minSlice is the least number of rows of a slice.
	minSlice = 16
	// A shared task is cut into at most maxParts parts, and the partial results of the parts are added in
	// order.
	maxParts = 64
)

// A sharedTask is a chunk of one task whose rows the workers share. The data alone cut its rows into slices
// X_s. With A_s = X_s U, multiply computes the triangles R_s of
//
//	[A_s y_s] = Q_s [R_s c_s; 0 *],   b = argmin |R b - c|^2 + ridge |b|^2 over all slices,
//
// solve computes b, and gradient sum_s X_s' (A_s b - y_s). So a step reads X twice. Tasks.Compressed lets it
// read d+1 rows instead.
type sharedTask struct {
	partial
	slice  int // the most rows of a slice
	slices int
	runs   []sharedPart
	left   atomic.Int32       // parts whose gradient is not done
	a      []float64          // A_s, each by columns
	r      blas64.GeneralCols // R_s below each other
	c      []float64          // c_s
	ws     *leastsq.Workspace // for R
	v      blas64.GeneralCols // X'e of all parts, by columns
}

// A sharedPart has the results of a run of slices that one worker computes at a time.
type sharedPart struct {
	objective float64
	elapsed   time.Duration
}

// isShared reports whether workers share the rows of a task, if the backend can do that.
func (t *Tasks) isShared(task, r int) bool {
	n := t.rows[task]
	return n >= sharedRows && n > 2*r && n*t.stride*t.storage.size() >= sharedBytes
}

// sliceRows returns how many rows have about sliceBytes.
func (t *Tasks) sliceRows() int { return max(sliceBytes/(t.stride*t.storage.size())&^7, minSlice) }

func newSharedTask(t *Tasks, task, r int) *sharedTask {
	n := t.rows[task]
	c := &sharedTask{partial: newPartial(t, task, task+1, r), slice: max(t.sliceRows(), tile.Pad(2*r))}
	c.slices = (n + c.slice - 1) / c.slice
	c.runs = make([]sharedPart, min(c.slices, maxParts))
	c.a = alignedFloat64(c.slices * c.slice * r)
	rows, stride := c.slices*r, tile.Pad(c.slices*r)
	c.r = blas64.GeneralCols{Rows: rows, Cols: r, Stride: stride, Data: alignedFloat64(stride * r)}
	c.c = make([]float64, rows)
	c.ws = leastsq.NewWorkspace(rows, r)
	ldv := tile.Stride(t.d)
	c.v = blas64.GeneralCols{Rows: tile.Pad(t.d), Cols: len(c.runs), Stride: ldv}
	c.v.Data = alignedFloat64(ldv * len(c.runs))
	return c
}

func (c *sharedTask) needs() size {
	s := c.size()
	s.rows = min(c.slice, c.rows)
	return s
}

func (c *sharedTask) parts() int { return len(c.runs) }

// each calls f for every slice s of a part, with rows lo to hi.
func (c *sharedTask) each(part int, f func(s, lo, hi int)) {
	for s := part * c.slices / len(c.runs); s < (part+1)*c.slices/len(c.runs); s++ {
		f(s, s*c.slice, min((s+1)*c.slice, c.rows))
	}
}

// product returns A_s of slice s with the given number of rows.
func (c *sharedTask) product(s, rows int) blas64.GeneralCols {
	r := c.grad.r
	return blas64.GeneralCols{Rows: rows, Cols: r, Stride: c.slice, Data: c.a[s*c.slice*r:][:c.slice*r]}
}

// multiply computes A_s, R_s and c_s for the slices of a part.
func (c *sharedTask) multiply(j *job, part int) {
	start, t, ws := time.Since(epoch), j.g.tasks, j.ws
	ws.load(j.u, t.storage)
	var x samples
	c.each(part, func(s, lo, hi int) {
		j.take(&x, c.lo, lo, hi)
		a := c.product(s, hi-lo)
		x.mulBasis(&a, j.u, &ws.packed)
		if j.work.coefficients {
			leastsq.Triangle(c.r, c.c, s*j.g.r, a, t.Y(c.lo)[lo:hi], x.ahead.Solve, ws.lsq)
		}
	})
	c.runs[part].elapsed = time.Since(epoch) - start
}

// solve solves the least squares by the triangles of the slices.
func (c *sharedTask) solve(j *job) {
	c.left.Store(int32(len(c.runs)))
	if !j.work.coefficients {
		return
	}
	r := j.g.r
	b, tol := j.g.b[c.lo*r:][:r], j.g.tasks.tolerance(c.lo, r)
	res, _ := leastsq.Solve(b, &c.r, c.c, j.ridge, tol, 0, c.ws)
	j.g.status[c.lo] = lsq.Status(res.Status)
}

// gradient computes the squared residuals of a part and its part of X'e. The worker that finishes the last
// part adds up all of them.
func (c *sharedTask) gradient(j *job, part int) {
	start, t, ws := time.Since(epoch), j.g.tasks, j.ws
	run, b, v := &c.runs[part], j.g.b[c.lo*j.g.r:][:j.g.r], c.v.Data[part*c.v.Stride:][:c.v.Rows]
	run.objective = 0
	clear(v)
	var x samples
	c.each(part, func(s, lo, hi int) {
		j.take(&x, c.lo, lo, hi)
		a, e := c.product(s, hi-lo), ws.e[:hi-lo]
		run.objective += tile.Residual(e, a.Data, a.Stride, b, t.Y(c.lo)[lo:hi], hi-lo, j.g.r)
		if j.work.gradient {
			x.mulTransposed(ws.v, e)
			floats.Add(v, ws.v[:len(v)])
		}
	})
	run.elapsed += time.Since(epoch) - start
	if c.left.Add(-1) == 0 {
		c.finish(j)
	}
}

// finish adds up the parts in order, and for a gradient multiplies X'e by b'.
func (c *sharedTask) finish(j *job) {
	for _, run := range c.runs {
		c.objective += run.objective
		c.elapsed += run.elapsed
	}
	if !j.work.gradient {
		return
	}
	sum := c.v.Data[:c.v.Rows]
	for part := 1; part < len(c.runs); part++ {
		floats.Add(sum, c.v.Data[part*c.v.Stride:][:c.v.Rows])
	}
	r := j.g.r
	tile.RankUpdate(c.grad.data, c.grad.stride, sum, len(sum), j.g.b[c.lo*r:], r, 1, c.grad.d, r)
}
