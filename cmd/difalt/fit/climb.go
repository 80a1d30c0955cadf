package fit

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

const (
	memory     = 6    // earlier iterations that Anderson acceleration combines
	flat       = 0.06 // nats in three iterations below which a climb ends, at least
	flatShare  = 2e-3 // the same as a share of the penalty of rank 1, whose size evidences are compared on
	nearlyFlat = 1.0  // nats in three iterations below which a climb counts as converged
	iterations = 40   // of a climb
)

// A climbed is the end of a climb.
type climbed struct {
	q         *strengths
	evidence  float64
	converged bool
}

// climb raises the evidence of tasks from strengths q by steps of improve, with Anderson acceleration from
// the third on. An accelerated point of lower evidence is replaced by the plain step.
func (s *stats) climb(ctx context.Context, tasks []int, q *strengths, most int) (*climbed, error) {
	best := &climbed{q: q, evidence: math.Inf(-1)}
	safe, accelerated := q, false
	var at, after [][]float64
	var evidences []float64
	for range most {
		m, z, err := s.evaluate(ctx, tasks, q, best.evidence)
		if err != nil && !errors.Is(err, mixedmodel.ErrNumeric) {
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
		best.q, best.evidence = q, m.evidence
		evidences = append(evidences, m.evidence)
		if n := len(evidences); n > 3 {
			gain := evidences[n-1] - evidences[n-4]
			level := max(flat, flatShare*s.rankPenalty(tasks, 1))
			if best.converged = gain < max(nearlyFlat, level); gain < level {
				break
			}
		}
		safe = s.improve(tasks, q, m, z)
		at, after = append(at, q.pack()), append(after, safe.pack())
		if len(at) > memory {
			at, after = at[1:], after[1:]
		}
		q, accelerated = safe, false
		if x := anderson(at, after); x != nil {
			q, accelerated = safe.unpack(x), true
		}
	}
	return best, nil
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

// pack returns the strengths as a vector: sigma, loadings, log noise, log tau.
func (q *strengths) pack() []float64 {
	x := append(slices.Clone(q.sigma), q.w...)
	x = append(x, math.Log(q.noise))
	for _, t := range q.tau {
		x = append(x, math.Log(t))
	}
	return x
}

// unpack returns strengths of the shape of q with the values of a vector.
func (q *strengths) unpack(x []float64) *strengths {
	n := len(q.sigma)
	out := &strengths{rank: q.rank, fixed: q.fixed, group: q.group, common: q.common, w: slices.Clone(x[n : n+len(q.w)])}
	for _, v := range x[:n] {
		out.sigma = append(out.sigma, math.Abs(v))
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
// (Walker and Ni 2011); nil for fewer than three points, and where rounding leaves no solution.
func anderson(at, after [][]float64) []float64 {
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
		d := change(steps, i)
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
