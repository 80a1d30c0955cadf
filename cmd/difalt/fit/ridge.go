package fit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
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

// A gram is what ridge regression needs of a set of rows z and targets y: the sum of weight v v' for v = (z, y), of which the constant is the last of z. Those of
// disjoint sets add up.
type gram struct{ blas64.SymmetricPacked }

func newGram(width int) gram {
	return gram{blas64.SymmetricPacked{N: width + 1, Data: make([]float64, packed(width)), Uplo: blas.Upper}}
}

// packed is the length of a gram.
func packed(width int) int { return (width + 1) * (width + 2) / 2 }

// at is an entry, of i up to j.
func (g gram) at(i, j int) float64 { return g.Data[i*g.N-i*(i-1)/2+j-i] }

// weights is the sum of the weights of the rows.
func (g gram) weights() float64 { return g.at(g.N-2, g.N-2) }

// solve returns theta = argmin |Z theta - y|^2 + ridge |theta|^2 but for its last entry, the
// constant, which is free; or nil if rounding leaves it without a Cholesky factor.
func (g gram) solve(ridge float64) []float64 {
	y, c := g.N-1, g.N-2
	n := g.weights()
	if n == 0 {
		return make([]float64, y)
	}
	centred, right := mat.NewSymDense(max(c, 1), nil), make([]float64, c) // about the means
	for i := range c {
		mean := g.at(i, c) / n
		right[i] = g.at(i, y) - mean*g.at(c, y)
		for j := i; j < c; j++ {
			centred.SetSym(i, j, g.at(i, j)-mean*g.at(j, c))
		}
	}
	x := new(ridgeSolver).solve(centred.RawSymmetric(), right, ridge)
	if x == nil {
		return nil
	}
	theta := append(slices.Clone(x), g.at(c, y)/n)
	for i, v := range x {
		theta[c] -= v * g.at(i, c) / n
	}
	return theta
}

// squared returns |y - Z theta|^2.
func (g gram) squared(theta []float64) float64 {
	v := mixedmodel.Vector(append(slices.Clone(theta), -1))
	image := mixedmodel.Vector(make([]float64, v.N))
	blas64.Spmv(1, g.SymmetricPacked, v, 0, image)
	return max(blas64.Dot(v, image), 0)
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

// foldGrams returns those of the rows of every fold, and of all training rows.
func (d *design) foldGrams(ctx context.Context) (folds []gram, all gram, err error) {
	w := d.width()
	all = newGram(w)
	row := make([]float64, w+1)
	for fold := range d.folds {
		g := newGram(w)
		if g.Data, err = d.sumTraining(ctx, len(g.Data), func(i int, out []float64) {
			if d.fold[i] == fold {
				row[w] = d.row(row[:w], i)
				blas64.Spr(d.weightOf(i), mixedmodel.Vector(row), blas64.SymmetricPacked{N: w + 1, Data: out, Uplo: blas.Upper})
			}
		}); err != nil {
			return nil, all, err
		}
		folds = append(folds, g)
		floats.Add(all.Data, g.Data)
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
		if g.weights() > 0 {
			filled++
		}
	}
	if column := d.t.GroupColumn(); filled == 1 && column != "" {
		return nil, 0, nil, fmt.Errorf("column %q has too few values for %d folds: all training rows are in one", column, d.folds)
	}
	w := d.width()
	for j := range w - 1 {
		unit += all.at(j, j) / (all.weights() * float64(w-1))
	}
	if unit == 0 {
		unit = 1
	}
	grid := decades(-2, 6, unit)
	sums := make([]float64, len(grid))
	rest := newGram(w)
	for _, g := range folds {
		floats.SubTo(rest.Data, all.Data, g.Data)
		for k, ridge := range grid {
			if theta := rest.solve(ridge); theta != nil {
				sums[k] += g.squared(theta)
			} else {
				sums[k] = math.Inf(1)
			}
		}
	}
	m = &method{Score: Score{Method: Pooled}, of: d}
	m.Ridge, m.Tried = bestRidge(grid, sums, all.weights(), d.TargetScale)
	m.theta = thetas{w, all.solve(m.Ridge)}
	return m, unit, all.dependent(), nil
}

// dependent returns the features that are combinations of those before them, to rounding, by
// pivots of the Cholesky factorisation of their correlations.
func (g gram) dependent() (list []int) {
	k := g.N - 2
	a := mat.NewSymDense(max(k, 1), nil)
	for i := range k {
		for j := i; j < k; j++ {
			if s := math.Sqrt(g.at(i, i) * g.at(j, j)); s > 0 {
				a.SetSym(i, j, g.at(i, j)/s)
			}
		}
	}
	for j := range k {
		pivot := a.At(j, j)
		if pivot <= 1e-12 {
			if g.at(j, j) > 0 {
				list = append(list, j)
			}
			continue
		}
		for i := j + 1; i < k; i++ {
			l := a.At(j, i) / pivot
			for m := i; m < k; m++ {
				a.SetSym(i, m, a.At(i, m)-l*a.At(j, m))
			}
		}
	}
	return list
}
