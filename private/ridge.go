package private

import (
	"math"

	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A regression is the ridge regression of one task on Z, n x k, for every ridge: the eigendecomposition
// Z'Z = V diag(values) V', V'Z'y, and y'y.
type regression struct {
	values, products []float64
	vectors          mat.Dense
	squares, rows    float64
}

// newRegression returns the regression of task t on the columns of X W, where a nil W is I. It is nil if
// Z'y = 0 or the eigenvalues do not exist.
func newRegression(k *kernel.Tasks, t int, w *kernel.Basis) *regression {
	width := k.Features()
	row := make([]float64, width)
	z := row
	if w != nil {
		_, width = w.Dims()
		z = make([]float64, width)
	}
	gram, rhs := mat.NewSymDense(width, nil), make([]float64, width)
	r := &regression{rows: float64(k.Samples(t))}
	for i, y := range k.Y(t) {
		k.Row(row, t, i)
		for j := 0; w != nil && j < width; j++ {
			z[j] = rounded.Dot(row, w.Col(j)[:len(row)])
		}
		gram.SymRankOne(gram, 1, mat.NewVecDense(width, z))
		rounded.AddScaled(rhs, y, z)
		r.squares += float64(y * y)
	}
	var e mat.EigenSym
	if rounded.Norm(rhs) == 0 || !e.Factorize(gram, true) {
		return nil
	}
	e.VectorsTo(&r.vectors)
	r.values, r.products = e.Values(nil), make([]float64, width)
	mat.NewVecDense(width, r.products).MulVec(r.vectors.T(), mat.NewVecDense(width, rhs))
	for j, v := range r.values {
		r.values[j] = max(v, 0)
	}
	return r
}

// solve returns the coefficients (Z'Z + ridge I)^-1 Z'y.
func (r *regression) solve(ridge float64) []float64 {
	b, rotated := make([]float64, len(r.values)), make([]float64, len(r.values))
	for j, v := range r.values {
		rotated[j] = r.products[j] / (v + ridge)
	}
	mat.NewVecDense(len(b), b).MulVec(&r.vectors, mat.NewVecDense(len(b), rotated))
	return b
}

// bestRidge returns the ridge with the largest likelihood, from a grid of powers of two around the mean of
// the values. The model has coefficients N(0, noise/ridge I) and one unknown noise in all regressions:
//
//	-2 log likelihood = N log sum_t (y'y - y'Z (Z'Z + ridge I)^-1 Z'y) + sum_t log det(I + Z'Z / ridge).
func bestRidge(list []*regression) float64 {
	const reach = 12 // powers of two on both sides
	mean, number, rows := 0.0, 0.0, 0.0
	for _, r := range list {
		mean += floats.Sum(r.values)
		number += float64(len(r.values))
		rows += r.rows
	}
	mean /= number
	best, least := mean, math.Inf(1)
	for e := -reach; e <= reach; e++ {
		ridge, rest, all, logDet := math.Ldexp(mean, e), 0.0, 0.0, 0.0
		for _, r := range list {
			rest += r.squares
			all += r.squares
			for j, v := range r.values {
				rest -= r.products[j] * r.products[j] / (v + ridge)
				logDet += math.Log1p(v / ridge)
			}
		}
		if value := float64(rows*math.Log(max(rest, 1e-12*all))) + logDet; value < least {
			best, least = ridge, value
		}
	}
	return best
}

// estimate returns the coefficients of task t from its own rows, or nil if X'y = 0.
func estimate(k *kernel.Tasks, t int) []float64 {
	if r := newRegression(k, t, nil); r != nil {
		return r.solve(bestRidge([]*regression{r}))
	}
	return nil
}

// direction returns the coefficients of task t scaled to length 1, or nil if they are 0.
func direction(k *kernel.Tasks, t int) []float64 {
	c := estimate(k, t)
	if length := rounded.Norm(c); length > 0 && !math.IsInf(length, 1) {
		floats.Scale(1/length, c)
		return c
	}
	return nil
}

// without returns tasks with the responses y - X mean.
func without(k *kernel.Tasks, mean []float64) *kernel.Tasks {
	y := make([]float64, 0, k.TotalSamples())
	row := make([]float64, k.Features())
	for t := range k.Len() {
		for i, v := range k.Y(t) {
			y = append(y, v-rounded.Dot(k.Row(row, t, i), mean))
		}
	}
	return k.WithResponses(y)
}

// loadings returns U with columns whose lengths are the spread of the coefficients, from the published
// spectrum: roots of the eigenvalues minus the mean of the remaining ones, which is noise. The first has
// length 1, and none is below 0.1.
func (res *Result) loadings() *kernel.Basis {
	const least = 0.1
	w := res.U.Clone()
	_, r := w.Dims()
	signal := func(j int) float64 { return max(res.Spectrum[j]-res.Spectrum[r], 0) }
	for j := range r {
		length := 1.0
		if first := signal(0); first > 0 {
			length = max(math.Sqrt(signal(j)/first), least)
		}
		floats.Scale(length, w.Col(j))
	}
	return w
}

// fitOwn returns the coefficients in U of the tasks of a node, b_t = D c_t, where U D are the loadings. c_t
// is fitted to the rows of the task, with one ridge from the likelihood of all tasks of the node.
func fitOwn(k *kernel.Tasks, loadings *kernel.Basis) []float64 {
	_, r := loadings.Dims()
	b := make([]float64, k.Len()*r)
	tasks := make([]*regression, k.Len())
	var list []*regression
	for t := range tasks {
		if tasks[t] = newRegression(k, t, loadings); tasks[t] != nil {
			list = append(list, tasks[t])
		}
	}
	if list == nil {
		return b
	}
	ridge := bestRidge(list)
	for t, one := range tasks {
		if one == nil {
			continue
		}
		for j, c := range one.solve(ridge) {
			b[t*r+j] = c * rounded.Norm(loadings.Col(j))
		}
	}
	return b
}
