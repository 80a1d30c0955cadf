package fit

import (
	"context"
	"math"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// A Candidate is a model that Fit compares with others. Ridges are variances of the noise over
// those of what they hold back, for standardised features: 0 leaves it free, and +Inf
// leaves it out.
type Candidate struct {
	Rank int
	// Intercept is the ridge on the constant of a task, about that of all tasks; Ridge that on
	// all other deviations of its coefficients, in every direction, beside the loadings of low rank;
	// and MeanRidge that on the coefficients that all tasks share.
	Intercept, Ridge, MeanRidge float64
	// Evidence is the logarithm of the Bayes factor against the model of rank 0, or against the
	// first that was compared.
	Evidence float64
	// Axes are the standard deviations of predictions along the principal axes of the
	// low rank, for standardised features, in the unit of the target.
	Axes []float64
}

const (
	// maxRank is the largest rank that is tried where the caller gives none.
	maxRank = 8
	// decisive is the -2 log Bayes factor from which on a larger rank counts as better. Kass and Raftery (1995)
	// call 10 "very strong"; the approximation behind it is that far off where tasks have few rows, and
	// a rank too many costs more there than one too few.
	decisive = 20
	// A rank whose first climb has ended this far above the best in -2 log evidence is not worth a second.
	worthless = 30
)

// Tolerances of climbs in -2 log likelihood, and the most steps of one.
const (
	hastily, roughly, closely = 1, 0.2, 1e-4
	maxSteps                  = 200
)

// A candidate is a point of the largest evidence at a rank, and where it came from.
type candidate struct {
	*evidence.Point
	evidence  float64         // -2 log
	bases     []*kernel.Basis // of every hosted node, where the climb began; nil at rank 0
	converged bool
}

// A question is what ranks are compared for, beside the rows.
type question struct {
	rank      int                // of Config: 0 compares all up to maxRank, -1 is rank 0 alone
	given     evidence.Strengths // by the caller
	continued *mixedmodel.Prior  // of a model that the fit continues; nil if there is none
	unit      float64            // of the target, for reports
	progress  func(stage string, done, total int)
	// Points of other rows or weights from which the climbs of rank 0 start; nil if there are none.
	shrunken, none *evidence.Point
}

// A choice is what the evidence of rows says about ranks.
type choice struct {
	rows           *evidence.Rows
	shrunken, none *evidence.Point // of rank 0: of intercepts only, and with a spread
	best           *candidate
	byRank         []*candidate // the best of rank 0, and of every rank after it up to the best
	levels         *candidate   // of intercepts only; nil where strengths are given
	tried          []Candidate
	problem        *difalt.Problem // for which bases were found; nil if no rank was tried
	algorithm      *algorithm      // that found them
}

// choose compares ranks from 0 as long as evidence grows, or takes the one that is given.
func (q *question) choose(ctx context.Context, rows *evidence.Rows, a *algorithm) (*choice, error) {
	c := &choice{rows: rows, algorithm: a}
	if err := q.chooseNone(ctx, c); err != nil {
		return nil, err
	}
	c.byRank = []*candidate{c.best}
	if q.rank < 0 || c.none.Noise <= 2*evidence.NoiseFloor { // there is nothing left to explain
		return c, nil
	}
	var err error
	if c.problem, err = problem(ctx, a.Group, rows, c.none); err != nil {
		return nil, err
	}
	if err := a.agree(ctx, c.problem); err != nil {
		return nil, err
	}
	lo, hi := 1, min(maxRank, rows.Width-1, int(rows.Count)-1)
	if q.rank > 0 {
		lo, hi = q.rank, q.rank
	}
	for r := lo; r <= hi; r++ {
		q.progress("rank", r-lo, hi-lo+1)
		next, err := q.candidate(ctx, c, r)
		if err != nil {
			return nil, err
		}
		c.tried = append(c.tried, next.report(c.none, q.unit))
		if q.rank == 0 && !(next.evidence < c.best.evidence-decisive) {
			break
		}
		c.best = next
		c.byRank = append(c.byRank, next)
	}
	q.progress("rank", hi-lo+1, hi-lo+1)
	return c, nil
}

// chooseNone finds the candidates of rank 0 and the better of them.
func (q *question) chooseNone(ctx context.Context, c *choice) (err error) {
	q.progress("strengths", 0, 1)
	start := q.shrunken
	if start == nil {
		start = &evidence.Point{Prior: &mixedmodel.Prior{W: c.rows.Width, Intercept: 0.1, MeanVariance: 0.1}}
	}
	// A ridge regression for all tasks with an intercept for each that is shrunken towards that of all.
	intercepts := evidence.Unknown()
	intercepts.Spread = 0
	if c.shrunken, _, err = c.rows.Maximize(ctx, start, nil, intercepts, closely, maxSteps); err != nil {
		return err
	}
	if start = q.none; start == nil {
		p := c.shrunken.Clone()
		p.Spread = 0.01
		q.given.Apply(p)
		start = &evidence.Point{Prior: p}
	}
	none, converged, err := c.rows.Maximize(ctx, start, nil, q.given, roughly, maxSteps)
	if err != nil {
		return err
	}
	q.progress("strengths", 1, 1)
	c.none, c.best = none, &candidate{Point: none, evidence: none.Value, converged: converged}
	both := []*candidate{c.best}
	if q.given.AllUnknown() {
		// Spread is a parameter too.
		c.levels = &candidate{Point: c.shrunken, evidence: c.shrunken.Value - math.Log(c.rows.Count), converged: true}
		both = []*candidate{c.levels, c.best}
		if c.levels.evidence < c.best.evidence {
			c.best = c.levels
		}
	}
	for _, k := range both {
		c.tried = append(c.tried, k.report(none, q.unit))
	}
	return nil
}

// candidate finds the prior of the largest evidence at a rank.
func (q *question) candidate(ctx context.Context, c *choice, rank int) (*candidate, error) {
	start, bases, err := q.startAt(ctx, c, rank)
	if err != nil {
		return nil, err
	}
	variances := make([]float64, rank)
	for a := range variances {
		variances[a] = max(2*squares(start.Column(a))/float64(min(start.W, 20)), 1e-8)
	}
	next := &candidate{bases: bases}
	from := &evidence.Point{Prior: start}
	for _, tolerance := range []float64{hastily, roughly} {
		pt, converged, err := c.rows.Maximize(ctx, from, variances, q.given, tolerance, maxSteps)
		if err != nil {
			return nil, err
		}
		info, err := c.rows.Observed(ctx, pt)
		if err != nil {
			return nil, err
		}
		penalty, determined := evidence.Occam(info, variances, start.W)
		next.Point, next.converged, next.evidence = pt, converged, pt.Penalized()+penalty
		if q.rank == 0 && next.evidence > c.best.evidence+worthless {
			break
		}
		// Variances again, by the entries that the data determine (MacKay 1992).
		from, variances = pt, make([]float64, rank)
		for a := range variances {
			variances[a] = max(squares(pt.Column(a))/max(determined[a], 1), 1e-8)
		}
	}
	return next, nil
}

// startAt returns where the climb at a rank starts: at loadings and strengths of the model that the fit continues if they
// are of this rank, else at the basis that the algorithm finds, with axes and variances of its coefficients.
func (q *question) startAt(ctx context.Context, c *choice, rank int) (*mixedmodel.Prior, []*kernel.Basis, error) {
	if q.continued != nil && q.continued.Rank == rank {
		start := q.continued.Clone()
		q.given.Apply(start)
		return start, spanned(start, len(c.rows.Tasks)), nil
	}
	res, err := c.algorithm.basis(ctx, c.problem, rank, ridgeOf(c.none, rank))
	if err != nil {
		return nil, nil, err
	}
	start, err := loadings(ctx, c.algorithm.Group, res, c.rows.Count)
	if err != nil {
		return nil, nil, err
	}
	none := c.none
	start.Intercept, start.MeanVariance = none.Intercept, none.MeanVariance
	// What the loadings explain is no longer spread over all directions. Few rows leave the coefficients
	// of a basis, and so the loadings, far shorter than they are: from there the climb
	// could end without them.
	start.Spread = none.Spread / 4
	for a := range rank {
		long, have := none.Spread*float64(start.W-1)/float64(2*rank), squares(start.Column(a))
		if have > 0 && have < long {
			floats.Scale(math.Sqrt(long/have), start.Column(a))
		}
	}
	q.given.Apply(start)
	return start, res.U, nil
}

// ridgeOf is the ridge on the coefficients of a basis while it is looked for: as if the
// spread of a point were in its directions alone.
func ridgeOf(none *evidence.Point, rank int) float64 {
	w := float64(none.W)
	return float64(rank) / (w * max(none.Spread, 0.01/w))
}

// report returns a candidate as it is reported, with its evidence against that of none.
func (c *candidate) report(none *evidence.Point, unit float64) Candidate {
	out := Candidate{Rank: c.Rank, Intercept: 1 / c.Intercept, Ridge: 1 / c.Spread, MeanRidge: 1 / c.MeanVariance, Evidence: (none.Value - c.evidence) / 2}
	p := c.Prior.Clone()
	p.Rotate()
	for a := range p.Rank {
		out.Axes = append(out.Axes, math.Sqrt(squares(p.Column(a))*c.Noise)*unit)
	}
	return out
}

func squares(v []float64) (sum float64) {
	for _, x := range v {
		sum += x * x
	}
	return sum
}
