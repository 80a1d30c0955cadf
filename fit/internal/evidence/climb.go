package evidence

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/floats"
)

// Strengths are the variances of a prior but for its loadings; NaN where the evidence decides.
type Strengths struct{ Intercept, Spread, MeanVariance float64 }

// Unknown leaves all strengths to the evidence.
func Unknown() Strengths { return Strengths{math.NaN(), math.NaN(), math.NaN()} }

// AllUnknown reports whether none is given.
func (s Strengths) AllUnknown() bool { return s.free(0) && s.free(1) && s.free(2) }

// Apply sets the variances of a prior that are not NaN.
func (s Strengths) Apply(p *mixedmodel.Prior) {
	own := strengthsOf(p)
	for k, v := range s.list() {
		if !math.IsNaN(v) {
			*own[k] = v
		}
	}
}

func (s Strengths) list() [3]float64 { return [3]float64{s.Intercept, s.Spread, s.MeanVariance} }

// free reports whether the evidence decides on the intercept (0), the spread or the mean's variance.
func (s Strengths) free(k int) bool { return math.IsNaN(s.list()[k]) }

// strengthsOf are the intercept (0), the spread and the mean's variance of a prior.
func strengthsOf(p *mixedmodel.Prior) [3]*float64 {
	return [3]*float64{&p.Intercept, &p.Spread, &p.MeanVariance}
}

// MinStrength and MaxStrength are the ends of the range to which strengths are limited, in which numbers stay accurate.
const MinStrength, MaxStrength = 1e-10, 1e10

func limitStrength(v float64) float64 { return math.Min(math.Max(v, MinStrength), MaxStrength) }

// deviations are the roots of the strengths.
func deviations(p *mixedmodel.Prior) (out [3]float64) {
	for k, v := range strengthsOf(p) {
		out[k] = math.Sqrt(limitStrength(*v))
	}
	return out
}

// A climb looks for the prior of the largest evidence. Its variables are the loadings, or logarithms
// of their lengths over those of the start, and the roots of the strengths that are not given: the value is about a
// parabola in the root of a strength that ends at zero. All nodes take the same steps, by the same sums.
type climb struct {
	*Rows
	start     *mixedmodel.Prior
	given     Strengths
	variances []float64 // Point.LoadingVariances
	best      *Point
	x         []float64 // the variables at the best point
	slope     []float64 // of the penalized value by them
	changes   []change  // by the last steps, the newest last
	gains     []float64 // of the steps
}

// A change of the variables in a step has changed the slope.
type change struct{ x, slope []float64 }

const (
	maxChanges = 15
	// A step that gains less than this part of what its slope promises is cut.
	leastPart = 1e-4
	// The most cuts, to a fifth or more each, before a climb has arrived: to rounding, nothing is higher.
	maxCuts = 20
	// A climb is level when so many steps gained less than its tolerance.
	levelSteps = 3
	// The most that a step goes, in standard deviations.
	longestStep = 10
)

// Maximize returns the point of the largest evidence that is found from a start, of which only the
// prior counts if it is about other rows, and whether the climb has ended there. variances[a] is that
// of the entries of column a of the loadings: a prior of them in its turn, which keeps columns from following
// noise; nil leaves their directions as they are, and climbs by their lengths alone, without a prior. The climb ends
// where the last step gained less than tolerance in -2 log likelihood and the next one promises less than a tenth of that, when
// three steps gained less than tolerance, or after so many steps.
func (r *Rows) Maximize(ctx context.Context, start *Point, variances []float64, given Strengths, tolerance float64, steps int) (*Point, bool, error) {
	c := &climb{Rows: r, start: start.Prior, variances: variances, given: given}
	pt, err := r.Evaluate(ctx, start)
	if err != nil {
		return nil, false, err
	}
	own := *pt // which gets variances of its own
	c.best, c.x = &own, c.variables()
	if c.best.LoadingVariances = variances; len(c.x) == 0 {
		return c.best, true, nil
	}
	if math.IsInf(pt.Value, 0) {
		return nil, false, errors.New("no strengths give a likelihood: are features or targets far out of range?")
	}
	if c.slope, err = c.derivatives(ctx, c.best); err != nil {
		return nil, false, err
	}
	for range steps {
		direction, promise := c.direction()
		if c.hasArrived(promise, tolerance) {
			return c.best, true, nil
		}
		higher, err := c.step(ctx, direction)
		if err != nil || !higher {
			return c.best, true, err
		}
	}
	return c.best, false, nil
}

// hasArrived reports whether a climb has ended, before a step that promises so much.
func (c *climb) hasArrived(promise, tolerance float64) bool {
	n := len(c.gains)
	level := 0
	for level < n && c.gains[n-1-level] < tolerance {
		level++
	}
	return level >= levelSteps || promise < tolerance/10 && (n == 0 || level > 0)
}

// direction returns the step of L-BFGS with the inverse of the expected second derivatives at the best point in place of a
// multiple of the unit matrix (Nocedal and Wright 2006, section 7.2), and what it gains if they are right.
func (c *climb) direction() (d []float64, promise float64) {
	d = slices.Clone(c.slope)
	floats.Scale(-1, d)
	part := make([]float64, len(c.changes))
	for k := len(c.changes) - 1; k >= 0; k-- {
		t := &c.changes[k]
		part[k] = floats.Dot(t.x, d) / floats.Dot(t.x, t.slope)
		floats.AddScaled(d, -part[k], t.slope)
	}
	m := c.metric()
	m.solve(d)
	if n := len(c.changes); n > 0 { // in the unit of the last step
		t := &c.changes[n-1]
		v := slices.Clone(t.slope)
		m.solve(v)
		floats.Scale(math.Min(floats.Dot(t.x, t.slope)/floats.Dot(t.slope, v), 1), d)
	}
	for k, t := range c.changes {
		floats.AddScaled(d, part[k]-floats.Dot(t.slope, d)/floats.Dot(t.x, t.slope), t.x)
	}
	promise = -floats.Dot(c.slope, d) / 2
	if promise > longestStep*longestStep {
		floats.Scale(longestStep/math.Sqrt(promise), d)
	}
	return d, promise
}

// step goes along a direction as far as that is higher, and reports whether there was anything.
func (c *climb) step(ctx context.Context, d []float64) (higher bool, err error) {
	x, value, along := slices.Clone(c.x), c.best.Penalized(), floats.Dot(c.slope, d)
	length := 1.0
	for range maxCuts {
		floats.AddScaledTo(x, c.x, length, d)
		c.limit(x)
		pt, err := c.at(ctx, c.priorOf(x))
		if err != nil {
			return false, err
		}
		pt.LoadingVariances = c.variances
		gain := value - pt.Penalized()
		if gain > 0 && gain >= -leastPart*length*along {
			return true, c.accept(ctx, pt, x, gain)
		}
		cut := 0.2
		if !math.IsInf(gain, 0) { // the top of the parabola
			cut = math.Max(cut, math.Min(-along*length/(2*(-gain-along*length)), 0.5))
		}
		length *= cut
	}
	return false, nil
}

// limit keeps the root of a strength from falling to less than an eighth in a step: from zero none comes back.
func (c *climb) limit(x []float64) {
	for k := c.loadingVariables(); k < len(x); k++ {
		x[k] = max(x[k], c.x[k]/8, math.Sqrt(MinStrength))
	}
}

// loadingVariables is how many of the variables are about loadings. They are the first.
func (c *climb) loadingVariables() int {
	if c.variances == nil {
		return c.start.Rank
	}
	return len(c.start.Loadings)
}

// accept takes a step.
func (c *climb) accept(ctx context.Context, pt *Point, x []float64, gain float64) error {
	slope, err := c.derivatives(ctx, pt)
	if err != nil {
		return err
	}
	t := change{slices.Clone(x), slices.Clone(slope)}
	floats.Sub(t.x, c.x)
	floats.Sub(t.slope, c.slope)
	if floats.Dot(t.x, t.slope) > 0 { // else not as if there were a top
		if c.changes = append(c.changes, t); len(c.changes) > maxChanges {
			c.changes = c.changes[1:]
		}
	}
	c.best, c.x, c.slope = pt, x, slope
	c.gains = append(c.gains, gain)
	return nil
}

// variables of the start.
func (c *climb) variables() []float64 {
	x := make([]float64, c.loadingVariables())
	if c.variances != nil {
		copy(x, c.start.Loadings)
	}
	for k, v := range deviations(c.start) {
		if c.given.free(k) {
			x = append(x, v)
		}
	}
	return x
}

// priorOf returns the prior of variables.
func (c *climb) priorOf(x []float64) *mixedmodel.Prior {
	p, n := c.start.Clone(), c.loadingVariables()
	if c.variances != nil {
		copy(p.Loadings, x)
	} else {
		for a := range p.Rank {
			floats.Scale(math.Exp(math.Min(math.Max(x[a], -5), 5)), p.Column(a))
		}
	}
	for k, v := range strengthsOf(p) {
		if c.given.free(k) {
			*v = limitStrength(x[n] * x[n])
			n++
		}
	}
	return p
}

// derivatives returns those of the penalized value at a point by the variables.
func (c *climb) derivatives(ctx context.Context, pt *Point) ([]float64, error) {
	loadings, logs, err := c.gradient(ctx, pt)
	if err != nil {
		return nil, err
	}
	out := make([]float64, pt.Rank, len(c.x))
	if c.variances != nil {
		out = slices.Clone(loadings)
		for a, s := range c.variances {
			floats.AddScaled(out[a*c.Width:][:c.Width], 2/s, pt.Column(a))
		}
	} else {
		for a := range out {
			out[a] = floats.Dot(loadings[a*c.Width:][:c.Width], pt.Column(a))
		}
	}
	for k, v := range deviations(pt.Prior) {
		if c.given.free(k) {
			out = append(out, 2/v*logs[k])
		}
	}
	return out, nil
}
