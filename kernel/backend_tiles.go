package kernel

import (
	"github.com/difalt/difalt/internal/lstsq"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/lsq"
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

// stepTiles does tasks lo to hi of a chunk, and adds the products v_t b_t', v_t = X_t'e_t, of up to batch
// tasks at a time to its gradient.
func (g *Group) stepTiles(c *chunk, lo, hi int, u *Basis, ridge float64, ws *Workspace, gradient bool) {
	ws.load(u, g.fit.storage)
	var x samples
	waiting := 0 // tasks with v_t in ws.v
	for t := lo; t < hi; t++ {
		b := g.B[t*g.r:][:g.r]
		x.take(g.fit, t, 0, g.fit.rows[t], g.r, ws.cached)
		x.mulBasis(ws.a, ws.lda, ws, u)
		a := ws.products(x.n, g.r)
		res := lstsq.Solve(b, &a, g.fit.Y(t), ridge, lstsq.Tolerance(x.n, g.r), x.solveNext, ws.lsq)
		g.Status[t] = lsq.Status(res.Status)
		e, squares := res.Residual, res.Squares
		if gradient && g.grad != g.fit {
			x.take(g.grad, t, 0, g.grad.rows[t], g.r, ws.cached)
			x.mulBasis(ws.a, ws.lda, ws, u)
			e = ws.e[:x.n]
			squares = tile.Residual(e, ws.a, ws.lda, b, g.grad.Y(t), x.n, g.r)
		}
		c.objective += squares
		if !gradient {
			continue
		}
		x.mulTransposed(ws.v[waiting*ws.ldv:], e)
		if waiting++; waiting == batch || t == hi-1 {
			tile.RankUpdate(c.grad.data, c.grad.stride, ws.v, ws.ldv, g.B[(t+1-waiting)*g.r:], g.r, waiting, u.d, g.r)
			waiting = 0
		}
	}
}
