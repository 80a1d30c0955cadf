package mixedmodel

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// The interpolated quantiles are those of the distribution.
func TestInterval95(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	worst := 0.0
	for i := range 2000 {
		freedom := math.Pow(10, 6*float64(i)/2000) * (1 + 1e-3*r.Float64())
		want := distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(0.975) / Normal95
		worst = max(worst, math.Abs(Interval95(freedom)/want-1))
	}
	if worst > 1e-9 {
		t.Errorf("off by %.2g", worst)
	}
	// Published quantiles (Fisher and Yates).
	for freedom, want := range map[float64]float64{1: 12.706, 2: 4.303, 5: 2.571, 30: 2.042, 120: 1.980} {
		if got := Interval95(freedom) * Normal95; math.Abs(got-want) > 6e-4 {
			t.Errorf("%v degrees: %v, want %v", freedom, got, want)
		}
	}
	if Interval95(0) != 1 || math.Abs(Interval95(0.5)*Normal95/distuv.StudentsT{Sigma: 1, Nu: 0.5}.Quantile(0.975)-1) > 1e-12 {
		t.Error("no degrees, or half of one")
	}
}
