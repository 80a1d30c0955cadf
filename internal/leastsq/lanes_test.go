package leastsq

import (
	"math"
	"testing"

	"github.com/difalt/difalt/internal/tile"
)

// Every test of Sound decides alone.
func TestSound(t *testing.T) {
	const n, r = 10, 4
	tol := n * 0x1p-52
	product := tol * tol * 3 / (3 * 3 * 3 * 3) // of three other singular values, at most a third of the squares each
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		lo, hi, size, product float64
		want                  bool
	}{
		"full rank":          {1, 4, 1, .5, true},
		"nearly dependent":   {1, 4, 1, product * 1.01, true},
		"dependent":          {1, 4, 1, product * .99, false},
		"small pivot":        {3.9 * tol * tol * 4, 4, 1, .5, false},
		"larger pivot":       {4.1 * tol * tol * 4, 4, 1, .5, true},
		"tiny":               {.9e-280, 4e-280, 1e10, .5, false},
		"less tiny":          {1.1e-280, 4e-280, 1e10, .5, true},
		"huge":               {1e299, 1.1e300, 1, .5, false},
		"tiny coefficients":  {1e-200, 1e-200, .9e-80, .5, false},
		"small coefficients": {1e-200, 1e-200, 1.1e-80, .5, true},
		"infinite b":         {1, 4, inf, .5, false},
		"NaN":                {nan, nan, nan, nan, false},
		"NaN in y":           {1, 4, nan, .5, false},
	} {
		x := tile.LaneResults{Lo: []float64{0, c.lo}, Hi: []float64{0, c.hi},
			Size: []float64{0, c.size}, Product: []float64{0, c.product}}
		if b := NewLaneBounds(n, r, Tolerance(n, r)); b.Sound(&x, 1) != c.want || b.Sound(&x, 0) {
			t.Errorf("%s: %v, want %v", name, !c.want, c.want)
		}
	}
}
