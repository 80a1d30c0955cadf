package mixed

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/floats"
)

const (
	memory     = 6     // earlier iterations that Anderson acceleration combines
	flat       = 0.06  // predicted gain in nats below which an optimiser ends, at least
	flatShare  = 2e-3  // such a gain as a share of the penalty of rank 1; the larger one counts
	nearlyFlat = 1.0   // predicted gain in nats below which an optimiser has converged
	iterations = 40    // of an optimiser
	leastSigma = 1e-9  // in the logarithms of pack
	mostStep   = 1e100 // of a strength after a step that is far too long
)

// An optimum is the best point of an optimiser.
type optimum struct {
	q         *varianceComponents
	m         *meanPosterior // at q
	z         *scoreSums
	evidence  float64
	penalty   float64 // of the loadings, see rankPenalty
	converged bool
}

// An optimiser raises the evidence of tasks from variance components by steps of improve, with Anderson
// acceleration from the third on. An accelerated point of lower evidence is replaced by the plain step. An
// optimiser ends where neither step is predicted to gain much.
type optimiser struct {
	evaluation                      // at the next point
	left        int                 // evaluations
	higher      bool                // the point that was evaluated is at least as high as the best one
	safe        *varianceComponents // the plain step from the best point
	accelerated bool                // the next point is not safe
	finished    bool
	flatGain    float64 // predicted gain below which it ends
	lean        bool    // the posterior at its best point keeps no matrices
	at, after   [][]float64
	best        optimum
}

// newOptimiser returns an optimiser of at most that number of evaluations.
func (s *stats) newOptimiser(tasks *taskSet, q *varianceComponents, most int) *optimiser {
	return &optimiser{
		evaluation: evaluation{s: s, tasks: tasks, q: q}, left: most, safe: q,
		flatGain: max(flat, flatShare*s.countPenalty(tasks, 1)), best: optimum{q: q, evidence: math.Inf(-1)},
	}
}

// optimise runs one optimiser alone and returns its optimum.
func (s *stats) optimise(ctx context.Context, tasks *taskSet, q *varianceComponents, most int) (*optimum, error) {
	c := s.newOptimiser(tasks, q, most)
	err := optimiseAll(ctx, c)
	return &c.best, err
}

// optimiseAll runs optimisers. Those of several owners keep in step: their sums share messages. A table alone
// has no messages, so that its optimisers run one after the other, and only one has matrices of two points. A
// single owner decides which points are higher, on the next points, and on the ends. Where an optimiser has
// no evidence at its start, the error is the error of the evaluation. It names the task, if this owner has
// it.
func optimiseAll(ctx context.Context, list ...*optimiser) error {
	together := len(list)
	if together > 0 && list[0].s.rows.sums.Owners() == 1 {
		together = 1
	}
	for some := range slices.Chunk(list, max(together, 1)) {
		if err := optimiseInStep(ctx, some); err != nil {
			return err
		}
	}
	for _, c := range list {
		if c.best.m == nil {
			return cmp.Or(c.err, errTotals)
		}
	}
	return nil
}

// optimiseInStep runs several optimisers to their ends. Their sums share messages.
func optimiseInStep(ctx context.Context, list []*optimiser) error {
	for {
		running := slices.DeleteFunc(slices.Clone(list), func(c *optimiser) bool { return c.finished })
		if len(running) == 0 {
			break
		}
		if err := compareEvidence(ctx, running); err != nil {
			return err
		}
		if err := stepAll(ctx, running); err != nil {
			return err
		}
	}
	for _, c := range list {
		c.evaluation.m, c.evaluation.z = nil, nil // of a point that may be lower than the best one
	}
	return nil
}

// compareEvidence sets the evidence of optimisers at their next points, and which points are at least as high
// as the best ones. It takes one sum.
func compareEvidence(ctx context.Context, list []*optimiser) error {
	var decided []float64
	for _, c := range list {
		decided = append(decided, make([]float64, 1+len(c.q.numbers()))...)
	}
	err := evaluateEvidence(ctx, evaluations(list), decided, func() {
		at := decided
		for _, c := range list {
			if c.err == nil && c.m.evidence+c.q.penalty() >= c.best.evidence-1e-7 {
				at[0] = 1
			}
			at = c.safe.encode(at[1:])
		}
	})
	if err != nil {
		return err
	}
	at := decided
	for _, c := range list {
		if c.higher = at[0] != 0; c.higher && c.err != nil {
			return contradiction("a point without evidence is the best one")
		}
		if c.safe, at, err = c.safe.decode(at[1:]); err != nil {
			return err
		}
	}
	return nil
}

// stepAll moves optimisers to their next points. It takes one sum where a point is higher than the best one
// of its optimiser, and otherwise none.
func stepAll(ctx context.Context, list []*optimiser) error {
	var higher []*optimiser
	for _, c := range list {
		if c.left--; c.higher {
			higher = append(higher, c)
		} else {
			c.reject()
		}
	}
	var decided []float64
	for _, c := range higher {
		decided = append(decided, make([]float64, decisions+len(c.q.numbers()))...)
	}
	err := evaluateScores(ctx, evaluations(higher), decided, func() {
		at := decided
		for _, c := range higher {
			if c.err == nil {
				c.advance()
			} else {
				c.reject()
			}
			at = c.encode(at)
		}
	})
	if err != nil {
		return err
	}
	at := decided
	for _, c := range higher {
		if at, err = c.decode(at); err != nil {
			return err
		}
	}
	for _, c := range list {
		c.finished = c.finished || c.left <= 0 // in spite of other owners
	}
	return nil
}

// evaluations returns the evaluations of optimisers.
func evaluations(list []*optimiser) (out []*evaluation) {
	for _, c := range list {
		out = append(out, &c.evaluation)
	}
	return out
}

// reject returns to the plain step from the best point, and ends the optimiser after a plain step.
func (c *optimiser) reject() {
	if c.accelerated {
		c.q, c.accelerated, c.at, c.after = c.safe, false, nil, nil
		return
	}
	c.best.converged = c.best.m != nil // lower by rounding
	c.finished = true
}

// advance makes the point that was evaluated the best one, and chooses the next.
func (c *optimiser) advance() {
	s, q := c.s, c.q
	c.m.evidence += q.penalty()
	c.best.q, c.best.m, c.best.z, c.best.evidence = q, c.m, c.z, c.m.evidence
	c.best.penalty = s.rankPenalty(c.tasks, q)
	c.safe = s.improve(c.tasks, q, c.m, c.z)
	if c.lean {
		c.best.m.keepMean()
	}
	c.at, c.after = append(c.at, q.pack()), append(c.after, c.safe.pack())
	if len(c.at) > memory {
		c.at, c.after = c.at[1:], c.after[1:]
	}
	information := s.information(c.tasks, q)
	from, to := c.at[len(c.at)-1], c.after[len(c.after)-1]
	gain := predicted(information, from, to, to)
	c.q, c.accelerated = c.safe, false
	if x := anderson(c.at, c.after, information); x != nil {
		gain = max(gain, predicted(information, from, to, x))
		c.q, c.accelerated = c.safe.unpack(x), true
	}
	c.best.converged = gain < max(nearlyFlat, c.flatGain)
	c.finished = gain < c.flatGain
}

// decisions is the number of values that encode writes beside the variance components.
const decisions = 5

// encode writes the next point, the evidence, its penalty and the end of an optimiser to the front of v, and
// returns v behind them.
func (c *optimiser) encode(v []float64) []float64 {
	number := map[bool]float64{true: 1}
	evidence := max(c.best.evidence, -math.MaxFloat64) // numbers on their way are finite
	states := []float64{number[c.finished], number[c.accelerated], number[c.best.converged]}
	n := copy(v, append(states, evidence, c.best.penalty))
	return c.q.encode(v[n:])
}

// decode reads the numbers that encode has written at one of the owners, and returns v behind it.
func (c *optimiser) decode(v []float64) ([]float64, error) {
	c.finished, c.accelerated, c.best.converged = v[0] != 0, v[1] != 0, v[2] != 0
	c.best.evidence, c.best.penalty = v[3], v[4]
	if c.best.evidence == -math.MaxFloat64 {
		c.best.evidence = math.Inf(-1)
	}
	q, v, err := c.q.decode(v[decisions:])
	c.q = q
	return v, err
}

// information returns the diagonal of the information about the packed variance components in complete data:
// if the deviations and the mean were observed.
func (s *stats) information(tasks *taskSet, q *varianceComponents) []float64 {
	columns, curves := make([]float64, len(q.sigma)), make([]float64, len(q.tau))
	for j, g := range q.group {
		if s.within[j] {
			columns[g]++
		}
		if s.active[j] && j > 0 {
			curves[s.group[j]]++
		}
	}
	floats.Scale(2*tasks.count, columns)
	floats.Scale(2, curves)
	rows := tasks.rows
	x := slices.Concat(columns, make([]float64, len(q.w)), []float64{rows / 2}, curves)
	for i := range q.w {
		x[len(columns)+i] = rows / max(q.noise, 1e-3)
	}
	return x
}

// predicted returns the gain of evidence by a step from a point to x: half the product of the gradient and
// the step, as at a quadratic top that x reaches. The gradient is the information times the plain step, from
// -> to.
func predicted(information, from, to, x []float64) (gain float64) {
	for i, n := range information {
		gain += float64(n * (to[i] - from[i]) * (x[i] - from[i]) / 2)
	}
	return gain
}

// anderson combines points and the results of their steps. The combined steps are as short as possible in
// the metric of the information (Walker and Ni 2011). It returns nil for fewer than three points, and where
// rounding leaves no solution.
func anderson(at, after [][]float64, information []float64) []float64 {
	n := len(at)
	if n < 3 {
		return nil
	}
	size := len(at[0])
	steps := make([][]float64, n)
	for i := range at {
		steps[i] = floats.SubTo(make([]float64, size), after[i], at[i])
	}
	change := func(list [][]float64, i int) []float64 {
		return floats.SubTo(make([]float64, size), list[i+1], list[i])
	}
	m := n - 1
	a, c := make([]float64, m*m), make([]float64, m)
	trace := 0.0
	for i := range m {
		d := floats.MulTo(make([]float64, size), information, change(steps, i))
		for j := i; j < m; j++ {
			a[i*m+j] = rounded.Dot(d, change(steps, j))
		}
		c[i] = rounded.Dot(d, steps[m])
		trace += a[i*(m+1)]
	}
	for i := range m {
		a[i*(m+1)] += float64(1e-8 * trace)
	}
	r, ok := dense.Factor(m, a)
	if !ok {
		return nil
	}
	dense.Solve(r, c)
	x := slices.Clone(after[m])
	for i := range m {
		rounded.AddScaled(x, -c[i], change(after, i))
	}
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
	}
	return x
}
