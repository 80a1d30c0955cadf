package mixedmodel

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/interp"
	"gonum.org/v1/gonum/stat/distuv"
)

// A NoisePrior says how the variance v of the noise differs between tasks,
//
//	Scale / v ~ chi^2(Freedom) / Freedom,
//
// as in Smyth (2004). A Freedom of 0 stands for infinitely many: v is Scale for all.
type NoisePrior struct{ Scale, Freedom float64 }

// A Scatter is what the rows of a task say about the variance v of its noise: as much as
// Freedom independent residuals of mean square Square would. Its likelihood is
//
//	v^(-Freedom/2) exp(-Freedom Square / 2 v).
type Scatter struct{ Freedom, Square float64 }

// Posterior returns the variance of the noise of a task by its scatter, 1 over the mean of 1/v, and its degrees
// of freedom.
func (n NoisePrior) Posterior(s Scatter) (variance, freedom float64) {
	if n.Freedom == 0 {
		return n.Scale, math.Inf(1)
	}
	freedom = n.Freedom + s.Freedom
	return (n.Freedom*n.Scale + s.Freedom*s.Square) / freedom, freedom
}

// Likelihood returns the logarithm of that of a scatter, v integrated out, with its
// first and second derivatives by the logarithm of Scale.
func (n NoisePrior) Likelihood(s Scatter) (value, slope, curvature float64) {
	d, dq := s.Freedom, s.Freedom*s.Square
	if n.Freedom == 0 {
		value = -d/2*math.Log(n.Scale) - dq/(2*n.Scale)
		return value, (dq/n.Scale - d) / 2, -dq / (2 * n.Scale)
	}
	f := n.Freedom
	prior, both := f*n.Scale, f*n.Scale+dq
	gamma, _ := math.Lgamma((f + d) / 2)
	less, _ := math.Lgamma(f / 2)
	value = gamma - less + f/2*math.Log(prior/2) - (f+d)/2*math.Log(both/2)
	return value, f/2 - (f+d)/2*prior/both, -(f + d) / 2 * prior * dq / (both * both)
}

// Weighted returns the task with weighted rows.
func (t *Task) Weighted(weight float64) Task {
	out := newTask(len(t.Y), len(t.Z)/max(len(t.Y), 1))
	out.Rest, out.Rows = t.Rest*weight, t.Rows
	floats.ScaleTo(out.Z, math.Sqrt(weight), t.Z)
	floats.ScaleTo(out.Y, math.Sqrt(weight), t.Y)
	return out
}

// Scatter returns what the rows of a task say about the variance v of its noise, near that of which V is a multiple; false if rounding leaves no V.
// With H = V^-1 of all of them and the residual e = H (y - Z mean), the derivatives of their
// log likelihood by log v are
//
//	(e'e / v - tr H) / 2,  and, expected, -tr H^2 / 2:
//
// the square e'e / tr H is that of Henderson's residuals by their degrees of freedom, where the first is
// zero, and the Freedom gives the second.
func (t *Task) Scatter(mean, s []float64) (out Scatter, ok bool) {
	m, w := len(t.Y), len(mean)
	scratch := GetScratch(m*(2*w+m+1) + 2*w)
	defer scratch.Put()
	k, ok := t.whitenTo(scratch.Take(m*(w+1)), s, w)
	if !ok {
		return out, false
	}
	rest := float64(t.Rows - m)
	trace, squares := rest, rest
	square := t.Rest
	if m > 0 {
		g, deviation := scratch.Take(w), scratch.Take(w)
		k.Gradient(g, mean)
		blas64.Gemv(blas.NoTrans, 1, Square(s, w), Vector(g), 0, Vector(deviation))
		for i, y := range t.Y {
			row := t.Z[i*w:][:w]
			e := y - floats.Dot(row, mean) - floats.Dot(row, deviation)
			square += e * e
		}
		// I - K S K' has the eigenvalues of V^-1.
		km, ks, h := Matrix(k.Z, m, w), Matrix(scratch.Take(m*w), m, w), Square(scratch.Take(m*m), m)
		Product(km, Square(s, w), ks)
		Product(ks, km, h)
		for i := range m {
			h.Data[i*m+i]--
			trace -= h.Data[i*m+i]
		}
		squares += floats.Dot(h.Data, h.Data)
	}
	if trace == 0 {
		return out, true
	}
	return Scatter{squares, square / trace}, true
}

// noiseRounds is how often the variance of the noise of a task and its coefficients follow one another.
const noiseRounds = 20

// EstimateNoise returns the task weighted by its own noise, the variance of that, and its degrees of freedom (0 if these are
// not known); ok is false if rounding leaves no solution.
func (p *Posterior) EstimateNoise(t *Task) (weighted Task, variance, freedom float64, ok bool) {
	if p.NoisePrior.Freedom == 0 {
		return *t, p.Noise, p.Freedom, true
	}
	weight := p.Noise / p.NoisePrior.Scale
	for range noiseRounds {
		weighted = t.Weighted(weight)
		s, ok := weighted.Scatter(p.Mean, p.S)
		if !ok {
			return weighted, 0, 0, false
		}
		s.Square /= weight
		variance, freedom = p.NoisePrior.Posterior(s)
		last := weight
		weight = p.Noise / variance
		if math.Abs(math.Log(weight/last)) < 1e-3 {
			break
		}
	}
	return weighted, variance, freedom, true
}

// Normal95 is the 97.5 % quantile of the normal distribution.
const Normal95 = 1.959963984540054

// Interval95 is the 97.5 % quantile of Student's t over Normal95: 95 % lie within Normal95 times it of estimated
// standard deviations. A freedom of 0 stands for infinitely many degrees.
func Interval95(freedom float64) float64 {
	switch {
	case freedom == 0 || freedom > 1e6:
		return 1
	case freedom < 1:
		return interval95(freedom)
	}
	return math.Exp(logInterval95().Predict(1 / freedom))
}

func interval95(freedom float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(0.975) / Normal95
}

// logInterval95 is the logarithm of Interval95 by 1/freedom, from 0 to 1, interpolated: a model has one for every task, and
// there may be a million of them, each of which takes 50 microseconds by the incomplete beta function.
var logInterval95 = sync.OnceValue(func() *interp.NotAKnotCubic {
	const n = 200
	x, y := floats.Span(make([]float64, n), 0, 1), make([]float64, n)
	for i := range y[1:] {
		y[i+1] = math.Log(interval95(1 / x[i+1]))
	}
	p := &interp.NotAKnotCubic{}
	if err := p.Fit(x, y); err != nil {
		panic(err) // of points that are always the same
	}
	return p
})
