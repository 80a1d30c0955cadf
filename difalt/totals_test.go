package difalt

import (
	"math"
	"testing"

	"github.com/difalt/difalt/internal/sums"
)

// TestTotals compares the numbers that the stop rule derives from the data with their definitions, by hand: 6
// tasks of 20 samples, 5 features whose mean square is 3, rank 2.
func TestTotals(t *testing.T) {
	data := sums.Data{Features: 5, Rank: 2, Tasks: 6, Samples: 120, XX: 3 * 600, YY: 7 * 120}
	of := totals{data, 1}
	const nm = 20 * 3
	// Noise of variance v = 196/98/60 in the coefficients; samples - T r - d r = 98.
	signal, distance := of.signal(4, 196)
	_, drowned := of.signal(1e-3, 196)
	few := data
	few.Samples = 22
	one, infinite := (&totals{few, 1}).signal(4, 196)
	few.Samples = 11
	noCurvature, alsoInfinite := of.signal(0, 196)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"contraction", of.contraction(), math.Pow(1-math.Sqrt(10./120), 2)},
		{"contraction with few samples", (&totals{few, 1}).contraction(), math.Pow(1-math.Sqrt(.6), 2)},
		{"signal", signal, 1 - 6*(2./nm)/4},
		{"distance", distance, math.Sqrt(2. / nm * 5 / (4 * (1 - 6*(2./nm)/4)))},
		{"distance below the noise", drowned, math.Sqrt(2. / nm * 5 / (1e-3 * .01))},
		{"signal without degrees of freedom", one, 1},
		{"distance without degrees of freedom", infinite, math.Inf(1)},
		{"signal without curvature", noCurvature, 1},
		{"distance without curvature", alsoInfinite, math.Inf(1)},
	} {
		if c.got != c.want && !(math.Abs(c.got/c.want-1) < 1e-14) {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
}
