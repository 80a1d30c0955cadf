package fit

import (
	"math"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
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
	// first that was compared; Expected says that the rank was not worth an evaluation: then it is what the evidence
	// would be if all tasks said as much about their coefficients.
	Evidence float64
	Expected bool
	// Weight is that in the average of candidates which the model is; 0 if it is not in it. Ranks weigh what probability the evidence
	// leaves them: before rows are seen rank 0 is as probable as all others together, and these as each other. Candidates of rank 0 weigh in addition
	// what takes most off the errors of training rows that are left out of their task, and the others share the rest.
	Weight float64
	// Axes are the standard deviations of predictions along the principal axes of the
	// low rank, for standardised features, in the unit of the target, or its logarithm if the model is of that.
	Axes []float64
}

// report returns a candidate as it is reported, with its evidence against one of -2 log evidence zero.
func (c *candidate) report(zero, unit float64) Candidate {
	out := Candidate{Rank: c.Rank, Intercept: ridge(c.Intercept), Ridge: ridge(c.Spread), MeanRidge: ridge(c.MeanVariance), Evidence: (zero - c.evidence) / 2, Expected: c.expected, Weight: c.weight}
	p := c.Prior.Clone()
	p.Rotate()
	for a := range p.Rank {
		out.Axes = append(out.Axes, floats.Norm(p.Column(a), 2)*math.Sqrt(c.Noise)*unit)
	}
	return out
}

// bare is a candidate as it is reported and goes on from, without sums at its point: these are several matrices of coefficients by coefficients.
func (c *candidate) bare() *candidate {
	bare := *c
	bare.Point = &evidence.Point{Prior: c.Prior, Mean: c.Mean, Noise: c.Noise, LoadingVariances: c.LoadingVariances}
	return &bare
}

// last returns the variance of predictions along the last axis, over that of the noise; 1 at rank 0.
func (c *candidate) last() float64 {
	if c.Rank == 0 {
		return 1
	}
	p := c.Prior.Clone()
	p.Rotate()
	return floats.Dot(p.Column(p.Rank-1), p.Column(p.Rank-1))
}

// empty reports whether the last axis moves predictions by less than a thousandth of the noise.
func (c *candidate) empty() bool { return c.last() < 1e-6 }

// ridge is that of a variance over the noise: infinite where the variance is too small to be told from none.
func ridge(variance float64) float64 {
	if variance < 1e-6 {
		return math.Inf(1)
	}
	return 1 / variance
}
