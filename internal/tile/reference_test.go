package tile_test

import "math"

const eps = 0x1p-52

// A sum accumulates products as if in twice the precision (Ogita, Rump and Oishi,
// 2005, algorithm Dot2), with the sum of their absolute values and what IEEE
// arithmetic makes of NaN and infinities in them.
type sum struct {
	hi, lo, abs float64
	factor      float64 // of products that may underflow before it, where it exceeds 1
	terms       int
	single      bool // computed in float32
	nan         bool
	pos, neg    bool // an infinite term
}

func (s *sum) add(x, y float64) {
	s.terms++
	p := x * y
	switch {
	case math.IsNaN(p):
		s.nan = true
		return
	case math.IsInf(p, 1):
		s.pos = true
		return
	case math.IsInf(p, -1):
		s.neg = true
		return
	}
	t := s.hi + p
	z := t - s.hi
	s.lo += (s.hi - (t - z)) + (p - z) + math.FMA(x, y, -p)
	s.hi = t
	s.abs += math.Abs(p)
}

// matches reports whether a computed value is what the sum should be: the same
// kind of infinity or NaN, or within the rounding of as many operations.
func (s *sum) matches(got float64) bool {
	switch {
	case s.nan || s.pos && s.neg:
		return math.IsNaN(got)
	case s.pos:
		return math.IsInf(got, 1)
	case s.neg:
		return math.IsInf(got, -1)
	}
	return math.Abs(got-(s.hi+s.lo)) <= s.bound()
}

// bound is n eps sum |x||y|, and the smallest number, times the factor of the sum,
// for each product that may underflow.
func (s *sum) bound() float64 {
	n, factor := float64(s.terms+2), max(s.factor, 1)
	if s.single {
		return n*0x1p-23*s.abs + n*factor*math.SmallestNonzeroFloat32
	}
	return n*eps*s.abs + n*factor*math.SmallestNonzeroFloat64
}
