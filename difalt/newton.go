package difalt

import (
	"math"

	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/internal/work"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// newton finds an inexact Gauss-Newton step by conjugate gradients with the preconditioner P^-1: a step with
//
//	|H step + grad| <= forcing |grad|   in the norm |V|^2 = <V, V P^-1>,
//	H D = sum_t X_t'(I - Q_t Q_t')X_t D b_t b_t'.
//
// H is the Gauss-Newton matrix of the objective as a function of U alone, where b_t follows U (variable
// projection; Kaufman, "A Variable Projection Method for Solving Separable Nonlinear Least Squares Problems",
// 1975). The columns of Q_t are an orthonormal basis of the range of X_t U. With a ridge, Q_t has the first
// n_t rows of such a basis for X_t U above sqrt(ridge) I. A product with H is a sum over the nodes.
type newton struct {
	step, residual, direction, preconditioned *kernel.Basis

	inverse       []float64 // P^-1 at the start of the step
	products      int       // done
	square, first float64   // the squared norm of the residual, now and at the start
	scale         float64   // of the step in the search

	parts []*kernel.Basis // of the hosted nodes: their parts of H direction
	jobs  []product
	loop  func(worker int) // does the jobs; stored, so that calls do not allocate
}

const (
	forcing      = 0.4
	mostProducts = 20    // of 400 hard problems 393 arrive, with 12 products 385, with 28 products 388
	shorter      = 4     // a step that leads above the best point is divided by it
	leastScale   = 1e-3  // below it the search ends
	flat         = 1e-12 // relative: a smaller rise is rounding
)

func newNewton(p *point) *newton {
	d, r := p.u[0].Dims()
	n := &newton{
		step: kernel.NewBasis(d, r), residual: kernel.NewBasis(d, r), direction: kernel.NewBasis(d, r),
		preconditioned: kernel.NewBasis(d, r),
	}
	for i, k := range p.tasks {
		n.parts = append(n.parts, kernel.NewBasis(d, r))
		n.jobs = append(n.jobs, newProducts(i, k, r)...)
	}
	return n
}

// begin starts at a point with that gradient and P^-1.
func (n *newton) begin(grad *kernel.Basis, inverse []float64) {
	n.inverse, n.products, n.scale = inverse, 0, 1
	clear(n.step.Data())
	n.residual.CopyFrom(grad)
	floats.Scale(-1, n.residual.Data())
	multiply(n.preconditioned, n.residual, inverse)
	n.direction.CopyFrom(n.preconditioned)
	n.square = tile.Dot(n.residual.Data(), n.preconditioned.Data())
	n.first = n.square
}

// take takes H direction, and reports whether the step is found.
func (n *newton) take(product *kernel.Basis) bool {
	n.products++
	curvature := tile.Dot(n.direction.Data(), product.Data())
	if !(curvature > 0) {
		if n.products == 1 {
			n.step.CopyFrom(n.direction)
		}
		return true
	}
	length := n.square / curvature
	rounded.AddScaled(n.step.Data(), length, n.direction.Data())
	rounded.AddScaled(n.residual.Data(), -length, product.Data())
	multiply(n.preconditioned, n.residual, n.inverse)
	square := tile.Dot(n.residual.Data(), n.preconditioned.Data())
	if square <= forcing*forcing*n.first || n.products == mostProducts {
		return true
	}
	floats.Scale(square/n.square, n.direction.Data())
	floats.Add(n.direction.Data(), n.preconditioned.Data())
	n.square = square
	return false
}

// shorten makes the step shorter, and reports whether it is still worth a trial.
func (n *newton) shorten() bool {
	if n.scale < leastScale {
		return false
	}
	n.scale /= shorter
	return true
}

// multiply sets parts to the nodes' parts of H direction.
func (n *newton) multiply(p *point, pool *kernel.Pool) {
	if n.loop == nil {
		n.loop = work.Loop(pool.Workers(), len(n.jobs), func(k int) {
			j := &n.jobs[k]
			j.run(p.tasks[j.node], p.u[j.node], n.direction, p.at[j.node].b, p.ridge)
		})
	}
	pool.Run(n.loop)
	for _, part := range n.parts {
		clear(part.Data())
	}
	for _, j := range n.jobs {
		floats.Add(n.parts[j.node].Data(), j.sum.Data())
	}
}

// mostJobs is the largest number of jobs that share the tasks of a node. It does not depend on
// the workers, so that sums do not, either.
const mostJobs = 16

// A product is the part of H D for some tasks of a node, with its memory.
type product struct {
	node, from, to int // of hosted node i, tasks from, ..., to-1
	sum            *kernel.Basis
	row, combined  []float64 // of d numbers: a row of X_t, or X_t'e; D b_t
	e              []float64 // X_t D b_t
	a              []float64 // X_t U, and sqrt(ridge) I below it, by columns
	inner          []float64 // Q'e
}

// newProducts returns the jobs of hosted node i with tasks k.
func newProducts(i int, k *kernel.Tasks, r int) (list []product) {
	d, count := k.Features(), min(mostJobs, k.Len())
	for c := range count {
		from, to, rows := c*k.Len()/count, (c+1)*k.Len()/count, 0
		for t := from; t < to; t++ {
			rows = max(rows, k.Samples(t))
		}
		list = append(list, product{
			node: i, from: from, to: to, sum: kernel.NewBasis(d, r),
			row: make([]float64, tile.Pad(d)), combined: make([]float64, d), e: make([]float64, rows),
			a: make([]float64, (rows+r)*r), inner: make([]float64, r),
		})
	}
	return list
}

// run sets sum to the part of H direction at u, for the coefficients b of all tasks of the node.
func (j *product) run(k *kernel.Tasks, u, direction *kernel.Basis, b []float64, ridge float64) {
	d, r := u.Dims()
	clear(j.sum.Data())
	for t := j.from; t < j.to; t++ {
		coefficients, e := b[t*r:][:r], j.e[:k.Samples(t)]
		if len(e) == 0 {
			continue
		}
		clear(j.combined)
		for c, v := range coefficients {
			rounded.AddScaled(j.combined, v, direction.Col(c))
		}
		j.project(k, t, u, ridge)
		k.MulTransposed(j.row, t, e)
		for c, v := range coefficients {
			rounded.AddScaled(j.sum.Col(c), v, j.row[:d])
		}
	}
}

// project sets e to (I - Q Q')X_t combined.
func (j *product) project(k *kernel.Tasks, t int, u *kernel.Basis, ridge float64) {
	d, r := u.Dims()
	n := k.Samples(t)
	rows := n
	if ridge > 0 {
		rows += r
	}
	a, e := j.a[:rows*r], j.e[:n]
	clear(a)
	for i := range n {
		x := k.Row(j.row[:d], t, i)
		e[i] = tile.Dot(x, j.combined)
		for c := range r {
			a[c*rows+i] = tile.Dot(x, u.Col(c))
		}
	}
	if ridge > 0 {
		for c := range r {
			a[c*rows+n+c] = math.Sqrt(ridge)
		}
	}
	orthogonalize(a, rows, r)
	for c := range r {
		j.inner[c] = tile.Dot(a[c*rows:][:n], e)
	}
	for c, v := range j.inner {
		rounded.AddScaled(e, -v, a[c*rows:][:n])
	}
}

// dependent is the part of a column above which it counts as independent of the columns before.
const dependent = 1e-13

// orthogonalize replaces the r columns of a by an orthonormal basis of their range, by Gram-Schmidt, twice. A
// column that depends on the columns before becomes zero.
func orthogonalize(a []float64, rows, r int) {
	for c := range r {
		column := a[c*rows:][:rows]
		size := norm(column)
		for range 2 {
			for before := range c {
				q := a[before*rows:][:rows]
				rounded.AddScaled(column, -tile.Dot(q, column), q)
			}
		}
		length := norm(column)
		if !(length > dependent*size) {
			clear(column)
			continue
		}
		floats.Scale(1/length, column)
	}
}
