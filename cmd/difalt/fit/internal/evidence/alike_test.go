package evidence

import (
	"math"
	"testing"
)

// The evidence of tasks that are alike has the slope of the evidence where it was made, by loadings and strengths, and its
// slopes elsewhere are those of finite differences.
func TestAlikeHasTheSlope(t *testing.T) {
	rows, _, p := testRows(t)
	pt, err := rows.At(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, ok := pt.Alike()
	if !ok {
		t.Fatal("none")
	}
	c := &ascent{Alike: a, start: p.Clone(), variances: []float64{1, 2}, given: Unknown(), noise: 1}
	x := c.variables()
	for pass := range 2 {
		got := c.slope(x)
		for i := range x {
			const h = 1e-5
			var v [2]float64
			for k, step := range []float64{-h, h} {
				y := append([]float64(nil), x...)
				y[i] += step
				v[k] = c.near(y).value
				if pass == 0 { // at the point it is that of the evidence itself
					q := c.priorOf(y)
					at, err := rows.At(t.Context(), q, nil)
					if err != nil {
						t.Fatal(err)
					}
					v[k] = at.Value + penaltyOf(q, c.variances)
				}
			}
			if want := (v[1] - v[0]) / (2 * h); math.Abs(got[i]-want) > 1e-4*(1+math.Abs(want)) {
				t.Errorf("pass %d, variable %d: %v, want %v", pass, i, got[i], want)
			}
		}
		for i := range x {
			x[i] *= 1 + 0.1*float64(i%3)
		}
	}
}
