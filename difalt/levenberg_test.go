package difalt_test

import (
	"math"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// A centralised problem has the tasks of all nodes as dense matrices.
type centralised struct {
	x     []*mat.Dense
	y     []*mat.VecDense
	d     int
	yy    float64 // sum of y^2
	ridge float64
}

func newCentralised(p *difalt.Problem, ridge float64) *centralised {
	c := &centralised{d: p.Nodes[0].Features(), ridge: ridge}
	for _, k := range p.Nodes {
		for t := range k.Len() {
			n := k.Samples(t)
			if n == 0 {
				continue
			}
			x := mat.NewDense(n, c.d, nil)
			for i := range n {
				k.Row(x.RawRowView(i), t, i)
			}
			y := mat.NewVecDense(n, append([]float64(nil), k.Y(t)...))
			c.x, c.y, c.yy = append(c.x, x), append(c.y, y), c.yy+mat.Dot(y, y)
		}
	}
	return c
}

// fit returns the minimum norm coefficients of task t for u, the columns of X u that span its range, and the
// residual X u b - y. With a ridge, rows sqrt(ridge) I are below X u, and the range is that of the whole.
func (c *centralised) fit(u *mat.Dense, t int) (b *mat.Dense, span *mat.Dense, e *mat.VecDense) {
	n := c.y[t].Len()
	_, r := u.Dims()
	rows := n
	if c.ridge > 0 {
		rows += r
	}
	a, y := mat.NewDense(rows, r, nil), mat.NewVecDense(rows, nil)
	a.Slice(0, n, 0, r).(*mat.Dense).Mul(c.x[t], u)
	for i := range n {
		y.SetVec(i, c.y[t].AtVec(i))
	}
	for j := n; j < rows; j++ {
		a.Set(j, j-n, math.Sqrt(c.ridge))
	}
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDThin) {
		panic("no singular values")
	}
	rank := svd.Rank(1e-13)
	b, e = new(mat.Dense), new(mat.VecDense)
	if rank == 0 {
		return mat.NewDense(r, 1, nil), nil, y
	}
	svd.SolveTo(b, y, rank)
	e.MulVec(a, b.ColView(0))
	e.SubVec(e, y)
	var left mat.Dense
	svd.UTo(&left)
	return b, mat.DenseCopyOf(left.Slice(0, rows, 0, rank)), e
}

// objective returns the sum of squared residuals, ridge included, with all coefficients fitted to u.
func (c *centralised) objective(u *mat.Dense) (f float64) {
	for t := range c.x {
		_, _, e := c.fit(u, t)
		f += mat.Dot(e, e)
	}
	return f
}

// model returns the objective, its half gradient and the Gauss-Newton matrix of the d r entries of u, column
// after column: sum_t (b b') x X'(I - Q Q')X.
func (c *centralised) model(u *mat.Dense) (f float64, gradient *mat.VecDense, h *mat.SymDense) {
	d, r := u.Dims()
	gradient, h = mat.NewVecDense(d*r, nil), mat.NewSymDense(d*r, nil)
	raw := h.RawSymmetric()
	for t, x := range c.x {
		n := c.y[t].Len()
		b, span, e := c.fit(u, t)
		f += mat.Dot(e, e)
		var xe mat.VecDense
		xe.MulVec(x.T(), e.SliceVec(0, n))
		m := mat.NewSymDense(d, nil)
		m.SymOuterK(1, x.T())
		if span != nil {
			var qx mat.Dense
			_, k := span.Dims()
			qx.Mul(span.Slice(0, n, 0, k).T(), x)
			m.SymRankK(m, -1, qx.T())
		}
		for j := range r {
			bj := b.At(j, 0)
			for i := range d {
				gradient.SetVec(j*d+i, gradient.AtVec(j*d+i)+xe.AtVec(i)*bj)
			}
			for l := j; l < r; l++ {
				s := bj * b.At(l, 0)
				for i := range d {
					row := raw.Data[(j*d+i)*raw.Stride+l*d:][:d]
					from := 0
					if l == j {
						from = i
					}
					for k := from; k < d; k++ {
						row[k] += s * m.At(i, k)
					}
				}
			}
		}
	}
	return f, gradient, h
}

// levenberg minimises the objective from u by the method of Levenberg and Marquardt on u alone (variable
// projection), dense and centralised, until it is below enough or stops falling.
func (c *centralised) levenberg(u *kernel.Basis, steps int, enough float64) (float64, *mat.Dense) {
	best, _ := factorQ(mat.DenseCopyOf(u))
	d, r := best.Dims()
	lambda := 1e-3
	f, g, h := c.model(best)
	for step, idle := 0, 0; step < steps && f > enough && idle < 5; step++ {
		size := 0.0
		for i := range d * r {
			size += h.At(i, i) / float64(d*r)
		}
		damped := mat.NewSymDense(d*r, nil)
		damped.CopySym(h)
		for i := range d * r {
			damped.SetSym(i, i, h.At(i, i)+lambda*size)
		}
		var chol mat.Cholesky
		var move mat.VecDense
		if !chol.Factorize(damped) {
			lambda = max(10*lambda, 1e-12)
			continue
		}
		if err := chol.SolveVecTo(&move, g); err != nil {
			if _, bad := err.(mat.Condition); !bad {
				panic(err)
			}
		}
		next := mat.DenseCopyOf(best)
		for j := range r {
			for i := range d {
				next.Set(i, j, next.At(i, j)-move.AtVec(j*d+i))
			}
		}
		next, _ = factorQ(next)
		value := c.objective(next)
		if !(value < f) {
			if lambda > 1e12 {
				break
			}
			lambda *= 5
			continue
		}
		if value > f*(1-1e-9) {
			idle++
		} else {
			idle = 0
		}
		lambda, best = max(lambda/4, 1e-14), next
		f, g, h = c.model(best)
	}
	return f, best
}
