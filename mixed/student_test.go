package mixed

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// Quantiles of Student's t are exact ones of tables, and those of gonum for all degrees of freedom.
func TestStudent95(t *testing.T) {
	for freedom, want := range map[float64]float64{
		1: math.Tan(.475 * math.Pi), 2: .95 * math.Sqrt(2/(1-.95*.95)), 10: 2.2281388519862735, 30: 2.0422724563012378,
	} {
		if got := student95(freedom); !(math.Abs(got-want) <= 4e-15*want) {
			t.Errorf("%v degrees of freedom: %v, want %v", freedom, got, want)
		}
	}
	last := math.Inf(1)
	for freedom := 1.0; freedom < 2e9; freedom *= 1.07 {
		got, want, digits := student95(freedom), distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(.975), 1e-11
		if freedom > 1e4 { // gonum's errors grow
			want = normal95 + 2.3722712302985607/freedom + 2.8224986157396086/freedom/freedom
			digits = 1e-11/freedom*1e4 + 1e-14
		}
		if !(math.Abs(got-want) <= digits*want) || !(got <= last+1e-14) {
			t.Errorf("%v degrees of freedom: %v, want %v", freedom, got, want)
		}
		last = got
	}
}
