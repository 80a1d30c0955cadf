package fit

import (
	"context"
	"errors"
	"math"

	"github.com/difalt/difalt/internal/mixed"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/optimize"
)

// known are variances of a Prior that the caller knows; NaN where the evidence decides.
type known struct{ intercept, spread, mean float64 }

// A climb looks for the prior of the largest evidence by L-BFGS. Its variables are the
// loadings, in units in which the features are uncorrelated, and logarithms of the
// strengths that are not fixed. All nodes take the same steps, by the same sums.
type climb struct {
	*evidence
	ctx   context.Context
	start *mixed.Prior
	known known
	prior []float64 // variances of the entries of every column of the loadings
	// units is upper triangular: loadings = units^-1 variables; nil without loadings.
	units  *blas64.Triangular
	scale  float64 // variables of the logarithms over these
	last   *point  // what the last variables gave, and
	at     []float64
	best   *point
	lowest float64
	err    error
}

// maximize returns the point of the largest evidence that is found from a prior, and whether
// the climb has ended there. scale[a] is the variance of the entries of column a of the loadings:
// a prior of them in its turn, which keeps columns from following noise; nil leaves their directions as they
// are, and climbs by their lengths alone, without a prior. The climb ends when three steps gained less than tolerance in -2 log
// likelihood, or after so many steps.
func (e *evidence) maximize(ctx context.Context, start *mixed.Prior, scale []float64, fix known, units []float64, tolerance float64, steps int) (*point, bool, error) {
	c := &climb{evidence: e, ctx: ctx, start: start, prior: scale, known: fix, lowest: math.Inf(1)}
	c.scale = math.Sqrt(e.count / 2)
	if start.Rank > 0 && scale != nil {
		c.units = unitsOf(units, e.w)
	}
	x := c.variables(start)
	if len(x) == 0 {
		pt, err := e.at(ctx, start)
		if pt != nil {
			pt.scale = scale
		}
		return pt, true, err
	}
	problem := optimize.Problem{
		Func: c.value, Grad: c.slope,
		Status: func() (optimize.Status, error) {
			if c.err != nil {
				return optimize.Failure, c.err
			}
			return optimize.NotTerminated, nil
		},
	}
	result, err := optimize.Minimize(problem, x, &optimize.Settings{
		// The line search has no end of its own where all that it tries is level.
		MajorIterations: steps, FuncEvaluations: 5*steps + 20, GradientThreshold: 1e-6,
		Converger: &optimize.FunctionConverge{Absolute: tolerance, Iterations: 3},
	}, &optimize.LBFGS{Linesearcher: &optimize.MoreThuente{}, Store: 15, GradStopThreshold: 1e-6})
	if c.err != nil {
		return nil, false, c.err
	}
	if c.best == nil {
		return nil, false, errors.New("no strengths give a likelihood: are features or targets far out of range?")
	}
	// A line search that finds nothing lower has arrived, to rounding.
	converged := err != nil || result.Status != optimize.IterationLimit
	return c.best, converged, nil
}

// unitsOf returns the Cholesky factor of a Gram matrix, raised to be one.
func unitsOf(gram []float64, w int) *blas64.Triangular {
	trace := 0.0
	for j := range w {
		trace += gram[j*w+j]
	}
	a := append([]float64(nil), gram...)
	for j := range w {
		a[j*w+j] += 1e-6*trace/float64(w) + 1e-300
	}
	r, ok := lapack64.Potrf(blas64.Symmetric{N: w, Stride: w, Data: a, Uplo: blas.Upper})
	if !ok {
		return nil
	}
	return &r
}

// variables of a prior.
func (c *climb) variables(p *mixed.Prior) []float64 {
	var x []float64
	if c.prior != nil {
		x = append(x, p.Loadings...)
	} else {
		x = make([]float64, p.Rank) // logarithms of the lengths over those of the start
	}
	if c.units != nil {
		for a := range p.Rank {
			blas64.Trmv(blas.NoTrans, *c.units, vector(x[a*c.w:][:c.w]))
		}
	}
	for k, v := range []float64{p.Intercept, p.Spread, p.MeanVariance} {
		if c.free(k) {
			x = append(x, math.Log(clampStrength(v))*c.scale)
		}
	}
	return x
}

// free reports whether the evidence decides on the intercept (0), the spread or the mean.
func (c *climb) free(k int) bool {
	return math.IsNaN([]float64{c.known.intercept, c.known.spread, c.known.mean}[k])
}

// prior of variables.
func (c *climb) priorOf(x []float64) *mixed.Prior {
	p := c.start.Clone()
	n := p.Rank
	if c.prior != nil {
		n = copy(p.Loadings, x)
	} else {
		for a := range p.Rank {
			floats.Scale(math.Exp(math.Min(math.Max(x[a]/c.scale, -5), 5)), p.Column(a))
		}
	}
	if c.units != nil {
		for a := range p.Rank {
			blas64.Trsv(blas.NoTrans, *c.units, vector(p.Column(a)))
		}
	}
	for k, v := range []*float64{&p.Intercept, &p.Spread, &p.MeanVariance} {
		if c.free(k) {
			*v = clampStrength(math.Exp(x[n] / c.scale))
			n++
		}
	}
	return p
}

// evaluate returns the point of variables, the last one if they are the same.
func (c *climb) evaluate(x []float64) *point {
	if c.err != nil {
		return nil
	}
	if c.last != nil && floats.Equal(x, c.at) {
		return c.last
	}
	pt, err := c.evidence.at(c.ctx, c.priorOf(x))
	if err != nil {
		c.err = err
		return nil
	}
	pt.scale = c.prior
	if v := pt.penalized(); v < c.lowest {
		c.best, c.lowest = pt, v
	}
	c.last, c.at = pt, append(c.at[:0], x...)
	return pt
}

// penalized is the value with that of the loadings by their own prior.
func (pt *point) penalized() float64 {
	v := pt.value
	for a, s := range pt.scale {
		v += floats.Dot(pt.Column(a), pt.Column(a)) / s
	}
	return v
}

func (c *climb) value(x []float64) float64 {
	pt := c.evaluate(x)
	if pt == nil {
		return math.Inf(1)
	}
	return pt.penalized()
}

func (c *climb) slope(dst, x []float64) {
	pt := c.evaluate(x)
	if pt == nil || math.IsInf(pt.value, 0) {
		clear(dst)
		return
	}
	loadings, logs, err := c.gradient(c.ctx, pt)
	if err != nil {
		c.err = err
		clear(dst)
		return
	}
	for a, s := range pt.scale {
		floats.AddScaled(loadings[a*c.w:][:c.w], 2/s, pt.Column(a))
		if c.units != nil {
			blas64.Trsv(blas.Trans, *c.units, vector(loadings[a*c.w:][:c.w]))
		}
	}
	n := pt.Rank
	if c.prior != nil {
		n = copy(dst, loadings)
	} else {
		for a := range n {
			dst[a] = floats.Dot(loadings[a*c.w:][:c.w], pt.Column(a)) / c.scale
		}
	}
	for k, v := range logs {
		if c.free(k) {
			dst[n] = v / c.scale
			n++
		}
	}
}

// A strength is held to this range, in which numbers stay accurate.
const leastStrength, mostStrength = 1e-10, 1e10

func clampStrength(v float64) float64 { return math.Min(math.Max(v, leastStrength), mostStrength) }
