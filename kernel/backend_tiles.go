package kernel

import (
	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/lstsq"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/blas/blas64"
)

// tiles computes by the fused tiles of package tile, in assembly or portable Go: the default.
type tiles struct{}

func (tiles) step(g *Group, c *chunk, u *Basis, ridge float64, ws *Workspace, gradient bool) {
	if g.inLanes(c) {
		g.stepLanes(c, u, ridge, ws, gradient)
	} else {
		g.stepTiles(c, c.lo, c.hi, u, ridge, ws, gradient)
	}
}

// stepTiles does tasks lo to hi of a chunk. It multiplies tiny tasks together: see together.
func (g *Group) stepTiles(c *chunk, lo, hi int, u *Basis, ridge float64, ws *Workspace, gradient bool) {
	ws.load(u, g.fit.storage)
	sum := batchSum{group: g, chunk: c, ws: ws, d: u.d, first: lo}
	var fit, grad samples
	for first := lo; first < hi; {
		tasks, lda := 1, ws.lda
		if g.grad == g.fit {
			tasks = g.fit.together(first, hi)
		}
		if tasks > 1 {
			lda = tinyStride
		}
		x, row := &fit, 0
		x.take(g.fit, first, tasks, g.r, ws.cached)
		x.mulBasis(ws.a, lda, ws, u)
		for t := first; t < first+tasks; t++ {
			n := g.fit.rows[t]
			b := g.solve(t, ws.a[row:], lda, ridge, ws, x.solveNext)
			e, squares := ws.lsq.Residual, ws.lsq.Squares
			if gradient && g.grad != g.fit {
				x = &grad
				x.take(g.grad, t, 1, g.r, ws.cached)
				x.mulBasis(ws.a, ws.lda, ws, u)
				e = ws.e[:x.n]
				squares = dense.Residual(e, ws.products(x.n, g.r), b, g.grad.Y(t))
			}
			c.objective += squares
			if gradient {
				x.mulTransposed(sum.next(), row, e)
				sum.done(t, hi)
			}
			row += n
		}
		first += tasks
	}
}

const (
	// Tasks of at most tinyBytes in all, and tinyRows, are multiplied by the basis together: they stay in the
	// first-level cache until X'e, and a call of the tiles takes as long as some rows of such a task.
	tinyBytes = 24 << 10
	tinyRows  = 128
	// tinyStride is the distance between the columns of their products: an odd multiple of a cache line.
	tinyStride = tinyRows + tile.Width
)

// together returns how many tasks from the given one on, before hi, are multiplied by a basis at a time.
func (t *Tasks) together(task, hi int) int {
	end, most := t.first[task]+t.rows[task], min(tinyRows, tinyBytes/(t.stride*t.storage.size()))
	k := task + 1
	for k < hi && t.first[k] == end && end+t.rows[k]-t.first[task] <= most {
		end += t.rows[k]
		k++
	}
	return k - task
}

// solve returns b_t of task t, where X_t U is in a, with columns lda apart. It prefetches from address next
// on.
func (g *Group) solve(t int, a []float64, lda int, ridge float64, ws *Workspace, next uintptr) []float64 {
	n, b := g.fit.rows[t], g.B[t*g.r:][:g.r]
	m := blas64.GeneralCols{Rows: n, Cols: g.r, Stride: lda, Data: a}
	ws.lsq.Next = next
	status, _ := lstsq.Solve(b, &m, g.fit.Y(t), ridge, lstsq.Tolerance(n, g.r), ws.lsq)
	g.Status[t] = lsq.Status(status)
	return b
}

// A batchSum collects the v_t = X_t' e_t of consecutive tasks and adds v_t b_t' to the gradient of a chunk,
// for a batch of tasks at a time.
type batchSum struct {
	group    *Group
	chunk    *chunk
	ws       *Workspace
	d        int
	first, n int // the first task of the batch, and the number of its tasks so far
}

// next returns the memory for the v_t of the next task.
func (s *batchSum) next() []float64 { return s.ws.v[s.n*s.ws.ldv:] }

// done ends task t, whose v_t is complete: it adds the batch if it is full or t is the last task before hi.
func (s *batchSum) done(t, hi int) {
	if s.n++; s.n < batch && t < hi-1 {
		return
	}
	r := s.group.r
	v := blas64.GeneralCols{Rows: dense.Pad(s.d), Cols: s.n, Stride: s.ws.ldv, Data: s.ws.v}
	coef := blas64.GeneralCols{Rows: r, Cols: s.n, Stride: r, Data: s.group.B[s.first*r:]}
	dense.AddMulNT(s.chunk.grad.padded(), v, coef)
	s.first, s.n = t+1, 0
}
