package mixed

import (
	"math"

	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/stat/distuv"
)

// This file has all functions of package mixed whose last bits depend on the processor: distributions of
// package distuv, and math.Erfc. Intervals, outliers and verdicts follow from them, and parameters of a model
// only by numbers of rows within intervals.

// normal95 is the 97.5 % quantile of the normal distribution, and normal90 the 95 % quantile.
const (
	normal95 = 1.9599639845400536
	normal90 = 1.6448536269514715
)

// interval95 returns the half-width of a 95 % interval of Student's t over the half-width for the normal
// distribution. Freedom 0 and 1e9 or more count as infinite, and other values as at least 1.
func interval95(freedom float64) float64 {
	if freedom == 0 || freedom >= 1e9 {
		return 1
	}
	return student95(max(freedom, 1)) / normal95
}

// student95 returns the 97.5 % quantile of Student's t with degrees of freedom.
func student95(freedom float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(.975)
}

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
