package difalt

import (
	"math"
	"testing"
)

// TestFacts compares the numbers that the stop rule derives from the data with their definitions, by hand: 6
// tasks of 20 samples, 5 features whose mean square is 3, rank 2.
func TestFacts(t *testing.T) {
	f := facts{features: 5, rank: 2, tasks: 6, samples: 120, xx: 3, yy: 7}
	const nm = 20 * 3
	// Noise of variance v = 196/98/60 in the coefficients; samples - T r - d r = 98.
	signal, distance := f.signal(4, 196)
	_, drowned := f.signal(1e-3, 196)
	unknown := facts{features: 5, rank: 2, tasks: 6, samples: 22, xx: 3}
	one, infinite := unknown.signal(4, 196)
	noCurvature, alsoInfinite := f.signal(0, 196)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"curvature", f.curvature(), nm},
		{"squares", f.squares(), 7 * 120},
		{"edge", f.edge(2), 2 * math.Pow(math.Sqrt(5)+math.Sqrt(6), 2)},
		{"slowest", f.slowest(), math.Pow(1-math.Sqrt(10./120), 2)},
		{"slowest with few samples", (&facts{features: 5, rank: 2, samples: 11}).slowest(), math.Pow(1-math.Sqrt(.6), 2)},
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
