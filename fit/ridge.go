package fit

import (
	"context"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// decades returns 10^lo, 10^(lo+1/2), ..., 10^hi times unit, to three digits: more
// would promise a precision that a grid does not have.
func decades(lo, hi int, unit float64) []float64 {
	var grid []float64
	for k := 2 * lo; k <= 2*hi; k++ {
		v, _ := strconv.ParseFloat(strconv.FormatFloat(unit*math.Pow(10, float64(k)/2), 'g', 3, 64), 64)
		grid = append(grid, v)
	}
	return grid
}

// gram is what ridge regression needs of a set of rows: Z'Z, Z'y and y'y. Grams of
// disjoint sets add up.
type gram struct {
	zz   *mat.SymDense
	zy   []float64
	yy   float64
	n    int
	buf  *mat.Dense // rows not yet in zz
	fill int
}

func newGram(width int) *gram {
	return &gram{zz: mat.NewSymDense(width, nil), zy: make([]float64, width), buf: mat.NewDense(256, width, nil)}
}

func (g *gram) add(z []float64, y float64) {
	g.buf.SetRow(g.fill, z)
	for j, v := range z {
		g.zy[j] += v * y
	}
	g.yy += y * y
	g.n++
	if g.fill++; g.fill == g.buf.RawMatrix().Rows {
		g.flush()
	}
}

// flush adds the buffered rows to zz.
func (g *gram) flush() {
	if g.fill == 0 {
		return
	}
	rows := g.buf.RawMatrix()
	rows.Rows = g.fill
	blas64.Syrk(blas.Trans, 1, rows, 1, g.zz.RawSymmetric())
	g.fill = 0
}

// minus sets g to a - b.
func (g *gram) minus(a, b *gram) {
	for i := range g.zy {
		g.zy[i] = a.zy[i] - b.zy[i]
		for j := i; j < len(g.zy); j++ {
			g.zz.SetSym(i, j, a.zz.At(i, j)-b.zz.At(i, j))
		}
	}
	g.yy, g.n = a.yy-b.yy, a.n-b.n
}

// solve returns theta = argmin |Z theta - y|^2 + ridge |theta|^2, or nil if rounding
// leaves Z'Z + ridge I without a Cholesky factor.
func (g *gram) solve(ridge float64) []float64 {
	var s ridgeSolver
	return s.solve(g.zz.RawSymmetric(), g.zy, ridge)
}

// A ridgeSolver solves systems with a symmetric matrix and a ridge, in memory that it
// keeps.
type ridgeSolver struct{ chol, x []float64 }

// solve returns x with (a + ridge I) x = b, or nil if rounding leaves that matrix
// without a Cholesky factor to rely on. x is overwritten by the next call.
func (s *ridgeSolver) solve(a blas64.Symmetric, b []float64, ridge float64) []float64 {
	n := a.N
	s.chol = slices.Grow(s.chol[:0], n*n)[:n*n]
	for i := range n {
		copy(s.chol[i*n+i:(i+1)*n], a.Data[i*a.Stride+i:])
		s.chol[i*n+i] += ridge
	}
	r, ok := lapack64.Potrf(blas64.Symmetric{N: n, Stride: n, Data: s.chol, Uplo: blas.Upper})
	if !ok {
		return nil
	}
	least, most := math.Inf(1), 0.0
	for i := range n {
		least, most = min(least, s.chol[i*n+i]), max(most, s.chol[i*n+i])
	}
	if least*least <= 1e-15*most*most {
		return nil
	}
	s.x = append(s.x[:0], b...)
	lapack64.Potrs(r, blas64.General{Rows: n, Cols: 1, Stride: 1, Data: s.x})
	return s.x
}

// squared returns |y - Z theta|^2.
func (g *gram) squared(theta []float64) float64 {
	v := mat.NewVecDense(len(theta), theta)
	return max(g.yy-2*floats.Dot(theta, g.zy)+mat.Inner(v, g.zz, v), 0)
}

// pack and unpack turn the numbers of a gram into one slice and back.
func (g *gram) pack(out []float64) {
	g.flush()
	n := copy(out, g.zy)
	out[n], out[n+1] = g.yy, float64(g.n)
	at := n + 2
	for i := range g.zy {
		for j := i; j < len(g.zy); j++ {
			out[at] = g.zz.At(i, j)
			at++
		}
	}
}

func (g *gram) unpack(in []float64) {
	n := copy(g.zy, in)
	g.yy, g.n = in[n], int(in[n+1])
	at := n + 2
	for i := range g.zy {
		for j := i; j < len(g.zy); j++ {
			g.zz.SetSym(i, j, in[at])
			at++
		}
	}
}

// packed is the length of a packed gram.
func packed(width int) int { return width*(width+1)/2 + width + 2 }

// foldGrams returns the Gram matrices of the rows of every fold, and of all
// training rows: sums over the nodes of their own.
func (d *design) foldGrams(ctx context.Context) (folds []*gram, all *gram, err error) {
	w := d.Width()
	all = newGram(w)
	row := make([]float64, w)
	for f := range d.folds {
		z := d.zeros(packed(w))
		for g := range z {
			own := newGram(w)
			d.eachTraining(d.layout[g], func(i int) {
				if d.fold[i] == f {
					own.add(row, d.row(row, i))
				}
			})
			own.pack(z[g])
		}
		sum, err := d.sum(ctx, z)
		if err != nil {
			return nil, nil, err
		}
		g := newGram(w)
		g.unpack(sum)
		folds = append(folds, g)
		all.zz.AddSym(all.zz, g.zz)
		all.yy += g.yy
		all.n += g.n
		for j, v := range g.zy {
			all.zy[j] += v
		}
	}
	return folds, all, nil
}

// pooled is one ridge regression for all tasks, of any strength.
type pooled struct {
	all   *gram
	rest  []*gram // of the training rows outside of each fold
	ridge float64 // chosen by cross-validation
	tried []Tried
}

// fitPooled chooses the strength from the grid.
func (d *design) fitPooled(ctx context.Context, grid []float64) (*pooled, error) {
	p := &pooled{}
	folds, all, err := d.foldGrams(ctx)
	if err != nil {
		return nil, err
	}
	p.all = all
	for _, g := range folds {
		rest := newGram(len(all.zy))
		rest.minus(all, g)
		p.rest = append(p.rest, rest)
	}
	for _, ridge := range grid {
		sum := 0.0
		for k, g := range folds {
			if theta := p.rest[k].solve(ridge); theta != nil {
				sum += g.squared(theta)
			} else {
				sum = math.Inf(1)
			}
		}
		p.tried = append(p.tried, Tried{ridge, math.Sqrt(sum / float64(all.n))})
	}
	p.ridge = best(p.tried)
	return p, nil
}

// theta returns the coefficients of a strength, of the training rows outside of a
// fold; -1 is no fold. The strength must be one whose error is finite.
func (p *pooled) theta(fold int, ridge float64) []float64 {
	g := p.all
	if fold >= 0 {
		g = p.rest[fold]
	}
	return g.solve(ridge)
}
