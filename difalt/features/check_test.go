package features

import (
	"math"
	"slices"
	"testing"
)

// TestMislead: means and variances mislead from the documented limits on, which samples widen by six standard
// deviations: for means of d features d/n + .5 + 6 sqrt(2d)/n, for variances 2 and 4 times exp(6/sqrt(n)).
// Constants are as large as their means, and features that are 0 do not count.
func TestMislead(t *testing.T) {
	const n, d = 100, 10
	offset, luck := d/100.+.5+6*math.Sqrt(2*d)/n, math.Exp(6/math.Sqrt(n))
	for name, set := range map[string]func(mean, variance []float64, factor float64){
		"mean": func(mean, _ []float64, factor float64) { mean[2] = -math.Sqrt(offset * factor) },
		"large": func(_, variance []float64, factor float64) {
			variance[3] = factor * 2 * luck * (d - 1) / (d - 2*luck)
		},
		"small": func(_, variance []float64, factor float64) { variance[3] = (d - 1) / (4*luck*d - 1) / factor },
		"a constant": func(mean, variance []float64, factor float64) {
			mean[0], variance[0] = 1+200*max(0, factor-1), 1e-30
		},
		"tiny": func(_, variance []float64, factor float64) {
			if factor > 1 {
				variance[0] = 1e-20
			}
		},
		"zeros": func(_, variance []float64, factor float64) {
			variance[0] = 0
			variance[1] = 1 + 500*max(0, factor-1)
		},
	} {
		for _, factor := range []float64{.99, 1.01} {
			mean, variance := make([]float64, d), slices.Repeat([]float64{1}, d)
			if set(mean, variance, factor); mislead(mean, variance, n) != (factor > 1) {
				t.Errorf("%s, %v times the limit: misleads %v", name, factor, factor < 1)
			}
		}
	}
	if mislead(make([]float64, 2), make([]float64, 2), n) {
		t.Error("features that are 0 mislead")
	}
}
