package fit

import (
	"context"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/qr"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// arrive climbs from a candidate to the top of the likelihood. The lengths of the loadings are those of the largest likelihood: their prior has as many
// entries to a length as there are coefficients, and where these are more than tasks the length of the largest density is far too short, for all
// that the directions stay.
func (c *choice) arrive(ctx context.Context, k *candidate) (_ *candidate, err error) {
	top := *k
	if k.Rank == 0 {
		top.Point, top.converged, err = c.rows.Maximize(ctx, k.Point, nil, c.strengthsFor(k), c.least(), c.steps(lastSteps, 1))
		return &top, err
	}
	k.Rotate()
	long, converged, err := c.rows.Maximize(ctx, k.Point, nil, c.given, c.least(), c.steps(lastSteps, 1))
	if err != nil {
		return nil, err
	}
	long.LoadingVariances = k.LoadingVariances
	top.Point, top.converged = long, k.converged && converged
	return &top, nil
}

// maxMoments is the number of features from which on steps by their moments take more time than they save.
const maxMoments = 500

// run runs the algorithm from the loadings of a candidate, on the rows of all tasks less the mean as a model without directions sees them (generalised least squares).
// How their features vary together is known from the sums of its point: as collinear columns do, plain steps would take thousands of iterations.
// It is not run, and there is no result, where tasks have no more rows than the rank: then no basis
// has residuals, and the ridge alone would lead it, slowly; unless all iterations are asked for.
func (a *algorithm) run(ctx context.Context, c *choice, k *candidate) (*difalt.Result, error) {
	if c.rows.PerTask() <= float64(k.Rank) && !a.options.EveryIteration {
		return nil, nil
	}
	w, p := c.none.W, new(difalt.Problem)
	if p.Nodes, p.Moments = c.none.Seen(); w > maxMoments {
		p.Moments = nil
	}
	if err := a.agree(ctx, p); err != nil {
		return nil, err
	}
	u := kernel.NewBasis(w, k.Rank)
	for j := range k.Rank {
		copy(u.Col(j), k.Column(j))
	}
	u.Orthonormalize(make([]float64, k.Rank*k.Rank), make([]float64, qr.WorkLen(k.Rank)))
	p.U0 = slices.Repeat([]*kernel.Basis{u}, len(c.rows.Tasks))
	// The ridge is as if the spread were in the directions alone.
	return a.final(ctx, p, k.Rank, float64(k.Rank)/(float64(w)*max(c.none.Spread, 0.01/float64(w))))
}

// An estimate is what a fit knows at its end.
type estimate struct {
	*mixedmodel.Posterior                     // of the coefficients of a task, without its rows
	noise                 *evidence.TaskNoise // nil if it is the same for all tasks
	theta                 thetas
	sampleNoise           float64 // variance of single targets, if it is more than Noise
	goodness              model.Goodness
	weight                float64 // in the average
}

// estimate returns what is known about coefficients: of all tasks together, and of every hosted
// one. The candidate becomes one of principal axes, with noise that its loadings have not followed.
func (d *design) estimate(ctx context.Context, rows *evidence.Rows, c *candidate) (*estimate, error) {
	c.Rotate()
	pt, err := rows.Evaluate(ctx, c.Point)
	if err != nil {
		return nil, err
	}
	alike, ok := pt.Alike()
	if !ok {
		return nil, errOutOfRange
	}
	info := alike.Information(pt.Prior)
	slopes := alike.SlopesFreedom(pt.Prior)
	rows.Forget()
	pt.LoadingVariances = c.LoadingVariances
	noise, err := rows.TaskNoise(ctx, pt)
	if err != nil {
		return nil, err
	}
	all := max(noise.Total-float64(pt.W-1), 1)
	// Loadings were fitted to the residuals: every entry that the data determine takes a degree of freedom, as a coefficient of a regression does. At most twice.
	_, determined := evidence.Occam(info.At, pt.LoadingVariances, pt.W)
	inflation := all / max(all-floats.Sum(determined), all/2)
	pt.Noise *= inflation
	c.Point = pt
	e := &estimate{Posterior: pt.Posterior(), weight: c.weight}
	e.Freedom = all / inflation
	if rows.Weights != nil && noise.Freedom > 0 {
		noise.Widen(inflation)
		e.noise, e.NoisePrior = noise, noise.NoisePrior
	}
	e.SlopesFreedom = slopes
	e.Uncertainty = evidence.Uncertainty(info, pt.LoadingVariances, pt.W)
	if e.theta, err = d.coefficients(ctx, rows, e.Posterior); err != nil || e.noise == nil && !rows.Alone() {
		return e, err
	}
	width, err := d.widening(ctx, e, rows)
	e.widen(width * width)
	return e, err
}

// widen makes the noise of single targets larger, and where tasks have noise of their own all variances.
func (e *estimate) widen(by float64) {
	if e.noise != nil {
		e.Noise *= by
		e.NoisePrior.Scale *= by
		e.noise.Widen(by)
	} else if by > 1 {
		e.sampleNoise = e.Noise * by
	}
}

// narrow makes the noise of single targets smaller, as far as it was made larger, and where tasks have noise of their own all variances.
func (e *estimate) narrow(by float64) {
	if e.noise == nil {
		e.sampleNoise = max(e.sampleNoise*by, e.Noise)
		return
	}
	e.widen(by)
}

// maxCovariances is the number of entries up to which a model has the covariance of the
// coefficients of every task, once it was asked for it.
const maxCovariances = 1 << 23

// model assembles the model; o are the options with which the algorithm ran.
func (d *design) model(c *Config, o *difalt.Options, rows *evidence.Rows, all estimates) (*model.Model, error) {
	e := all[0]
	w, tasks := rows.Width, len(d.t.Tasks())
	out := d.parameters(c, o)
	out.Directions = d.directions
	out.Mean = d.expand(e.Mean)
	out.Prior, out.Goodness = priorOf(e), e.goodness
	for _, other := range all[1:] {
		out.Alternatives = append(out.Alternatives, model.Alternative{Weight: other.weight, Mean: d.expand(other.Mean), Prior: priorOf(other)})
	}
	out.Theta = e.theta.values
	if d.directions != nil {
		out.Theta = make([]float64, 0, tasks*(len(d.Center)+1))
		for k := range tasks {
			out.Theta = append(out.Theta, d.expand(e.theta.of(k))...)
		}
	}
	if e.noise != nil {
		out.Noise, out.Freedom = make([]float64, tasks), make([]float64, tasks)
		for g, list := range d.layout {
			for i, k := range list {
				out.Noise[k], out.Freedom[k] = all.noise(g, i)
			}
		}
	}
	if rows.Count*float64(w*(w+1)/2) <= maxCovariances {
		weights, posteriors := make([]float64, len(all)), make([]*mixedmodel.Posterior, len(all))
		for k, e := range all {
			weights[k], posteriors[k] = e.weight, e.Posterior
		}
		out.CovarianceOf = func(k int, packed []float64) { d.covarianceOf(rows, weights, posteriors, k, packed) }
	}
	return model.New(out)
}

// covarianceOf sets packed to the upper triangle of the covariance of the coefficients of a hosted task by its rows, by rows, for posteriors with weights.
func (d *design) covarianceOf(rows *evidence.Rows, weights []float64, posteriors []*mixedmodel.Posterior, task int, packed []float64) {
	w, g := rows.Width, d.t.Node(task)
	i, _ := slices.BinarySearch(d.layout[g], task)
	t, memory := rows.Task(g, i)
	defer memory.Put()
	scratch := mixedmodel.GetScratch(len(weights) * w * (w + 1))
	defer scratch.Put()
	means, covariances := make([][]float64, len(weights)), make([][]float64, len(weights))
	for k, p := range posteriors {
		means[k], covariances[k] = scratch.Take(w), scratch.Take(w*w)
		p.Coefficients(&t, means[k], covariances[k])
	}
	mixedmodel.Mix(weights, means, covariances)
	for j := range w {
		packed = packed[copy(packed, covariances[0][j*w+j:(j+1)*w]):]
	}
}

// parameters are those that do not depend on the kind of model.
func (d *design) parameters(c *Config, o *difalt.Options) model.Parameters {
	p := model.Parameters{
		Method: o.Method.String(), Schema: *d.t.Schema(),
		TaskColumn: c.TaskColumn, TargetColumn: c.TargetColumn, Scaling: d.Scaling,
		Nodes: slices.Clip(d.t.Nodes()), Tasks: slices.Clip(d.t.Tasks()), Samples: d.t.Samples(d.train),
	}
	if c.Privacy != (Privacy{}) {
		p.Method = "private"
	}
	for k := range p.Tasks {
		p.NodeOf = append(p.NodeOf, d.t.Node(k))
	}
	return p
}

// priorOf returns the prior of an estimate in the form in which models keep it.
func priorOf(e *estimate) model.Prior {
	p := e.Posterior
	return model.Prior{
		Rank: p.Rank, Loadings: p.Loadings, Intercept: p.Intercept, Spread: p.Spread, Slopes: p.Slopes, MeanVariance: p.MeanVariance,
		MeanCovariance: p.MeanCovariance, Noise: p.Noise, Freedom: p.Freedom, NoisePrior: model.NoisePrior(p.NoisePrior), SampleNoise: e.sampleNoise, Uncertainty: p.Uncertainty, SlopesFreedom: p.SlopesFreedom,
	}
}

// continuedPrior returns the prior of a model, to start from; nil if there is none, or one of another width.
func continuedPrior(m *model.Model, width int) *mixedmodel.Prior {
	if m == nil {
		return nil
	}
	p := m.Parameters()
	if p.Width() != width {
		return nil
	}
	return &mixedmodel.Prior{
		W: width, Rank: p.Prior.Rank, Loadings: p.Prior.Loadings,
		Intercept: p.Prior.Intercept, Spread: p.Prior.Spread, Slopes: p.Prior.Slopes, MeanVariance: p.Prior.MeanVariance,
	}
}

// goodness says how well a fit, which is at a point, explains its training rows, by totals that are known: moments are those of all
// rows. Parts of the variance of the target are those of Nakagawa and Schielzeth (2013), and of Johnson (2014) where slopes differ: that of what
// tasks share, the mean of z' S z over rows for what they differ by, and the noise of a usual task.
func (d *design) goodness(moments []float64, pt *evidence.Point, e *estimate) model.Goodness {
	w := e.W
	m := mat.NewDense(w, w, moments)
	mean := mat.NewVecDense(w, e.Mean)
	level := mat.Dot(mat.NewVecDense(w, m.RawRowView(w-1)), mean)
	fixed := max(mat.Inner(mean, m, mean)-level*level, 0)
	var product mat.Dense
	product.Mul(mat.NewDense(w, w, e.S), m)
	random, left := mat.Trace(&product)*e.Noise, e.Noise
	if e.NoisePrior.Freedom > 0 {
		left = e.NoisePrior.Scale
	}
	g := model.Goodness{R2Marginal: fixed / (fixed + random + left), R2Conditional: (fixed + random) / (fixed + random + left)}
	if d.weight == nil { // whose logarithms are no total
		g.LogLikelihood = pt.LogLikelihood() - float64(d.total)*math.Log(d.TargetScale)
		if e.noise != nil {
			g.LogLikelihood -= e.noise.Correction / 2
		}
		if d.LogTarget { // the density of a target is that of its logarithm over it
			g.LogLikelihood -= float64(d.total) * d.Target
		}
	}
	if math.IsNaN(g.LogLikelihood) || math.IsInf(g.LogLikelihood, 0) {
		g.LogLikelihood = 0
	}
	return g
}
