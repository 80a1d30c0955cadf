package mixed

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// The residuals without a row are those of the expectation of its target given all others.
func TestLeaveOneOutAgainstDenseConditioning(t *testing.T) {
	for _, curves := range []bool{false, true} {
		for _, ratio := range []bool{false, true} {
			t.Run(fmt.Sprintf("curves %v, ratios %v", curves, ratio), func(t *testing.T) {
				s, q := someStats(t, curves, ratio)
				m, _, err := s.evaluate(t.Context(), q)
				check.Done(err)
				c := &choice{s: s, optimum: optimum{q: q, m: m}}
				got, tasks := c.leaveOneOut(t.Context()), c.crossValidate(t.Context())
				check.Done(errors.Join(got.err, tasks.err))
				byTask := 0.0 // of the same residuals
				check.Done(s.solveOwn(t.Context(), m.prior, s.tasks, 0, func(w *worker, k int, _ []float64) {
					var e, h []float64
					c.eachResidual(w, k, func(_ int, one, own float64) { e, h = append(e, one), append(h, own) })
					byTask += floats.Dot(e, e) / square(1-stat.Mean(h, nil))
				}).err)
				_, y, v := covarianceOf(s, q)
				n, want := len(y), 0.0
				for i := range n {
					var others []int
					for j := range n {
						if j != i {
							others = append(others, j)
						}
					}
					between := mat.NewDense(n-1, n-1, nil)
					with := mat.NewVecDense(n-1, nil)
					known := mat.NewVecDense(n-1, nil)
					for a, j := range others {
						with.SetVec(a, v.At(i, j))
						known.SetVec(a, y[j])
						for b, k := range others {
							between.Set(a, b, v.At(j, k))
						}
					}
					var weights mat.VecDense
					check.Done(weights.SolveVec(between, with))
					want += square(y[i] - mat.Dot(&weights, known))
				}
				if math.Abs(got.v[1]/want-1) > 1e-8 || !(got.v[0] < got.v[1]) {
					t.Errorf("squared residuals %v and without the rows %v, want %v", got.v[0], got.v[1], want)
				}
				if math.Abs(tasks.v[0]/got.v[0]-1) > 1e-12 || math.Abs(tasks.v[1]/byTask-1) > 1e-12 ||
					math.Abs(byTask/want-1) > .2 {
					t.Errorf("by task squared residuals %v, want %v and %v, about %v", tasks.v, got.v[0], byTask, want)
				}
			})
		}
	}
}

// spreading returns a table whose tasks differ much in their level, and whose noise is proportional to it: a
// few tasks make nearly all of the error.
func spreading(t *testing.T, seed uint64) *Data {
	r := rand.New(rand.NewPCG(seed, 9))
	table := newTable(t, "x")
	for k := range 80 {
		level := math.Exp(1.3 * r.NormFloat64())
		for range 4 + r.IntN(4) {
			x := r.NormFloat64()
			add(t, table, fmt.Sprint("t", k), level*(1+.1*x+.35*r.NormFloat64()), x)
		}
	}
	return table
}

// Where noise grows with the level, rows of all tasks count alike, so that loud tasks keep their own levels;
// and intervals are as wide as the noise of their task.
func TestNoiseFormByErrorsWithoutTheRow(t *testing.T) {
	for seed := range uint64(4) {
		in := Input{Table: spreading(t, seed), HeldOut: holdOut(spreading(t, seed))}
		m, r := fitted(t, in.Table, Options{}, in.HeldOut...)
		_, common := fitted(t, in.Table, Options{CommonNoise: true}, in.HeldOut...)
		if got, want := r.Scores[0].Test.RMSE, common.Scores[0].Test.RMSE; got > 1.001*want {
			t.Errorf("seed %d: the error is %v, with common noise %v", seed, got, want)
		}
		p := m.Parameters()
		if p.Prior.Noise.Alike == 0 || p.Tasks.Noise == nil {
			t.Fatalf("seed %d: noise %+v", seed, p.Prior.Noise)
		}
		least, most := math.Inf(1), 0.0
		for _, v := range p.Tasks.Noise {
			least, most = min(least, v), max(most, v)
		}
		check.FailIf(t, most < 100*least, "seed %d: variances of tasks from %v to %v", seed, least, most)
	}
	// Noise that differs between tasks with the same slopes: loud tasks count less.
	even := drawing{tasks: 240, rows: 6, features: 3, levels: 1, noise: 1, uneven: 4, mean: []float64{1, -1, .5}}
	m, _ := fitted(t, even.table(t, 3), Options{})
	if n := m.Parameters().Prior.Noise; n.Alike != 0 || n.TaskFreedom == 0 {
		t.Errorf("uneven noise: %+v", n)
	}
}

// Where rows count alike, Adapt weighs new rows by the common variance, and the task's own is for intervals.
func TestAdaptAlike(t *testing.T) {
	p := synthetic()
	byTask(&p)
	p.Prior.Noise.Alike = .45
	m := check.OK(New(p))
	prior := spread(&p.Prior)
	prior.Add(prior, unpack(p.MeanCovariance, 9))
	l := drawRows(m, 30, "new")
	for i := range l.y {
		l.weights = append(l.weights, .5+float64(i%3))
	}
	theta, cov, x := conditioned(&p, l, p.Mean, prior, .45)
	got := check.OK(m.Adapt(t.Context(), l))
	var at mat.VecDense
	at.MulVec(x, theta)
	squares, spent := 0.0, 0.0
	for i := range l.y {
		squares += l.weights[i] * square(p.Target.Standardize(l.y[i])-at.AtVec(i))
		spent += l.weights[i] * mat.Inner(x.RowView(i), cov, x.RowView(i)) / .45
	}
	for i := range 9 {
		near(t, "coefficient", got.theta(4)[i], theta.AtVec(i))
	}
	freedom := p.Prior.Noise.TaskFreedom + 30 - spent
	near(t, "degrees of freedom", got.p.Tasks.Freedom[4], freedom)
	near(t, "noise", got.p.Tasks.Noise[4], (p.Prior.Noise.TaskFreedom*p.Prior.Noise.Variance+squares)/freedom)
}

// Errors of targets without the row are, for the target itself, the residuals of leave-one-out, and for its
// logarithm the distances from the medians that the other rows give.
func TestErrorsOfTargets(t *testing.T) {
	in := mixture(t, 12, 14)
	d := in.Table.(*Data)
	for i, y := range d.Targets {
		d.Targets[i] = math.Exp(y / 4)
	}
	r := check.OK(newRows(t.Context(), &in, &Options{}))
	design := r.newDesign()
	plain := check.OK(newStats(t.Context(), r, &design, 1))
	for _, log := range []bool{false, true} {
		s := plain
		if log {
			s = plain.withLogarithm()
		}
		c := s.candidate(0)
		o := c.newOptimiser(s.start())
		check.Done(optimiseAll(t.Context(), o))
		c.keepHigher(&o.best)
		want := 0.0
		s.solveOwn(t.Context(), c.m.prior, s.tasks, 0, func(w *worker, k int, _ []float64) {
			c.eachResidual(w, k, func(row int, e, h float64) {
				y := d.Targets[row]
				z, scale := (y-r.raw.Center)/r.raw.Scale, r.raw.Scale
				if log {
					z = (math.Log(y) - r.logarithm.Center) / r.logarithm.Scale
				}
				weight := in.weight(row) / r.mean
				z -= e / (1 - h) / math.Sqrt(weight)
				median := r.raw.Center + r.raw.Scale*z
				if log {
					median = math.Exp(r.logarithm.Center + r.logarithm.Scale*z)
				}
				want += weight * square((y-median)/scale)
			})
		})
		got := c.errorsOfTargets(t.Context())
		check.Done(got.err)
		check.FailIf(t, !(want > 0) || math.Abs(got.v[0]/want-1) > 1e-9,
			"log %v: errors %v, want %v", log, got.v[0], want)
	}
}
