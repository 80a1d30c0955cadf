package mixedmodel

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// The covariance of two coefficients is a'S b, its derivatives are finite differences, and what is uncertain about it a quadratic form of these.
func TestCovary(t *testing.T) {
	const w, rank = 4, 2
	r := rand.New(rand.NewPCG(1, 2))
	normal := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = r.NormFloat64()
		}
		return v
	}
	n := w*rank + 2
	var u mat.SymDense
	u.SymOuterK(0.1, mat.NewDense(n, n, normal(n*n)))
	p := &Posterior{Prior: &Prior{W: w, Rank: rank, Loadings: normal(w * rank), Intercept: 0.7, Spread: 0.3, Slopes: []float64{0.5, 2, 1}}, Noise: 1.7, Uncertainty: &u}
	a, b := normal(w), normal(w)
	b[1] = 0
	at := func() float64 {
		s := mat.NewDense(w, w, p.Prior.Covariance())
		return p.Noise * mat.Inner(mat.NewVecDense(w, a), s, mat.NewVecDense(w, b))
	}
	for _, own := range [][]float64{nil, {3, 4, 5}} {
		p.SlopesFreedom = own
		p.S = p.Prior.Covariance()
		v, slopes := p.Covary(a, b)
		if math.Abs(v-at()) > 1e-12 {
			t.Errorf("covariance %v, want %v", v, at())
		}
		const h = 1e-5
		difference := func(x *float64, log bool) float64 {
			was := *x
			move := func(h float64) float64 {
				if *x = was + h; log {
					*x = was * math.Exp(h)
				}
				defer func() { *x = was }()
				return at()
			}
			return (move(h) - move(-h)) / (2 * h)
		}
		var want []float64
		for i := range p.Loadings {
			want = append(want, difference(&p.Loadings[i], false))
		}
		want = append(want, difference(&p.Intercept, true))
		if own == nil {
			want = append(want, difference(&p.Spread, true))
		} else {
			want = append(want, 0)
			for j := range p.Slopes {
				want = append(want, difference(&p.Slopes[j], true))
			}
		}
		if len(want) != len(slopes) {
			t.Fatalf("%d derivatives, want %d", len(slopes), len(want))
		}
		for i := range want {
			if math.Abs(slopes[i]-want[i]) > 1e-8 {
				t.Errorf("derivative %d is %v, want %v", i, slopes[i], want[i])
			}
		}
		x := mat.NewVecDense(n, want[:n])
		variance := mat.Inner(x, &u, x)
		for j, f := range own {
			variance += 2 / f * want[n+j] * want[n+j]
		}
		if got := p.Uncertain(slopes); math.Abs(got-variance) > 1e-7 {
			t.Errorf("variance %v, want %v", got, variance)
		}
	}
	p.Uncertainty = nil
	if _, slopes := p.Covary(a, b); slopes != nil || p.Uncertain(nil) != 0 {
		t.Error("a prior that is known is uncertain")
	}
}
