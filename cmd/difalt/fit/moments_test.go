package fit

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
)

// A table whose tasks have from 1 to 40 rows, with weights, so that some are kept as rows and some as
// products.
func weightedTable(t *testing.T) *dataset.Table {
	t.Helper()
	var text strings.Builder
	text.WriteString("task,a,b,w,y\n")
	x := 0.37
	next := func() float64 { x = math.Mod(x*97.31+0.173, 1); return x }
	for k, n := range []int{1, 3, 40, 25, 5} {
		for range n {
			a, b := next(), next()
			fmt.Fprintf(&text, "t%d,%.6f,%.6f,%.3f,%.6f\n", k, a, b, 0.5+next(), math.Sin(4*a)+b*float64(k)/3+0.3*next())
		}
	}
	table, err := dataset.ReadCSV(strings.NewReader(text.String()), dataset.TableOptions{Task: "task", Target: "y", Weight: "w"})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func someStrengths(s *stats) *strengths {
	q := s.start()
	q.rank, q.w, q.sigma = 2, make([]float64, 2*s.linear), []float64{0.5, 0.3, 0.25}
	for i := range q.w {
		q.w[i] = math.Sin(float64(3*i + 1))
	}
	if len(s.design.Curves) == 0 {
		q.sigma[curveGroup] = 0
	}
	for k := range q.tau {
		q.tau[k] = 0.4 + 0.2*float64(k)
	}
	return q
}

// dense returns the log density of all rows at once and the posterior of the mean, from N x N matrices.
func dense(t *testing.T, s *stats, q *strengths) (evidence float64, mean, c []float64) {
	t.Helper()
	p, r := s.p, s.rows
	n := len(r.order)
	x, y, row := make([]float64, n*p), make([]float64, n), make([]float64, len(r.stats))
	r.fill(x, y, row, s.design, r.order)
	task, noise := make([]int, n), make([]float64, n)
	for i := range r.order {
		task[i], noise[i] = r.t.Task(int(r.order[i])), q.noise
		if s.ratio != nil {
			noise[i] *= s.ratio[task[i]]
		}
	}
	design := mat.NewDense(n, p, x)
	deviation := mat.NewDense(p, p, s.prior(q).Covariance())
	shared := mat.NewDiagDense(p, nil)
	for j, d := range s.meanDeviations(q) {
		shared.SetDiag(j, d*d)
	}
	var own, all, gain mat.Dense
	own.Product(design, deviation, design.T())
	all.Product(design, shared, design.T())
	v := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			e := all.At(i, j)
			if task[i] == task[j] {
				e += own.At(i, j)
			}
			if i == j {
				e += noise[i]
			}
			v.SetSym(i, j, e)
		}
	}
	normal, ok := distmv.NewNormal(make([]float64, n), v, nil)
	if !ok {
		t.Fatal("the covariance is not definite")
	}
	var inverse mat.Dense
	if err := inverse.Inverse(v); err != nil {
		t.Fatal(err)
	}
	gain.Product(shared, design.T(), &inverse)
	var m mat.VecDense
	m.MulVec(&gain, mat.NewVecDense(n, y))
	var cov mat.Dense
	cov.Product(&gain, design, shared)
	cov.Sub(shared, &cov)
	return normal.LogProb(y), m.RawVector().Data, cov.RawMatrix().Data
}

func TestMomentsAgainstDenseDensity(t *testing.T) {
	table := weightedTable(t)
	for _, curves := range []bool{false, true} {
		for _, ratio := range []bool{false, true} {
			t.Run(fmt.Sprintf("curves %v, ratios %v", curves, ratio), func(t *testing.T) {
				s := statsOf(t, table, curves, 2)
				if ratio {
					s.ratio = []float64{1, 0.5, 2, 1.5, 0.7}
				}
				q := someStrengths(s)
				m, err := s.moments(context.Background(), s.tasks, q)
				if err != nil {
					t.Fatal(err)
				}
				evidence, mean, c := dense(t, s, q)
				if math.Abs(m.evidence-evidence) > 1e-8*math.Abs(evidence) {
					t.Errorf("evidence %v, want %v", m.evidence, evidence)
				}
				if !floats.EqualApprox(m.mean, mean, 1e-7) || !floats.EqualApprox(m.c, c, 1e-7) {
					t.Errorf("mean %v, want %v", m.mean, mean)
				}
			})
		}
	}
}

// The closed forms and the gradient of the loadings are derivatives of the evidence, here by central
// differences.
func TestImproveFollowsDerivatives(t *testing.T) {
	s := statsOf(t, weightedTable(t), true, 1)
	s.ratio = []float64{1, 0.5, 2, 1.5, 0.7}
	q, ctx := someStrengths(s), context.Background()
	at := func(change func(q *strengths)) float64 {
		c := *q
		c.sigma = append([]float64(nil), q.sigma...)
		c.sigma = append([]float64(nil), q.sigma...)
		c.w, c.tau = append([]float64(nil), q.w...), append([]float64(nil), q.tau...)
		change(&c)
		m, err := s.moments(ctx, s.tasks, &c)
		if err != nil {
			t.Fatal(err)
		}
		return m.evidence
	}
	const h = 1e-5
	slope := func(change func(q *strengths, by float64)) float64 {
		return (at(func(q *strengths) { change(q, h) }) - at(func(q *strengths) { change(q, -h) })) / (2 * h)
	}
	m, z, err := s.evaluate(ctx, s.tasks, q, math.Inf(-1))
	if err != nil {
		t.Fatal(err)
	}
	next := s.improve(s.tasks, q, m, z)
	tasks, rows := float64(len(s.tasks)), s.rowsTotal(s.tasks)
	same := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-5*(math.Abs(want)+1e-2) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	// EM for a variance v of n normal numbers: v + 2 v^2 / n times the derivative by v.
	for g := range groups {
		v, n := q.sigma[g]*q.sigma[g], 0.0
		for _, of := range q.group {
			if of == g {
				n += tasks
			}
		}
		d := slope(func(q *strengths, by float64) { q.sigma[g] = math.Sqrt(q.sigma[g]*q.sigma[g] + by) })
		same(fmt.Sprintf("sigma %d", g), next.sigma[g]*next.sigma[g], v+2*v*v/n*d)
	}
	d := slope(func(q *strengths, by float64) { q.noise += by })
	same("noise", next.noise, q.noise+2*q.noise*q.noise/rows*d)
	for k := range q.tau {
		v, n := q.tau[k]*q.tau[k], 0.0
		for j, c := range s.columns {
			if j > 0 && 1+c.Curve == k {
				n++
			}
		}
		d := slope(func(q *strengths, by float64) { q.tau[k] = math.Sqrt(q.tau[k]*q.tau[k] + by) })
		same(fmt.Sprintf("tau %d", k), next.tau[k]*next.tau[k], v+2*v*v/n*d)
	}
	checkGradient(t, s, q, m, z, slope)
}

// checkGradient compares the gradient of the loadings with differences of the evidence.
func checkGradient(t *testing.T, s *stats, q *strengths, m *moments, z *second, slope func(func(q *strengths, by float64)) float64) {
	t.Helper()
	loaded := make([]float64, s.p)
	for a := range q.rank {
		mat.NewVecDense(s.p, loaded).MulVec(mat.NewDense(s.p, s.p, m.m), mat.NewVecDense(s.p, m.prior.Loadings[a*s.p:][:s.p]))
		for j := range s.linear {
			d := slope(func(q *strengths, by float64) { q.w[a*s.linear+j] += by })
			if got := z.outer[a*s.p+j] + z.sandwich[a*s.p+j] - loaded[j]; math.Abs(got-d) > 1e-5*(math.Abs(d)+1e-2) {
				t.Errorf("loading %d, %d: %v, want %v", a, j, got, d)
			}
		}
	}
}

// At the end of a climb nothing in the neighbourhood is better, and evidence never fell.
func TestClimbEndsAtTheTop(t *testing.T) {
	table := drawing{tasks: 30, rows: 12, features: 4, levels: 1, rank: 1, length: 1, noise: 0.5}.table(t, 1)
	s := statsOf(t, table, false, 2)
	ctx := context.Background()
	list, err := s.ranks(ctx, nil, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		for _, factor := range []float64{0.8, 1.25} {
			for _, change := range []func(q *strengths){
				func(q *strengths) { q.noise *= factor }, func(q *strengths) { q.sigma[0] *= factor },
				func(q *strengths) { q.sigma[1] *= factor }, func(q *strengths) { floats.Scale(factor, q.w) },
			} {
				q := *c.q
				q.w, q.sigma = append([]float64(nil), q.w...), append([]float64(nil), q.sigma...)
				change(&q)
				m, err := s.moments(ctx, s.tasks, &q)
				if err != nil || m.evidence > c.Evidence+0.3 {
					t.Errorf("rank %d: evidence %v at other strengths, %v at the end of the climb (%v)", c.Rank, m.evidence, c.Evidence, err)
				}
			}
		}
	}
	if list[1].Penalised < list[0].Penalised+20 {
		t.Errorf("rank 1 has penalised evidence %v, rank 0 %v", list[1].Penalised, list[0].Penalised)
	}
}

// A climb that counts as converged would gain less than nearlyFlat by 300 plain steps more, and its end
// counts as converged after one evaluation; a climb of two steps, which would gain much, does not count as
// converged.
func TestConverged(t *testing.T) {
	ctx := context.Background()
	for name, d := range map[string]drawing{
		"directions": {tasks: 40, rows: 16, features: 6, rank: 2, length: 2, noise: 1},
		"curve":      {tasks: 30, rows: 24, features: 3, levels: 1, noise: 0.3, curve: func(x float64) float64 { return x * x }},
	} {
		t.Run(name, func(t *testing.T) {
			s := statsOf(t, d.table(t, 6), true, 2)
			for most, want := range map[int]bool{2: false, 400: true} {
				end, err := s.climb(ctx, s.tasks, s.start(), most)
				if err != nil {
					t.Fatal(err)
				}
				if again, err := s.climb(ctx, s.tasks, end.q, 1); err != nil || again.converged != want {
					t.Errorf("%d iterations: converged %v after one more, %v", most, again.converged, err)
				}
				q, last := end.q, end.evidence
				for range 300 {
					m, z, err := s.evaluate(ctx, s.tasks, q, math.Inf(-1))
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
