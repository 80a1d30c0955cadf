package kernel

import (
	"time"

	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/internal/tile"
	"github.com/difalt/difalt/kernel/lsq"
)

// Products multiplies directions by the Gauss-Newton matrix of the groups of an executor: that
// of the objective as a function of the basis alone, in which the b_t are those that fit it
// best, with the derivative in Kaufman's form ("A Variable Projection Method for Solving
// Separable Nonlinear Least Squares Problems", 1975). For every task
//
//	J_t V = (I - A_t A_t^+) X_t V b_t,   A_t = X_t U,
//	H V   = sum_t J_t'(J_t V) = sum_t X_t' (I - A_t A_t^+) X_t V b_t b_t',
//
// a step with the responses -X_t V b_t, whose residuals times the b_t of the step before are
// added up. It costs as much as a step with one column more. With a ridge A_t^+ is
// (A_t' A_t + ridge I)^-1 A_t'.
//
// Products serves one goroutine at a time, as its executor does.
type Products struct {
	e       *Executor
	partial [][]*Basis // of every group, of its chunks but the first
	work    []productWork

	out, u, v []*Basis // arguments of the running product
	ridge     float64

	multiply, reduce func(worker int)
}

// A productWork is the scratch memory of a worker besides its workspace.
type productWork struct {
	q []float64 // -V b_t
	w []float64 // X_t q
	c []float64 // A_t^+ w
}

// NewProducts returns what multiplies directions for the groups of an executor.
func NewProducts(e *Executor) *Products {
	p := &Products{e: e}
	for _, g := range e.groups {
		var partial []*Basis
		for range len(g.chunks) - 1 {
			partial = append(partial, NewBasis(g.Grad.d, g.r))
		}
		p.partial = append(p.partial, partial)
	}
	for _, ws := range e.ws {
		p.work = append(p.work, productWork{q: alignedFloat64(ws.ldv), w: alignedFloat64(ws.lda), c: make([]float64, ws.r)})
	}
	p.multiply, p.reduce = p.multiplyJobs, p.reduceGroups
	return p
}

// Multiply sets out[i], d x r, to H v[i] for every group i, at the basis u[i] of its last Step
// with the same ridge, whose b_t it reads. It reads the samples themselves also where Reduce has
// made a copy, and leaves B, Status, Grad and Objective of the groups as they are. out must not
// be u or v. Results do not depend on the number of workers. It does not allocate.
func (p *Products) Multiply(out, u, v []*Basis, ridge float64) {
	if len(out) != len(p.e.groups) || len(u) != len(out) || len(v) != len(out) {
		panic(badGroup)
	}
	for i, g := range p.e.groups {
		g.check(u[i], ridge, p.e.ws[0])
		if v[i].d != u[i].d || v[i].r != u[i].r || out[i].d != u[i].d || out[i].r != u[i].r {
			panic(badGroup)
		}
		if out[i] == u[i] || out[i] == v[i] {
			panic(aliased)
		}
	}
	p.out, p.u, p.v, p.ridge = out, u, v, ridge
	p.e.pool.Run(p.multiply)
	p.e.pool.Run(p.reduce)
	p.out, p.u, p.v = nil, nil, nil
	for _, g := range p.e.groups {
		g.Elapsed = 0
		for i := range g.chunks {
			g.Elapsed += g.chunks[i].elapsed
		}
	}
}

func (p *Products) multiplyJobs(w int) {
	e, ws := p.e, p.e.ws[w]
	ws.begin()
	for i := e.first[w]; i < e.first[w+1]; i++ {
		ws.schedule = e.tuning.schedule(i)
		p.multiplyChunk(e.jobs[i].group, e.jobs[i].chunk, ws, &p.work[w])
	}
}

// multiplyChunk sets the partial sum of a chunk.
func (p *Products) multiplyChunk(group, chunkOf int, ws *Workspace, k *productWork) {
	start, g, u, v := time.Now(), p.e.groups[group], p.u[group], p.v[group]
	c := &g.chunks[chunkOf]
	part := chunk{grad: p.out[group]}
	if chunkOf > 0 {
		part.grad = p.partial[group][chunkOf-1]
	}
	clear(part.grad.data)
	ws.load(u)
	sum := batchSum{group: g, chunk: &part, ws: ws, d: u.d, first: c.lo}
	q := k.q[:u.stride]
	var x samples
	for t := c.lo; t < c.hi; t++ {
		n, b := g.grad.rows[t], g.B[t*g.r:][:g.r]
		x.take(g.grad, t, g.r, ws.schedule)
		x.mulBasis(ws, u)
		clear(q)
		for j, bj := range b {
			blas.Axpy(-bj, v.data[j*v.stride:][:v.stride], q)
		}
		x.mulVec(k.w, q)
		ws.lsq.Next = x.solveNext
		a := ws.products(n, g.r)
		lsq.Solve(k.c, a, k.w[:n], p.ridge, ws.lsq)
		x.mulTransposed(sum.next(), ws.lsq.Residual)
		sum.done(t, c.hi)
	}
	c.elapsed = time.Since(start)
}

// mulVec computes w = X q; q is padded with zeros.
func (s *samples) mulVec(w, q []float64) {
	if s.storage == Float32 {
		tile.MulBasis(w, max(s.n, 1), s.x32, s.stride, q, len(q), s.n, s.d, 1, tile.Hint{})
	} else {
		tile.MulBasis(w, max(s.n, 1), s.x64, s.stride, q, len(q), s.n, s.d, 1, tile.Hint{})
	}
}

// reduceGroups adds the partial sums of the groups of a worker in the order of the chunks.
func (p *Products) reduceGroups(w int) {
	for i := w; i < len(p.out); i += p.e.pool.Workers() {
		sum := p.out[i].data
		for _, part := range p.partial[i] {
			for k, v := range part.data {
				sum[k] += v
			}
		}
	}
}
