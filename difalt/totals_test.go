package difalt

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/sums"
	"gonum.org/v1/gonum/mat"
)

// TestTotals compares the numbers that the stop rule derives from the data with their definitions, by hand: 6
// tasks of 20 samples, 5 features whose mean square is 3, rank 2.
func TestTotals(t *testing.T) {
	data := sums.Data{Features: 5, Rank: 2, Tasks: 6, Samples: 120, XX: 3 * 600, YY: 7 * 120}
	of := totals{data, 1, 1, 108}
	const nm = 20 * 3
	// Noise of variance v = 196/98/60 in the coefficients; samples - T r - d r = 98.
	signal, distance := of.signal(4, 196)
	_, drowned := of.signal(1e-3, 196)
	few := data
	few.Samples = 22
	one, infinite := (&totals{few, 1, 1, 10}).signal(4, 196)
	few.Samples = 11
	noCurvature, alsoInfinite := of.signal(0, 196)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"contraction", of.contraction(), math.Pow(1-math.Sqrt(10./120), 2)},
		{"contraction with few samples", (&totals{few, 1, 1, 10}).contraction(), math.Pow(1-math.Sqrt(.6), 2)},
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

// TestKnowledge compares the knowledge of tasks with n_t less the trace of the smoother of drawn tasks, for
// all sizes of ridges, and with its limits.
func TestKnowledge(t *testing.T) {
	const r, m, draws = 4, 2.5, 400
	of := &totals{Data: sums.Data{Rank: r, Features: 10, Samples: 20, XX: m * 200}}
	rng := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{1, 3, 4, 5, 9, 30} {
		for _, ridge := range []float64{1e-6, .1, 1, 10, 1e3, 1e9} {
			trace := 0.0
			for range draws {
				a := mat.NewDense(n, r, nil)
				a.Apply(func(int, int, float64) float64 { return math.Sqrt(m) * rng.NormFloat64() }, a)
				var svd mat.SVD
				svd.Factorize(a, mat.SVDNone)
				for _, s := range svd.Values(nil) {
					trace += s * s / (s*s + ridge) / draws
				}
			}
			// The formula is exact for large n and r. For the smallest tasks it is right to .35
			// samples.
			if got := of.knowledge(float64(n), ridge); math.Abs(got-(float64(n)-trace)) > .35 || got > float64(n) ||
				got < 0 {
				t.Errorf("%d samples, ridge %v: %v, want about %v", n, ridge, got, float64(n)-trace)
			}
		}
		if got := of.knowledge(float64(n), 0); got != float64(max(n-r, 0)) {
			t.Errorf("%d samples: %v without a ridge", n, got)
		}
	}
}
