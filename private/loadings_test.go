package private

import (
	"math"
	"testing"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// The loadings are U with columns of the lengths sqrt(s_j / s_1), where s_j is an eigenvalue of the published
// matrix above the mean of the others: the first has length 1, and none is below .1.
func TestLoadings(t *testing.T) {
	for _, c := range []struct{ spectrum, lengths []float64 }{
		{[]float64{.5, .3, .1001, .1}, []float64{1, math.Sqrt(.5), .1}},
		{[]float64{.04, .01, .004, 0}, []float64{1, .5, math.Sqrt(.1)}}, // signals far below 1
		{[]float64{.2, .15, .05, .1}, []float64{1, math.Sqrt(.5), .1}},  // an eigenvalue below the mean of the others
		{[]float64{.25, .25, .25, .25}, []float64{1, 1, 1}},             // noise alone
	} {
		u := kernel.NewBasis(5, 3)
		for j := range 3 {
			u.Col(j)[j] = 1
		}
		w := (&Result{U: u, Spectrum: c.spectrum}).loadings()
		for j, want := range c.lengths {
			if got := floats.Norm(w.Col(j), 2); math.Abs(got-want) > 1e-12 || u.Col(j)[j] != 1 {
				t.Errorf("spectrum %v: column %d has the length %v, want %v", c.spectrum, j, got, want)
			}
		}
	}
}
