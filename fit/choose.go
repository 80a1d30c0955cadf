package fit

import (
	"context"
	"math"

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

// mostRank is the largest rank that is tried where the caller knows none.
const mostRank = 8

// decisive is the -2 log Bayes factor from which on a larger rank counts as better. Kass and Raftery (1995)
// call 10 "very strong"; the approximation behind it is that far off where tasks have few rows, and
// a rank too many costs more there than one too few.
const decisive = 20

// A contender is a rank with the prior of the largest evidence.
type contender struct {
	*point
	evidence  float64 // -2 log
	bases     []*kernel.Basis
	converged bool
}

// strengths are those of rank 0, of intercepts only and with a spread, where they are known of other rows
// or weights.
type strengths struct{ shrunken, none *point }

// choose compares ranks from 0 as long as evidence grows, or takes the one that is given.
func (f *fitter) choose(ctx context.Context) (best *contender, none *point, err error) {
	fix := f.c.known()
	f.progress("strengths", 0, 1)
	if f.shrunken, err = f.fitShrunken(ctx); err != nil {
		return nil, nil, err
	}
	start := f.before.none
	if start == nil {
		p := f.shrunken.Clone()
		p.Spread = 0.01
		fix.apply(p)
		start = &point{Prior: p}
	}
	none, converged, err := f.evidence.maximize(ctx, start, nil, fix, roughly, stepsMost)
	if err != nil {
		return nil, nil, err
	}
	f.progress("strengths", 1, 1)
	best = &contender{point: none, evidence: none.value, converged: converged}
	if f.c.Ridge == nil && f.c.Intercept == nil && f.c.MeanRidge == nil {
		// Spread is a parameter too.
		plain := &contender{point: f.shrunken, evidence: f.shrunken.value - math.Log(f.evidence.count), converged: true}
		f.tried(plain, none.value)
		f.levels = plain
		if plain.evidence < best.evidence {
			best = plain
		}
	}
	f.tried(&contender{point: none, evidence: none.value}, none.value)
	f.contenders = []*contender{best}
	if f.c.Rank < 0 || none.noise <= 2*noiseFloor { // there is nothing left to explain
		return best, none, nil
	}
	p, err := f.problem(ctx, none)
	if err != nil {
		return nil, nil, err
	}
	if err := f.auto(ctx, p); err != nil {
		return nil, nil, err
	}
	f.whitened = p
	lo, hi := 1, min(mostRank, f.width()-1, int(f.evidence.count)-1)
	if f.c.Rank > 0 {
		lo, hi = f.c.Rank, f.c.Rank
	}
	for r := lo; r <= hi; r++ {
		f.progress("rank", r-lo, hi-lo+1)
		next, err := f.contend(ctx, none, r, best.evidence)
		if err != nil {
			return nil, nil, err
		}
		f.tried(next, none.value)
		if f.c.Rank == 0 && !(next.evidence < best.evidence-decisive) {
			break
		}
		best = next
		f.contenders = append(f.contenders, next)
	}
	f.progress("rank", hi-lo+1, hi-lo+1)
	return best, none, nil
}

// Tolerances of climbs in -2 log likelihood, and the most steps of one.
const (
	hastily, roughly, closely = 1, 0.2, 1e-4
	stepsMost                 = 200
)

// contend finds the prior of the largest evidence at a rank.
func (f *fitter) contend(ctx context.Context, none *point, rank int, best float64) (*contender, error) {
	start, bases, err := f.startAt(ctx, none, rank)
	if err != nil {
		return nil, err
	}
	scale := make([]float64, rank)
	for a := range scale {
		scale[a] = max(2*squares(start.Column(a))/float64(min(start.W, 20)), 1e-8)
	}
	c := &contender{bases: bases}
	from := &point{Prior: start}
	for _, tolerance := range []float64{hastily, roughly} {
		pt, converged, err := f.evidence.maximize(ctx, from, scale, f.c.known(), tolerance, stepsMost)
		if err != nil {
			return nil, err
		}
		info, err := f.evidence.observed(ctx, pt)
		if err != nil {
			return nil, err
		}
		penalty, determined := occam(info, scale, start.W)
		c.point, c.converged, c.evidence = pt, converged, pt.penalized()+penalty
		from, scale = pt, rescaled(pt, determined)
		if f.c.Rank == 0 && c.evidence > best+worthless {
			break
		}
	}
	return c, nil
}

// rescaled returns the variances of the entries of the loadings by those that the data determine
// (MacKay 1992).
func rescaled(pt *point, determined []float64) []float64 {
	scale := make([]float64, pt.Rank)
	for a := range scale {
		scale[a] = max(squares(pt.Column(a))/max(determined[a], 1), 1e-8)
	}
	return scale
}

// startAt returns where the climb at a rank starts: at loadings and strengths of Config.Continue if they
// are of this rank, else at the basis that the algorithm finds.
func (f *fitter) startAt(ctx context.Context, none *point, rank int) (start *mixedmodel.Prior, bases []*kernel.Basis, err error) {
	if start, bases = f.continued(rank); start != nil {
		f.c.known().apply(start)
		return start, bases, nil
	}
	if start, bases, err = f.basis(ctx, f.whitened, rank, f.ridgeOf(none, rank)); err != nil {
		return nil, nil, err
	}
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
	f.c.known().apply(start)
	return start, bases, nil
}

// ridgeOf is the ridge on the coefficients of a basis while it is looked for: as if the
// spread of a point were in its directions alone.
func (f *fitter) ridgeOf(none *point, rank int) float64 {
	w := float64(f.width())
	return float64(rank) / (w * max(none.Spread, 0.01/w))
}

// worthless says that a rank whose first climb has ended this far above the best in -2 log evidence
// is not worth a second.
const worthless = 30

// tried notes a candidate for the report.
func (f *fitter) tried(c *contender, none float64) {
	f.report.Tried = append(f.report.Tried, f.candidate(c, none))
}

func (f *fitter) candidate(c *contender, none float64) Candidate {
	out := Candidate{Rank: c.Rank, Intercept: 1 / c.Intercept, Ridge: 1 / c.Spread, MeanRidge: 1 / c.MeanVariance, Evidence: (none - c.evidence) / 2}
	p := c.Prior.Clone()
	p.Rotate()
	for a := range p.Rank {
		out.Axes = append(out.Axes, math.Sqrt(squares(p.Column(a))*c.noise)*f.TargetScale)
	}
	return out
}

func squares(v []float64) (sum float64) {
	for _, x := range v {
		sum += x * x
	}
	return sum
}

// apply sets the variances that are known.
func (k known) apply(p *mixedmodel.Prior) {
	for _, s := range []struct {
		to    *float64
		value float64
	}{{&p.Intercept, k.intercept}, {&p.Spread, k.spread}, {&p.MeanVariance, k.mean}} {
		if !math.IsNaN(s.value) {
			*s.to = s.value
		}
	}
}
