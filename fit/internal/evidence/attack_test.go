package evidence

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// attacked are rows of three tasks of other nodes after a climb, and their statistics.
func attacked(t *testing.T) (*Rows, []*statistics) {
	t.Helper()
	const width, rows = 3, 10
	rng := rand.New(rand.NewPCG(5, 5))
	tasks, list := make([][]mixedmodel.Task, 3), []*statistics(nil)
	for task := range 5 {
		c := mixedmodel.NewCompressor(width)
		s := &statistics{a: mat.NewDense(width, width, nil), b: mat.NewVecDense(width, nil)}
		theta := []float64{1 + rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		for range rows {
			z := []float64{rng.NormFloat64(), rng.NormFloat64(), 1}
			y := floats.Dot(z, theta) + rng.NormFloat64()
			v := mat.NewVecDense(width, z)
			s.a.RankOne(s.a, 1, v, v)
			s.b.AddScaledVec(s.b, y, v)
			s.yy += y * y
			copy(c.Next(), append(append([]float64(nil), z...), y))
		}
		tasks[task%3] = append(tasks[task%3], c.Task())
		if task%3 > 0 {
			list = append(list, s)
		}
	}
	like, _, _ := testRows(t)
	r, err := NewRows(t.Context(), like.group, tasks, width, 5*rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	p := &mixedmodel.Prior{W: width, Rank: 1, Loadings: []float64{0.5, 0.3, 0.1}, Intercept: 0.1, Spread: 0.01, MeanVariance: 0.1}
	for range 3 { // more and more different points, as climbs of 43 evaluations have
		if _, _, err := r.Maximize(t.Context(), &Point{Prior: p}, []float64{1}, Unknown(), 1e-6, 7); err != nil {
			t.Fatal(err)
		}
		p = p.Clone()
		p.Loadings[0], p.Loadings[1], p.Intercept, p.Spread = p.Loadings[1]+1, p.Loadings[0]-0.7, p.Intercept*7, p.Spread*4
	}
	return r, list
}

// told returns the totals at points, over their dither, and their Jacobian by the statistics in units of their size.
func told(points []saying, tasks []*statistics, size []float64, noise [][]float64) ([]float64, *mat.Dense) {
	var totals []float64
	var all *mat.Dense
	for k, s := range points {
		one := make([]float64, len(noise[k]))
		sum := make([]float64, len(one))
		for _, task := range tasks {
			s.sums(task, one)
			floats.Add(sum, one)
		}
		floats.Div(sum, noise[k])
		totals = append(totals, sum...)
		j := s.jacobian(tasks, size, 1)
		own := make([]float64, len(one))
		spreads(tasks, s.sums, own)
		j.Apply(func(i, _ int, v float64) float64 { return v * own[i] / noise[k][i] }, j)
		if all == nil {
			all = j
		} else {
			next := new(mat.Dense)
			next.Stack(all, j)
			all = next
		}
	}
	return totals, all
}

// Gauss-Newton by all totals of climbs finds the statistics of all tasks from 20 % off, if totals are those of many evaluations to their last
// digit; with the dither, and as many evaluations as a fit has, it does from none of 20 starts.
func TestGaussNewtonFindsTasks(t *testing.T) {
	r, tasks := attacked(t)
	size := make([]float64, Statistics(r.Width))
	spreads(tasks, func(s *statistics, out []float64) { s.pack(out) }, size)
	r.group = &nodes.Group{Net: r.group.Net, Secrets: make([]nodes.Secret, 3)}
	starts := 4
	if longtest.Enabled() {
		starts = 20
	}
	for _, c := range []struct {
		points      int
		dither      float64
		least, most int
	}{{len(*r.sayings), 1e-12, starts * 3 / 4, starts}, {20, r.group.DitherOfOthers(), 0, 0}} {
		points := (*r.sayings)[:min(c.points, len(*r.sayings))]
		found, rng := 0, rand.New(rand.NewPCG(1, 2))
		for range starts {
			if attack(points, tasks, size, c.dither, rng) < 0.1 {
				found++
			}
		}
		if found < c.least || found > c.most {
			t.Errorf("%d points, dither %v: found from %d of %d starts, want %d to %d", len(points), c.dither, found, starts, c.least, c.most)
		}
	}
}

// attack returns the largest error of a task's Z'Z, over its size, that a Gauss-Newton method from a start 20 % off comes to.
func attack(points []saying, tasks []*statistics, size []float64, dither float64, rng *rand.Rand) float64 {
	w := tasks[0].b.Len()
	noise := make([][]float64, len(points))
	for k, s := range points {
		noise[k] = make([]float64, w*(w+1)+w+2)
		spreads(tasks, s.sums, noise[k])
		floats.Scale(dither, noise[k])
	}
	want, _ := told(points, tasks, size, noise)
	for k := range want {
		want[k] += rng.NormFloat64()
	}
	at := make([][]float64, len(tasks))
	truth := make([][]float64, len(tasks))
	for t, task := range tasks {
		truth[t] = make([]float64, len(size))
		task.pack(truth[t])
		for _, v := range truth[t] {
			at[t] = append(at[t], v*(1+0.2*(2*rng.Float64()-1)))
		}
	}
	damping, last := 1.0, math.Inf(1)
	best := at
	for range 15 {
		now := make([]*statistics, len(at))
		for t := range at {
			now[t] = unpacked(at[t], w)
		}
		got, j := told(points, now, size, noise)
		floats.Sub(got, want)
		if value := floats.Norm(got, 2); value < last {
			last, best, damping = value, at, damping/5
		} else {
			at, damping = best, damping*20
			for t := range at {
				now[t] = unpacked(at[t], w)
			}
			got, j = told(points, now, size, noise)
			floats.Sub(got, want)
		}
		_, n := j.Dims()
		h, g := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
		h.SymOuterK(1, j.T())
		for k := range n {
			h.SetSym(k, k, h.At(k, k)*(1+damping)+1e-12)
		}
		g.MulVec(j.T(), mat.NewVecDense(len(got), got))
		var chol mat.Cholesky
		step := mat.NewVecDense(n, nil)
		if !chol.Factorize(h) || chol.SolveVecTo(step, g) != nil {
			damping *= 20
			continue
		}
		next := make([][]float64, len(at))
		for t := range at {
			next[t] = append([]float64(nil), at[t]...)
			for k := range size {
				next[t][k] -= step.AtVec(t*len(size)+k) * size[k]
			}
		}
		at = next
	}
	worst := 0.0
	for t := range best {
		for k := range w * (w + 1) / 2 {
			worst = math.Max(worst, math.Abs(best[t][k]-truth[t][k])/size[k])
		}
	}
	return worst
}

// The number of positive eigenvalues is that of positive pivots.
func TestPositive(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const n = 30
	j := mat.NewDense(11, n, nil)
	j.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, j)
	a := mat.NewSymDense(n, nil)
	a.SymOuterK(1, j.T())
	for k := range n {
		a.SetSym(k, k, a.At(k, k)-0.01)
	}
	var sym blas64.Symmetric = a.RawSymmetric()
	if got := positive(sym); got != 11 {
		t.Errorf("%d positive eigenvalues, want 11", got)
	}
}
