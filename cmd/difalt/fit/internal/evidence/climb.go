package evidence

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
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
func strengthsOf(p *mixedmodel.Prior) []*float64 {
	return []*float64{&p.Intercept, &p.Spread, &p.MeanVariance}
}

// MinStrength and MaxStrength are the ends of the range to which strengths are limited, in which numbers stay accurate.
const MinStrength, MaxStrength = 1e-10, 1e10

func limitStrength(v float64) float64 { return math.Min(math.Max(v, MinStrength), MaxStrength) }

// Enough is what a step of a climb has to promise in -2 log likelihood: a tenth of what the errors of estimates make of it.
const Enough = 0.1

// near is how little a step may promise where a climb has to end, so that it has arrived for all that the data can tell.
const near = 1

// MostEvaluations is how many evaluations a fit between owners has, or two more.
const MostEvaluations = 19

// ErrNoLikelihood is what Maximize returns where rounding leaves no likelihood at its start.
var ErrNoLikelihood = errors.New("no strengths give a likelihood: are there too few rows, is the target without noise, or are numbers far out of range?")

// FirstGuess is a prior to climb from where nothing is known.
func (r *Rows) FirstGuess() *mixedmodel.Prior {
	return &mixedmodel.Prior{W: r.Width, Intercept: 0.1, Spread: 0.01, MeanVariance: 0.1}
}

// Start returns a point to climb from, and the one of which it is the top if all tasks were alike: without variance of deviations, where sums are
// moments, which are told anyway.
func (r *Rows) Start(ctx context.Context, guess *mixedmodel.Prior, given Strengths) (start, moments *Point, err error) {
	moments, err = r.Evaluate(ctx, &Point{Prior: &mixedmodel.Prior{W: r.Width, MeanVariance: guess.MeanVariance}})
	if err != nil {
		return nil, nil, err
	}
	start = &Point{Prior: guess.Clone(), Mean: moments.Mean}
	if alike, ok := moments.Alike(); ok {
		start.Prior = alike.Top(guess, nil, given, Enough)
	}
	given.Apply(start.Prior)
	return start, moments, nil
}

// Maximize returns the point of the largest evidence that is found from a start, of which only the
// prior counts if it is about other rows, and whether the climb has ended there. variances[a] is that
// of the entries of column a of the loadings: a prior of them in its turn, which keeps columns from following
// noise; nil leaves their directions as they are, and climbs by their lengths alone, without a prior. Every step goes to
// the top that the evidence would have if all tasks were alike. The climb ends where that promises less than the tolerance
// in -2 log likelihood, or after so many evaluations beyond that of the start.
func (r *Rows) Maximize(ctx context.Context, start *Point, variances []float64, given Strengths, tolerance float64, more int) (*Point, bool, error) {
	pt, err := r.Evaluate(ctx, start)
	if err != nil {
		return nil, false, err
	}
	tolerance += r.Slack()
	own := *pt // which gets variances of its own
	best := &own
	best.LoadingVariances = variances
	if math.IsInf(pt.Value, 0) {
		return nil, false, ErrNoLikelihood
	}
	var way Way
	most := r.Evaluations() + more
	for {
		a, ok := best.Alike()
		if !ok {
			return best, true, nil
		}
		top := a.Top(best.Prior, variances, given, tolerance)
		there := a.Point(top, variances)
		promise := best.Penalized() - there.Penalized()
		if r.Evaluations() >= most || promise < tolerance {
			return best, promise < near+2*r.Slack(), nil
		}
		way.Aim(best, there)
		next, err := r.along(ctx, &way, most)
		if err != nil || next == nil { // nothing on the way was higher
			return best, promise < near+2*r.Slack() || way.Ended(), err
		}
		best = next
	}
}

// along evaluates a point along a way, as far as that is no lower than where it begins; nil if there is none within so many evaluations in all.
func (r *Rows) along(ctx context.Context, way *Way, most int) (*Point, error) {
	for {
		next := way.Next()
		pt, err := r.At(ctx, next.Prior, way.from.Mean)
		if err != nil {
			return nil, err
		}
		pt.LoadingVariances = next.LoadingVariances
		if up := pt.Penalized() < way.from.Penalized()+r.Slack(); up {
			return pt, nil
		}
		if !way.Shorten(pt) || r.Evaluations() >= most {
			return nil, nil
		}
	}
}

// Slack is by how much the dither of sums may make a value larger.
func (r *Rows) Slack() float64 {
	if r.Alone() {
		return 0
	}
	return 1
}

// Top returns the prior of the largest evidence from a start, as if all tasks were alike: variances and given are as in
// Rows.Maximize. Where the spread is not given, slopes have variances of their own. It is as near to the top as a climb of that tolerance needs.
func (a *Alike) Top(start *mixedmodel.Prior, variances []float64, given Strengths, tolerance float64) *mixedmodel.Prior {
	const turns = 4
	little := min(tolerance, Enough)
	p, noise := a.with(start.Slopes).top(start, variances, given, little)
	if !given.free(1) || p.W < 3 || p.W > maxSlopes {
		return p
	}
	for range turns {
		next, gain := a.chooseSlopes(p, noise)
		if gain < little {
			break
		}
		p, noise = a.with(next.Slopes).top(next, variances, given, little)
	}
	return p
}

// top is Top with the slopes of the start, and returns the noise by the mean's variance, over that of the point.
func (a *Alike) top(start *mixedmodel.Prior, variances []float64, given Strengths, little float64) (*mixedmodel.Prior, float64) {
	c := &ascent{Alike: a, start: start.Clone(), variances: variances, given: given, noise: 1}
	given.Apply(c.start)
	c.chooseMean(little)
	x := c.variables()
	if len(x) == 0 {
		return c.start, c.noise
	}
	from := c.near(x).value
	problem := optimize.Problem{
		Func: func(x []float64) float64 { return c.near(x).value },
		Grad: func(grad, x []float64) { copy(grad, c.slope(x)) },
	}
	settings := &optimize.Settings{MajorIterations: 300, GradientThreshold: 1e-4, Converger: &optimize.FunctionConverge{Absolute: 1e-4, Iterations: 5}}
	// Where it ends early, by rounding, it has come as far as it could.
	res, _ := optimize.Minimize(problem, x, settings, &optimize.LBFGS{Store: 20})
	if res == nil || !(res.F <= from) {
		return c.start, c.noise
	}
	top := c.priorOf(res.X)
	if at, ok := a.at(top, c.noise); ok && given.free(2) { // it is in units of the noise
		top.MeanVariance = limitStrength(top.MeanVariance / at.noise)
	}
	return top, c.noise
}

// Point returns a prior with the evidence that it would have if all tasks were alike.
func (a *Alike) Point(p *mixedmodel.Prior, variances []float64) *Point {
	c := &ascent{Alike: a, start: p.Clone(), given: Strengths{MeanVariance: p.MeanVariance}, noise: 1}
	gain := c.chooseMean(Enough)
	out := &Point{Prior: p, LoadingVariances: variances, Mean: a.pt.Mean, Value: math.Inf(1)}
	if to, ok := a.with(p.Slopes).at(p, c.noise); ok {
		out.Value, out.Noise = a.pt.Value-gain+to.value-a.value-a.freedom*math.Log(c.noise), a.pt.Noise*to.noise
	}
	return out
}

// An ascent looks for the top of an Alike. Its variables are the loadings along the axes, in units of what is known of them, or logarithms
// of their lengths over those of the start, and the roots of the strengths that are not given: the value is about a
// parabola in the root of a strength that ends at zero.
type ascent struct {
	*Alike
	start     *mixedmodel.Prior
	variances []float64
	given     Strengths
	noise     float64   // by the mean's variance, over that of the point
	unit      []float64 // of every loading along the axes; nil if there are only lengths
	last      visited
}

// A visited is a point of an ascent, with its penalized value: the slope is wanted where the value was.
type visited struct {
	x     []float64
	prior *mixedmodel.Prior
	alikePoint
}

// chooseMean sets the variance of the mean, unless it is given, to that of the largest evidence with all else as it is at the point, and
// returns what it gains. The slope by its logarithm says on which side of the top it is. A percent of the variance is next to nothing of a tenth in -2 log likelihood.
func (c *ascent) chooseMean(little float64) float64 {
	nearest := 0.01 * math.Sqrt(little/Enough)
	s := c.pt.spectrum()
	if s == nil {
		return 0
	}
	v, step, side := c.pt.MeanVariance, 8.0, 0.0
	noise, first, slope := s.at(v)
	last := first
	for range 40 {
		next := c.start.MeanVariance
		if c.given.free(2) {
			if to := -slope; to*side <= 0 {
				step, side = step/4, math.Copysign(1, to)
			}
			next = limitStrength(v * math.Exp(side*step))
		}
		v = next
		if noise, last, slope = s.at(v); step < nearest || !c.given.free(2) {
			break
		}
	}
	c.start.MeanVariance, c.noise = v, noise/c.pt.Noise
	return first - last
}

// times returns m v.
func times(m mat.Matrix, v []float64) []float64 {
	var out mat.VecDense
	out.MulVec(m, mat.NewVecDense(len(v), v))
	return out.RawVector().Data
}

// variables returns those of the start, the ones of loadings first.
func (c *ascent) variables() (x []float64) {
	if c.variances == nil {
		x = make([]float64, c.start.Rank)
	}
	for a, v := range c.variances {
		for _, e := range c.errors {
			c.unit = append(c.unit, 1/math.Sqrt(c.tasks/(e+c.start.Spread)+1/v))
		}
		x = append(x, times(c.into, c.start.Column(a))...)
	}
	if c.unit != nil {
		floats.Div(x, c.unit)
	}
	for k, v := range strengthsOf(c.start)[:2] {
		if c.given.free(k) {
			x = append(x, math.Sqrt(limitStrength(*v)))
		}
	}
	return x
}

// priorOf returns the prior of variables.
func (c *ascent) priorOf(x []float64) *mixedmodel.Prior {
	p := c.start.Clone()
	for a := range p.Rank {
		if c.unit == nil {
			floats.Scale(math.Exp(math.Min(math.Max(x[0], -5), 5)), p.Column(a))
			x = x[1:]
			continue
		}
		along := slices.Clone(x[:p.W])
		floats.Mul(along, c.unit[a*p.W:][:p.W])
		copy(p.Column(a), times(c.axes, along))
		x = x[p.W:]
	}
	for k, v := range strengthsOf(p)[:2] {
		if c.given.free(k) {
			*v = limitStrength(x[0]*x[0] + MinStrength)
			x = x[1:]
		}
	}
	return p
}

// near returns the point of variables.
func (c *ascent) near(x []float64) *visited {
	if !slices.Equal(x, c.last.x) {
		p := c.priorOf(x)
		at, ok := c.at(p, c.noise)
		if at.value += penaltyOf(p, c.variances); !ok || math.IsNaN(at.value) {
			at.value = math.Inf(1)
		}
		c.last = visited{slices.Clone(x), p, at}
	}
	return &c.last
}

// slope returns the derivatives of the penalized value by the variables.
func (c *ascent) slope(x []float64) (out []float64) {
	at := c.near(x)
	p, w := at.prior, at.prior.W
	if math.IsInf(at.value, 0) {
		return make([]float64, len(x))
	}
	for a := range p.Rank {
		column := slices.Clone(at.loadings[a*w:][:w]) // the point may be asked again
		if c.unit == nil {
			out = append(out, floats.Dot(column, times(c.into, p.Column(a))))
			continue
		}
		floats.AddScaled(column, 2/c.variances[a], times(c.axes.T(), p.Column(a))) // the penalty is not along the axes
		floats.Mul(column, c.unit[a*w:][:w])
		out = append(out, column...)
	}
	for k, by := range []float64{at.intercept, at.spread} {
		if c.given.free(k) {
			out = append(out, 2*x[len(out)]*by)
		}
	}
	return out
}
