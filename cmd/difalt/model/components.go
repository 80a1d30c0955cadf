package model

import (
	"fmt"
	"math"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/floats"
)

// An Alternative is another model of what tasks have in common: of another rank, which the evidence of the training rows does not tell from that of Parameters.Mean and
// Prior, or of rank 0, with which rows that are left out of their task are less off. Weight is more than 0; what all alternatives leave of 1 is that of Mean and Prior. Coefficients are
// averaged over all of them (Hoeting, Madigan, Raftery and Volinsky 1999): their covariance counts also by how much they differ.
type Alternative struct {
	Weight float64   `json:"weight"`
	Mean   []float64 `json:"-"` // as Parameters.Mean
	Prior
}

// A component is one of the models that are averaged, along Directions.
type component struct {
	mixedmodel.Posterior
	weight float64
	fresh  *mixedmodel.Posterior // of a task without rows
	away   []float64             // from the mean of all components to its own
}

// priors calls visit for what the model says about tasks in general, the most probable first; suffix is that of arrays in a file.
func (p *Parameters) priors(visit func(suffix string, weight float64, mean *[]float64, prior *Prior)) {
	rest := 1.0
	for _, a := range p.Alternatives {
		rest -= a.Weight
	}
	visit("", rest, &p.Mean, &p.Prior)
	for k := range p.Alternatives {
		a := &p.Alternatives[k]
		visit(fmt.Sprintf(".%d", k+1), a.Weight, &a.Mean, &a.Prior)
	}
}

// average sets the components, the mean of their means, and variances of noise.
func (m *Model) average() {
	m.mean = make([]float64, len(m.p.Mean))
	m.p.priors(func(_ string, weight float64, mean *[]float64, p *Prior) {
		prior := &mixedmodel.Prior{W: m.p.Width(), Rank: p.Rank, Loadings: p.Loadings, Intercept: p.Intercept, Spread: p.Spread, Slopes: p.Slopes, MeanVariance: p.MeanVariance}
		c := component{weight: weight, Posterior: mixedmodel.Posterior{
			Prior: prior, Mean: *mean, MeanCovariance: p.MeanCovariance, S: prior.Covariance(),
			Noise: p.Noise, Freedom: p.Freedom, NoisePrior: mixedmodel.NoisePrior(p.NoisePrior), Uncertainty: p.Uncertainty, SlopesFreedom: p.SlopesFreedom,
		}}
		if m.p.Directions != nil {
			c.Mean, _ = m.project(c.Mean)
		}
		c.fresh = c.ForNew()
		m.components = append(m.components, c)
		floats.AddScaled(m.mean, weight, *mean)
		usual := p.Noise
		if p.NoisePrior.Freedom > 0 {
			usual = p.NoisePrior.Scale
		}
		m.usual += weight * usual
		m.single += weight * max(p.Noise, p.SampleNoise)
		m.outside += weight * (p.Noise * (p.Spread + p.MeanVariance))
	})
	along, _ := m.project(m.mean)
	for k := range m.components {
		c := &m.components[k]
		c.away = make([]float64, len(along))
		floats.SubTo(c.away, c.Mean, along)
	}
}

// learn returns the coefficients of a new task by its rows, their covariance unless that of others is not known, and
// the variance of its noise with its degrees of freedom; ok is false if rounding leaves none.
func (m *Model) learn(t *mixedmodel.Task) (theta, covariance []float64, noise, freedom float64, ok bool) {
	thetas, covariances := make([][]float64, len(m.components)), make([][]float64, len(m.components))
	for k := range m.components {
		c := &m.components[k]
		thetas[k] = make([]float64, c.W)
		if m.covariance() != nil {
			covariances[k] = make([]float64, c.W*c.W)
		}
		weighed, v, f, ok := c.fresh.EstimateNoise(t)
		if !ok || !c.fresh.Coefficients(&weighed, thetas[k], covariances[k]) {
			return nil, nil, 0, 0, false
		}
		noise += c.weight * v
		freedom += c.weight * f
	}
	mixedmodel.Mix(m.weights(), thetas, covariances)
	return thetas[0], covariances[0], noise, freedom, true
}

func (m *Model) weights() []float64 {
	out := make([]float64, len(m.components))
	for k := range m.components {
		out[k] = m.components[k].weight
	}
	return out
}

// freshVariance returns that of z' theta of a task without rows, for z along Directions: times what makes up for
// degrees of freedom that are few, where strengths are estimated from few tasks.
func (m *Model) freshVariance(z []float64) (sum float64) {
	for k := range m.components {
		c := &m.components[k]
		v, slopes := c.fresh.Covary(z, z)
		freedom := 2 * v * v / c.fresh.Uncertain(slopes) // infinite if the prior is known
		if !(freedom > 1) {
			freedom = 1
		}
		sum += c.weight * (max(v, 0)*math.Pow(mixedmodel.Interval95(freedom), 2) + math.Pow(floats.Dot(z, c.away), 2))
	}
	return sum
}

// Ranks returns the ranks that are averaged and their weights, the largest first: that of Prior alone with 1, where there are no Alternatives. Rank 0 may be
// there twice, with slopes of the tasks' own and without.
func (m *Model) Ranks() (ranks []int, weights []float64) {
	for k := range m.components {
		ranks = append(ranks, m.components[k].Rank)
	}
	return ranks, m.weights()
}
