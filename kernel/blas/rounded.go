package blas

import (
	"math"

	"github.com/difalt/difalt/internal/rounded"
)

// Scalars of LAPACK with the bits that gonum computes on amd64, on all processors: the compiler for arm64
// rounds a product and a sum once unless the product is converted.

// Dlapy2 returns the length of (x, y).
func (*solvers) Dlapy2(x, y float64) float64 { return rounded.Hypot(x, y) }

// Dlartg returns the rotation that turns (f, g) into (r, 0).
func (*solvers) Dlartg(f, g float64) (cs, sn, r float64) {
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
func (*solvers) Dlae2(a, b, c float64) (rt1, rt2 float64) {
	larger, smaller := c, a
	if math.Abs(a) > math.Abs(c) {
		larger, smaller = a, c
	}
	apart, beside := math.Abs(a-c), math.Abs(b+b)
	root := beside * math.Sqrt2
	if apart != beside {
		root = rounded.Hypot(apart, beside)
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
func (*solvers) Dlaev2(a, b, c float64) (rt1, rt2, cs1, sn1 float64) {
	rt1, rt2 = own.Dlae2(a, b, c)
	apart, beside := a-c, b+b
	root := math.Abs(beside) * math.Sqrt2
	if math.Abs(apart) != math.Abs(beside) {
		root = rounded.Hypot(apart, beside)
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

// Dlas2 returns the smaller and the larger singular value of [f g; 0 h].
func (*solvers) Dlas2(f, g, h float64) (smaller, larger float64) {
	f, g, h = math.Abs(f), math.Abs(g), math.Abs(h)
	least, most := min(f, h), max(f, h)
	switch {
	case most == 0:
		return 0, g
	case least == 0:
		ratio := min(most, g) / max(most, g)
		return 0, max(most, g) * math.Sqrt(1+float64(ratio*ratio))
	}
	sum, difference := 1+least/most, (most-least)/most
	if g < most {
		ratio := float64((g / most) * (g / most))
		c := 2 / (math.Sqrt(float64(sum*sum)+ratio) + math.Sqrt(float64(difference*difference)+ratio))
		return least * c, most / c
	}
	ratio := most / g
	if ratio == 0 { // it has underflown
		return least * most / g, g
	}
	sum, difference = sum*ratio, difference*ratio
	c := 1 / (math.Sqrt(1+float64(sum*sum)) + math.Sqrt(1+float64(difference*difference)))
	return 2 * float64(least*c) * ratio, g / (c + c)
}

// Dlasv2 returns the smaller and the larger singular value of [f g; 0 h], with signs, the right singular
// vector (csr, snr) and the left singular vector (csl, snl) of the larger value.
func (*solvers) Dlasv2(f, g, h float64) (smaller, larger, snr, csr, snl, csl float64) {
	top, low := f, h // the diagonal, the larger entry first
	swapped := math.Abs(h) > math.Abs(f)
	if swapped {
		top, low = h, f
	}
	t, l, beside := math.Abs(top), math.Abs(low), math.Abs(g)
	switch {
	case beside == 0:
		smaller, larger = l, t
		csl, csr = 1, 1
	case beside > t && t/beside < 0x1p-53:
		larger, smaller = beside, t/beside*l
		if l > 1 {
			smaller = t / (beside / l)
		}
		csl, snl, snr, csr = 1, low/g, 1, top/g
	default:
		smaller, larger, snr, csr, snl, csl = ofTwo(top, g, low)
	}
	if swapped {
		csl, snl, csr, snr = snr, csr, snl, csl
	}
	sign := math.Copysign(1, csr) * math.Copysign(1, csl) * math.Copysign(1, f)
	switch {
	case beside != 0 && beside > t:
		sign = math.Copysign(1, snr) * math.Copysign(1, csl) * math.Copysign(1, g)
	case swapped:
		sign = math.Copysign(1, snr) * math.Copysign(1, snl) * math.Copysign(1, h)
	}
	larger = math.Copysign(larger, sign)
	smaller = math.Copysign(smaller, sign*math.Copysign(1, f)*math.Copysign(1, h))
	return smaller, larger, snr, csr, snl, csl
}

// ofTwo is Dlasv2, without signs of values, for |f| >= |h| and g that is neither zero nor so large that f
// does not count beside it.
func ofTwo(f, g, h float64) (smaller, larger, snr, csr, snl, csl float64) {
	size, apart := math.Abs(f), math.Abs(f)-math.Abs(h)
	l, m := apart/size, g/f
	if apart == size { // or h is infinite
		l = 1
	}
	s, r := rounded.Hypot(2-l, m), math.Abs(m)
	if l != 0 {
		r = rounded.Hypot(l, m)
	}
	a := float64(0.5 * (s + r))
	var t float64
	switch {
	case m != 0:
		t = (m/(s+(2-l)) + m/(r+l)) * (1 + a)
	case l == 0:
		t = math.Copysign(2, f) * math.Copysign(1, g)
	default:
		t = g/math.Copysign(apart, f) + m/(2-l)
	}
	length := rounded.Hypot(t, 2)
	csr, snr = 2/length, t/length
	csl = (csr + float64(snr*m)) / a
	snl = h / f * snr / a
	return math.Abs(h) / a, size * a, snr, csr, snl, csl
}
