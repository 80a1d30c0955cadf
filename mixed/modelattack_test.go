package mixed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// sloped returns a table of two numbers, on the grid, with tasks of given rows whose slopes differ.
func sloped(seed uint64, name string, rows ...int) *Data {
	r := rand.New(rand.NewPCG(seed, 43))
	d := &Data{Names: []string{"x0", "x1"}}
	for k, n := range rows {
		effects := []float64{r.NormFloat64(), 1 + r.NormFloat64(), r.NormFloat64()}
		for range n {
			x := []float64{grid(r, 2), grid(r, 2)}
			y := effects[0] + effects[1]*x[0] + effects[2]*x[1] + .5*r.NormFloat64()
			check.Done(d.Append(fmt.Sprint(name, k), math.Round(10*y)/10, x...))
		}
	}
	return d
}

// A asked is what predictions of chosen rows tell about a task: the coefficients of 1 and the features, their
// covariance, and the variance of the noise.
type asked struct {
	effects    *mat.VecDense
	covariance *mat.SymDense
	noise      float64
}

// ask has a model predict rows of a task: the origin, units, and sums of two of them.
func ask(m *Model, task string) asked {
	p := 1 + len(m.Features())
	at := func(i, j int) (value, variance, noise float64) {
		x := make([]float64, p-1)
		for _, k := range []int{i, j} {
			if k > 0 {
				x[k-1]++
			}
		}
		if i > 0 && i == j {
			x[i-1] = 1
		}
		got := check.OK(m.PredictError(task, x))
		return got.Value, square(got.StandardError), square(got.SampleError) - square(got.StandardError)
	}
	a := asked{mat.NewVecDense(p, nil), mat.NewSymDense(p, nil), 0}
	origin, spread, noise := at(0, 0)
	a.noise = noise
	a.effects.SetVec(0, origin)
	a.covariance.SetSym(0, 0, spread)
	ends := make([]float64, p) // variances at units
	for j := 1; j < p; j++ {
		value, v, _ := at(j, j)
		ends[j] = v
		a.effects.SetVec(j, value-origin)
	}
	// With u, v for units i and j, var(u + v) at the origin plus units.
	for i := 1; i < p; i++ {
		x := make([]float64, p-1)
		x[i-1] = -1
		back := square(check.OK(m.PredictError(task, x)).StandardError)
		a.covariance.SetSym(0, i, (ends[i]-back)/4)
		a.covariance.SetSym(i, i, (ends[i]+back)/2-spread)
	}
	for i := 1; i < p; i++ {
		for j := i + 1; j < p; j++ {
			_, both, _ := at(i, j)
			a.covariance.SetSym(i, j, (both-ends[i]-ends[j]+spread)/2)
		}
	}
	return a
}

// rowsFrom returns the rows, with their targets, of a task of one row or two that its predictions tell,
// beside those of a task without rows.
func (a asked) rowsFrom(unseen asked, rows int) (list [][3]float64) {
	p := a.effects.Len()
	var delta mat.VecDense
	delta.SubVec(a.effects, unseen.effects)
	if rows == 1 { // the difference of the effects is a multiple of S x
		var x, sx mat.VecDense
		check.Done(x.SolveVec(unseen.covariance, &delta))
		x.ScaleVec(1/x.AtVec(0), &x)
		sx.MulVec(unseen.covariance, &x)
		residual := delta.AtVec(0) / sx.AtVec(0) * (mat.Dot(&x, &sx) + unseen.noise)
		return [][3]float64{{x.AtVec(1), x.AtVec(2), mat.Dot(&x, unseen.effects) + residual}}
	}
	// The precision grows by X'X/noise. With the sum s of two rows, X'X - s s'/2 is d d'/2 for their
	// difference d.
	var before, after mat.Dense
	check.Done(before.Inverse(unseen.covariance))
	check.Done(after.Inverse(a.covariance))
	g := mat.NewDense(p, p, nil)
	g.Sub(&after, &before)
	g.Scale(2/g.At(0, 0), g) // two rows
	d, sum := make([]float64, p), mat.Col(nil, 0, g)
	most := 1
	for j := 1; j < p; j++ {
		d[j] = 2*g.At(j, j) - square(sum[j])
		if d[j] > d[most] {
			most = j
		}
	}
	size := math.Sqrt(max(d[most], 0))
	for j := 1; j < p; j++ {
		d[j] = (2*g.At(most, j) - sum[most]*sum[j]) / size
	}
	x := mat.NewDense(2, p, nil)
	for i, sign := range []float64{.5, -.5} {
		for j := range p {
			x.Set(i, j, sum[j]/2+sign*d[j])
		}
	}
	// delta = S X'(X S X' + noise)^-1 (y - X mu)
	var sx, v, xy mat.Dense
	sx.Mul(unseen.covariance, x.T())
	v.Mul(x, &sx)
	for i := range 2 {
		v.Set(i, i, v.At(i, i)+unseen.noise)
	}
	check.Done(xy.Solve(&sx, &delta))
	var residual, mean mat.VecDense
	residual.MulVec(&v, xy.ColView(0))
	mean.MulVec(x, unseen.effects)
	for i := range 2 {
		list = append(list, [3]float64{x.At(i, 1), x.At(i, 2), mean.AtVec(i) + residual.AtVec(i)})
	}
	return list
}

// Whoever has predictions of chosen rows with their standard errors, or the model file, reads tasks of fewer
// rows than columns, whatever the rules: these are about totals. The owner of the tasks alone has them at
// first; docs/privacy.md says so.
func TestRowsFromPredictions(t *testing.T) {
	for name, o := range map[string]Options{"default rules": {}, "strict rules": strictly} {
		o.NoCurves, o.CommonNoise = true, true
		sizes := slices.Concat(slices.Repeat([]int{30}, 40), slices.Repeat([]int{1}, 20), slices.Repeat([]int{2}, 20))
		d, other := sloped(1, "v", sizes...), sloped(2, "a", slices.Repeat([]int{30}, 20)...)
		m, _, err := Together(t.Context(), []Input{{Table: d}, {Table: other}}, network("path", 2), o)
		check.Done(err)
		unseen, read, rows := ask(m, "nobody"), map[int]int{}, map[int]int{}
		for k, size := range sizes[40:] {
			list := ask(m, d.TaskNames[40+k]).rowsFrom(unseen, size)
			for i, at := range d.TaskOf {
				if at != 40+k {
					continue
				}
				rows[size]++
				if slices.ContainsFunc(list, func(got [3]float64) bool {
					return floats.Distance(got[:], []float64{d.Values[0][i], d.Values[1][i], d.Targets[i]},
						math.Inf(1)) < .05
				}) {
					read[size]++
				}
			}
		}
		t.Logf("%s: %v of %v rows of tasks by their size are read", name, read, rows)
		check.FailIf(t, read[1] < 18 || read[2] < 32,
			"%s: %v of %v rows by size of task: docs/privacy.md has more", name, read, rows)
	}
}
