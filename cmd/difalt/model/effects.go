package model

import (
	"math"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Goodness says how a model fits the training rows of all nodes; what is not known is 0. Between owners, who dither what they tell one another, it
// is as exact as that. It is about the most probable rank.
type Goodness struct {
	// LogLikelihood is that of the targets at the estimates of the mean and of all variances, coefficients of tasks integrated.
	LogLikelihood float64 `json:"log_likelihood,omitempty"`
	// R2Marginal is the part of the variance of the target that is by what all tasks share, and R2Conditional that which is also by what
	// tasks differ by, where both are as the model estimates them (Nakagawa and Schielzeth 2013; Johnson 2014).
	R2Marginal    float64 `json:"r2_marginal,omitempty"`
	R2Conditional float64 `json:"r2_conditional,omitempty"`
}

// The kinds of an Effect.
const (
	Fixed       = "fixed"       // a coefficient of the mean of tasks
	Deviation   = "deviation"   // standard deviation of a coefficient between tasks
	Correlation = "correlation" // of a coefficient with the intercept, between tasks
	Residual    = "noise"       // standard deviation of the noise: of a usual task, where tasks differ by it
)

// An Effect is a number of the model as a mixed model, in the units of the table, with the logarithm of the target where the model is of that. A term is a column, a level of a column
// against a Reference, its first one, or ConstantFeature: the target where all columns of numbers are 0 and all others at their reference. Numbers that are not
// known are NaN. Columns with a Transform have the terms of its inputs. Low and High are 95 % intervals: of a fixed effect by 1.96 standard errors, of a standard deviation
// by Satterthwaite's degrees of freedom, of a correlation by Fisher's z.
type Effect struct {
	Kind, Term, Reference              string
	Estimate, StandardError, Low, High float64
}

// Effects returns all of a model: the fixed ones, what tasks differ by where they do, and the noise. They are of the mean, its covariance, and
// the prior, which all owners have alike, and of all ranks that are averaged. A mean that a ridge holds back is its posterior one. There are none of a plain fit, and
// of a model with Directions only those of the intercept and the noise.
func (m *Model) Effects() (list []Effect) {
	if !m.p.Scaling.Constant {
		return nil
	}
	terms := m.terms()
	for _, t := range terms {
		list = append(list, m.fixed(&t))
	}
	var intercept spreadOf
	for i, t := range terms {
		s := m.spreadOf(&t)
		if i == 0 {
			intercept = s
		}
		if !(s.variance > 0) {
			continue
		}
		freedom := s.freedom()
		e := Effect{Kind: Deviation, Term: t.name, Reference: t.reference, Estimate: math.Sqrt(s.variance), StandardError: math.Sqrt(s.variance / (2 * freedom))}
		if e.Low, e.High = deviationInterval(e.Estimate, freedom); math.IsInf(freedom, 0) {
			e.StandardError = math.NaN()
		}
		list = append(list, e)
		if i > 0 && intercept.variance > 0 {
			list = append(list, m.correlation(&t, &terms[0], &s, &intercept))
		}
	}
	noise := Effect{Kind: Residual, Term: "", Estimate: m.Noise(), StandardError: math.NaN(), Low: math.NaN(), High: math.NaN()}
	if f := m.p.Prior.Freedom; f > 0 && m.p.Prior.NoisePrior.Freedom == 0 {
		noise.StandardError = noise.Estimate / math.Sqrt(2*f)
		noise.Low, noise.High = deviationInterval(noise.Estimate, f)
	}
	return append(list, noise)
}

// A term is a contrast of scaled coefficients, the constant last: its coefficient in the units of the table is offset + a' theta.
type term struct {
	name, reference string
	offset          float64
	a               []float64
}

// terms returns those of a model, the intercept first.
func (m *Model) terms() []term {
	s, names := &m.p.Scaling, m.p.Scaling.InputNames(m.features)
	k := len(names)
	unit := func(j int) float64 { return s.TargetScale / s.Scale[j] }
	level := term{name: ConstantFeature, offset: s.Target, a: make([]float64, k+1)}
	level.a[k] = s.TargetScale
	for j, c := range s.Center {
		level.a[j] -= c * unit(j)
	}
	list, blocks := []term{level}, m.levels
	if m.p.Directions != nil {
		return list
	}
	for j := 0; j < k; {
		n, reference := 1, -1
		if len(blocks) > 0 && s.place(blocks[0].First) == j {
			n, reference, blocks = blocks[0].Levels, j, blocks[1:]
			level.a[j] += unit(j)
		}
		for ; n > 0; n, j = n-1, j+1 {
			t := term{name: names[j], a: make([]float64, k+1)}
			t.a[j] = unit(j)
			if reference >= 0 {
				t.a[reference] -= unit(reference)
				t.reference = names[reference]
			}
			if j != reference {
				list = append(list, t)
			}
		}
	}
	return list
}

// fixed returns the effect of the mean.
func (m *Model) fixed(t *term) Effect {
	along, outside := m.project(t.a)
	a, v := mat.NewVecDense(len(along), along), 0.0
	for i := range m.components {
		c := &m.components[i]
		v += c.weight * (mat.Inner(a, mat.NewDense(c.W, c.W, c.MeanCovariance), a)*c.Noise + outside*c.Noise*c.MeanVariance + math.Pow(floats.Dot(along, c.away), 2))
	}
	e := Effect{Kind: Fixed, Term: t.name, Reference: t.reference, Estimate: t.offset + floats.Dot(t.a, m.mean), StandardError: math.Sqrt(max(v, 0))}
	e.Low, e.High = e.Estimate-mixedmodel.Normal95*e.StandardError, e.Estimate+mixedmodel.Normal95*e.StandardError
	return e
}

// A spreadOf is the variance of a term between tasks, by every component with its derivatives by what is uncertain about the prior, and their mean.
type spreadOf struct {
	variance float64
	of       []float64
	slopes   [][]float64
	m        *Model
}

func (m *Model) spreadOf(t *term) spreadOf {
	along, outside := m.project(t.a)
	return m.covary(along, along, outside)
}

// covary returns the covariance of two terms.
func (m *Model) covary(a, b []float64, outside float64) spreadOf {
	s := spreadOf{m: m}
	for i := range m.components {
		c := &m.components[i]
		v, slopes := c.Covary(a, b)
		v += outside * c.Noise * c.Spread
		s.variance += c.weight * v
		s.of, s.slopes = append(s.of, v), append(s.slopes, slopes)
	}
	return s
}

// uncertain returns the variance of an estimate: of every component, by derivatives, and between them, of what they are from the mean.
func (m *Model) uncertain(slopes [][]float64, away func(component int) float64) (v float64) {
	for i := range m.components {
		c := &m.components[i]
		v += c.weight * (c.Uncertain(slopes[i]) + math.Pow(away(i), 2))
	}
	return v
}

func (s *spreadOf) freedom() float64 {
	return 2 * s.variance * s.variance / s.m.uncertain(s.slopes, func(i int) float64 { return s.of[i] - s.variance })
}

// correlation returns that of a term and the intercept between tasks.
func (m *Model) correlation(t, level *term, of, intercept *spreadOf) Effect {
	a, _ := m.project(t.a)
	b, _ := m.project(level.a)
	both := m.covary(a, b, 0)
	unit := math.Sqrt(of.variance * intercept.variance)
	r := both.variance / unit
	e := Effect{Kind: Correlation, Term: t.name, Reference: t.reference, Estimate: r, StandardError: math.NaN(), Low: math.NaN(), High: math.NaN()}
	for i, slopes := range both.slopes {
		for j := range slopes {
			slopes[j] = slopes[j]/unit - r/2*(of.slopes[i][j]/of.variance+intercept.slopes[i][j]/intercept.variance)
		}
	}
	u := m.uncertain(both.slopes, func(i int) float64 {
		return both.of[i]/unit - r/2*(of.of[i]/of.variance+intercept.of[i]/intercept.variance)
	})
	if u > 0 && math.Abs(r) < 1 {
		e.StandardError = math.Sqrt(u)
		z, width := math.Atanh(r), mixedmodel.Normal95*e.StandardError/(1-r*r)
		e.Low, e.High = math.Tanh(z-width), math.Tanh(z+width)
	}
	return e
}

// deviationInterval returns the 95 % interval of a standard deviation that is estimated to some degrees of freedom.
func deviationInterval(estimate, freedom float64) (low, high float64) {
	if math.IsInf(freedom, 0) || math.IsNaN(freedom) {
		return math.NaN(), math.NaN()
	}
	chi := distuv.ChiSquared{K: freedom}
	return estimate * math.Sqrt(freedom/chi.Quantile(0.975)), estimate * math.Sqrt(freedom/chi.Quantile(0.025))
}
