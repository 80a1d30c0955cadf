package mixedmodel

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"
)

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
	return math.Exp(logInterval95().at(1 / freedom))
}

func interval95(freedom float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(0.975) / Normal95
}

// logInterval95 is the logarithm of Interval95 by 1/freedom, from 0 to 1: a model has one for every task, and
// there may be a million of them, each of which takes 50 microseconds by the incomplete beta function.
var logInterval95 = sync.OnceValue(func() *interpolation {
	return interpolate(40, func(x float64) float64 {
		if x < 1e-6 {
			return 0
		}
		return math.Log(interval95(1 / x))
	})
})

// An interpolation is a polynomial through Chebyshev points between 0 and 1, by the barycentric formula (Berrut and
// Trefethen 2004).
type interpolation struct{ x, y []float64 }

func interpolate(n int, f func(x float64) float64) *interpolation {
	p := &interpolation{}
	for k := range n {
		x := (1 - math.Cos(math.Pi*float64(k)/float64(n-1))) / 2
		p.x, p.y = append(p.x, x), append(p.y, f(x))
	}
	return p
}

func (p *interpolation) at(x float64) float64 {
	sum, weights, sign := 0.0, 0.0, 1.0
	for k, at := range p.x {
		if x == at {
			return p.y[k]
		}
		w := sign / (x - at)
		if k == 0 || k == len(p.x)-1 {
			w /= 2
		}
		sum, weights, sign = sum+w*p.y[k], weights+w, -sign
	}
	return sum / weights
}
