package kernel

import (
	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/blas/blas64"
)

// tiles computes by the fused tiles of package tile, in assembly or portable Go: the default.
type tiles struct{}

func (tiles) step(g *Group, c *chunk, u *Basis, ridge float64, ws *Workspace, gradient bool) {
	g.stepTiles(c, c.lo, c.hi, u, ridge, ws, gradient)
}

// stepTiles does tasks lo to hi of a chunk.
func (g *Group) stepTiles(c *chunk, lo, hi int, u *Basis, ridge float64, ws *Workspace, gradient bool) {
	ws.load(u)
	sum := batchSum{group: g, chunk: c, ws: ws, d: u.d, first: lo}
	var fit, grad samples
	for t := lo; t < hi; t++ {
		x := &fit
		x.take(g.fit, t, g.r, ws.schedule)
		x.mulBasis(ws, u)
		ws.lsq.Next = x.solveNext
		b := g.solve(t, ridge, ws)
		e, squares := ws.lsq.Residual, ws.lsq.Squares
		if gradient && g.grad != g.fit {
			x = &grad
			x.take(g.grad, t, g.r, ws.schedule)
			x.mulBasis(ws, u)
			e = ws.e[:x.n]
			squares = dense.Residual(e, ws.products(x.n, g.r), b, g.grad.Y(t))
		}
		c.objective += squares
		if !gradient {
			continue
		}
		v := sum.next()
		x.mulTransposed(v, e)
		if g.anchoring() {
			g.reduced.keep(t, g.r, ws, e, v)
		}
		sum.done(t, hi)
	}
}

// solve returns b_t of task t, X_t U being in ws.a.
func (g *Group) solve(t int, ridge float64, ws *Workspace) []float64 {
	b := g.B[t*g.r:][:g.r]
	g.Status[t] = lsq.Solve(b, ws.products(g.fit.rows[t], g.r), g.fit.Y(t), ridge, ws.lsq)
	return b
}

// A batchSum collects the v_t = X_t' e_t of consecutive tasks and adds v_t b_t' to the
// gradient of a chunk, a batch of tasks at a time.
type batchSum struct {
	group    *Group
	chunk    *chunk
	ws       *Workspace
	d        int
	first, n int // the first task of the batch, and how many of its tasks are there
}

// next returns where the v_t of the next task belongs.
func (s *batchSum) next() []float64 { return s.ws.v[s.n*s.ws.ldv:] }

// done adds the batch if it is full, or if t, whose v_t is there, is the last task before hi.
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
