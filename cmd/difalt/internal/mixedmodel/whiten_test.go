package mixedmodel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// A task is whitened by the variances and loadings of a prior as by its covariance.
func TestWhitenInPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	draw := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = r.NormFloat64()
		}
		return v
	}
	for _, c := range []struct {
		m, w, rank int
		own        bool
	}{{0, 4, 1, false}, {1, 5, 0, true}, {1, 5, 2, false}, {2, 11, 3, false}, {6, 7, 2, true}, {30, 40, 5, true}, {40, 40, 0, false}} {
		p := &Prior{W: c.w, Rank: c.rank, Loadings: draw(c.w * c.rank), Intercept: 0.7, Spread: 0.3}
		if c.own {
			for range c.w - 1 {
				p.Slopes = append(p.Slopes, math.Exp(r.NormFloat64()))
			}
		}
		task := Task{Z: draw(c.m * c.w), Y: draw(c.m), Rows: c.m}
		want, ok := task.Whiten(p.Covariance(), c.w)
		if !ok {
			t.Fatal("no V")
		}
		own := Task{Z: slices.Clone(task.Z), Y: slices.Clone(task.Y)}
		got, ok := own.WhitenInPlace(p.Deviations())
		if !ok || !floats.EqualApprox(got.Z, want.Z, 1e-11) || !floats.EqualApprox(got.Y, want.Y, 1e-11) || math.Abs(got.LogDet-want.LogDet) > 1e-10 {
			t.Errorf("%+v: not what the covariance gives", c)
		}
	}
}
