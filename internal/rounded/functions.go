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
	const most, least = 7.09782712893383973096e+02, -7.45133219101941108420e+02 // beyond: infinite, 0
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

// Erf returns the error function of x.
func Erf(x float64) float64 {
	const middle = 8.45062911510467529297e-01 // in place of the value of 1
	size := math.Abs(x)
	switch {
	case x != x:
		return x
	case size < 0.84375:
		z := float64(x * x)
		r := series(z, 1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02,
			-5.77027029648944159157e-03, -2.37630166566501626084e-05)
		s := series(z, 1, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03,
			1.32494738004321644526e-04, -3.96022827877536812320e-06)
		return x + float64(x*(r/s))
	case size < 1.25:
		p := series(size-1, -2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01,
			3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02,
			-2.16637559486879084300e-03)
		q := series(size-1, 1, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02,
			1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02)
		return math.Copysign(middle+p/q, x)
	case size >= 6:
		return math.Copysign(1, x)
	}
	z := 1 / float64(x*x)
	var r, s float64
	if size < 1/0.35 {
		r = series(z, -9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e+01,
			-6.23753324503260060396e+01, -1.62396669462573470355e+02, -1.84605092906711035994e+02,
			-8.12874355063065934246e+01, -9.81432934416914548592e+00)
		s = series(z, 1, 1.96512716674392571292e+01, 1.37657754143519042600e+02, 4.34565877475229228821e+02,
			6.45387271733267880336e+02, 4.29008140027567833386e+02, 1.08635005541779435134e+02,
			6.57024977031928170135e+00, -6.04244152148580987438e-02)
	} else {
		r = series(z, -9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e+01,
			-1.60636384855821916062e+02, -6.37566443368389627722e+02, -1.02509513161107724954e+03,
			-4.83519191608651397019e+02)
		s = series(z, 1, 3.03380607434824582924e+01, 3.25792512996573918826e+02, 1.53672958608443695994e+03,
			3.19985821950859553908e+03, 2.55305040643316442583e+03, 4.74528541206955367215e+02,
			-2.24409524465858183362e+01)
	}
	rest := Exp(-float64(x*x)-0.5625+r/s) / size // at most .08: its last digits are lost in 1
	return math.Copysign(1-rest, x)
}
