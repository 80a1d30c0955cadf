package fit

import (
	"math"

	"github.com/difalt/difalt/fit/internal/evidence"
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
	// Axes are the standard deviations of predictions along the principal axes of the
	// low rank, for standardised features, in the unit of the target.
	Axes []float64
}

// report returns a candidate as it is reported, with its evidence against one of -2 log evidence zero.
func (c *candidate) report(zero, unit float64) Candidate {
	out := Candidate{Rank: c.Rank, Intercept: ridge(c.Intercept), Ridge: ridge(c.Spread), MeanRidge: ridge(c.MeanVariance), Evidence: (zero - c.evidence) / 2, Expected: c.expected}
	p := c.Prior.Clone()
	p.Rotate()
	for a := range p.Rank {
		out.Axes = append(out.Axes, floats.Norm(p.Column(a), 2)*math.Sqrt(c.Noise)*unit)
	}
	return out
}

// bare is what is reported of a candidate, without sums at its point: these are several matrices of coefficients by coefficients.
func (c *candidate) bare() *candidate {
	return &candidate{Point: &evidence.Point{Prior: c.Prior, Noise: c.Noise}, evidence: c.evidence, expected: c.expected}
}

// empty reports whether the last axis moves predictions by less than a thousandth of the noise.
func (c *candidate) empty() bool {
	p := c.Prior.Clone()
	p.Rotate()
	return p.Rank > 0 && floats.Norm(p.Column(p.Rank-1), 2) < 1e-3
}

// ridge is that of a variance over the noise: infinite where the variance is too small to be told from none.
func ridge(variance float64) float64 {
	if variance < 1e-6 {
		return math.Inf(1)
	}
	return 1 / variance
}
