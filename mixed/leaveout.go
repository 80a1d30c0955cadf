package mixed

import (
	"cmp"
	"context"
	"math"

	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// A rowErrors holds sums over training rows of squared residuals, times the rows' weights. The form of the
// noise is chosen by them: the likelihood is right about the noise, but the rows of loud tasks, which make most
// of the error, then count little in everything else.
type rowErrors struct {
	with    float64 // at the coefficients of the task
	without float64 // at the coefficients that the other rows give with the same strengths
}

// optimism is the exponent of without / with in the score of a form. The strengths of a form have been chosen
// with the row in question, so that without is too small, by the more the closer the form follows its rows.
// With a third, the choice lost least on tables that had no part in it (docs/accuracy.md).
const optimism = 1. / 3

// score returns a number that is lower for a form that predicts new rows better: the logarithm of a squared
// error.
func (e rowErrors) score() float64 {
	without, with := math.Log(max(e.without, 1e-300)), math.Log(max(e.with, 1e-300))
	return without + optimism*max(without-with, 0)
}

// clearly is the difference of scores from which a choice overrules the likelihood: 3 % of the error.
const clearly = 0.06

// leastRemainder is the least 1 - h of a row: rounding leaves no digit of a smaller one.
const leastRemainder = 1e-8

// leaveOneOut returns the sums of rowErrors over the training rows of this owner in the tasks of climbs. The
// residual without row i is e_i / (1 - h_i), where h_i is the posterior variance of its expectation over the
// variance of its noise: exactly for given strengths, since the targets have a normal distribution.
func (c *choice) leaveOneOut(ctx context.Context) *total {
	s, p := c.s, c.s.p
	t := s.solveOwn(ctx, c.m.prior, s.some, 2, func(w *worker, k int, part []float64) {
		covariance, list := make([]float64, p*p), s.rows.of(k)
		w.solver.Coefficients(w.v, covariance, c.m.mean, c.m.c)
		noise := c.m.prior.Noise.Variance * cmp.Or(w.task.Noise, 1)
		for from := 0; from < len(list); from += batch {
			rows := list[from:min(from+batch, len(list))]
			n := len(rows)
			w.x, w.y, w.g = dense.Grow(w.x, n*p), dense.Grow(w.y, n), dense.Grow(w.g, n*p)
			s.rows.fill(w.x, w.read, s.design, rows)
			s.rows.weigh(w.x, rows)
			s.rows.fillTargets(w.y, rows, s.log)
			x, moved := dense.General(n, p, w.x), dense.General(n, p, w.g)
			blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, x, dense.General(p, p, covariance), 0, moved)
			for i, y := range w.y {
				row := w.x[i*p:][:p]
				e := y - floats.Dot(row, w.v)
				rest := max(1-floats.Dot(row, w.g[i*p:][:p])/noise, leastRemainder)
				part[0] += e * e
				part[1] += e * e / (rest * rest)
			}
		}
	})
	t.grows, t.unit = anyNumber, func(int) float64 { return 1 << 30 } // one row may be far off
	return t
}

// better reports whether choice a predicts new rows clearly better than choice b. It takes one sum.
func better(ctx context.Context, a, b *choice) (bool, error) {
	totals := []*total{a.leaveOneOut(ctx), b.leaveOneOut(ctx)}
	if err := a.s.rows.try(ctx, "squared residuals of rows, with and without the row", totals...); err != nil {
		return false, err
	}
	scores := make([]float64, len(totals))
	for i, t := range totals {
		if t.err != nil {
			return false, t.err
		}
		scores[i] = rowErrors{t.v[0], t.v[1]}.score()
	}
	err := a.s.rows.sums.Agree(ctx, scores)
	return scores[0]+clearly < scores[1], err
}
