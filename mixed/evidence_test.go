package mixed

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
)

// A table whose tasks have from 1 to 40 rows, with weights, so that some are kept as rows and some as
// products.
func weightedTable(t *testing.T) *Data {
	t.Helper()
	table := newTable(t, "a", "b")
	x := 0.37
	next := func() float64 { x = math.Mod(x*97.31+0.173, 1); return x }
	for k, n := range []int{1, 3, 40, 25, 5} {
		for range n {
			a, b := next(), next()
			table.Weighting = append(table.Weighting, 0.5+next())
			add(t, table, fmt.Sprint("t", k), math.Sin(4*a)+b*float64(k)/3+0.3*next(), a, b)
		}
	}
	return table
}

// someStats returns stats of the weighted table, with or without noise by task, and variance components of
// rank 2.
func someStats(t *testing.T, curves, ratio bool) (*stats, *varianceComponents) {
	s := statsOf(t, weightedTable(t), curves, 2)
	if ratio {
		s.ratio = []float64{1, 0.5, 2, 1.5, 0.7}
	}
	q := s.start()
	q.rank, q.w, q.sigma = 2, make([]float64, 2*s.linear), []float64{0.5, 0.3, 0.25}
	for i := range q.w {
		q.w[i] = math.Sin(float64(3*i + 1))
	}
	if !curves {
		q.sigma[curveGroup] = 0
	}
	for k := range q.tau {
		q.tau[k] = 0.4 + 0.2*float64(k)
	}
	return s, q
}

// covarianceOf returns the rows of the design, their targets, and the covariance of all targets: N x N, with
// the uncertainty of the mean.
func covarianceOf(s *stats, q *varianceComponents) (x *mat.Dense, y []float64, v *mat.Dense) {
	p, r := s.p, s.rows
	n := len(r.order)
	x, y = mat.NewDense(n, p, nil), make([]float64, n)
	r.weighted(s.design, x.RawMatrix().Data, y)
	shared, prior := mat.NewDiagDense(p, nil), mat.NewDense(p, p, s.prior(q).Covariance())
	for j, d := range s.meanDeviations(q) {
		shared.SetDiag(j, d*d)
	}
	var together, own mat.Dense
	together.Product(x, shared, x.T())
	own.Product(x, prior, x.T())
	v = mat.NewDense(n, n, nil)
	v.Apply(func(i, j int, v float64) float64 {
		k := r.in.Table.Task(int(r.order[i]))
		if k == r.in.Table.Task(int(r.order[j])) {
			v += own.At(i, j)
		}
		if noise := q.noise; i == j {
			if s.ratio != nil {
				noise *= s.ratio[k]
			}
			v += noise
		}
		return v
	}, &together)
	return x, y, v
}

// densely returns the log density of all rows at once and the posterior of the mean, from N x N matrices.
func densely(t *testing.T, s *stats, q *varianceComponents) (evidence float64, mean, c []float64) {
	t.Helper()
	x, y, v := covarianceOf(s, q)
	n, shared := len(y), mat.NewDiagDense(s.p, nil)
	for j, d := range s.meanDeviations(q) {
		shared.SetDiag(j, d*d)
	}
	var gain, cov mat.Dense
	normal, ok := distmv.NewNormal(make([]float64, n), mat.NewSymDense(n, v.RawMatrix().Data), nil)
	if !ok {
		t.Fatal("the covariance is not definite")
	}
	var inverse mat.Dense
	check.Done(inverse.Inverse(v))
	gain.Product(shared, x.T(), &inverse)
	var m mat.VecDense
	m.MulVec(&gain, mat.NewVecDense(n, y))
	cov.Product(&gain, x, shared)
	cov.Sub(shared, &cov)
	return normal.LogProb(y), m.RawVector().Data, cov.RawMatrix().Data
}

func TestMomentsAgainstDenseDensity(t *testing.T) {
	for _, curves := range []bool{false, true} {
		for _, ratio := range []bool{false, true} {
			t.Run(fmt.Sprintf("curves %v, ratios %v", curves, ratio), func(t *testing.T) {
				s, q := someStats(t, curves, ratio)
				m := check.OK(s.meanPosterior(context.Background(), s.tasks, q))
				evidence, mean, c := densely(t, s, q)
				check.FailIf(t, math.Abs(m.evidence-evidence) > 1e-8*math.Abs(evidence),
					"evidence %v, want %v", m.evidence, evidence)
				check.FailIf(t, !floats.EqualApprox(m.mean, mean, 1e-7) || !floats.EqualApprox(m.c, c, 1e-7),
					"mean %v, want %v", m.mean, mean)
			})
		}
	}
}

// The closed forms and the gradient of the loadings are derivatives of the evidence, here by central
// differences, without and with a prior of the strengths.
func TestImproveFollowsDerivatives(t *testing.T) {
	s, q := someStats(t, true, true)
	improveFollows(t, s, q, 0)
	q.common = []float64{0.4, 0.5, 0.1}
	improveFollows(t, s, q, ownPrior)
}

func improveFollows(t *testing.T, s *stats, q *varianceComponents, weight float64) {
	t.Helper()
	ctx := context.Background()
	slope := func(change func(q *varianceComponents, by float64)) float64 {
		const h = 1e-5
		var at [2]float64
		for i, by := range []float64{-h, h} {
			c := *q
			c.sigma, c.w, c.tau = slices.Clone(q.sigma), slices.Clone(q.w), slices.Clone(q.tau)
			change(&c, by)
			m := check.OK(s.meanPosterior(ctx, s.tasks, &c))
			at[i] = m.evidence + c.penalty()
		}
		return (at[1] - at[0]) / (2 * h)
	}
	m, z, err := s.evaluate(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	next := s.improve(s.tasks, q, m, z)
	same := func(name string, got, want float64) {
		t.Helper()
		check.FailIf(t, math.Abs(got-want) > 1e-5*(math.Abs(want)+1e-2), "%s: %v, want %v", name, got, want)
	}
	// EM for a variance v of n normal numbers: v + 2 v^2 / n times the derivative by v.
	em := func(name string, got, from, n float64, at func(q *varianceComponents) *float64) {
		t.Helper()
		v := from * from
		d := slope(func(q *varianceComponents, by float64) { *at(q) = math.Sqrt(v + by) })
		same(name, got*got, v+2*v*v/n*d)
	}
	numbers, means := make([]float64, len(q.sigma)), make([]float64, len(q.tau))
	for j, g := range q.group {
		if numbers[g] += s.tasks.count; j > 0 {
			means[1+s.columns[j].Curve]++
		}
	}
	for g := range q.sigma {
		em(fmt.Sprint("sigma ", g), next.sigma[g], q.sigma[g], numbers[g]+weight,
			func(q *varianceComponents) *float64 { return &q.sigma[g] })
	}
	for k := range q.tau {
		em(fmt.Sprint("tau ", k), next.tau[k], q.tau[k], means[k],
			func(q *varianceComponents) *float64 { return &q.tau[k] })
	}
	d := slope(func(q *varianceComponents, by float64) { q.noise += by })
	same("noise", next.noise, q.noise+2*q.noise*q.noise/s.tasks.rows*d)
	loaded := mat.NewVecDense(s.p, nil)
	for a := range q.rank {
		loaded.MulVec(mat.NewDense(s.p, s.p, m.m), mat.NewVecDense(s.p, m.prior.Loadings[a*s.p:][:s.p]))
		for j := range s.linear {
			got := z.outer[a*s.p+j] + z.sandwich[a*s.p+j] - loaded.AtVec(j)
			same(fmt.Sprint("loading ", a, j), got,
				slope(func(q *varianceComponents, by float64) { q.w[a*s.linear+j] += by }))
		}
	}
}

// An optimiser that counts as converged would gain less than nearlyFlat by 300 plain steps more, its end
// counts as converged after one evaluation, and nothing in the neighbourhood is better; an optimiser of two
// steps, which would gain much, does not count as converged.
func TestConverged(t *testing.T) {
	ctx := context.Background()
	for name, d := range map[string]drawing{
		"directions": {tasks: 40, rows: 16, features: 6, rank: 2, length: 2, noise: 1},
		"curve": {tasks: 30, rows: 24, features: 3, levels: 1, noise: 0.3,
			curve: func(x float64) float64 { return x * x }},
	} {
		t.Run(name, func(t *testing.T) {
			s := statsOf(t, d.table(t, 8), true, 2)
			first := check.OK(s.meanPosterior(ctx, s.tasks, s.start()))
			start := check.OK(s.addDirection(ctx, s.start(), first.mean))
			for most, want := range map[int]bool{2: false, 400: true} {
				end := check.OK(s.optimise(ctx, s.tasks, start, most))
				if again, err := s.optimise(ctx, s.tasks, end.q, 1); err != nil || again.converged != want {
					t.Errorf("%d iterations: converged %v after one more, %v", most, again.converged, err)
				}
				for i := 0; want && i < len(end.q.pack()); i++ {
					for _, by := range []float64{-0.1, 0.1} {
						x := end.q.pack()
						x[i] += by
						m, _, err := s.evaluate(ctx, end.q.unpack(x))
						if err != nil || m.evidence > end.evidence+0.3 {
							t.Errorf("strength %d by %v: evidence %v, at the optimum %v (%v)", i, by, m.evidence,
								end.evidence, err)
						}
					}
				}
				q, last := end.q, end.evidence
				for range 300 {
					m, z, err := s.evaluate(ctx, q)
					if err != nil {
						t.Fatal(err)
					}
					q, last = s.improve(s.tasks, q, m, z), m.evidence
				}
				if gain := last - end.evidence; end.converged != want || gain < nearlyFlat != want {
					t.Errorf("%d iterations: converged %v, and 300 plain steps gain %v", most, end.converged, gain)
				}
			}
		})
	}
}
