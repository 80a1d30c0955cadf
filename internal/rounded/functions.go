package rounded

import "math"

// Logarithms and exponentials of package math have other last bits on amd64, where they are assembly, than on
// arm64. The functions here are the C functions of FreeBSD's /usr/src/lib/msun in portable Go, as in package
// math:
//
// Copyright (C) 1993, 2004 by Sun Microsystems, Inc. All rights reserved.
//
// Developed at SunPro and SunSoft, Sun Microsystems, Inc. businesses.
// Permission to use, copy, modify, and distribute this software is freely granted, provided that this notice
// is preserved.

// ln2 is high + low: the low bits of high are zeros, so that its multiples by exponents are exact.
const (
	ln2High = 6.93147180369123816490e-01
	ln2Low  = 1.90821492927058770002e-10
)

// Log returns the natural logarithm of x.
func Log(x float64) float64 {
	switch {
	case x != x || math.IsInf(x, 1):
		return x
	case x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	}
	fraction, exponent := math.Frexp(x)
	if fraction < math.Sqrt2/2 {
		fraction *= 2
		exponent--
	}
	f, k := fraction-1, float64(exponent)
	s := f / (2 + f)
	s2 := float64(s * s)
	s4 := float64(s2 * s2)
	odd := float64(s2 * series(s4, 6.666666666666735130e-01, 2.857142874366239149e-01, 1.818357216161805012e-01,
		1.479819860511658591e-01))
	even := float64(s4 * series(s4, 3.999999999940941908e-01, 2.222219843214978396e-01, 1.531383769920937332e-01))
	half := float64(0.5 * f * f)
	return float64(k*ln2High) - ((half - (float64(s*(half+odd+even)) + float64(k*ln2Low))) - f)
}

// series returns the sum of the coefficients times powers of x.
func series(x float64, coefficients ...float64) (sum float64) {
	for k := len(coefficients) - 1; k >= 0; k-- {
		sum = coefficients[k] + float64(x*sum)
	}
	return sum
}

// Exp returns e^x.
func Exp(x float64) float64 {
	const most, least = 7.09782712893383973096e+02, -7.45133219101941108420e+02 // beyond, it overflows or is 0
	switch {
	case x != x || math.IsInf(x, 1):
		return x
	case x > most:
		return math.Inf(1)
	case x < least:
		return 0
	}
	k := math.Trunc(float64(x*math.Log2E) + math.Copysign(0.5, x))
	high, low := x-float64(k*ln2High), float64(k*ln2Low)
	r := high - low
	t := float64(r * r)
	c := r - float64(t*series(t, 1.66666666666666657415e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05,
		-1.65339022054652515390e-06, 4.13813679705723846039e-08))
	return math.Ldexp(1-((low-float64(r*c)/(2-c))-high), int(k))
}

// Log1p returns the logarithm of 1 + x, to its rounding for small x too.
func Log1p(x float64) float64 {
	sum := 1 + x
	if sum == 1 || math.IsInf(x, 1) {
		return x
	}
	return Log(sum) * (x / (sum - 1)) // both factors err alike (Kahan)
}

// Expm1 returns e^x - 1, to its rounding for small x too.
func Expm1(x float64) float64 {
	power := Exp(x)
	less := power - 1
	switch {
	case power == 1:
		return x
	case math.Abs(x) > 1 || less == -1:
		return less
	}
	return less * (x / Log(power)) // both factors err alike (Kahan)
}

// Log2 returns the logarithm of x to base 2, exactly for a power of two.
func Log2(x float64) float64 {
	fraction, exponent := math.Frexp(x)
	if fraction == 0.5 {
		return float64(exponent - 1)
	}
	return float64(exponent) + float64(Log(fraction)*(1/math.Ln2))
}

// Power returns x to a whole power, by products.
func Power(x float64, power int) float64 {
	if power < 0 {
		return 1 / Power(x, -power)
	}
	result := 1.0
	for ; power > 0; power >>= 1 {
		if power&1 == 1 {
			result *= x
		}
		x *= x
	}
	return result
}

// LogGamma returns the logarithm of the gamma function of x > 0, by Stirling's series above 15.
func LogGamma(x float64) float64 {
	const enough = 15
	product := 1.0
	for ; x < enough; x++ {
		product *= x
	}
	r := 1 / x
	rest := float64(r * series(float64(r*r), 1./12, -1./360, 1./1260, -1./1680, 1./1188, -691./360360, 1./156))
	half := float64(0.5 * Log(2*math.Pi))
	return float64((x-0.5)*Log(x)) - x + half + rest - Log(product)
}
