package fit

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/floats"
)

const (
	// maxRank is the largest rank that is tried where the caller gives none.
	maxRank = 8
	// decisive is the -2 log Bayes factor from which on a rank counts as worse for sure: what Kass and Raftery (1995) call
	// "strong". With less it is averaged with others.
	decisive = 6
	// hopeful is by how much it may be expected to be worse and is still evaluated by a single owner: tasks that are not alike say more, by up to 6 on drawn tables.
	hopeful = 12
	// Between owners sums are dithered, and a climb may end before it has arrived: a larger rank must be better by this.
	decisiveBetween = 9
)

// A climb ends where a step promises less than this in -2 log likelihood.
const enough = evidence.Enough

// How many evaluations climbs have at most, beside that of the start. From each evaluation other nodes learn something of the rows: a fit has
// evidence.MostEvaluations, and keeps some of them for what comes after.
const (
	nextSteps   = 4 // of all strengths
	firstSteps  = 1 // of intercepts alone
	weightSteps = 3 // of strengths and weights of rows together
	rankSteps   = 6 // of a rank
	lastSteps   = 5 // of strengths and the lengths of loadings
	aloneSteps  = 50
	keptRank    = 8 // for ranks
	keptWeights = 2 // for weights and the noise of tasks once more
	keptLast    = 3 // for lengths, and the noise
)

// least returns what a step must promise at the end: where nobody else hears of it, variances come to four digits, as from lme4.
func (c *choice) least() float64 {
	if c.rows.Alone() {
		return enough / 1000
	}
	return enough
}

// fine is what a step at a rank must promise: where nobody else hears of it, so little that rounding, which decides between ways that are as good,
// changes no digit that a report shows.
func (c *choice) fine() float64 {
	if c.rows.Alone() {
		return enough / 10
	}
	return enough
}

// steps returns how many of the steps there may be, and leaves some evaluations for later.
func (c *choice) steps(most, kept int) int {
	if c.rows.Alone() {
		return min(10*most, aloneSteps)
	}
	return max(min(most, evidence.MostEvaluations-c.rows.Evaluations()-kept), 0)
}

// A candidate is a point of the largest evidence at a rank.
type candidate struct {
	*evidence.Point
	evidence  float64 // -2 log
	expected  bool    // if tasks were alike, but not evaluated
	converged bool
	weight    float64 // in the average of candidates; 0 if it is not in it
}

// A question is what ranks are compared for, beside the rows.
type question struct {
	rank      int                // of Config: 0 compares all up to maxRank, -1 is rank 0 alone
	given     evidence.Strengths // by the caller
	continued *mixedmodel.Prior  // of a model that the fit continues, where its rank starts; nil if there is none
	// commonNoise says that the noise of all tasks has one variance.
	commonNoise bool
	progress    func(stage string, done, total int)
}

// A choice is what the evidence of rows says about ranks.
type choice struct {
	*question
	rows           *evidence.Rows
	moments        []float64       // of all rows, w x w
	shrunken, none *evidence.Point // of rank 0: of intercepts only, and with a spread
	zero           float64         // -2 log evidence of none
	best           *candidate
	levels         *candidate // of intercepts only; nil where strengths are given
	tried          []*candidate
	stacked        bool // what is averaged with candidates of rank 0
}

// try adds a candidate to those that are reported, in place of one of its rank that was only expected. One that would explain all that there is has
// no evidence.
func (c *choice) try(k *candidate) {
	if math.IsInf(k.evidence, 0) || math.IsNaN(k.evidence) {
		return
	}
	k = k.bare()
	if at := slices.IndexFunc(c.tried, func(o *candidate) bool { return o.Rank == k.Rank && k.Rank > 0 }); at >= 0 {
		c.tried[at] = k
		return
	}
	c.tried = append(c.tried, k)
	slices.SortStableFunc(c.tried, func(a, b *candidate) int { return a.Rank - b.Rank })
}

// chooseNone finds the candidates of rank 0 and the better of them.
func (q *question) chooseNone(ctx context.Context, rows *evidence.Rows) (c *choice, err error) {
	q.progress("strengths", 0, 1)
	c = &choice{question: q, rows: rows}
	guess := rows.FirstGuess()
	if p := c.continued; p != nil {
		guess.Intercept, guess.MeanVariance = p.Intercept, p.MeanVariance
	}
	start, moments, err := rows.Start(ctx, guess, c.given)
	if err != nil {
		return nil, err
	}
	c.moments = moments.Moments()
	if c.continued != nil {
		c.given.Apply(guess)
		start.Prior = guess
	}
	var converged bool
	c.none, converged, err = rows.Maximize(ctx, start, nil, c.given, enough, c.steps(nextSteps, 0))
	if err != nil {
		return nil, err
	}
	// A ridge regression for all tasks with an intercept for each that is shrunken towards that of all.
	intercepts, levels := evidence.Unknown(), c.none.Clone()
	intercepts.Spread = 0
	if alike, ok := c.none.Alike(); ok {
		levels = alike.Top(levels, nil, intercepts, enough)
	}
	levels.Spread = 0
	c.shrunken, _, err = rows.Maximize(ctx, &evidence.Point{Prior: levels, Mean: c.none.Mean}, nil, intercepts, 10*enough, c.steps(firstSteps, 0))
	if err != nil {
		return nil, err
	}
	c.progress("strengths", 1, 1)
	c.chooseLevels(converged)
	return c, nil
}

// chooseLevels sets the better of the candidates of rank 0.
func (c *choice) chooseLevels(converged bool) {
	c.best = &candidate{Point: c.none, evidence: c.none.Value}
	if alike, ok := c.none.Alike(); ok {
		c.best = judged(alike, c.none)
	}
	c.best.converged, c.zero = converged, c.best.evidence
	c.tried = []*candidate{c.best}
	if !c.given.AllUnknown() {
		return
	}
	// Spread is a parameter too.
	c.levels = &candidate{Point: c.shrunken, evidence: c.shrunken.Value - math.Log(c.rows.Count), converged: true}
	c.tried = []*candidate{c.levels, c.best}
	if c.levels.evidence < c.best.evidence {
		c.best = c.levels
	}
}

// compareRanks is chooseRank without weights. The evidence is evaluated at ranks only that would be worth it if all tasks were alike.
func (c *choice) compareRanks(ctx context.Context) error {
	hi := c.highest()
	if c.rank > 0 {
		hi = c.rank
	}
	if c.rank < 0 || c.none.Noise <= 2*evidence.NoiseFloor { // there is nothing left to explain
		return nil
	}
	from := c.none
	for {
		c.progress("rank", from.Rank, hi)
		next := c.next(from, hi)
		if next == nil || c.steps(1, c.kept()) == 0 {
			break
		}
		reached, err := c.climb(ctx, next, from)
		if err != nil {
			return err
		}
		if reached == nil {
			break
		}
		c.try(reached)
		from = reached.Point
		if !c.take(reached) {
			break
		}
	}
	c.progress("rank", hi, hi)
	if c.rank > c.best.Rank {
		return errOutOfRange
	}
	// What was expected from smaller ranks yet.
	c.tried = slices.DeleteFunc(c.tried, func(k *candidate) bool { return k.expected && k.Rank < c.best.Rank })
	if !c.averages() {
		return c.lower(ctx)
	}
	before := c.best.Rank - 1
	if alike, ok := c.best.Alike(); ok && before > 0 && !slices.ContainsFunc(c.tried, func(k *candidate) bool { return k.Rank == before }) {
		c.try(c.expected(alike, before))
	}
	return nil
}

// next returns the rank to evaluate from a point, of those that are larger: before the first that is not decisively better than the one before, if all
// tasks were alike, and that one where it may have a weight; nil if there is none.
func (c *choice) next(from *evidence.Point, hi int) (next *candidate) {
	alike, ok := from.Alike()
	if !ok {
		return nil
	}
	last := c.best.evidence
	if from.Rank > 0 { // it may not have arrived
		last = min(last, c.expected(alike, from.Rank).evidence)
	}
	for rank := max(from.Rank+1, c.rank); rank <= hi; rank++ {
		k := c.expected(alike, rank)
		c.try(k)
		sure := c.rank > 0 || k.evidence < last-c.decisive()
		if !sure && (next != nil || !c.averages() || k.evidence >= c.best.evidence+hopeful || k.last() <= slight) {
			break
		}
		if next, last = k, k.evidence; c.continued != nil && c.continued.Rank == rank {
			next.Prior = c.continued.Clone()
			c.given.Apply(next.Prior)
		}
		if !sure {
			break
		}
	}
	return next
}

// highest is the largest rank to try.
func (c *choice) highest() int { return min(maxRank, c.rows.Width-1, int(c.rows.Count)-1) }

// decisive is by how much in -2 log evidence a larger rank has to be better.
func (c *choice) decisive() float64 {
	if c.rows.Alone() {
		return decisive
	}
	return decisiveBetween
}

// kept is how many evaluations the ranks leave for later.
func (c *choice) kept() int {
	if c.rows.Weights != nil {
		return keptLast + keptWeights
	}
	return keptLast
}

// lower takes a smaller rank than the best where the last directions do not pay: with the weights of rows that are by now, or
// since ranks before it were not evaluated.
func (c *choice) lower(ctx context.Context) error {
	for c.rank == 0 && c.best.Rank > 0 {
		empty, kept := c.best.empty(), keptLast // before weights
		if empty {
			kept = 1
		}
		if c.steps(1, kept) == 0 {
			break
		}
		alike, ok := c.best.Alike()
		if !ok {
			return nil
		}
		before := slices.IndexFunc(c.tried, func(k *candidate) bool { return k.Rank == c.best.Rank-1 && !k.expected })
		k := c.expected(alike, c.best.Rank-1)
		if before < 0 {
			c.try(k)
		}
		if empty { // what was tried at the rank before had not reached its top
			before = -1
		}
		if k.evidence > c.best.evidence+c.decisive() || before >= 0 && c.tried[before].evidence > c.best.evidence+c.decisive() {
			return nil
		}
		reached, err := c.climb(ctx, k, c.best.Point)
		if err != nil || reached == nil {
			return err
		}
		if c.try(reached); reached.evidence > c.best.evidence+c.decisive() {
			return nil
		}
		c.best = reached
	}
	return nil
}

// expected returns the candidate of a rank if all tasks were alike.
func (c *choice) expected(alike *evidence.Alike, rank int) *candidate {
	p := alike.Start(rank)
	c.given.Apply(p)
	variances := make([]float64, rank)
	for a := range variances {
		variances[a] = max(2*floats.Dot(p.Column(a), p.Column(a))/float64(min(p.W, 20)), 1e-8)
	}
	k := c.ascend(alike, p, variances)
	k.expected = true
	return k
}

// ascend goes to the top of the evidence of a rank if all tasks were alike, with variances of the loadings by the entries that
// the data determine (MacKay 1992).
func (c *choice) ascend(alike *evidence.Alike, p *mixedmodel.Prior, variances []float64) *candidate {
	if p.Rank == 0 {
		return judged(alike, alike.Point(alike.Top(p, nil, c.given, enough), nil))
	}
	for range 3 {
		p = alike.Top(p, variances, c.given, c.fine())
		_, determined := evidence.Occam(alike.Observed(p), variances, p.W)
		variances = make([]float64, p.Rank)
		for a := range variances {
			variances[a] = max(floats.Dot(p.Column(a), p.Column(a))/max(determined[a], 1), 1e-8)
		}
	}
	return judged(alike, alike.Point(p, variances))
}

// judged returns the candidate of a point: its evidence has what loadings and slopes cost that are not known but estimated.
func judged(alike *evidence.Alike, pt *evidence.Point) *candidate {
	k := &candidate{Point: pt, evidence: pt.Penalized() + alike.OccamOfSlopes(pt.Prior)}
	if pt.Rank > 0 {
		info := alike.Observed(pt.Prior)
		penalty, _ := evidence.Occam(info, pt.LoadingVariances, pt.W)
		k.evidence += penalty - evidence.Turns(pt.Prior, pt.LoadingVariances, info)
	}
	return k
}

// climb evaluates a candidate that was only expected, and goes on from there to the top of the evidence; nil if there is no likelihood, as where
// it explains all that there is.
func (c *choice) climb(ctx context.Context, k *candidate, near *evidence.Point) (best *candidate, err error) {
	var way evidence.Way
	for range max(c.steps(rankSteps, c.kept()), 1) {
		to := k.Point
		if best != nil {
			to = way.Next()
		}
		pt, err := c.rows.At(ctx, to.Prior, near.Mean)
		if err != nil {
			return nil, err
		}
		pt.LoadingVariances = to.LoadingVariances
		alike, ok := pt.Alike()
		if !ok {
			break
		}
		here := judged(alike, pt)
		if best != nil && here.evidence > best.evidence+c.rows.Slack() {
			if again := way.Shorten(pt); best.converged || !again {
				best.converged = best.converged || way.Ended()
				break
			}
			continue
		}
		best, near = here, pt
		k = c.ascend(alike, pt.Prior, pt.LoadingVariances)
		promise := best.evidence - k.evidence
		if best.converged = promise < 1+2*c.rows.Slack(); promise < c.fine()+c.rows.Slack() {
			break
		}
		if !c.rows.Alone() && c.rank == 0 && pt.Rank < c.highest() && c.expected(alike, pt.Rank+1).evidence < k.evidence-max(c.decisive(), promise) {
			break // one more gains more than a step at this rank
		}
		way.Aim(pt, k.Point)
	}
	return best, nil
}

var errOutOfRange = errors.New("no loadings give a likelihood: are there too few rows, is the target without noise, or are numbers far out of range?")
