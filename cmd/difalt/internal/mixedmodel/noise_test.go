package mixedmodel

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
)

// The likelihood of a scatter is the integral over all variances, by the trapezoidal rule in their
// logarithm, and its derivatives are finite differences.
func TestNoiseLikelihood(t *testing.T) {
	for _, n := range []NoisePrior{{0.7, 5}, {2, 30}, {0.3, 1}} {
		for _, s := range []Scatter{{12, 1.5}, {3, 0.2}, {40, 0.9}} {
			sum := 0.0
			const h = 0.01
			for u := -15.0; u < 15; u += h {
				v := math.Exp(u)
				f := n.Freedom
				less, _ := math.Lgamma(f / 2)
				prior := f/2*math.Log(f*n.Scale/2) - less - (f/2+1)*u - f*n.Scale/(2*v)
				sum += h * math.Exp(prior+u-s.Freedom/2*u-s.Freedom*s.Square/(2*v))
			}
			at := func(x float64) float64 {
				v, _, _ := NoisePrior{n.Scale * math.Exp(x), n.Freedom}.Likelihood(s)
				return v
			}
			value, slope, curvature := n.Likelihood(s)
			const d = 1e-3
			for what, v := range map[string][2]float64{
				"value": {value, math.Log(sum)}, "slope": {slope, (at(d) - at(-d)) / (2 * d)}, "curvature": {curvature, (at(d) - 2*at(0) + at(-d)) / (d * d)},
			} {
				if math.Abs(v[0]-v[1]) > 1e-4*(1+math.Abs(v[1])) {
					t.Errorf("%+v, %+v: %s %v, want %v", n, s, what, v[0], v[1])
				}
			}
		}
	}
	wide, _, _ := NoisePrior{0.7, 1e7}.Likelihood(Scatter{9, 1.1})
	same, _, _ := NoisePrior{0.7, 0}.Likelihood(Scatter{9, 1.1})
	if math.Abs(wide-same) > 1e-3 {
		t.Errorf("with many degrees of freedom %v, with infinitely many %v", wide, same)
	}
}

// Where a scatter says that the likelihood by the variance of the noise is level, the density of the rows is; and
// where it is not, it goes the same way. Of tasks with fewer rows than features, and more.
func TestScatterIsTheSlope(t *testing.T) {
	const w = 4
	r := rand.New(rand.NewPCG(3, 4))
	p := &Prior{W: w, Rank: 1, Loadings: []float64{1, -0.5, 0.3, 0.2}, Intercept: 0.7, Spread: 0.3}
	s, mean := p.Covariance(), []float64{0.2, 0.1, -0.4, 1}
	for _, n := range []int{2, 3, 9, 30} {
		c, z, y := NewCompressor(w), mat.NewDense(n, w, nil), make([]float64, n)
		for i := range n {
			row := z.RawRowView(i)
			for j := range w - 1 {
				row[j] = r.NormFloat64()
			}
			row[w-1] = 1
			y[i] = floats.Dot(row, mean) + 2*r.NormFloat64()
			next := c.Next()
			copy(next, row)
			next[w] = y[i]
		}
		density := func(v float64) float64 {
			var zs, cov mat.Dense
			zs.Mul(z, mat.NewSymDense(w, s))
			cov.Mul(&zs, z.T())
			sym := mat.NewSymDense(n, nil)
			for i := range n {
				for j := i; j < n; j++ {
					sym.SetSym(i, j, cov.At(i, j))
				}
				sym.SetSym(i, i, cov.At(i, i)+v)
			}
			m := make([]float64, n)
			for i := range m {
				m[i] = floats.Dot(z.RawRowView(i), mean)
			}
			normal, _ := distmv.NewNormal(m, sym, nil)
			return normal.LogProb(y)
		}
		task := c.Task()
		if task.Rows != n {
			t.Fatalf("%d rows, want %d", task.Rows, n)
		}
		for _, v := range []float64{0.5, 1, 2, 4, 8} {
			// In units of v, S and y are S / v and y / sqrt v: the task weighted by 1 / v.
			weighted := task.Weighted(1 / v)
			scaled, ok := weighted.Scatter(mean, s)
			if !ok {
				t.Fatal("no V")
			}
			const h = 1e-4
			want := (density(v*math.Exp(h)) - density(v*math.Exp(-h))) / (2 * h)
			// (e'e - tr H) / 2 = tr H (Square - 1) / 2, and tr H^2 <= tr H <= n.
			got := (scaled.Square - 1) / 2
			if got*want < 0 || math.Abs(want) > float64(n)*math.Abs(got)+1e-6 || math.Abs(want) < scaled.Freedom*math.Abs(got)-1e-6 {
				t.Errorf("%d rows, variance %v: slope %v, scatter %+v", n, v, want, scaled)
			}
		}
	}
}
