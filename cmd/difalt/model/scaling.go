package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"gonum.org/v1/gonum/mat"
)

// A Scaling takes rows of a table to what U, mean and b_t are about.
type Scaling struct {
	Fill []float64 `json:"-"` // in place of missing features, NaN
	// Least and Most are what features count as at least and at most, so that no line goes on for ever; nil if there are none.
	Least, Most   []float64   `json:"-"`
	Transforms    []Transform `json:"transforms,omitempty"` // of features, in their order
	Center, Scale []float64   `json:"-"`                    // of the features so transformed: z = (x - center) / scale
	// The target, or its logarithm, less Target, over TargetScale, a power of two.
	Target      float64 `json:"target_mean"`
	TargetScale float64 `json:"target_scale"`
	LogTarget   bool    `json:"log_target,omitempty"`
	Constant    bool    `json:"constant_feature"` // a feature that is always 1 comes last
}

// ScaleTarget returns what the model takes for a target y: NaN or an infinity where LogTarget wants one above 0.
func (s *Scaling) ScaleTarget(y float64) float64 {
	if s.LogTarget {
		y = math.Log(y)
	}
	return (y - s.Target) / s.TargetScale
}

// UnscaleTarget is the inverse of ScaleTarget; with LogTarget, of v between -8 and 8, and what is beyond counts as these.
func (s *Scaling) UnscaleTarget(v float64) float64 { return s.inTarget(s.Target + v*s.TargetScale) }

// farthestLog is how many TargetScale, each one to two standard deviations, a logarithm may be off Target: a straight line goes on for ever, and its
// exponential leaves all numbers behind.
const farthestLog = 8

// inTarget returns the target of which v is the logarithm, at most so far off; or v where the target is not taken by its logarithm.
func (s *Scaling) inTarget(v float64) float64 {
	if !s.LogTarget || math.IsInf(v, 0) {
		return v
	}
	far := farthestLog * s.TargetScale
	return math.Exp(min(max(v, s.Target-far), s.Target+far))
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
	switch {
	case s.Least == nil || math.IsInf(x, 0):
	case x < s.Least[j]:
		return s.Least[j]
	case x > s.Most[j]:
		return s.Most[j]
	}
	return x
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

// Kinds of Transform.
const (
	Clipped     = "clipped"
	Logarithmic = "logarithm"
	Curved      = "curve"
	LogCurved   = "curve of the logarithm"
)

// A Transform says what takes the place of a feature of the table. Its inputs are, with knots k_1 < k_2 < ...,
//
//	Clipped      min(max(x, k_1), k_2)
//	Logarithmic  log(max(x, k_1))
//	Curved       x, and natural cubic splines of x, linear beyond the first and the last knot
//	LogCurved    the same of log(max(x, k_1)), with knots at log(k_1), log(k_2), ...
type Transform struct {
	Feature int       `json:"feature"`
	Kind    string    `json:"kind"`
	Knots   []float64 `json:"knots"`
	// Values are those of the splines at the knots, one spline after the other.
	Values []float64 `json:"values,omitempty"`
	at     []float64 // what the splines have as their knots
	second []float64 // derivatives of the splines there
}

// NewCurve returns the transform of a feature, of kind Curved or LogCurved, into natural cubic splines with the given knots and values there.
func NewCurve(kind string, feature int, knots, values []float64) Transform {
	c := Transform{Feature: feature, Kind: kind, Knots: knots, Values: values}
	c.complete()
	return c
}

// String says what a transform does.
func (c *Transform) String() string {
	var knots []string
	for _, v := range c.Knots {
		knots = append(knots, text.Short(v))
	}
	switch c.Kind {
	case Clipped:
		return "clipped at " + strings.Join(knots, " and ")
	case Logarithmic:
		return "its logarithm, from " + strings.Join(knots, " ")
	case LogCurved:
		return "a curve of its logarithm with knots at " + text.List(knots)
	}
	return "a curve with knots at " + text.List(knots)
}

// mostInputs is how many inputs a transform can have.
const mostInputs = 16

// Width is the number of inputs.
func (c *Transform) Width() int {
	if c.Kind == Curved || c.Kind == LogCurved {
		return 1 + len(c.Values)/max(len(c.Knots), 1)
	}
	return 1
}

// Apply sets dst, Width entries, to the inputs for a feature x.
func (c *Transform) Apply(dst []float64, x float64) {
	switch c.Kind {
	case Clipped:
		dst[0] = math.Min(math.Max(x, c.Knots[0]), c.Knots[1])
	case Logarithmic:
		dst[0] = math.Log(math.Max(x, c.Knots[0]))
	default:
		if c.Kind == LogCurved {
			x = math.Log(math.Max(x, c.Knots[0]))
		}
		dst[0] = x
		n := len(c.Knots)
		for j := range len(c.Values) / n {
			dst[j+1] = naturalSpline(c.at, c.Values[j*n:][:n], c.second[j*n:][:n], x)
		}
	}
}

// naturalSpline is that through values at knots, of the given second derivatives there.
func naturalSpline(knots, values, second []float64, x float64) float64 {
	n := len(knots)
	i := 1
	for i < n-1 && x > knots[i] {
		i++
	}
	h := knots[i] - knots[i-1]
	rise := (values[i] - values[i-1]) / h
	switch {
	case x < knots[0]:
		return values[0] + (x-knots[0])*(rise-second[1]*h/6)
	case x > knots[n-1]:
		return values[n-1] + (x-knots[n-1])*(rise+second[n-2]*h/6)
	}
	b := (x - knots[i-1]) / h
	a := 1 - b
	return a*values[i-1] + b*values[i] + ((a*a*a-a)*second[i-1]+(b*b*b-b)*second[i])*h*h/6
}

// complete computes the second derivatives, by the continuity of the first.
func (c *Transform) complete() {
	n := len(c.Knots)
	c.at = slices.Clone(c.Knots)
	if c.Kind == LogCurved {
		for i, v := range c.at {
			c.at[i] = math.Log(v)
		}
	}
	c.second = make([]float64, len(c.Values))
	if n < 3 || len(c.Values)%n != 0 {
		return
	}
	a := mat.NewDense(n-2, n-2, nil)
	for i := range n - 2 {
		left, right := c.at[i+1]-c.at[i], c.at[i+2]-c.at[i+1]
		a.Set(i, i, (left+right)/3)
		if i+1 < n-2 {
			a.Set(i, i+1, right/6)
			a.Set(i+1, i, right/6)
		}
	}
	for at := 0; at < len(c.Values); at += n {
		v, b := c.Values[at:], mat.NewVecDense(n-2, nil)
		for i := range n - 2 {
			b.SetVec(i, (v[i+2]-v[i+1])/(c.at[i+2]-c.at[i+1])-(v[i+1]-v[i])/(c.at[i+1]-c.at[i]))
		}
		var x mat.VecDense
		if x.SolveVec(a, b) == nil { // the matrix is dominated by its diagonal
			copy(c.second[at+1:], x.RawVector().Data)
		}
	}
}

// check returns an error that says what is wrong with a transform of one of so many features.
func (c *Transform) check(features int) error {
	n := len(c.Knots)
	if c.Feature < 0 || c.Feature >= features {
		return fmt.Errorf("a transform is of feature %d: want 0 to %d", c.Feature, features-1)
	}
	ok := false
	switch c.Kind {
	case Clipped:
		ok = n == 2 && len(c.Values) == 0
	case Logarithmic:
		ok = n == 1 && c.Knots[0] > 0 && len(c.Values) == 0
	case Curved, LogCurved:
		ok = (c.Kind == Curved || n > 0 && c.Knots[0] > 0) && n >= 3 && len(c.Values) > 0 && len(c.Values)%n == 0 && len(c.Values)/n < mostInputs
	}
	for i, v := range slices.Concat(c.Knots, c.at, c.Values, c.second) {
		ok = ok && !math.IsNaN(v) && !math.IsInf(v, 0) && (i == 0 || i >= n || v > c.Knots[i-1])
	}
	if !ok {
		return fmt.Errorf("the transform of feature %d, %.20q with %d knots and %d values, is none", c.Feature, c.Kind, n, len(c.Values))
	}
	return nil
}

// checkTransforms checks them all: at most one of a feature, in their order.
func (s *Scaling) checkTransforms(features int) error {
	last := -1
	for i := range s.Transforms {
		c := &s.Transforms[i]
		if err := c.check(features); err != nil {
			return err
		}
		if c.Feature <= last {
			return fmt.Errorf("the transform of feature %d follows that of feature %d: want them in order", c.Feature, last)
		}
		last = c.Feature
	}
	return nil
}

// Inputs is how many numbers Expand makes of so many features.
func (s *Scaling) Inputs(features int) int {
	for i := range s.Transforms {
		features += s.Transforms[i].Width() - 1
	}
	return features
}

// place is that of a feature among the inputs.
func (s *Scaling) place(feature int) int {
	at := feature
	for i := range s.Transforms {
		if c := &s.Transforms[i]; c.Feature < feature {
			at += c.Width() - 1
		}
	}
	return at
}

// Expand puts the inputs of the transforms in the place of their features: z begins with k features of a row, and has room
// for all inputs.
func (s *Scaling) Expand(z []float64, k int) {
	from, to := k, s.Inputs(k)
	for i := len(s.Transforms) - 1; i >= 0; i-- {
		c := &s.Transforms[i]
		plain := from - 1 - c.Feature // features after it
		copy(z[to-plain:to], z[from-plain:from])
		x, n := z[c.Feature], c.Width()
		from, to = c.Feature, to-plain-n
		c.Apply(z[to:to+n], x)
	}
}

// InputNames returns the names of what Expand makes of features.
func (s *Scaling) InputNames(features []string) []string {
	var names []string
	at := 0
	for i := range s.Transforms {
		c := &s.Transforms[i]
		names = append(names, features[at:c.Feature]...)
		name := features[c.Feature]
		switch c.Kind {
		case Clipped:
			names = append(names, name+", clipped")
		case Logarithmic:
			names = append(names, "log("+name+")")
		default:
			if c.Kind == LogCurved {
				name = "log(" + name + ")"
			}
			names = append(names, name)
			for j := range c.Width() - 1 {
				names = append(names, fmt.Sprintf("%s, bend %d", name, j+1))
			}
		}
		at = c.Feature + 1
	}
	return append(names, features[at:]...)
}

// Roughness returns the integrals of the products of second derivatives of the splines.
func (c *Transform) Roughness() *mat.SymDense {
	n := len(c.Knots)
	m := len(c.Values) / n
	out := mat.NewSymDense(m, nil)
	for i := range m {
		for j := i; j < m; j++ {
			p, q, sum := c.second[i*n:], c.second[j*n:], 0.0
			for k := range n - 1 {
				h := c.at[k+1] - c.at[k]
				sum += h / 6 * (2*p[k]*q[k] + 2*p[k+1]*q[k+1] + p[k]*q[k+1] + p[k+1]*q[k])
			}
			out.SetSym(i, j, sum)
		}
	}
	return out
}
