package model

import "math"

// A Scaling takes rows of a table to what U, mean and b_t are about.
type Scaling struct {
	Fill []float64 // in place of missing features, NaN
	// Least and Most are what features count as at least and at most, so that no line goes on for ever; nil if there are none.
	Least, Most   []float64
	Transforms    []Transform // of features, in their order
	Center, Scale []float64   // of the features so transformed: z = (x - center) / scale
	// The target less Target, over TargetScale, a power of two.
	Target, TargetScale float64
	Constant            bool // a feature that is always 1 comes last
}

// Width is the number of scaled features d: those of the table with their transforms, and the constant.
func (s *Scaling) Width() int {
	if s.Constant {
		return len(s.Center) + 1
	}
	return len(s.Center)
}

// Apply scales z in place, which has Width entries and begins with a row of the table.
func (s *Scaling) Apply(z []float64) {
	x := z[:len(s.Fill)]
	s.fillMissing(x)
	for j, v := range x {
		x[j] = s.within(j, v)
	}
	s.apply(z)
}

// within returns feature j with a value of x, as it counts. What is infinite stays so.
func (s *Scaling) within(j int, x float64) float64 {
	if s.Least == nil || math.IsInf(x, 0) {
		return x
	}
	return min(max(x, s.Least[j]), s.Most[j])
}

// apply is Apply for a row in which nothing is missing, as it is.
func (s *Scaling) apply(z []float64) {
	s.Expand(z, len(s.Fill))
	for j, c := range s.Center {
		z[j] = scaled(z[j], c, s.Scale[j])
	}
	if s.Constant {
		z[len(s.Center)] = 1
	}
}

// scaled returns (x - center) / scale, where x - center may be too large for a number.
func scaled(x, center, scale float64) float64 {
	if d := x - center; !math.IsInf(d, 0) {
		return d / scale
	}
	return x/scale - center/scale
}

// fillMissing puts the fill in place of every NaN of x, a row of the table, and
// returns their number.
func (s *Scaling) fillMissing(x []float64) (filled int) {
	for j, v := range x {
		if math.IsNaN(v) {
			x[j] = s.Fill[j]
			filled++
		}
	}
	return filled
}
