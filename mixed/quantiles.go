package mixed

import (
	"math"

	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/stat/distuv"
)

// This file has all functions of package mixed whose last bits depend on the processor: distributions of
// package distuv, and math.Erfc. The intervals of logarithms and of noise, and outliers, follow from them,
// and no parameter of a model.

// beyond returns the chance that Student's t is farther from 0 than t, on either side.
func beyond(t, freedom float64) float64 {
	return 2 * distuv.StudentsT{Sigma: 1, Nu: freedom}.CDF(-t)
}

// chiSquared returns the quantile p of the chi-squared distribution.
func chiSquared(p, freedom float64) float64 { return distuv.ChiSquared{K: freedom}.Quantile(p) }

// normalCDF returns the chance that a standard normal number is below x.
func normalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// normalDensity returns the density of the standard normal distribution.
func normalDensity(x float64) float64 { return rounded.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }
