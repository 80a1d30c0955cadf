package evidence

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/internal/longtest"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// attacked are rows of tasks on three nodes that were told at 43 very different points, dithered, after their moments, and the statistics of
// the tasks of two of the nodes.
func attacked(t *testing.T, count, width, rows int) (*Rows, []*statistics) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	normal := func() []float64 {
		v := make([]float64, width)
		for j := range v {
			v[j] = rng.NormFloat64()
		}
		return v
	}
	tasks, list := make([][]*mixedmodel.Task, 3), []*statistics(nil)
	for task := range count {
		c := mixedmodel.NewCompressor(width)
		s := &statistics{a: mat.NewDense(width, width, nil), b: mat.NewVecDense(width, nil)}
		theta := normal()
		theta[0]++
		for range rows {
			z := normal()
			z[width-1] = 1
			y := floats.Dot(z, theta) + rng.NormFloat64()
			v := mat.NewVecDense(width, z)
			s.a.RankOne(s.a, 1, v, v)
			s.b.AddScaledVec(s.b, y, v)
			s.yy += y * y
			copy(c.Next(), append(slices.Clone(z), y))
		}
		tasks[task%3] = append(tasks[task%3], c.Task())
		if task%3 > 0 {
			list = append(list, s)
		}
	}
	like, _, _ := testRows(t)
	group := &nodes.Group{Net: like.group.Net, Secrets: make([]nodes.Secret, 3)}
	r, err := NewRows(t.Context(), group, tasks, nil, width, count*rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	p := &mixedmodel.Prior{W: width, MeanVariance: 0.1}
	for range 44 {
		if _, err := r.At(t.Context(), p, nil); err != nil {
			t.Fatal(err)
		}
		p = &mixedmodel.Prior{W: width, Rank: 1, Loadings: normal(), MeanVariance: 0.1, Intercept: math.Exp(2*rng.NormFloat64() - 1), Spread: math.Exp(2*rng.NormFloat64() - 2)}
	}
	if len(r.released.releases) != 44 {
		t.Fatalf("told at %d points", len(r.released.releases))
	}
	return r, list
}

// totals returns what is told at points, over its dither.
func totals(points []release, tasks []*statistics, noise [][]float64) (out []float64) {
	for k, s := range points {
		sum, one := make([]float64, len(noise[k])), make([]float64, len(noise[k]))
		for _, task := range tasks {
			s.sums(task, one)
			floats.Add(sum, one)
		}
		floats.Div(sum, noise[k])
		out = append(out, sum...)
	}
	return out
}

// An attack by all totals finds the statistics of all tasks, if totals are those of 43 evaluations to their last digit: from 20 % off those of few
// tasks, and of all 26 of two other owners, as far as nobody else can, from 5 % off. With the dither, and as many evaluations as a
// fit has, it does from no start. So with few tasks, and at length with three owners of 13.
func TestGaussNewtonFindsTasks(t *testing.T) {
	testGaussNewton(t, 5, 3, 10, 3, 0.2, 3, 4)
	if longtest.Enabled() {
		testGaussNewton(t, 5, 3, 10, 3, 0.2, 3, 20)
		testGaussNewton(t, 39, 9, 15, 6, 0.2, 1, 20)
		testGaussNewton(t, 39, 9, 15, 26, 0.05, 3, 20)
	}
}

// testGaussNewton tries tasks of three owners, of which so many are unknown. Without a dither they have to be found from some of four starts.
func testGaussNewton(t *testing.T, tasks, width, rows, unknown int, off float64, least, starts int) {
	r, others := attacked(t, tasks, width, rows)
	others = others[:unknown]
	dithered, exact := r.group, &nodes.Group{Net: r.group.Net}
	for _, c := range []struct {
		points, starts int
		group          *nodes.Group
		least, most    int
	}{{44, 4, exact, least, 4}, {20, starts, dithered, 0, 0}} {
		r.group = c.group
		found, rng := 0, rand.New(rand.NewPCG(1, 2))
		for start := range c.starts {
			left := attack(r, r.released.releases[:c.points], others, off, rng)
			t.Logf("%d of %d tasks, %d points, dithered %v, start %d: %.3g of what it was off", unknown, tasks, c.points, c.group.Dithers(), start, left)
			if left < 0.1 {
				found++
			}
		}
		if found < c.least || found > c.most {
			t.Errorf("%d of %d tasks, %d points, dithered %v: found from %d of %d starts, want %d to %d", unknown, tasks, c.points, c.group.Dithers(), found, c.starts, c.least, c.most)
		}
	}
}

// attack returns the largest error of a task's Z'Z that somebody comes to by the method of Levenberg and Marquardt, over that of the start, which is
// off by a part. Totals that are known to many digits count less at first: they leave narrow valleys, along which steps are short.
func attack(r *Rows, points []release, tasks []*statistics, off float64, rng *rand.Rand) float64 {
	w := tasks[0].b.Len()
	size, noise := r.scales(points, tasks)
	told := totals(points, tasks, noise)
	for k := range told {
		told[k] += rng.NormFloat64()
	}
	p := len(size)
	truth, at := make([]float64, p*len(tasks)), make([]float64, p*len(tasks))
	for t, task := range tasks {
		task.pack(truth[t*p:][:p])
	}
	for k, v := range truth {
		at[k] = v * (1 + off*(2*rng.Float64()-1))
	}
	worst := func() (worst float64) {
		for k := range at {
			if k%p < w*(w+1)/2 {
				worst = max(worst, math.Abs(at[k]-truth[k])/size[k%p])
			}
		}
		return worst
	}
	start := worst()
	blurs := []float64{1e12, 1e9, 1e6, 1e3, 1}
	if !r.Alone() {
		blurs = []float64{10, 1}
	}
	for _, blur := range blurs {
		at = approach(points, at, told, size, noise, w, blur)
	}
	return worst() / start
}

// approach returns where the method comes to from statistics of tasks, if totals have so many times their noise.
func approach(points []release, at, told, size []float64, noise [][]float64, w int, blur float64) []float64 {
	const steps, enough = 40, 0.5
	n := len(at)
	damping, last := 1.0, math.Inf(1)
	best, h, g := at, mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	for range steps {
		now := statisticsOf(at, w)
		off := totals(points, now, noise)
		floats.Sub(off, told)
		floats.Scale(1/blur, off)
		if value := floats.Norm(off, 2); value < last {
			arrived := value > 0.99*last || value < enough
			last, best, damping = value, at, damping/5
			if arrived {
				break
			}
			j := jacobian(points, now, size, noise)
			h.SymOuterK(1, j)
			g.MulVec(j, mat.NewVecDense(len(off), off))
		} else {
			damping *= 5
		}
		damped := mat.NewSymDense(n, nil)
		damped.CopySym(h)
		for k := range n {
			damped.SetSym(k, k, h.At(k, k)*(1+damping)+1e-12*blur*blur)
		}
		var chol mat.Cholesky
		step := mat.NewVecDense(n, nil)
		if !chol.Factorize(damped) || chol.SolveVecTo(step, g) != nil {
			damping *= 20
			continue
		}
		at = slices.Clone(best)
		for k := range at {
			at[k] -= blur * step.AtVec(k) * size[k%len(size)]
		}
	}
	return best
}

// statisticsOf returns the statistics of tasks that are packed one after the other.
func statisticsOf(v []float64, w int) (out []*statistics) {
	for p := Statistics(w); len(v) > 0; v = v[p:] {
		t := &statistics{a: mat.NewDense(w, w, nil), b: mat.NewVecDense(w, v[w*(w+1)/2:][:w]), yy: v[p-1]}
		unpackTriangle(t.a.RawMatrix(), v)
		out = append(out, t)
	}
	return out
}

// Of more statistics than are looked at, as many are found to be determined as by looking at all, but for a sixth.
func TestDeterminedByAPart(t *testing.T) {
	for _, width := range []int{9, 14} {
		r, _ := attacked(t, 39, width, 15)
		r.released.releases = r.released.releases[:8]
		p := Statistics(width)
		if 26*p <= mostStatistics {
			t.Fatalf("%d statistics are all looked at", 26*p)
		}
		others := r.standIns(0, 26, rand.New(rand.NewPCG(1, 1)))
		size, noise := r.scales(r.released.releases, others)
		j := jacobian(r.released.releases, others, size, noise)
		subtractMeans(j, p)
		got, want := r.Determined(0, 26, 3), p+above(j, 10)
		if t.Logf("of %d: %d, all %d", 26*p, got, want); math.Abs(float64(got-want)) > float64(want)/6 {
			t.Errorf("%d statistics of %d are determined, want %d", got, 26*p, want)
		}
	}
}

// The derivatives of sums are those of finite differences.
func TestDerivatives(t *testing.T) {
	r, tasks := attacked(t, 5, 3, 10)
	for n, s := range (r.released.releases)[:5] {
		task, w := tasks[n%len(tasks)], r.Width
		p := Statistics(w)
		v, low, high := make([]float64, p), make([]float64, sumsOf(w)), make([]float64, sumsOf(w))
		task.pack(v)
		j := mat.NewDense(p, sumsOf(w), nil)
		s.differentiate(task, j.RawRowView)
		for k, was := range v {
			const step = 1e-5
			v[k] = was + step
			s.sums(statisticsOf(v, w)[0], high)
			v[k] = was - step
			s.sums(statisticsOf(v, w)[0], low)
			v[k] = was
			floats.Sub(high, low)
			floats.Scale(1/(2*step), high)
			if !floats.EqualApprox(j.RawRowView(k), high, 1e-6) {
				t.Errorf("point %d, statistic %d: derivatives %v, want %v", n, k, j.RawRowView(k), high)
			}
		}
	}
}

// The singular values above a bound are those of a decomposition, of more rows than columns and of fewer.
func TestAbove(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, shape := range [][2]int{{3, 2}, {1, 7}, {48, 48}, {130, 101}, {101, 200}} {
		j := mat.NewDense(shape[0], shape[1], nil)
		j.Apply(func(_, i int, _ float64) float64 { return rng.NormFloat64() * math.Pow(1.1, -float64(i)) }, j)
		var svd mat.SVD
		svd.Factorize(j, mat.SVDNone)
		for _, bound := range []float64{1e-3, 0.1, 1, 5, 100} {
			want := 0
			for _, v := range svd.Values(nil) {
				if v > bound {
					want++
				}
			}
			if got := above(j, bound); got != want {
				t.Errorf("%d x %d: %d singular values above %v, want %d", shape[0], shape[1], got, bound, want)
			}
		}
	}
}
