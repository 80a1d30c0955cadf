package fit

import (
	"context"
	"fmt"
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
	zz *mat.SymDense
	zy []float64
	yy float64
	// The sum of the weights of the rows.
	weights float64
	buf     *mat.Dense // rows not yet in zz
	fill    int
}

func newGram(width int) *gram {
	return &gram{zz: mat.NewSymDense(width, nil), zy: make([]float64, width)}
}

// clear makes it that of no rows.
func (g *gram) clear() {
	clear(g.zz.RawSymmetric().Data)
	clear(g.zy)
	g.yy, g.weights, g.fill = 0, 0, 0
}

func (g *gram) add(z []float64, y, weight float64) {
	if g.buf == nil {
		g.buf = mat.NewDense(256, len(z), nil)
	}
	row := g.buf.RawRowView(g.fill)
	floats.ScaleTo(row, math.Sqrt(weight), z)
	floats.AddScaled(g.zy, weight*y, z)
	g.yy += weight * y * y
	g.weights += weight
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
	floats.SubTo(g.zy, a.zy, b.zy)
	floats.SubTo(g.zz.RawSymmetric().Data, a.zz.RawSymmetric().Data, b.zz.RawSymmetric().Data)
	g.yy, g.weights = a.yy-b.yy, a.weights-b.weights
}

// solve returns theta = argmin |Z theta - y|^2 + ridge |theta|^2 but for its last entry, the
// constant, which is free; or nil if rounding leaves it without a Cholesky factor.
func (g *gram) solve(ridge float64) []float64 {
	// About the means: those of Z and y are the last row of Z'Z, and entry of Z'y.
	w := len(g.zy)
	n := g.zz.At(w-1, w-1)
	if n == 0 {
		return make([]float64, w)
	}
	centred := mat.NewSymDense(max(w-1, 1), nil)
	right := make([]float64, w-1)
	for i := range w - 1 {
		mean := g.zz.At(i, w-1) / n
		right[i] = g.zy[i] - mean*g.zy[w-1]
		for j := i; j < w-1; j++ {
			centred.SetSym(i, j, g.zz.At(i, j)-mean*g.zz.At(j, w-1))
		}
	}
	var s ridgeSolver
	x := s.solve(centred.RawSymmetric(), right, ridge)
	if x == nil {
		return nil
	}
	theta := append(append([]float64(nil), x...), g.zy[w-1]/n)
	for i, v := range x {
		theta[w-1] -= v * g.zz.At(i, w-1) / n
	}
	return theta
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
	out[n], out[n+1] = g.yy, g.weights
	for at, i := n+2, 0; i < n; i++ {
		at += copy(out[at:], g.row(i))
	}
}

func (g *gram) unpack(in []float64) {
	n := copy(g.zy, in)
	g.yy, g.weights = in[n], in[n+1]
	for at, i := n+2, 0; i < n; i++ {
		at += copy(g.row(i), in[at:])
	}
}

// row is row i of the upper triangle of Z'Z.
func (g *gram) row(i int) []float64 { return g.zz.RawSymmetric().Data[i*len(g.zy):][i:len(g.zy)] }

// packed is the length of a packed gram.
func packed(width int) int { return width*(width+1)/2 + width + 2 }

// foldGrams returns the Gram matrices of the rows of every fold, and of all
// training rows: sums over the nodes of their own.
func (d *design) foldGrams(ctx context.Context) (folds []*gram, all *gram, err error) {
	w := d.width()
	all = newGram(w)
	own := newGram(w) // of the rows of one node in one fold
	row := make([]float64, w)
	for fold := range d.folds {
		z := d.Zeros(packed(w))
		for g, tasks := range d.layout {
			own.clear()
			for at := range tasks {
				if ctx.Err() != nil { // the sums say who leaves
					break
				}
				d.eachTraining(tasks[at:at+1], func(i int) {
					if d.fold[i] == fold {
						y := d.row(row, i)
						own.add(row, y, d.weightOf(i))
					}
				})
			}
			own.pack(z[g])
		}
		sum, err := d.Sum(ctx, z)
		if err != nil {
			return nil, nil, err
		}
		g := newGram(w)
		g.unpack(sum)
		folds = append(folds, g)
		all.zz.AddSym(all.zz, g.zz)
		all.yy += g.yy
		all.weights += g.weights
		floats.Add(all.zy, g.zy)
	}
	return folds, all, nil
}

// fitPooled fits one ridge regression for all tasks, its strength by cross-validation. It returns the mean square of a feature
// too, and the features that are combinations of others.
func (d *design) fitPooled(ctx context.Context) (m *method, unit float64, dependent []int, err error) {
	folds, all, err := d.foldGrams(ctx)
	if err != nil {
		return nil, 0, nil, err
	}
	filled := 0
	for _, g := range folds {
		if g.weights > 0 {
			filled++
		}
	}
	if column := d.t.GroupColumn(); filled == 1 && column != "" {
		return nil, 0, nil, fmt.Errorf("column %q has too few values for %d folds: all training rows are in one", column, d.folds)
	}
	w := d.width()
	for j := range w - 1 {
		unit += all.zz.At(j, j) / (all.weights * float64(w-1))
	}
	if unit == 0 {
		unit = 1
	}
	grid := decades(-2, 6, unit)
	sums := make([]float64, len(grid))
	rest := newGram(w)
	for _, g := range folds {
		rest.minus(all, g)
		for k, ridge := range grid {
			if theta := rest.solve(ridge); theta != nil {
				sums[k] += g.squared(theta)
			} else {
				sums[k] = math.Inf(1)
			}
		}
	}
	m = &method{Score: Score{Method: Pooled}, of: d}
	m.Ridge, m.Tried = bestRidge(grid, sums, all.weights, d.TargetScale)
	m.theta = thetas{w, all.solve(m.Ridge)}
	return m, unit, all.dependent(), nil
}

// dependent returns the features that are combinations of those before them, to rounding, by
// pivots of the Cholesky factorisation of their correlations.
func (g *gram) dependent() (list []int) {
	k := len(g.zy) - 1
	a := mat.NewSymDense(k, nil)
	for i := range k {
		for j := i; j < k; j++ {
			if s := math.Sqrt(g.zz.At(i, i) * g.zz.At(j, j)); s > 0 {
				a.SetSym(i, j, g.zz.At(i, j)/s)
			}
		}
	}
	for j := range k {
		if pivot := a.At(j, j); pivot <= 1e-12 {
			if g.zz.At(j, j) > 0 {
				list = append(list, j)
			}
			continue
		}
		for i := j + 1; i < k; i++ {
			l := a.At(j, i) / a.At(j, j)
			for m := i; m < k; m++ {
				a.SetSym(i, m, a.At(i, m)-l*a.At(j, m))
			}
		}
	}
	return list
}
