package blas

import "math"

// Scalars of LAPACK with the bits that gonum computes on amd64, on all processors: the compiler for arm64
// rounds a product and a sum once unless the product is converted.

// hypot returns the length of (x, y), as math.Hypot does on amd64.
func hypot(x, y float64) float64 {
	x, y = math.Abs(x), math.Abs(y)
	switch {
	case math.IsInf(x, 1) || math.IsInf(y, 1):
		return math.Inf(1)
	case x != x || y != y:
		return math.NaN()
	}
	most, least := max(x, y), min(x, y)
	if most == 0 {
		return 0
	}
	ratio := least / most
	return most * math.Sqrt(1+float64(ratio*ratio))
}

// Dlapy2 returns the length of (x, y).
func (Lapack) Dlapy2(x, y float64) float64 { return hypot(x, y) }

// Dlartg returns the rotation that turns (f, g) into (r, 0).
func (Lapack) Dlartg(f, g float64) (cs, sn, r float64) {
	const smallest, largest = 0x1p-1022, 0x1p1022
	if g == 0 {
		return 1, 0, f
	}
	sizeF, sizeG := math.Abs(f), math.Abs(g)
	if f == 0 {
		return 0, math.Copysign(1, g), sizeG
	}
	least, most, unit := math.Sqrt(smallest), math.Sqrt(largest/2), 1.0
	if !(least < sizeF && sizeF < most && least < sizeG && sizeG < most) {
		unit = math.Min(math.Max(smallest, math.Max(sizeF, sizeG)), largest)
		f, g = f/unit, g/unit
	}
	d := math.Sqrt(float64(f*f) + float64(g*g))
	r = math.Copysign(d, f)
	return math.Abs(f) / d, g / r, r * unit
}

// Dlae2 returns the eigenvalues of [a b; b c], that of larger size first.
func (l Lapack) Dlae2(a, b, c float64) (rt1, rt2 float64) {
	larger, smaller := c, a
	if math.Abs(a) > math.Abs(c) {
		larger, smaller = a, c
	}
	apart, beside := math.Abs(a-c), math.Abs(b+b)
	root := beside * math.Sqrt2
	if apart != beside {
		root = hypot(apart, beside)
	}
	sum := a + c
	switch {
	case sum < 0:
		rt1 = 0.5 * (sum - root)
	case sum > 0:
		rt1 = 0.5 * (sum + root)
	default:
		return 0.5 * root, -0.5 * root
	}
	return rt1, float64(larger/rt1*smaller) - float64(b/rt1*b)
}

// Dlaev2 returns the eigenvalues of [a b; b c], that of larger size first, and the eigenvector (cs1, sn1) of
// the first one.
func (l Lapack) Dlaev2(a, b, c float64) (rt1, rt2, cs1, sn1 float64) {
	rt1, rt2 = l.Dlae2(a, b, c)
	apart, beside := a-c, b+b
	root := math.Abs(beside) * math.Sqrt2
	if math.Abs(apart) != math.Abs(beside) {
		root = hypot(apart, beside)
	}
	negative := a+c < 0
	cosine := apart + root
	if !(apart >= 0) {
		cosine = apart - root
	}
	switch {
	case math.Abs(cosine) > math.Abs(beside):
		ratio := -beside / cosine
		sn1 = 1 / math.Sqrt(1+float64(ratio*ratio))
		cs1 = ratio * sn1
	case beside == 0:
		cs1 = 1
	default:
		ratio := -cosine / beside
		cs1 = 1 / math.Sqrt(1+float64(ratio*ratio))
		sn1 = ratio * cs1
	}
	if negative == !(apart >= 0) { // both signs are equal
		cs1, sn1 = -sn1, cs1
	}
	return rt1, rt2, cs1, sn1
}
