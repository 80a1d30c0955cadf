package mixed

import (
	"math"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/floats"
)

// An EffectKind distinguishes the effects of a model.
type EffectKind string

// The kinds of effects.
const (
	// Intercept is the expected target where all features have their means over the training rows.
	Intercept EffectKind = "intercept"
	// Slope is the change of the target per unit of a feature, or its linear part if it has a curve.
	Slope EffectKind = "slope"
	// Contrast is the difference of a level of a category from the level Reference.
	Contrast EffectKind = "contrast"
	// CurveEffect is the root mean square, over the knots, of a curve's departure from its linear part.
	CurveEffect EffectKind = "curve"
	// PeriodEffect is the root mean square of the effects of the values of a period.
	PeriodEffect EffectKind = "period"
)

// An Effect is a contrast of the coefficients' mean over tasks, in [Model.Unit] per unit of the table.
type Effect struct {
	Kind      EffectKind `json:"effect"`
	Term      string     `json:"term"`                // a feature, or InterceptTerm
	Reference string     `json:"reference,omitempty"` // feature of the reference level of a Contrast
	Estimate  float64    `json:"estimate"`
	// StandardError is the standard error of Estimate, and [Low, High] its 95 % interval, both with the
	// uncertainty in MeanCovariance or Effects. For a CurveEffect, StandardError is the root mean square
	// over the knots of the curve's standard errors; its interval holds with at least 95 %. For a
	// PeriodEffect it is that over the values.
	StandardError float64 `json:"std_error"`
	Low           float64 `json:"conf_low"`
	High          float64 `json:"conf_high"`
	// Deviation is the standard deviation of the effect over tasks; for a CurveEffect, the root mean
	// square over the knots of the curve's standard deviations.
	Deviation float64 `json:"sd_of_tasks"`
}

// InterceptTerm is the term of the effect of kind Intercept.
const InterceptTerm = "(intercept)"

// Effects returns the effects of all features, the intercept first. A category has contrasts with its
// first level that was in the training rows. Features that were constant there have no effect.
func (m *Model) Effects() []Effect {
	if len(m.p.Mean) == 0 {
		return nil
	}
	source, d := &Estimate{Mean: m.p.Mean, Covariance: m.p.MeanCovariance}, &m.p.Design
	if m.p.Effects != nil {
		source = m.p.Effects
	}
	e := &effectEstimator{source.Mean, source.Covariance, dense.Pack(nil, len(source.Mean), m.p.Prior.Covariance()),
		m.p.Target.Scale, source.Quantile()}
	a := make([]float64, len(m.p.Mean))
	a[0] = 1
	list := []Effect{e.contrast(Intercept, InterceptTerm, a, m.p.Target.Center)}
	levels, length := m.levels, d.length()
	for j := 0; j < len(d.Scale); {
		n, reference := 1, -1
		category := len(levels) > 0 && levels[0].first == j
		if category {
			n, levels = levels[0].levels, levels[1:]
		}
		for ; n > 0; n, j = n-1, j+1 {
			switch {
			case d.Scale[j] == 0:
				continue
			case category && reference < 0:
				reference = j
				continue
			}
			kind, against, terms := Slope, "", []term{{j, 1 / d.Scale[j]}}
			if category {
				kind, against = Contrast, m.features[reference]
				terms = append(terms, term{reference, -1 / d.Scale[reference]})
			}
			d.combination(a, length, terms...)
			effect := e.contrast(kind, m.features[j], a, 0)
			effect.Reference = against
			list = append(list, effect)
		}
	}
	at := 1 + d.linear()
	for i := range d.Curves {
		list = append(list, e.departure(&d.Curves[i], m.features[d.Curves[i].Feature], at))
		at += d.Curves[i].Width()
	}
	for i := range d.Periods {
		p := &d.Periods[i]
		list = append(list, e.spread(m.features[p.Feature], at, len(p.Values)))
		at += len(p.Values)
	}
	return list
}

// StandardError returns the standard error of the sum of the coefficients with the given factors.
func (e *Estimate) StandardError(factors []float64) float64 {
	return math.Sqrt(quadratic(e.Covariance, factors))
}

// Quantile returns the half-width of a 95 % interval over the standard error: the 97.5 % quantile of
// Student's t, or of the normal distribution without degrees of freedom.
func (e *Estimate) Quantile() float64 { return normal95 * interval95(e.Freedom) }

// An effectEstimator computes effects from a mean, its covariance, and the covariance of deviations.
type effectEstimator struct {
	mean, covariance, deviations []float64
	unit                         float64 // of the standardised target
	quantile                     float64 // 97.5 %, of the estimate over its standard error
}

// contrast returns the effect offset + unit a' mean. a is divided by its largest entry.
func (e *effectEstimator) contrast(kind EffectKind, term string, a []float64, offset float64) Effect {
	unit := e.unit
	if size := rounded.MaxNorm(a); size >= leastScale { // its square may be out of range
		unit *= size
		floats.Scale(1/size, a)
	}
	out := Effect{Kind: kind, Term: term, Estimate: offset + float64(unit*rounded.Dot(a, e.mean))}
	out.StandardError = unit * math.Sqrt(quadratic(e.covariance, a))
	out.Deviation = unit * math.Sqrt(quadratic(e.deviations, a))
	far := float64(e.quantile * out.StandardError)
	out.Low, out.High = out.Estimate-far, out.Estimate+far
	return out
}

// departure returns the effect of a curve whose columns begin at the given one. Knots count by the
// trapezoidal rule: they lie at quantiles of the feature, so that this approximates a mean over rows.
func (e *effectEstimator) departure(c *Curve, term string, first int) Effect {
	k := len(c.Knots)
	a := make([]float64, len(e.mean))
	out := Effect{Kind: CurveEffect, Term: term}
	standard := *e
	standard.unit = 1
	for i := range k {
		weight := 1 / float64(k-1)
		if i == 0 || i == k-1 {
			weight /= 2
		}
		for j := range c.Width() {
			a[first+j] = c.Values[j*k+i]
		}
		at := standard.contrast(CurveEffect, term, a, 0)
		out.Estimate += float64(weight * square(at.Estimate))
		out.StandardError += float64(weight * square(at.StandardError))
		out.Deviation += float64(weight * square(at.Deviation))
	}
	return e.rooted(out, e.unit)
}

// spread returns the effect of a period whose n columns begin at the given one.
func (e *effectEstimator) spread(term string, first, n int) Effect {
	out, a := Effect{Kind: PeriodEffect, Term: term}, make([]float64, len(e.mean))
	for k := range n {
		clear(a)
		a[first+k] = 1
		at := e.contrast(PeriodEffect, term, a, 0)
		out.Estimate += square(at.Estimate) / float64(n)
		out.StandardError += square(at.StandardError) / float64(n)
	}
	return e.rooted(out, 1)
}

// rooted converts an effect in mean squares into one in root mean squares, times a unit.
func (e *effectEstimator) rooted(out Effect, unit float64) Effect {
	out.Estimate = float64(unit * math.Sqrt(out.Estimate))
	out.StandardError = unit * math.Sqrt(out.StandardError)
	out.Deviation = unit * math.Sqrt(out.Deviation)
	far := float64(e.quantile * out.StandardError)
	out.Low, out.High = max(out.Estimate-far, 0), out.Estimate+far
	return out
}
