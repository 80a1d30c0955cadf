package private

import "math"

// Epsilon returns the least epsilon for which totals with Gaussian noise, of rho together, have (epsilon,
// delta) privacy: the root of
//
//	delta = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu),   mu = sqrt(2 rho)
//
// (Balle and Wang, Improving the Gaussian mechanism for differential privacy, 2018, theorem 8). It is exact:
// several totals are as private as one with the sum of their rho, even if each depends on the totals before.
// See Dong, Roth and Su, Gaussian differential privacy, 2022, corollary 2. A bound that holds for every kind
// of noise with zero-concentrated privacy, proposition 12 of Canonne, Kamath and Steinke (2020), requires 8
// to 18 % more noise at delta = T^-1.1. Epsilon is NaN unless rho is at least 0 and delta between 0 and 1.
func Epsilon(rho, delta float64) float64 {
	if !isPrivacy(rho, delta) {
		return math.NaN()
	}
	mu := math.Sqrt(2 * rho)
	switch {
	case math.IsInf(rho, 1):
		return rho
	case gaussianDelta(0, mu) <= delta:
		return 0
	}
	most := rho + 2*math.Sqrt(rho*math.Log(1/delta)) // Bun and Steinke (2016), proposition 1.3
	return halve(0, most, func(epsilon float64) bool { return gaussianDelta(epsilon, mu) <= delta })
}

// Rho returns the largest rho with Epsilon(rho, delta) of at most epsilon. It is rounded down by up to 2^-32
// of itself, so that all processors compute equal bits. It is NaN unless epsilon is at least 0 and delta
// between 0 and 1.
func Rho(epsilon, delta float64) float64 {
	if !isPrivacy(epsilon, delta) {
		return math.NaN()
	}
	if math.IsInf(epsilon, 1) {
		return epsilon
	}
	most := 1.0
	for gaussianDelta(epsilon, most) <= delta {
		most *= 2
	}
	// -mu: halve returns the end at which the condition holds.
	mu := -halve(-most, 0, func(negative float64) bool { return gaussianDelta(epsilon, -negative) <= delta })
	const bits = 32
	fraction, exponent := math.Frexp(mu * mu / 2)
	return math.Ldexp(math.Floor(math.Ldexp(fraction, bits)), exponent-bits)
}

// isPrivacy reports whether a rho or an epsilon, and a delta, are in the range of the definition.
func isPrivacy(loss, delta float64) bool { return loss >= 0 && delta > 0 && delta < 1 }

// halve returns the least x from low to high for which holds, true from some x on and at high, is true.
func halve(low, high float64, holds func(x float64) bool) float64 {
	const enough = 2100 // halvings from any number to any other
	for range enough {
		middle := low + float64((high-low)/2)
		if middle <= low || middle >= high {
			break
		}
		if holds(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// gaussianDelta returns Phi(-a) - e^epsilon Phi(-b) with a = epsilon/mu - mu/2 and b = epsilon/mu + mu/2.
// Since b^2 - a^2 = 2 epsilon, the second term is phi(a) Phi(-b) / phi(b), which does not overflow.
//
// For small mu both terms are nearly equal. The derivative by mu is phi(epsilon/mu - mu/2), so that the
// difference is e^(epsilon/2) times the integral of phi(epsilon/m) e^(-m^2/8) from m = 0 to mu. Without the
// second factor, which is 1 to mu^2/8, that is mu phi(c) - epsilon Phi(-c) with c = epsilon/mu.
func gaussianDelta(epsilon, mu float64) float64 {
	const small, beyond = 1e-5, 40 // phi(40) is 0 in float64
	c := epsilon / mu
	switch {
	case mu == 0 || mu < small && c > beyond:
		return 0
	case mu < small:
		return mu * math.Exp(epsilon/2) * density(c) * (1 - float64(c*millsRatio(c)))
	}
	a, b := epsilon/mu-float64(mu/2), epsilon/mu+float64(mu/2)
	return float64(math.Erfc(a/math.Sqrt2)/2) - float64(density(a)*millsRatio(b))
}

// density returns phi(x), the density of the normal distribution.
func density(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }

// millsRatio returns Phi(-x) / phi(x) for x >= 0, by Laplace's continued fraction 1/(x + 1/(x + 2/(x + ...)))
// for large x.
func millsRatio(x float64) float64 {
	const large, terms = 4, 120
	if x < large {
		return math.Erfc(x/math.Sqrt2) / 2 / density(x)
	}
	tail := x
	for k := terms; k > 0; k-- {
		tail = x + float64(k)/tail
	}
	return 1 / tail
}
