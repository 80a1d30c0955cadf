package kernel

import (
	"time"

	"github.com/difalt/difalt/internal/lstsq"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

const (
	// A task of at least longBytes and longRows is long: workers share its rows.
	longBytes = 4 << 20
	longRows  = 128
	// A slice of a long task has about sliceBytes, so that no call into assembly, which the runtime cannot
	// preempt, takes much longer than some 100 us.
	sliceBytes = 512 << 10
	// minSlice is the least number of rows of a slice.
	minSlice = 16
	// A long task is cut into at most maxParts parts, and the partial results of the parts are added in
	// order.
	maxParts = 64
)

// A longTask computes Alg. 3, lines 7 to 11, for a task whose rows several workers share. Its rows are cut
// into slices X_s by the data alone. With A_s = X_s U, every part of the slices computes the triangles R_s of
//
//	[A_s y_s] = Q_s [R_s c_s; 0 *],   b = argmin |R b - c|^2 + ridge |b|^2 over all slices,
//
// and then, for the gradient, sum_s X_s' (A_s b - y_s). So a step reads X twice. Tasks.Compressed lets it
// read d+1 rows instead.
type longTask struct {
	slice int // the most rows of a slice
	parts []longPart
	a     []float64          // A_s of the samples of the least squares, each by columns
	r     blas64.GeneralCols // R_s below each other
	c     []float64          // c_s
	ws    *lstsq.Workspace   // for R
	v     blas64.GeneralCols // X'e of all parts, by columns
}

// A longPart is the part of a long task that one worker computes at a time.
type longPart struct {
	objective float64
	elapsed   time.Duration
}

// isLong reports whether workers share the rows of a task. Only the tiles do that.
func (g *Group) isLong(task int) bool {
	n := g.fit.rows[task]
	return n >= longRows && n*g.fit.stride*g.fit.storage.size() >= longBytes && chosenName == "" && n > 2*g.r
}

func newLongTask(g *Group, task int) *longTask {
	n, r, d := g.fit.rows[task], g.r, g.fit.d
	k := &longTask{slice: max(sliceBytes/(g.fit.stride*g.fit.storage.size())&^7, minSlice, tile.Pad(2*r))}
	slices := k.slices(n)
	k.parts = make([]longPart, min(slices, maxParts))
	k.a = alignedFloat64(slices * k.slice * r)
	k.r = blas64.GeneralCols{Rows: slices * r, Cols: r, Stride: tile.Pad(slices * r), Data: alignedFloat64(tile.Pad(slices*r) * r)}
	k.c = make([]float64, slices*r)
	k.ws = lstsq.NewWorkspace(slices*r, r)
	k.v = blas64.GeneralCols{Rows: tile.Pad(d), Cols: len(k.parts), Stride: tile.Stride(d), Data: alignedFloat64(tile.Stride(d) * len(k.parts))}
	return k
}

// slices returns into how many slices n rows are cut.
func (k *longTask) slices(n int) int { return (n + k.slice - 1) / k.slice }

// each calls f for the slices of a part of n rows: slice s has the rows lo to hi.
func (k *longTask) each(part, n int, f func(s, lo, hi int)) {
	slices, parts := k.slices(n), len(k.parts)
	for s := part * slices / parts; s < (part+1)*slices/parts; s++ {
		f(s, s*k.slice, min((s+1)*k.slice, n))
	}
}

// product returns A_s of slice s with the given number of rows.
func (k *longTask) product(s, rows, r int) blas64.GeneralCols {
	return blas64.GeneralCols{Rows: rows, Cols: r, Stride: k.slice, Data: k.a[s*k.slice*r:][:k.slice*r]}
}

// multiplyPart computes A_s, R_s and c_s for the slices of a part.
func (g *Group) multiplyPart(c *chunk, part int, u *Basis, ws *Workspace) {
	start, k, t := time.Now(), c.long, g.fit
	ws.load(u, g.fit.storage)
	var x samples
	k.each(part, t.rows[c.lo], func(s, lo, hi int) {
		x.take(t, c.lo, lo, hi, g.r, ws.cached)
		a := k.product(s, hi-lo, g.r)
		x.mulBasis(a.Data, a.Stride, ws, u)
		lstsq.Triangle(k.r, k.c, s*g.r, a, t.Y(c.lo)[lo:hi], x.solveNext, ws.lsq)
	})
	k.parts[part].elapsed = time.Since(start)
}

// solveLong solves the least squares of a long task by the triangles of its slices.
func (g *Group) solveLong(c *chunk, ridge float64) {
	k, n := c.long, g.fit.rows[c.lo]
	r := k.r
	r.Rows = k.slices(n) * g.r
	b := g.B[c.lo*g.r:][:g.r]
	s := lstsq.Solve(b, &r, k.c[:r.Rows], ridge, lstsq.Tolerance(n, g.r), 0, k.ws).Status
	if s == lstsq.RankDeficient && n < g.r {
		s = lstsq.Underdetermined
	}
	g.Status[c.lo] = lsq.Status(s)
}

// gradientPart computes the squared residuals of a part, and with gradient its part of X'e.
func (g *Group) gradientPart(c *chunk, part int, u *Basis, ws *Workspace, gradient bool) {
	start, k, t := time.Now(), c.long, g.fit
	if gradient {
		t = g.grad
	}
	p, b, v := &k.parts[part], g.B[c.lo*g.r:][:g.r], k.v.Data[part*k.v.Stride:][:k.v.Rows]
	p.objective = 0
	clear(v)
	ws.load(u, g.fit.storage)
	var x samples
	k.each(part, t.rows[c.lo], func(s, lo, hi int) {
		x.take(t, c.lo, lo, hi, g.r, ws.cached)
		a := k.product(s, hi-lo, g.r)
		if t != g.fit {
			a = ws.products(hi-lo, g.r)
			x.mulBasis(a.Data, a.Stride, ws, u)
		}
		e := ws.e[:hi-lo]
		p.objective += tile.Residual(e, a.Data, a.Stride, b, t.Y(c.lo)[lo:hi], hi-lo, g.r)
		if gradient {
			x.mulTransposed(ws.v, e)
			floats.Add(v, ws.v[:len(v)])
		}
	})
	p.elapsed += time.Since(start)
}

// finishLong adds up the parts of a long task, and with gradient the product of X'e with b'.
func (g *Group) finishLong(c *chunk, gradient bool) {
	k := c.long
	c.objective = 0
	for _, p := range k.parts {
		c.objective += p.objective
		c.elapsed += p.elapsed
	}
	if !gradient {
		return
	}
	sum := k.v.Data[:k.v.Rows]
	for p := 1; p < len(k.parts); p++ {
		floats.Add(sum, k.v.Data[p*k.v.Stride:][:k.v.Rows])
	}
	clear(c.grad.data)
	tile.RankUpdate(c.grad.data, c.grad.stride, sum, len(sum), g.B[c.lo*g.r:], g.r, 1, g.fit.d, g.r)
}
