package mixed

import (
	"cmp"
	"context"
	"math"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/blas"
)

// A rowErrors holds sums over training rows of squared residuals, times the rows' weights. The form of the
// noise is chosen by them: the likelihood is right about the noise, but the rows of loud tasks, which make
// most of the error, then count little in everything else.
type rowErrors struct {
	with    float64 // at the coefficients of the task
	without float64 // at the coefficients that the other rows give with equal strengths
}

// optimism is the exponent of without / with in the score of a form. The strengths of a form have been
// chosen with the row in question, so that without is too small. The closer the form follows its rows, the
// larger is this error. With a third, the choice lost least on tables that had no part in it
// (docs/accuracy.md).
const optimism = 1. / 3

// score returns a number that is lower for a form that predicts new rows better: the logarithm of a squared
// error.
func (e rowErrors) score() float64 {
	without, with := rounded.Log(max(e.without, 1e-300)), rounded.Log(max(e.with, 1e-300))
	return without + float64(optimism*max(without-with, 0))
}

// clearly is the number of standard errors over tasks of a gain that is not due to chance.
const clearly = 2.0

// remainder returns 1 - h of a row or of the mean row of a task, and at least leastRemainder.
func remainder(h float64) float64 { return max(1-h, leastRemainder) }

// leastRemainder is the least 1 - h of a row: rounding leaves no digit of a smaller one.
const leastRemainder = 1e-8

// eachResidual calls f with every training row of the worker's task, its residual e and h. e is at the
// coefficients of the task, times the square root of the row's weight. h is the posterior variance of the
// row's expectation over the variance of its noise. Without the row the residual is e / (1 - h), exactly for
// given strengths, since the targets have a normal distribution. The worker has the solver of the task.
func (c *choice) eachResidual(w *worker, k int, f func(row int, e, h float64)) {
	s, p := c.s, c.s.p
	list := s.rows.of(k)
	if w.task.G == nil {
		w.solver.Coefficients(w.v, nil, c.m.mean, nil)
		shares := w.solver.shares(c.m.c)
		for i, row := range list {
			f(int(row), w.task.Y[i]-rounded.Dot(w.task.X[i*p:][:p], w.v), shares[i])
		}
		return
	}
	w.cov = dense.Grow(w.cov, p*p)
	w.solver.Coefficients(w.v, w.cov, c.m.mean, c.m.c)
	for from := 0; from < len(list) && (from == 0 || !w.cancelled()); from += batch {
		rows := list[from:min(from+batch, len(list))]
		n := len(rows)
		w.x, w.y, w.g = dense.Grow(w.x, n*p), dense.Grow(w.y, n), dense.Grow(w.g, n*p)
		s.rows.fill(w.x, w.read, s.design, rows)
		s.weigh(w.x, rows)
		s.fillTargets(w.y, rows, s.log)
		x, moved := dense.General(n, p, w.x), dense.General(n, p, w.g)
		dense.Gemm(blas.NoTrans, blas.NoTrans, 1, x, dense.General(p, p, w.cov), 0, moved)
		for i, y := range w.y {
			row := w.x[i*p:][:p]
			f(int(rows[i]), y-rounded.Dot(row, w.v), rounded.Dot(row, w.g[i*p:][:p])/w.solver.noise)
		}
	}
}

// shares returns h of every row of a task of rows: x'Cx of its columns x over the noise, for the covariance C
// of Coefficients. By X (I - S M) = noise V^-1 X it is
//
//	1 - noise V^-1_ii + noise (V^-1 X C X'V^-1)_ii,
//
// from matrices of n rows alone. The result is valid until the next call of a method.
func (s *solver) shares(c []float64) []float64 {
	n, p := len(s.vector), s.width()
	s.b, s.inner = dense.Grow(s.b, n), dense.Grow(s.inner, n*n)
	s.gain, s.part = dense.Grow(s.gain, n*p), dense.Grow(s.part, n*p)
	clear(s.b)
	if n == 0 || s.stops(n) {
		return s.b
	}
	clear(s.inner)
	for i := range n {
		s.inner[i*n+i] = 1
	}
	copy(s.gain, s.half)
	factor, gain, part := dense.Upper(n, s.factor), dense.General(n, p, s.gain), dense.General(n, p, s.part)
	dense.Trsm(blas.Left, blas.Trans, 1, factor, dense.General(n, n, s.inner)) // V^-1 = inner' inner
	dense.Trsm(blas.Left, blas.NoTrans, 1, factor, gain)
	dense.Gemm(blas.NoTrans, blas.NoTrans, 1, gain, dense.General(p, p, c), 0, part)
	for i := range n {
		for j, v := range s.inner[i*n:][:i+1] {
			s.b[j] += float64(v * v)
		}
	}
	for i, v := range s.b {
		s.b[i] = 1 - float64(s.noise*(v-rounded.Dot(s.gain[i*p:][:p], s.part[i*p:][:p])))
	}
	return s.b
}

// leaveOneOut returns the sums of rowErrors over the training rows in the tasks that optimisers use, exactly;
// rows count by the weights that the table gives them alone. For one owner: from totals, a member that lies
// could have one row make up the sum.
func (c *choice) leaveOneOut(ctx context.Context) *total {
	return c.s.solveOwn(ctx, c.m.prior, c.s.some, 2, func(w *worker, k int, part []float64) {
		c.eachResidual(w, k, func(row int, e, h float64) {
			squares := e * e
			if c.s.bounds != nil {
				squares /= c.s.bounds[row]
			}
			part[0] += squares
			part[1] += squares / square(remainder(h))
		})
	})
}

// crossValidate returns the sums of rowErrors over the training rows of this owner in the tasks that
// optimisers use. It is generalised cross-validation of every task (Golub, Heath and Wahba 1979): with the
// mean h of the rows of a task in place of the h of each row.
func (c *choice) crossValidate(ctx context.Context) *total {
	t := c.s.solveOwn(ctx, c.m.prior, c.s.some, 2, func(w *worker, k int, part []float64) {
		e := c.errorsOf(w, k)
		part[0] += e.with
		part[1] += e.without
	})
	t.grows, t.unit = anyNumber, func(int) float64 { return 1 << 30 } // one task may be far off
	return t
}

// errorsOf returns the sums of crossValidate for the task of a worker.
func (c *choice) errorsOf(w *worker, k int) rowErrors {
	squares, h := 0.0, 0.0
	c.eachResidual(w, k, func(_ int, e, own float64) {
		squares += float64(e * e)
		h += own
	})
	return rowErrors{squares, squares / square(remainder(h/float64(len(c.s.rows.of(k)))))}
}

// clearlyBetter reports whether choice a predicts rows that are left out better than choice b. The
// difference of squared errors must be two standard errors over the tasks. It takes one sum.
func clearlyBetter(ctx context.Context, a, b *choice) (bool, error) {
	own := make([]float64, len(a.s.packed)) // errors of tasks by a
	ours := a.s.solveOwn(ctx, a.m.prior, a.s.some, 0, func(w *worker, k int, _ []float64) {
		own[k] = a.errorsOf(w, k).without
	})
	gains := b.s.solveOwn(ctx, b.m.prior, b.s.some, 2, func(w *worker, k int, part []float64) {
		gain := b.errorsOf(w, k).without - own[k]
		part[0] += gain
		part[1] += float64(gain * gain)
	})
	gains.err = cmp.Or(ours.err, gains.err)
	gains.unit = func(i int) float64 { return math.Ldexp(1, 30*(1+i)) } // one task may be far off
	decision := []float64{0}
	err := a.s.rows.decide(ctx, "gains of tasks by their own noise, and squares", decision, func() {
		if gains.v[0] > clearly*math.Sqrt(gains.v[1]) {
			decision[0] = 1
		}
	}, gains)
	return decision[0] > 0, err
}

// scoresOf returns the scores of choices, in one sum.
func scoresOf(ctx context.Context, list ...*choice) ([]float64, error) {
	totals, r := make([]*total, len(list)), list[0].s.rows
	for i, c := range list {
		totals[i] = c.crossValidate(ctx)
	}
	scores := make([]float64, len(list))
	err := r.decide(ctx, "squared residuals of tasks, and as if their rows were left out", scores, func() {
		for i, t := range totals {
			scores[i] = rowErrors{t.v[0], t.v[1]}.score()
		}
	}, totals...)
	return scores, err
}

// errorsOfTargets returns a weighted sum over the training rows of this owner in the tasks that optimisers
// use. Its terms are the squared errors of predictions without the row, in units of the target's deviation.
// For the logarithm of the target a prediction is the median.
func (c *choice) errorsOfTargets(ctx context.Context) *total {
	r, target := c.s.rows, &c.s.rows.raw
	if c.s.log {
		target = &r.logarithm
	}
	t := c.s.solveOwn(ctx, c.m.prior, c.s.some, 1, func(w *worker, k int, part []float64) {
		c.eachResidual(w, k, func(row int, e, h float64) {
			weight := r.weight(row)
			predicted := r.standardized(row, c.s.log) - e/math.Sqrt(weight)/remainder(h)
			part[0] += float64(weight * square((r.in.Table.Y(row)-target.Restore(predicted))/r.raw.Scale))
		})
	})
	t.grows, t.unit = anyNumber, func(int) float64 { return 1 << 30 }
	return t
}
