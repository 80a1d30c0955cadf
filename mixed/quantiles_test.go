package mixed

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// Quantiles of chi-squared are those of gonum, and their chances, from few to many degrees of freedom.
func TestChiSquared95(t *testing.T) {
	for freedom := .02; freedom < 1e9; freedom *= 1.3 {
		low, high := chiSquared95(freedom)
		chi := distuv.ChiSquared{K: freedom}
		for chance, x := range map[float64]float64{.025: low, .975: high} {
			if got := chi.CDF(x); freedom < 1e7 && !(math.Abs(got-chance) <= 1e-9) { // gonum's errors grow
				t.Errorf("%v degrees of freedom: %v is at %v, want %v", freedom, x, got, chance)
			}
			if want := chi.Quantile(chance); freedom > .5 && !(math.Abs(x-want) <= 1e-9*want) {
				t.Errorf("%v degrees of freedom: quantile %v is %v, want %v", freedom, chance, x, want)
			}
		}
	}
	for _, freedom := range []float64{1e-300, 1e12, 1e300} {
		if low, high := chiSquared95(freedom); !(low >= 0 && low <= high && high < math.Inf(1)) {
			t.Errorf("%v degrees of freedom: from %v to %v", freedom, low, high)
		}
	}
}

// Chances of numbers far out are those of gonum, and for 1, 2 and 4 degrees of freedom those of formulas.
func TestStudentBeyond(t *testing.T) {
	for _, far := range []float64{1.75, 3, 6, 10, 1e3, 1e8} {
		for freedom := .1; freedom < 1e9; freedom *= 1.5 {
			want := 2 * distuv.StudentsT{Sigma: 1, Nu: freedom}.CDF(-far)
			if got := newStudent(freedom).beyond(far); !(math.Abs(got-want) <= 1e-13*max(freedom, 100)*want+1e-300) {
				t.Errorf("%v degrees of freedom: %v beyond %v, want %v", freedom, got, far, want)
			}
		}
		root := math.Sqrt(far*far + 2)
		for freedom, want := range map[float64]float64{
			1: 2 / math.Pi * math.Atan(1/far),
			2: 2 / (root * (root + far)),
		} {
			if got := newStudent(freedom).beyond(far); !(math.Abs(got-want) <= 1e-14*want) {
				t.Errorf("%v degrees of freedom: %v beyond %v, want %v", freedom, got, far, want)
			}
		}
	}
}
