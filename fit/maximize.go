package fit

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/floats"
)

// known are variances of a Prior that the caller knows; NaN where the evidence decides.
type known struct{ intercept, spread, mean float64 }

// A climb looks for the prior of the largest evidence. What it climbs by are the loadings, or logarithms
// of their lengths over those of the start, and the roots of the strengths that are not fixed: the value is about a
// parabola in the root of a strength that ends at zero. All nodes take the same steps, by the same sums.
type climb struct {
	*evidence
	start *mixedmodel.Prior
	known known
	prior []float64 // variances of the entries of every column of the loadings
	best  *point
	y     []float64 // what has led to it
	slope []float64 // of the value by that
	taken []taken   // the last steps, the newest last
	// How much the last steps have gained.
	gained []float64
}

// A taken step has changed y and, by that, the slope.
type taken struct{ y, slope []float64 }

const (
	stepsKept = 15
	// A step that gains less than this part of what its slope promises is cut.
	leastPart = 1e-4
	// The most cuts, to a fifth or more each, before a climb has arrived: to rounding, nothing is higher.
	mostCuts = 20
	// A climb is level when so many steps gained less than its tolerance.
	levelSteps = 3
)

// maximize returns the point of the largest evidence that is found from a start, of which only the
// prior counts if it is of other rows or weights, and whether the climb has ended there. scale[a] is the variance
// of the entries of column a of the loadings: a prior of them in its turn, which keeps columns from following
// noise; nil leaves their directions as they are, and climbs by their lengths alone, without a prior. The climb ends
// where the last step gained less than tolerance in -2 log likelihood and the next one promises less than a tenth of that, when
// three steps gained less than tolerance, or after so many steps.
func (e *evidence) maximize(ctx context.Context, start *point, scale []float64, fix known, tolerance float64, steps int) (*point, bool, error) {
	c := &climb{evidence: e, start: start.Prior, prior: scale, known: fix}
	pt, err := e.reach(ctx, start)
	if err != nil {
		return nil, false, err
	}
	own := *pt // which gets a scale of its own
	c.best, c.y = &own, c.variables()
	if c.best.scale = scale; len(c.y) == 0 {
		return c.best, true, nil
	}
	if math.IsInf(pt.value, 0) {
		return nil, false, errors.New("no strengths give a likelihood: are features or targets far out of range?")
	}
	if c.slope, err = c.derivatives(ctx, c.best); err != nil {
		return nil, false, err
	}
	for range steps {
		direction, promise := c.direction()
		if c.arrived(promise, tolerance) {
			return c.best, true, nil
		}
		higher, err := c.step(ctx, direction)
		if err != nil || !higher {
			return c.best, true, err
		}
	}
	return c.best, false, nil
}

// arrived reports whether a climb has ended, before a step that promises so much.
func (c *climb) arrived(promise, tolerance float64) bool {
	n := len(c.gained)
	level := 0
	for level < n && c.gained[n-1-level] < tolerance {
		level++
	}
	return level >= levelSteps || promise < tolerance/10 && (n == 0 || level > 0)
}

// direction returns the step of L-BFGS with the inverse of the expected second derivatives at the best point in place of a
// multiple of the unit matrix (Nocedal and Wright 2006, section 7.2), and what it gains if they are right.
func (c *climb) direction() (d []float64, promise float64) {
	d = slices.Clone(c.slope)
	floats.Scale(-1, d)
	part := make([]float64, len(c.taken))
	for k := len(c.taken) - 1; k >= 0; k-- {
		t := &c.taken[k]
		part[k] = floats.Dot(t.y, d) / floats.Dot(t.y, t.slope)
		floats.AddScaled(d, -part[k], t.slope)
	}
	m := c.metric()
	m.solve(d)
	if n := len(c.taken); n > 0 { // in the unit of the last step
		t := &c.taken[n-1]
		v := slices.Clone(t.slope)
		m.solve(v)
		floats.Scale(math.Min(floats.Dot(t.y, t.slope)/floats.Dot(t.slope, v), 1), d)
	}
	for k, t := range c.taken {
		floats.AddScaled(d, part[k]-floats.Dot(t.slope, d)/floats.Dot(t.y, t.slope), t.y)
	}
	promise = -floats.Dot(c.slope, d) / 2
	if promise > longestStep*longestStep {
		floats.Scale(longestStep/math.Sqrt(promise), d)
	}
	return d, promise
}

// longestStep is the most that a step takes, in standard deviations.
const longestStep = 10

// step goes along a direction as far as that is higher, and reports whether there was anything.
func (c *climb) step(ctx context.Context, d []float64) (higher bool, err error) {
	y, value, along := slices.Clone(c.y), c.best.penalized(), floats.Dot(c.slope, d)
	length := 1.0
	for range mostCuts {
		floats.AddScaledTo(y, c.y, length, d)
		c.hold(y)
		pt, err := c.at(ctx, c.priorOf(y))
		if err != nil {
			return false, err
		}
		pt.scale = c.prior
		gained := value - pt.penalized()
		if gained > 0 && gained >= -leastPart*length*along {
			return true, c.accept(ctx, pt, y, gained)
		}
		cut := 0.2
		if !math.IsInf(gained, 0) { // the top of the parabola
			cut = math.Max(cut, math.Min(-along*length/(2*(-gained-along*length)), 0.5))
		}
		length *= cut
	}
	return false, nil
}

// hold keeps the root of a strength from falling to less than an eighth in a step: from zero none comes back.
func (c *climb) hold(y []float64) {
	strengths := len(y) - c.best.Rank
	if c.prior != nil {
		strengths = len(y) - len(c.best.Loadings)
	}
	for k := len(y) - strengths; k < len(y); k++ {
		y[k] = max(y[k], c.y[k]/8, math.Sqrt(leastStrength))
	}
}

// accept takes a step.
func (c *climb) accept(ctx context.Context, pt *point, y []float64, gained float64) error {
	slope, err := c.derivatives(ctx, pt)
	if err != nil {
		return err
	}
	t := taken{slices.Clone(y), slices.Clone(slope)}
	floats.Sub(t.y, c.y)
	floats.Sub(t.slope, c.slope)
	if floats.Dot(t.y, t.slope) > 0 { // else not as if there were a top
		if c.taken = append(c.taken, t); len(c.taken) > stepsKept {
			c.taken = c.taken[1:]
		}
	}
	c.best, c.y, c.slope = pt, y, slope
	c.gained = append(c.gained, gained)
	return nil
}

// deviations are the roots of the intercept (0), the spread and the mean's variance.
func deviations(p *mixedmodel.Prior) [3]float64 {
	var out [3]float64
	for k, v := range []float64{p.Intercept, p.Spread, p.MeanVariance} {
		out[k] = math.Sqrt(clampStrength(v))
	}
	return out
}

// variables of the start.
func (c *climb) variables() []float64 {
	p := c.start
	y := make([]float64, p.Rank) // logarithms of the lengths over those of the start
	if c.prior != nil {
		y = slices.Clone(p.Loadings)
	}
	for k, v := range deviations(p) {
		if c.free(k) {
			y = append(y, v)
		}
	}
	return y
}

// free reports whether the evidence decides on the intercept (0), the spread or the mean.
func (c *climb) free(k int) bool {
	return math.IsNaN([]float64{c.known.intercept, c.known.spread, c.known.mean}[k])
}

// priorOf returns the prior of variables.
func (c *climb) priorOf(y []float64) *mixedmodel.Prior {
	p := c.start.Clone()
	n := p.Rank
	if c.prior != nil {
		n = copy(p.Loadings, y)
	} else {
		for a := range p.Rank {
			floats.Scale(math.Exp(math.Min(math.Max(y[a], -5), 5)), p.Column(a))
		}
	}
	for k, v := range []*float64{&p.Intercept, &p.Spread, &p.MeanVariance} {
		if c.free(k) {
			*v = clampStrength(y[n] * y[n])
			n++
		}
	}
	return p
}

// derivatives returns those of the penalized value at a point by the variables.
func (c *climb) derivatives(ctx context.Context, pt *point) ([]float64, error) {
	loadings, logs, err := c.gradient(ctx, pt)
	if err != nil {
		return nil, err
	}
	out := make([]float64, pt.Rank, len(c.y))
	if c.prior != nil {
		out = slices.Clone(loadings)
		for a, s := range c.prior {
			floats.AddScaled(out[a*c.w:][:c.w], 2/s, pt.Column(a))
		}
	} else {
		for a := range out {
			out[a] = floats.Dot(loadings[a*c.w:][:c.w], pt.Column(a))
		}
	}
	for k, v := range deviations(pt.Prior) {
		if c.free(k) {
			out = append(out, 2/v*logs[k])
		}
	}
	return out, nil
}

// penalized is the value with that of the loadings by their own prior.
func (pt *point) penalized() float64 {
	v := pt.value
	for a, s := range pt.scale {
		v += floats.Dot(pt.Column(a), pt.Column(a)) / s
	}
	return v
}

// A strength is held to this range, in which numbers stay accurate.
const leastStrength, mostStrength = 1e-10, 1e10

func clampStrength(v float64) float64 { return math.Min(math.Max(v, leastStrength), mostStrength) }
