package mixed

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/longtest"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// The variance of the estimate of a strength's square is the inverse of its expected information, tr(P V_g P
// V_g)/2 from dense matrices: P is V^-1 off the columns of the mean, and V_g the derivative of V. Tasks are
// equal here, so that the mean information of tasks is the information of each.
func TestVarianceErrorsAreThoseOfDenseInformation(t *testing.T) {
	table := newTable(t, "a", "b")
	for k := range 4 {
		for i := range 7 {
			a, b := math.Sin(float64(3*i+1)), math.Cos(float64(5*i))
			add(t, table, fmt.Sprint("t", k), math.Sin(float64(9*k+4*i)), a, b)
		}
	}
	s := statsOf(t, table, false, 2)
	q := s.start()
	q.rank, q.w = 1, []float64{.2, -.4, .3}
	c := &choice{s: s, optimum: optimum{q: q, m: check.OK(s.meanPosterior(t.Context(), s.tasks, q))}}
	got := c.varianceErrors()

	x, y, _ := covarianceOf(s, q)
	n := len(y)
	own := func(prior mat.Matrix) *mat.Dense { // X S X' of rows of one task
		var out mat.Dense
		out.Product(x, prior, x.T())
		out.Apply(func(i, j int, v float64) float64 {
			if s.rows.in.Table.Task(int(s.rows.order[i])) != s.rows.in.Table.Task(int(s.rows.order[j])) {
				return 0
			}
			return v
		}, &out)
		return &out
	}
	v := own(mat.NewDense(s.p, s.p, s.prior(q).Covariance()))
	for i := range n {
		v.Set(i, i, v.At(i, i)+q.noise)
	}
	var inverse, information, off, p mat.Dense
	check.Done(inverse.Inverse(v))
	information.Product(x.T(), &inverse, x)
	check.Done(off.Inverse(&information))
	p.Product(&inverse, x, &off, x.T(), &inverse)
	p.Sub(&inverse, &p)
	for g := range 2 {
		columns := mat.NewDiagDense(s.p, nil)
		for j := range s.p {
			if q.group[j] == g {
				columns.SetDiag(j, 1)
			}
		}
		var both mat.Dense
		both.Product(&p, own(columns), &p, own(columns))
		if want := 2 / mat.Trace(&both); math.Abs(got[g]/want-1) > 1e-8 {
			t.Errorf("the variance of strength %d has the error %v, want %v", g, got[g], want)
		}
	}
}

// What the uncertainty of strengths adds to the covariance of a task follows from derivatives of its
// coefficients, here central differences: by the variance of column j they are the row j of a matrix times
// the score of this column.
func TestUncertaintyFollowsDerivatives(t *testing.T) {
	ctx := context.Background()
	for _, curves := range []bool{false, true} {
		s, q := someStats(t, curves, true)
		m, z, err := s.evaluate(ctx, q)
		check.Done(err)
		c := &choice{s: s, optimum: optimum{q: q, m: m, z: z}}
		errors, p := c.varianceErrors(), s.p
		covariances, strengths, err := c.covariances(ctx, z.residual/q.noise, mostCovariances)
		check.Done(err)
		model := &Model{p: Parameters{
			Mean: m.mean, MeanCovariance: dense.Pack(nil, p, m.c), Prior: *m.prior,
			Tasks: Tasks{Covariances: covariances, Strengths: strengths},
		}}
		for k := range covariances {
			w := s.worker(ctx)
			theta, b := make([]float64, p), make([]float64, q.rank)
			moves := mat.NewDense(p, p, nil) // row j: coefficients by the variance of column j, over its score
			for j := range p {
				const h = 1e-5
				var at [2][]float64
				for i, by := range []float64{-h, h} {
					prior := *m.prior
					prior.Deviations = append([]float64(nil), prior.Deviations...)
					prior.Deviations[j] = math.Sqrt(square(prior.Deviations[j]) + by)
					check.Done(s.set(w, &prior, k))
					at[i] = make([]float64, p)
					w.solver.Coefficients(at[i], nil, m.mean, nil)
				}
				check.Done(s.set(w, m.prior, k))
				w.solver.Score(w.u, m.mean)
				for i := range p {
					moves.Set(j, i, (at[1][i]-at[0][i])/(2*h)/w.u[j])
				}
			}
			for a := range b {
				b[a] = floats.Dot(m.prior.Loadings[a*p:][:p], w.u)
			}
			information, _ := w.solver.Information()
			middle := mat.NewDense(p, p, nil)
			for i, g := range q.group {
				for j, other := range q.group {
					if g == other {
						middle.Set(i, j, 2*(1-1/s.tasks.count)*errors[g]*information[i*p+j])
					}
				}
			}
			cov := make([]float64, p*p)
			shared := append([]float64(nil), m.c...)
			floats.Scale(1+floats.Dot(b, b), shared)
			w.solver.Coefficients(theta, cov, m.mean, shared)
			var more mat.Dense
			more.Product(moves.T(), middle, moves)
			want := floats.AddTo(make([]float64, p*p), cov, more.RawMatrix().Data)
			student := distuv.StudentsT{Sigma: 1, Nu: z.residual / q.noise}
			floats.Scale(square(student.Quantile(.975)/1.959963984540054), want)
			got := model.covariance(k)
			if !floats.EqualApprox(got, dense.Pack(nil, p, want), 1e-6*(1+floats.Norm(want, math.Inf(1)))) {
				t.Errorf("curves %v, task %d: covariance %v, want %v", curves, k, got, dense.Pack(nil, p, want))
			}
			if mat.Trace(&more) < 1e-4*mat.Trace(mat.NewDense(p, p, cov)) {
				t.Errorf("curves %v, task %d: the strengths add %v only", curves, k, mat.Trace(&more))
			}
			s.idle.Put(w)
		}
	}
}

// Intervals of predictions hold for few tasks as for many, though strengths of few tasks are uncertain; for
// many they are not wider than they must be.
func TestFewTasksCover(t *testing.T) {
	draws, sizes := uint64(80), []int{4}
	if longtest.Enabled() {
		draws, sizes = 200, []int{4, 6, 10, 30}
	}
	for _, tasks := range sizes {
		d := drawing{tasks: tasks, rows: 12, features: 3, mean: []float64{.3, 0, .1}, levels: 1, slopes: .5, noise: 1}
		inside, all, wide := 0.0, 0.0, 0.0
		for seed := range draws {
			table := d.table(t, 400+seed)
			m, _ := fitted(t, table, Options{}, holdOut(table)...)
			eachRow(t, m, table, holdOut(table), func(_ int, p Prediction, y float64, train bool) {
				if !train {
					all++
					wide += p.SampleError
					if p.Low <= y && y <= p.High {
						inside++
					}
				}
			})
		}
		share, error := inside/all, math.Sqrt(2*.95*.05/all) // errors of a task depend on each other
		t.Logf("%d tasks: %.3f of %v held-out rows are inside, mean error %.3f", tasks, share, all, wide/all)
		check.FailIf(t, share < .94-2*error || share > .965+2*error,
			"%d tasks: %.3f of %v held-out rows are inside", tasks, share, all)
	}
}

// The noise of few rows is smaller about strengths that they have chosen: intervals know it. Three to six
// tasks have 5 and 6 rows here, and three slopes.
func TestFewRowsCover(t *testing.T) {
	const more = 20 // rows a task that are held out
	draws, tasks, rows := uint64(60), []int{3}, []int{5}
	if longtest.Enabled() {
		draws, tasks, rows = 300, []int{3, 4, 6}, []int{5, 6}
	}
	for _, count := range tasks {
		for _, n := range rows {
			d := drawing{tasks: count, rows: n + more, features: 3, mean: []float64{.3, 0, .1}, levels: 1, slopes: .5,
				noise: 1}
			inside, all := 0.0, 0.0
			for seed := range draws {
				table := d.table(t, 900+seed)
				held := make([]bool, table.Rows())
				for i := range held {
					held[i] = i%(n+more) >= n
				}
				m, _ := fitted(t, table, Options{}, held...)
				eachRow(t, m, table, held, func(_ int, p Prediction, y float64, train bool) {
					if train {
						return
					}
					all++
					if p.Low <= y && y <= p.High {
						inside++
					}
				})
			}
			share := inside / all
			t.Logf("%d tasks of %d rows: %.3f of %v new rows are inside", count, n, share, all)
			check.FailIf(t, share < .93 || share > .98, // .977 of 15 rows in all, .954 to .967 of more
				"%d tasks of %d rows: %.3f of new rows are inside", count, n, share)
		}
	}
}

// A kind of columns has one strength more than none, and each further column one less than whole, in any
// order of columns; directions count, and columns without deviations do not.
func TestStrengths(t *testing.T) {
	table := drawing{tasks: 5, rows: 9, features: 3, levels: 1, noise: 1}.table(t, 2)
	s := statsOf(t, table, false, 1)
	all := s.tasks.count
	share := all / (all + ownPrior)
	for name, c := range map[string]struct {
		group []int
		sigma []float64
		rank  int
		want  float64
	}{
		"common strengths":     {[]int{0, 1, 1, 1}, []float64{1, 1}, 0, 2},
		"own strengths":        {[]int{0, 1, 2, 3}, []float64{1, 2, 3, 4}, 0, 2 + 2*share},
		"other order":          {[]int{3, 1, 0, 2}, []float64{1, 2, 3, 4}, 0, 2 + 2*share},
		"no deviations of one": {[]int{0, 1, 2, 3}, []float64{1, 2, 0, 4}, 0, 2 + share},
		"directions":           {[]int{0, 1, 1, 1}, []float64{1, 0}, 2, 3},
	} {
		q := s.start()
		q.group, q.sigma, q.rank = c.group, c.sigma, c.rank
		got := (&choice{s: s, optimum: optimum{q: q}}).strengths()
		check.FailIf(t, math.Abs(got-c.want) > 1e-12, "%s: %v, want %v", name, got, c.want)
	}
}
