// Package rounded has operations on vectors with the same bits on all processors, those that package floats
// of gonum computes on amd64: every product is rounded before it is added. The compiler for arm64 rounds a
// product and a sum once.
package rounded

import (
	"math"
	"math/rand/v2"

	"github.com/difalt/difalt/internal/tile"
)

const differ = "rounded: lengths differ"

// AddScaled adds by times x to y.
func AddScaled(y []float64, by float64, x []float64) { AddScaledTo(y, y, by, x) }

// AddScaledTo sets dst to y plus by times x. dst may be y or x.
func AddScaledTo(dst, y []float64, by float64, x []float64) {
	if len(dst) != len(x) || len(y) != len(x) {
		panic(differ)
	}
	for i, v := range x {
		dst[i] = y[i] + float64(by*v)
	}
}

// Dot returns the sum of x[i] y[i]. It is a call, so that x and y may lie on the stack: the compiler takes
// arguments of a generic function of another package for such as escape.
//
//go:noinline
func Dot(x, y []float64) float64 {
	if len(x) != len(y) {
		panic(differ)
	}
	return tile.Dot(x, y)
}

// Norm returns the length of x. Numbers of any size neither overflow nor underflow.
func Norm(x []float64) float64 { return length(x, nil) }

// MaxNorm returns the largest absolute value of x, 0 for none.
func MaxNorm(x []float64) (most float64) {
	for _, v := range x {
		most = max(most, math.Abs(v))
	}
	return most
}

// Distance returns the length of x - y.
func Distance(x, y []float64) float64 {
	if len(x) != len(y) {
		panic(differ)
	}
	return length(x, y)
}

// length returns the length of x, or of x - y where y is not nil.
func length(x, y []float64) float64 {
	var l Length[float64]
	for i, v := range x {
		if y != nil {
			v -= y[i]
		}
		l.Add(v)
	}
	return l.Value()
}

// A Length is the Euclidean length of numbers, which are added one after the other: scale times the root of
// squares. Numbers of any size neither overflow nor underflow. The zero value has no numbers.
type Length[F tile.Float] struct{ scale, squares F }

// Add adds a number. NaN makes the length NaN.
func (l *Length[F]) Add(v F) {
	size := F(math.Abs(float64(v)))
	switch {
	case size == 0:
	case size != size:
		l.scale = size
	case l.scale < size:
		s := l.scale / size
		l.squares = 1 + F(F(l.squares*s)*s)
		l.scale = size
	default:
		s := size / l.scale
		l.squares += F(s * s)
	}
}

// Value returns the length.
func (l *Length[F]) Value() F {
	if math.IsInf(float64(l.scale), 1) {
		return l.scale
	}
	return l.scale * F(math.Sqrt(float64(l.squares)))
}

// Mean returns the mean of x.
func Mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// Deviation returns the standard deviation of x, whose squares are divided by their number.
func Deviation(x []float64) float64 {
	mean := Mean(x)
	squares, rest := 0.0, 0.0
	for _, v := range x {
		d := v - mean
		squares += float64(d * d)
		rest += d // 0 but for the rounding of the mean
	}
	n := float64(len(x))
	return math.Sqrt(max(squares-float64(rest*rest/n), 0) / n)
}

// Hypot returns the length of (x, y), as math.Hypot does on amd64.
func Hypot(x, y float64) float64 {
	const sign, infinity = 1 << 63, 0x7FF << 52
	p, q := math.Float64bits(x)&^sign, math.Float64bits(y)&^sign // in the order of the sizes, NaN last
	most, least := max(p, q), min(p, q)
	switch {
	case least == infinity: // of NaN and infinity too
		return math.Inf(1)
	case most == 0 || most >= infinity:
		return math.Float64frombits(most)
	}
	ratio := math.Float64frombits(least) / math.Float64frombits(most)
	return math.Float64frombits(most) * math.Sqrt(1+float64(ratio*ratio))
}

// Normal returns a standard normal number. Those beyond 3.44, which package math/rand computes by logarithms,
// whose last bit depends on the processor, are rounded to float32.
func Normal(rng *rand.Rand) float64 {
	const logarithms = 3.44
	v := rng.NormFloat64()
	if math.Abs(v) > logarithms {
		v = float64(float32(v))
	}
	return v
}
