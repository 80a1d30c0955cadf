package mixed

import (
	"math"

	"github.com/difalt/difalt/internal/rounded"
)

// normalDensity returns the density of the standard normal distribution.
func normalDensity(x float64) float64 { return rounded.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }

// normalWithin returns the chance that a standard normal number is between 0 and x.
func normalWithin(x float64) float64 { return rounded.Erf(x/math.Sqrt2) / 2 }

// chiSquared95 returns the 2.5 and 97.5 % quantiles of the chi-squared distribution.
func chiSquared95(freedom float64) (low, high float64) {
	const many = 1e5 // degrees of freedom
	if freedom >= many {
		return chiSquaredExpansion(freedom, -normal95), chiSquaredExpansion(freedom, normal95)
	}
	a := freedom / 2
	quantile := func(chance float64) float64 { // by bisection of its logarithm
		least, most := -745.0, 12.0
		for range 80 {
			if middle := (least + most) / 2; gammaBelow(a, rounded.Exp(middle)) < chance {
				least = middle
			} else {
				most = middle
			}
		}
		return 2 * rounded.Exp(least)
	}
	return quantile(.025), quantile(.975)
}

// chiSquaredExpansion returns the quantile at which the standard normal distribution has z, by the expansion
// of Cornish and Fisher (Abramowitz and Stegun 26.4.16 with two terms more).
func chiSquaredExpansion(freedom, z float64) float64 {
	z2, root := float64(z*z), math.Sqrt(freedom)
	sum := float64(math.Sqrt2*z*root) + float64(2./3*(z2-1)) + float64(z*(z2-7)/(9*math.Sqrt2*root))
	return freedom + sum - (float64(6*z2*z2)+float64(14*z2)-32)/(405*freedom)
}

// gammaBelow returns the chance that a gamma-distributed number of shape a is below x: by the series of the
// incomplete gamma function, and its continued fraction where x is larger (Abramowitz and Stegun 6.5.29 and
// 6.5.31).
func gammaBelow(a, x float64) float64 {
	const enough, most = 1e-16, 10_000 // relative change, and steps
	if x == 0 {
		return 0
	}
	power := rounded.Exp(float64(a*rounded.Log(x)) - x - rounded.LogGamma(a))
	if x < a+1 {
		sum, term := 1/a, 1/a
		for n := 1.0; n < most && term > enough*sum; n++ {
			term = float64(term * (x / (a + n)))
			sum += term
		}
		return power * sum
	}
	below := x + 1 - a // Lentz's way
	over, under := 1e300, 1/below
	fraction := under
	for n := 1.0; n < most; n++ {
		step := float64(n * (a - n))
		below += 2
		under, over = 1/(float64(step*under)+below), below+float64(step/over)
		fraction *= under * over
		if math.Abs(float64(under*over)-1) <= enough {
			break
		}
	}
	return 1 - float64(power*fraction)
}
