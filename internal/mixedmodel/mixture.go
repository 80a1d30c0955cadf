package mixedmodel

import (
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// Mix sets the first mean and covariance to those of what has one of several distributions, with weights that sum to 1: the mean of their means, and
// that of their covariances and of the squares of what their means are from it. Covariances may be nil.
func Mix(weights []float64, means, covariances [][]float64) {
	if len(weights) == 1 {
		return
	}
	first, n := slices.Clone(means[0]), len(means[0])
	mean, cov := means[0], covariances[0]
	floats.Scale(weights[0], mean)
	floats.Scale(weights[0], cov)
	for k, w := range weights[1:] {
		floats.AddScaled(mean, w, means[k+1])
		floats.AddScaled(cov, w, covariances[k+1])
	}
	if cov == nil {
		return
	}
	away := make([]float64, n)
	for k, w := range weights {
		if k == 0 {
			floats.SubTo(away, first, mean)
		} else {
			floats.SubTo(away, means[k], mean)
		}
		blas64.Ger(w, Vector(away), Vector(away), Square(cov, n))
	}
}
