package mixed

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
)

// Groups of columns with a common strength of deviations at first.
const (
	constantGroup = iota
	linearGroup
	curveGroup
	groups
)

// ownPrior is the number of deviations that the prior of a column's own strength counts as.
const ownPrior = 5.0

const (
	constantSD0 = 30.0  // prior standard deviation of the mean's constant, in target deviations
	leastNoise  = 1e-10 // variance of the noise, of the target's variance
	leastTau    = 1e-9  // strength of a mean
	mostTau     = 3e3
	rounding    = 1e-13 // relative ridge of the mean where it is needed
)

// prior returns the distribution of deviations. Off the axes of a design they have the distribution of linear
// columns.
func (s *stats) prior(q *varianceComponents) *Prior {
	prior := &Prior{Deviations: make([]float64, s.p), Rank: q.rank, Loadings: make([]float64, s.p*q.rank)}
	prior.Noise.Variance = q.noise
	for j, g := range q.group {
		if s.within[j] || j == s.design.distance() {
			prior.Deviations[j] = q.sigma[g]
		}
	}
	for a := range q.rank {
		copy(prior.Loadings[a*s.p:], q.w[a*s.linear:][:s.linear])
	}
	for j, barred := range s.barred { // in spite of the totals of others
		if barred {
			prior.Deviations[j] = 0
			for a := range q.rank {
				prior.Loadings[a*s.p+j] = 0
			}
		}
	}
	return prior
}

// meanDeviations returns the prior standard deviations of the mean's entries: 0 for columns that do not vary.
func (s *stats) meanDeviations(q *varianceComponents) []float64 {
	d := make([]float64, s.p)
	for j := range s.columns {
		switch {
		case j == 0:
			d[j] = constantSD0
		case s.active[j] || j == s.design.distance():
			d[j] = q.tau[s.group[j]]
		}
	}
	return d
}

// A meanPosterior holds sums over tasks and the posterior of the mean for given variance components.
type meanPosterior struct {
	prior      *Prior
	evidence   float64
	m, h       []float64 // sums of X'V^-1 X and X'V^-1 y
	mean       []float64 // posterior mean of the mean
	c          []float64 // its posterior covariance, p x p
	explained  float64   // h times the mean
	determined float64   // P - trace of (I + D^1/2 M D^1/2)^-1
}

// keepMean frees the matrices of a posterior. Only predictions can be computed from it after that.
func (m *meanPosterior) keepMean() {
	if m != nil {
		m.m, m.h, m.c = nil, slices.Clone(m.h), nil // h lies behind m
	}
}

// meanPosterior computes the evidence and the posterior of the mean for variance components.
func (s *stats) meanPosterior(ctx context.Context, tasks *taskSet, q *varianceComponents) (*meanPosterior, error) {
	e := &evaluation{s: s, tasks: tasks, q: q}
	if err := evaluateEvidence(ctx, []*evaluation{e}, nil, nil); err != nil {
		return nil, err
	}
	return e.m, e.err
}

// An evaluation is the sums over tasks at given variance components.
type evaluation struct {
	s     *stats
	tasks *taskSet
	q     *varianceComponents
	m     *meanPosterior
	z     *scoreSums
	err   error // nil or errNumeric
}

// evaluateEvidence sets the evidence and the posteriors of the mean, or the errors, of several evaluations.
// Their sums share a message. compute then sets the numbers of a decision; it may be nil where there are
// none.
func evaluateEvidence(ctx context.Context, list []*evaluation, decided []float64, compute func()) error {
	totals := make([]*total, len(list))
	for i, e := range list {
		e.m = &meanPosterior{prior: e.s.prior(e.q)}
		totals[i] = new(total)
		if !e.pools() {
			totals[i] = e.s.ownMeanSums(ctx, e.tasks, e.m.prior)
		}
	}
	return list[0].s.rows.tryThen(ctx, "X'V^-1 X, X'V^-1 y, deviance", decided, func() {
		for i, e := range list {
			if e.err = totals[i].err; e.err == nil {
				sum := totals[i].v
				if e.pools() {
					sum = e.s.pooledSums(e.q.noise)
				}
				e.err = e.m.set(sum, e.tasks.rows, e.s.meanDeviations(e.q))
			}
		}
		if compute != nil {
			compute()
		}
	}, totals...)
}

// pools reports whether the sums of an evaluation follow from the products of all rows: where tasks have
// neither deviations nor a noise of their own, V is the noise times I.
func (e *evaluation) pools() bool {
	return e.tasks == e.s.tasks && e.s.ratio == nil && !e.m.prior.deviates()
}

// pooledSums returns the sums of ownMeanSums over all owners where the evaluation pools.
func (s *stats) pooledSums(noise float64) []float64 {
	p := s.p
	sum := make([]float64, p*p+p+1)
	xy := s.productsOfTarget()
	floats.ScaleTo(sum[:p*p], 1/noise, s.total)
	floats.ScaleTo(sum[p*p:], 1/noise, xy)
	sum[p*p+p] += float64(s.tasks.rows * rounded.Log(noise))
	return sum
}

// pooledScores returns the sums of scores over all owners where the evaluation pools: deviations stay 0
// whatever the scores are.
func (s *stats) pooledScores(mean []float64) *scoreSums {
	p := s.p
	g, moved, xy := slices.Clone(s.total), make([]float64, p), s.productsOfTarget()
	dense.Mirror(p, g)
	dense.Symv(1, dense.Symmetric(p, g), dense.Vector(mean), 0, dense.Vector(moved))
	residual := xy[p] - float64(2*rounded.Dot(mean, xy[:p])) + rounded.Dot(mean, moved)
	return &scoreSums{scores: make([]float64, p), spread: make([]float64, p), residual: max(residual, 0)}
}

// productsOfTarget returns X'y and y'y of the target, over all owners.
func (s *stats) productsOfTarget() []float64 {
	if s.log && s.rows.compares {
		return s.xy[s.p+1:]
	}
	return s.xy[:s.p+1]
}

// ownMeanSums returns the sums over the tasks of this owner of X'V^-1 X, X'V^-1 y and the deviance.
func (s *stats) ownMeanSums(ctx context.Context, tasks *taskSet, prior *Prior) *total {
	p := s.p
	t := s.solveOwn(ctx, prior, tasks, p*p+p+1, func(w *worker, _ int, part []float64) {
		part[p*p+p] += w.solver.Deviance()
		w.solver.AddInformation(part[:p*p], part[p*p:p*p+p])
	})
	unit := 1 / powerOfTwo(prior.Noise.Variance)
	t.order, t.unit = p, func(i int) float64 {
		if i == p*p+p { // log det V has no unit
			return 1
		}
		return unit
	}
	return t
}

// set sets the posterior from its sums and the prior standard deviations of the mean.
func (m *meanPosterior) set(sum []float64, rows float64, d []float64) error {
	p := len(d)
	m.m, m.h = sum[:p*p:p*p], sum[p*p:p*p+p:p*p+p]
	dense.Mirror(p, m.m)
	log, err := m.solve(d)
	m.evidence = -0.5 * (float64(rows*rounded.Log(2*math.Pi)) + sum[p*p+p] + log - m.explained)
	if err == nil && math.IsNaN(m.evidence) {
		err = errTotals
	}
	return err
}

// solve sets mean and covariance C = (M + D^-1)^-1 of a vector with prior N(0, D), D = diag(d)^2, from the
// information M, h: by A = I + diag(d) M diag(d), so that d may be 0. It returns log det A. M is a sum of
// differences. Where the noise is small, their rounding errors may exceed what is left of them. A then gets
// the least ridge with which it is at least I, in steps of ten. The error is errTotals: A is not finite.
func (m *meanPosterior) solve(d []float64) (log float64, err error) {
	p := len(d)
	m.c, m.mean = dense.Grow(m.c, p*p), dense.Grow(m.mean, p)
	largest := 1.0
	for i := range p {
		largest = max(largest, 1+float64(d[i]*m.m[i*p+i]*d[i]))
	}
	for ridge := 0.0; ; ridge = max(10*ridge, rounding*largest) {
		log, ok := m.solveWith(d, ridge)
		if ok && finite(m.explained) {
			return log, nil
		}
		if ok || !m.scaled(d, ridge) {
			return 0, errTotals
		}
	}
}

// scaled sets the upper triangle of c to A with a ridge, and reports whether it is finite.
func (m *meanPosterior) scaled(d []float64, ridge float64) bool {
	p, size := len(d), 0.0
	for i := range p {
		for j := i; j < p; j++ {
			v := d[i] * m.m[i*p+j] * d[j]
			size += math.Abs(v)
			m.c[i*p+j] = v
		}
		m.c[i*p+i] += 1 + ridge
	}
	return finite(size + ridge)
}

// solveWith is solve with a ridge in A. It reports whether A has a factor and is at least I, as its inverse
// shows.
func (m *meanPosterior) solveWith(d []float64, ridge float64) (log float64, ok bool) {
	const most = 1.01 // of the diagonal of the inverse: rounding moves a 1
	p := len(d)
	m.scaled(d, ridge)
	r, ok := dense.Potrf(dense.Symmetric(p, m.c))
	if !ok {
		return 0, false
	}
	for i := range p {
		log += 2 * rounded.Log(m.c[i*p+i])
	}
	for i := range p {
		m.mean[i] = d[i] * m.h[i]
	}
	// C h would lose all digits where columns nearly follow from others and the noise is small.
	dense.Trsv(blas.Trans, r, dense.Vector(m.mean))
	m.explained = rounded.Dot(m.mean, m.mean)
	dense.Trsv(blas.NoTrans, r, dense.Vector(m.mean))
	for i := range p {
		m.mean[i] *= d[i]
	}
	dense.Potri(r)
	m.determined = 0
	for i := range p {
		if m.c[i*p+i] > most {
			return 0, false
		}
		m.determined += 1 - m.c[i*p+i]
		for j := i; j < p; j++ {
			m.c[i*p+j] *= d[i] * d[j]
		}
	}
	dense.Mirror(p, m.c)
	return log, true
}

// A scoreSums holds the sums over tasks that need the mean: of the scores u = X'V^-1 (y - X mean), and of M C
// M.
type scoreSums struct {
	scores   []float64 // u_j^2
	spread   []float64 // diagonal of M C M
	outer    []float64 // u u'W, p x rank by columns
	sandwich []float64 // M C M W, the same
	residual float64   // |y - X theta|^2 over noise ratios
}

// evaluateScores sets the sums of scores, or the errors, of several evaluations that have a posterior of the
// mean. Their sums share a message. compute then sets the numbers of a decision.
func evaluateScores(ctx context.Context, list []*evaluation, decided []float64, compute func()) error {
	if len(list) == 0 {
		return nil
	}
	totals := make([]*total, len(list))
	for i, e := range list {
		totals[i] = new(total)
		if !e.pools() {
			totals[i] = e.s.ownScoreSums(ctx, e.tasks, e.m, 2*e.s.p+2*e.s.p*e.q.rank+1)
		}
	}
	return list[0].s.rows.tryThen(ctx, "scores, spread, residuals", decided, func() {
		for i, e := range list {
			if e.err = totals[i].err; e.err != nil {
				continue
			}
			if e.pools() {
				e.z = e.s.pooledScores(e.m.mean)
				continue
			}
			sum, p, r := totals[i].v, e.s.p, e.q.rank
			o := 2*p + p*r
			e.z = &scoreSums{sum[:p], sum[p : 2*p], sum[2*p : o], sum[o : o+p*r], sum[len(sum)-1]}
		}
		compute()
	}, totals...)
}

// ownScoreSums returns the sums of scores over the tasks of this owner.
func (s *stats) ownScoreSums(ctx context.Context, tasks *taskSet, m *meanPosterior, size int) *total {
	p, r := s.p, m.prior.Rank
	t := s.solveOwn(ctx, m.prior, tasks, size, func(w *worker, k int, part []float64) {
		w.solver.Score(w.u, m.mean)
		w.solver.Deviate(w.v, w.u)
		floats.Add(w.v, m.mean)
		part[size-1] += w.task.Residual(w.v) / cmp.Or(w.task.Noise, 1)
		for j, u := range w.u {
			part[j] += float64(u * u)
		}
		w.solver.AddSpread(part[p:2*p], m.c)
		for a := range r {
			l := m.prior.Loadings[a*p:][:p]
			rounded.AddScaled(part[2*p+a*p:][:p], rounded.Dot(w.u, l), w.u)
			w.solver.Times(w.v, l)
			dense.Symv(1, dense.Symmetric(p, m.c), dense.Vector(w.v), 0, dense.Vector(w.z))
			w.solver.Times(w.v, w.z)
			floats.Add(part[2*p+p*r+a*p:][:p], w.v)
		}
	})
	largest := 0.0
	for j := range p {
		largest = max(largest, m.m[j*(p+1)])
	}
	t.unit = func(i int) float64 { // a score has the size of the information
		if i == size-1 {
			return 1
		}
		return powerOfTwo(max(m.m[i%p*(p+1)], 1e-12*largest))
	}
	return t
}
