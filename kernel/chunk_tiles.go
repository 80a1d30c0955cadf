package kernel

import (
	"github.com/difalt/difalt/internal/leastsq"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/lsq"
)

// batch is the number of tasks whose products X_t' e_t are kept before they are added to the gradient as one
// product of that rank: the gradient is then read and written once for a batch.
const batch = 8

// tiles is the backend of the tiles in package tile, in assembly or portable Go: the default.
var tiles = backend{shares: true, newChunk: func(t *Tasks, lo, hi, r int) chunk {
	if c := newLaneChunk(t, lo, hi, r); c != nil {
		return c
	}
	return newTileChunk(t, lo, hi, r)
}}

// A tileChunk computes its tasks by the tiles, one task after the other.
type tileChunk struct {
	partial
	oneWorker
}

func newTileChunk(t *Tasks, lo, hi, r int) *tileChunk {
	return &tileChunk{partial: newPartial(t, lo, hi, r)}
}

func (c *tileChunk) needs() size { return c.size() }

func (c *tileChunk) solve(j *job) { j.tiles(&c.partial, c.lo, c.hi) }

// tiles computes tasks lo to hi of a chunk, and adds the products v_t b_t', v_t = X_t'e_t, of up to batch
// tasks at a time to its gradient. Chunks of other kinds leave tasks to it, so that every status but OK and
// every solution of minimum norm are decided here.
func (j *job) tiles(p *partial, lo, hi int) {
	g, t, ws := j.g, j.g.tasks, j.ws
	ws.load(j.u, t.storage)
	var x samples
	waiting := 0 // tasks with v_t in ws.v
	for task := lo; task < hi; task++ {
		b, y := g.b[task*g.r:][:g.r], t.Y(task)
		j.take(&x, task, 0, t.rows[task])
		a := ws.products(x.n, g.r)
		x.mulBasis(&a, j.u, &ws.packed)
		e := ws.e[:x.n]
		if j.work.coefficients {
			var res leastsq.Result
			res, e = leastsq.Solve(b, &a, y, j.ridge, t.tolerance(task, g.r), x.ahead.Solve, ws.lsq)
			g.status[task] = lsq.Status(res.Status)
			p.objective += res.Squares
		} else {
			p.objective += tile.Residual(e, a.Data, a.Stride, b, y, x.n, g.r)
		}
		if !j.work.gradient {
			continue
		}
		x.mulTransposed(ws.v[waiting*ws.ldv:], e)
		waiting++
		if waiting == batch || task == hi-1 {
			first := task + 1 - waiting
			tile.RankUpdate(p.grad.data, p.grad.stride, ws.v, ws.ldv, g.b[first*g.r:], g.r, waiting, t.d, g.r)
			waiting = 0
		}
	}
}
