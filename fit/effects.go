package fit

import (
	"math"

	"github.com/difalt/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/model"
	"gonum.org/v1/gonum/mat"
)

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
