package fit

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/difalt/difalt/mixed"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

const (
	memory     = 6    // earlier iterations that Anderson acceleration combines
	flat       = 0.06 // predicted gain in nats below which a climb ends, at least
	flatShare  = 2e-3 // the same as a share of the penalty of rank 1, whose size evidences are compared on
	nearlyFlat = 1.0  // predicted gain in nats below which a climb counts as converged
	iterations = 40   // of a climb
	leastSigma = 1e-9 // in the logarithms of pack
)

// A climbed is the end of a climb.
type climbed struct {
	q         *strengths
	m         *moments // at q
	z         *second
	evidence  float64
	converged bool
}

// climb raises the evidence of tasks from strengths q by steps of improve, with Anderson acceleration from
// the third on. An accelerated point of lower evidence is replaced by the plain step. A climb ends where
// neither step is predicted to gain much.
func (s *stats) climb(ctx context.Context, tasks []int, q *strengths, most int) (*climbed, error) {
	best := &climbed{q: q, evidence: math.Inf(-1)}
	safe, accelerated := q, false
	level := max(flat, flatShare*s.rankPenalty(tasks, 1))
	var at, after [][]float64
	for range most {
		m, z, err := s.evaluate(ctx, tasks, q, best.evidence)
		if err != nil && !errors.Is(err, mixed.ErrNumeric) {
			return nil, err
		}
		if err != nil || z == nil { // lower
			if !accelerated {
				if math.IsInf(best.evidence, -1) {
					return nil, err
				}
				best.converged = true // rounding
				break
			}
			q, accelerated, at, after = safe, false, nil, nil
			continue
		}
		best.q, best.m, best.z, best.evidence = q, m, z, m.evidence
		safe = s.improve(tasks, q, m, z)
		at, after = append(at, q.pack()), append(after, safe.pack())
		if len(at) > memory {
			at, after = at[1:], after[1:]
		}
		information := s.information(tasks, q)
		from, to := at[len(at)-1], after[len(after)-1]
		gain := predicted(information, from, to, to)
		q, accelerated = safe, false
		if x := anderson(at, after, information); x != nil {
			gain = max(gain, predicted(information, from, to, x))
			q, accelerated = safe.unpack(x), true
		}
		best.converged = gain < max(nearlyFlat, level)
		if gain < level {
			break
		}
	}
	return best, nil
}

// information returns the diagonal of the information about the packed strengths in complete data: if the
// deviations and the mean were observed.
func (s *stats) information(tasks []int, q *strengths) []float64 {
	columns, curves := make([]float64, len(q.sigma)), make([]float64, len(q.tau))
	for j, g := range q.group {
		if s.within[j] {
			columns[g]++
		}
		if s.active[j] && j > 0 {
			curves[1+s.columns[j].Curve]++
		}
	}
	floats.Scale(2*float64(len(tasks)), columns)
	floats.Scale(2, curves)
	rows := s.rowsTotal(tasks)
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
		gain += n * (to[i] - from[i]) * (x[i] - from[i]) / 2
	}
	return gain
}

// evaluate returns the sums at q, without the second where the evidence is below least.
func (s *stats) evaluate(ctx context.Context, tasks []int, q *strengths, least float64) (*moments, *second, error) {
	m, err := s.moments(ctx, tasks, q)
	if err == nil {
		m.evidence += q.penalty()
	}
	if err != nil || !(m.evidence >= least-1e-7) {
		return m, nil, err
	}
	z, err := s.second(ctx, tasks, m)
	return m, z, err
}

// penalty returns the logarithm of the prior of sigma given common strengths, -a/2 (log sigma^2 +
// common^2/sigma^2).
func (q *strengths) penalty() (sum float64) {
	for g, c := range q.common {
		if c > 0 {
			ratio := c / q.sigma[g]
			sum -= ownPrior / 2 * (ratio*ratio - 2*math.Log(ratio))
		}
	}
	return sum
}

// pack returns the strengths as a vector: log sigma, loadings, log noise, log tau.
func (q *strengths) pack() []float64 {
	x := slices.Concat(q.sigma, q.w, []float64{q.noise}, q.tau)
	for i, v := range x {
		if i < len(q.sigma) || i >= len(q.sigma)+len(q.w) {
			x[i] = math.Log(max(v, leastSigma))
		}
	}
	return x
}

// unpack returns strengths of the shape of q with the values of a vector; a sigma of 0 stays 0.
func (q *strengths) unpack(x []float64) *strengths {
	n := len(q.sigma)
	out := &strengths{rank: q.rank, fixed: q.fixed, group: q.group, common: q.common, w: slices.Clone(x[n : n+len(q.w)])}
	out.sigma = make([]float64, n)
	for g, v := range q.sigma {
		if v > 0 {
			out.sigma[g] = math.Exp(x[g])
		}
	}
	x = x[n+len(q.w):]
	out.noise = max(math.Exp(x[0]), leastNoise)
	for _, t := range x[1:] {
		out.tau = append(out.tau, min(max(math.Exp(t), leastTau), mostTau))
	}
	if q.fixed {
		copy(out.tau, q.tau)
	}
	return out
}

// anderson combines points and the results of their steps so that the combined steps are as short as possible
// in the metric of the information (Walker and Ni 2011); nil for fewer than three points, and where rounding
// leaves no solution.
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
	a, b := mat.NewSymDense(n-1, nil), mat.NewVecDense(n-1, nil)
	trace := 0.0
	for i := range n - 1 {
		d := floats.MulTo(make([]float64, size), information, change(steps, i))
		for j := i; j < n-1; j++ {
			a.SetSym(i, j, floats.Dot(d, change(steps, j)))
		}
		b.SetVec(i, floats.Dot(d, steps[n-1]))
		trace += a.At(i, i)
	}
	for i := range n - 1 {
		a.SetSym(i, i, a.At(i, i)+1e-8*trace)
	}
	var chol mat.Cholesky
	var c mat.VecDense
	if !chol.Factorize(a) || chol.SolveVecTo(&c, b) != nil {
		return nil
	}
	x := slices.Clone(after[n-1])
	for i := range n - 1 {
		floats.AddScaled(x, -c.AtVec(i), change(after, i))
	}
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
	}
	return x
}
