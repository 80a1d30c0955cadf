package mixed

import (
	"math"
	"slices"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
)

// Parameters hold the numbers of a model with P columns ([Design.Width]) and T tasks.
// Coefficients, variances and covariances belong to the standardised target ([Target]).
// Symmetric matrices are packed: the upper triangle by rows, P(P+1)/2 numbers.
type Parameters struct {
	Estimator string `json:"estimator"` // its name: "evidence" or "cross-validation"
	Schema    Schema `json:"schema"`    // feature columns of the table
	Design    Design `json:"-"`
	Target    Target `json:"target"`
	// Mean is the posterior mean of the coefficients' mean over tasks (mu, P entries), and
	// MeanCovariance its posterior covariance, packed.
	Mean           []float64 `json:"-"`
	MeanCovariance []float64 `json:"-"`
	// Effects replaces Mean and MeanCovariance in the table of effects, where an estimator has one
	// with less shrinkage; nil: Mean and MeanCovariance are used there too.
	Effects *Estimate `json:"effects,omitempty"`
	// Unseen replaces Mean in predictions of tasks without rows, where differences between tasks predict
	// these better than the slopes within tasks do; nil: they have Mean. A new task of few rows that Adapt
	// learns begins near it.
	Unseen   *Unseen  `json:"unseen,omitempty"`
	Prior    Prior    `json:"prior"`
	Tasks    Tasks    `json:"tasks"`
	Goodness Goodness `json:"goodness"`
	// OwnRows describe the training rows of this process, where other processes had rows, too.
	OwnRows *OwnRows `json:"own_rows,omitempty"`
}

// A Target describes the target column and its standardisation,
// z = (y - Center) / Scale, or z = (log y - Center) / Scale if Log is set.
type Target struct {
	Column string  `json:"column"` // name in the table; may be empty
	Center float64 `json:"center"`
	Scale  float64 `json:"scale"`
	Log    bool    `json:"log"`
}

// Standardize returns the standardised target. It is NaN if Log is set and y is not positive.
func (s *Target) Standardize(y float64) float64 {
	if s.Log {
		if !(y > 0) {
			return math.NaN()
		}
		y = rounded.Log(y)
	}
	return (y - s.Center) / s.Scale
}

// Restore returns the target whose standardised value is z. If Log is set, z is limited to 8 on
// either side: an exponential magnifies an extrapolation beyond use.
func (s *Target) Restore(z float64) float64 {
	if s.Log {
		return rounded.Exp(s.Center + float64(s.Scale*min(max(z, -farthestLog), farthestLog)))
	}
	return s.Center + float64(s.Scale*z)
}

// farthestLog bounds standardised logarithms.
const farthestLog = 8

// limits reports whether Restore limits z.
func (s *Target) limits(z float64) bool { return s.Log && math.Abs(z) > farthestLog }

// An Unseen holds the coefficients of tasks without rows, P entries.
type Unseen struct {
	Mean []float64 `json:"-"`
}

// An Estimate is a coefficient vector with its covariance.
type Estimate struct {
	Mean       []float64 `json:"-"`       // P entries
	Covariance []float64 `json:"-"`       // packed
	Freedom    float64   `json:"freedom"` // degrees of freedom of its intervals; 0: normal intervals
}

// A Prior is the distribution of a task's deviation from the mean of all tasks,
//
//	theta_t - mu = diag(Deviations) e + Loadings b,   e, b ~ N(0, I),
//
// and of the noise. Training, Adapt and unseen tasks share it.
type Prior struct {
	Deviations []float64 `json:"-"`    // P standard deviations over tasks, 0 or more
	Rank       int       `json:"rank"` // r, the number of loadings
	Loadings   []float64 `json:"-"`    // P x r by columns
	// Freedom is the number of degrees of freedom of the deviations, some tasks less 1.
	// It widens intervals of unseen tasks; 0: the deviations count as exact.
	Freedom float64 `json:"freedom"`
	Noise   Noise   `json:"noise"`
}

// Noise is the distribution of the standardised target about its expectation.
type Noise struct {
	// Variance is positive. It is the variance of all tasks, or of a usual task if TaskFreedom is positive.
	Variance float64 `json:"variance"`
	// Freedom is the number of degrees of freedom of Variance; 0: Variance counts as exact.
	Freedom float64 `json:"freedom"`
	// TaskFreedom describes how the variances of tasks differ: TaskFreedom Variance / v has a chi-squared
	// distribution with TaskFreedom degrees of freedom for a task of variance v; 0: all tasks have Variance.
	TaskFreedom float64 `json:"task_freedom"`
	// Alike is the variance of all tasks in the weights of rows, where the variances of tasks are for
	// intervals only; 0: every task has its own variance in the weights.
	Alike float64 `json:"alike,omitempty"`
	// Level and Slope make the variance in intervals change with the expected target z, standardised and
	// limited to 3 on either side: it is that of the task times exp(Level + Slope z). 0, 0: it does not
	// change.
	Level float64 `json:"level,omitempty"`
	Slope float64 `json:"slope,omitempty"`
}

// Span returns the 2.5 and 97.5 % quantiles over tasks of the standard deviation, for a positive TaskFreedom.
func (n *Noise) Span() (low, high float64) {
	few, many := chiSquared95(n.TaskFreedom)
	all := n.TaskFreedom * n.Variance
	return math.Sqrt(all / many), math.Sqrt(all / few)
}

// Tasks hold the coefficients of the T tasks of a model.
type Tasks struct {
	Column  string   `json:"column"` // name of the task column in the table; may be empty
	Names   []string `json:"names"`  // T distinct names in UTF-8
	Samples []int    `json:"-"`      // training rows of every task
	// Digests are sums of hashes of the rows of every task, for [Model.Repeats]; they may be nil. They do
	// not contain the rows, but a reader who guesses all rows of a task can confirm the guess.
	Digests []uint32  `json:"digests,omitempty"`
	Theta   []float64 `json:"-"` // T x P, posterior means of the coefficients mu + deviation
	// Noise holds T positive variances and Freedom their degrees of freedom.
	// Both are nil unless Prior.Noise.TaskFreedom is positive.
	Noise   []float64 `json:"-"`
	Freedom []float64 `json:"-"`
	// Growth has Level and Slope of [Noise] for every task where owners have joined their tasks: the noise of
	// each owner changes with the prediction in its own way. nil: all tasks have those of Prior.Noise.
	Growth *Growth `json:"growth,omitempty"`
	// Covariances holds the posterior covariance of every row of Theta, with the uncertainty of mu. If it is
	// nil, intervals of known tasks are as wide as those of unseen tasks. Those without a packed form need
	// Strengths.
	Covariances []Covariance `json:"-"`
	Strengths   *Strengths   `json:"strengths,omitempty"`
}

// A Growth holds Level and Slope of the noise of every task, T numbers each.
type Growth struct {
	Level []float64 `json:"-"`
	Slope []float64 `json:"-"`
}

// mostCovariances is the largest number of entries that training keeps in Covariances, 256 MiB. For tables
// that would need more, Covariances is nil.
const mostCovariances = 1 << 25

// Goodness describes how a model fits the training rows. Zero fields are unknown.
type Goodness struct {
	Evidence float64 `json:"evidence,omitempty"` // log evidence of the standardised targets, in nats
	// R2Marginal is the share of the target's variance that the mean explains, and R2Conditional
	// the share that mean and deviations explain (Nakagawa and Schielzeth 2013; Johnson 2014).
	R2Marginal    float64 `json:"r2_marginal,omitempty"`
	R2Conditional float64 `json:"r2_conditional,omitempty"`
}

// deviates reports whether deviations have a variance.
func (p *Prior) deviates() bool {
	return p.Rank > 0 || slices.ContainsFunc(p.Deviations, func(d float64) bool { return d != 0 })
}

// Covariance returns the covariance of a deviation, diag(Deviations)^2 + Loadings Loadings', P x P by rows.
func (p *Prior) Covariance() []float64 {
	w := len(p.Deviations)
	s := make([]float64, w*w)
	for j, d := range p.Deviations {
		s[j*w+j] = d * d
	}
	for k := range p.Rank {
		l := dense.Vector(p.Loadings[k*w:][:w])
		dense.Ger(1, l, l, dense.General(w, w, s))
	}
	return s
}
