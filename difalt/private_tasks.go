package difalt

import (
	"math"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A ridged is a regression on Z, n x k, as all ridges see it: Z'Z = V diag(values) V', V'Z'y, and y'y.
type ridged struct {
	values, products []float64
	vectors          mat.Dense
	squares, rows    float64
}

// newRidged returns the regression of task t on the columns of X W, with X and y divided by their units; W is I if it is nil. False if there is
// nothing to regress.
func newRidged(k *kernel.Tasks, t int, w *kernel.Basis, unit units) (*ridged, bool) {
	d := k.Features()
	row := make([]float64, d)
	width := d
	if w != nil {
		_, width = w.Dims()
	}
	gram, rhs, z := mat.NewSymDense(width, nil), make([]float64, width), make([]float64, width)
	r := &ridged{rows: float64(k.Samples(t))}
	for i, y := range k.Y(t) {
		k.Row(row, t, i)
		for j := range row {
			row[j] /= unit.x
		}
		copy(z, row)
		for j := range z {
			if w != nil {
				z[j] = floats.Dot(row, w.Col(j)[:d])
			}
		}
		y /= unit.y
		gram.SymRankOne(gram, 1, mat.NewVecDense(width, z))
		floats.AddScaled(rhs, y, z)
		r.squares += y * y
	}
	var e mat.EigenSym
	if !e.Factorize(gram, true) {
		return nil, false
	}
	e.VectorsTo(&r.vectors)
	r.values, r.products = e.Values(nil), make([]float64, width)
	mat.NewVecDense(width, r.products).MulVec(r.vectors.T(), mat.NewVecDense(width, rhs))
	for j, v := range r.values {
		r.values[j] = max(v, 0)
	}
	return r, floats.Norm(rhs, 2) > 0
}

// solve returns the coefficients (Z'Z + ridge I)^-1 Z'y.
func (r *ridged) solve(ridge float64) []float64 {
	b, rotated := make([]float64, len(r.values)), make([]float64, len(r.values))
	for j, v := range r.values {
		rotated[j] = r.products[j] / (v + ridge)
	}
	mat.NewVecDense(len(b), b).MulVec(&r.vectors, mat.NewVecDense(len(b), rotated))
	return b
}

// bestRidge returns the ridge of the largest likelihood, of a grid of powers of two about the mean of the values, of regressions with
// coefficients N(0, noise/ridge I) and the same noise, which is not known:
//
//	-2 log likelihood = N log sum_t (y'y - y'Z (Z'Z + ridge I)^-1 Z'y) + sum_t log det(I + Z'Z / ridge).
func bestRidge(list []*ridged) float64 {
	const reach = 12 // powers of two to both sides
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
		if value := rows*math.Log(max(rest, 1e-12*all)) + logDet; value < least {
			best, least = ridge, value
		}
	}
	return best
}

// largest returns the largest magnitudes of features and responses of some tasks, and 1 for those that are all zero.
func largest(k *kernel.Tasks, from, to int) units {
	var u units
	row := make([]float64, k.Features())
	for t := from; t < to; t++ {
		for i, y := range k.Y(t) {
			u.x, u.y = max(u.x, floats.Norm(k.Row(row, t, i), math.Inf(1))), max(u.y, math.Abs(y))
		}
	}
	if u.x == 0 {
		u.x = 1
	}
	if u.y == 0 {
		u.y = 1
	}
	return u
}

// estimate returns the coefficients of task t by its own rows, or nil if these say nothing.
func estimate(k *kernel.Tasks, t int) []float64 {
	unit := largest(k, t, t+1)
	r, ok := newRidged(k, t, nil, unit)
	if !ok {
		return nil
	}
	theta := r.solve(bestRidge([]*ridged{r}))
	for j := range theta {
		theta[j] *= unit.y / unit.x
	}
	return theta
}

// direction returns the direction of these coefficients, or nil if they have none.
func direction(k *kernel.Tasks, t int) []float64 {
	c := estimate(k, t)
	size := 0.0
	for _, x := range c {
		size = max(size, math.Abs(x))
	}
	if !(size > 0) || math.IsInf(size, 1) {
		return nil
	}
	for j := range c { // whose squares may be out of range
		c[j] /= size
	}
	floats.Scale(1/floats.Norm(c, 2), c)
	return c
}

// without returns tasks with the responses y - X mean.
func without(k *kernel.Tasks, mean []float64) *kernel.Tasks {
	y := make([]float64, 0, k.TotalSamples())
	row := make([]float64, k.Features())
	for t := range k.Len() {
		for i, v := range k.Y(t) {
			y = append(y, v-floats.Dot(k.Row(row, t, i), mean))
		}
	}
	return k.WithResponses(y)
}

// Loadings returns U with columns as long as the spread of coefficients in them is, by what was told: the eigenvalues less the mean of the others,
// which is made of errors. The length of the first is 1, and none is below a tenth of it.
func (res *PrivateResult) Loadings() *kernel.Basis {
	const least = 0.1
	w := res.U.Clone()
	d, r := w.Dims()
	signal := func(j int) float64 { return max(res.Spectrum[j]-res.Spectrum[r], 0) }
	for j := range r {
		length := 1.0
		if first := signal(0); first > 0 {
			length = max(math.Sqrt(signal(j)/first), least)
		}
		floats.Scale(length, w.Col(j)[:d])
	}
	return w
}

// fitOwn returns the coefficients in U of the tasks of a node, b_t = D c_t with U D the given loadings, and c_t fitted to the rows of the task with a ridge by the
// likelihood of all tasks of the node.
func fitOwn(k *kernel.Tasks, loadings *kernel.Basis) []float64 {
	d, r := loadings.Dims()
	b := make([]float64, k.Len()*r)
	tasks, unit := make([]*ridged, k.Len()), largest(k, 0, k.Len())
	var list []*ridged
	for t := range tasks {
		if one, ok := newRidged(k, t, loadings, unit); ok {
			tasks[t] = one
			list = append(list, one)
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
			b[t*r+j] = c * unit.y / unit.x * floats.Norm(loadings.Col(j)[:d], 2)
		}
	}
	return b
}
