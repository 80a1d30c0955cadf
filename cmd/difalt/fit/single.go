package fit

import (
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// A ridgePath fits ridge regressions with a free intercept to few rows, in memory that it
// keeps: there may be a hundred for each of very many tasks.
type ridgePath struct {
	w                                         int // features
	data, y, weights, thetas, zz, rhs, centre []float64
	solver                                    ridgeSolver
}

// read takes those of the rows of a design that use says.
func (p *ridgePath) read(d *design, rows []int, use func(i int) bool) {
	p.w = d.width() - 1
	p.data, p.y, p.weights = p.data[:0], p.y[:0], p.weights[:0]
	for _, i := range rows {
		if use(i) {
			n := len(p.data)
			p.data = slices.Grow(p.data, p.w+1) // and the constant, which is not kept
			p.y, p.weights = append(p.y, d.row(p.data[n:n+p.w+1], i)), append(p.weights, d.weightOf(i))
			p.data = p.data[:n+p.w]
		}
	}
}

// solve returns the ridge regressions on the rows, one for every strength of the grid after the other, the
// intercept last. It solves in as many unknowns as there are features or rows, whichever are
// fewer, and changes the rows. The result is overwritten by the next call.
func (p *ridgePath) solve(grid []float64) []float64 {
	w, n := p.w, len(p.y)
	total, mean := floats.Sum(p.weights), 0.0
	p.centre = slices.Grow(p.centre[:0], w)[:w]
	clear(p.centre)
	p.thetas = slices.Grow(p.thetas[:0], len(grid)*(w+1))[:len(grid)*(w+1)]
	clear(p.thetas)
	for i, v := range p.weights {
		if total > 0 {
			floats.AddScaled(p.centre, v/total, p.data[i*w:][:w])
			mean += v / total * p.y[i]
		}
	}
	for i, v := range p.weights {
		row := p.data[i*w:][:w]
		floats.Sub(row, p.centre)
		floats.Scale(math.Sqrt(v), row)
		p.y[i] = (p.y[i] - mean) * math.Sqrt(v)
	}
	a := mixedmodel.Matrix(p.data, n, w)
	k := min(n, w)
	p.zz = slices.Grow(p.zz[:0], k*k)[:k*k]
	zz := blas64.Symmetric{N: k, Stride: max(k, 1), Data: p.zz, Uplo: blas.Upper}
	right := p.y
	if k > 0 && n < w {
		blas64.Syrk(blas.NoTrans, 1, a, 0, zz)
	} else if k > 0 {
		blas64.Syrk(blas.Trans, 1, a, 0, zz)
		p.rhs = slices.Grow(p.rhs[:0], w)[:w]
		blas64.Gemv(blas.Trans, 1, a, mixedmodel.Vector(p.y), 0, mixedmodel.Vector(p.rhs))
		right = p.rhs
	}
	for g, ridge := range grid {
		var x []float64
		if k > 0 {
			x = p.solver.solve(zz, right, ridge)
		}
		theta := p.thetas[g*(w+1):][:w+1]
		if x != nil { // or there is too little ridge for the rounding errors: the mean alone
			if n < w {
				blas64.Gemv(blas.Trans, 1, a, mixedmodel.Vector(x), 0, mixedmodel.Vector(theta[:w]))
			} else {
				copy(theta, x)
			}
		}
		theta[w] = mean - floats.Dot(theta[:w], p.centre)
	}
	return p.thetas
}
