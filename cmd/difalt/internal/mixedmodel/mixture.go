package mixedmodel

import (
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// Mix sets the first mean and covariance to those of what has one of several distributions, with weights that sum to 1: the mean of their means, and
// that of their covariances and of the squares of what their means are from it. Covariances may be nil.
func Mix(weights []float64, means, covariances [][]float64) {
	if len(weights) == 1 {
		return
	}
	mean, cov := make([]float64, len(means[0])), covariances[0]
	floats.Scale(weights[0], cov)
	for k, w := range weights {
		floats.AddScaled(mean, w, means[k])
		if k > 0 {
			floats.AddScaled(cov, w, covariances[k])
		}
	}
	away := make([]float64, len(mean))
	for k, w := range weights {
		if floats.SubTo(away, means[k], mean); cov != nil {
			blas64.Ger(w, Vector(away), Vector(away), Square(cov, len(mean)))
		}
	}
	copy(means[0], mean)
}
