package fit

import (
	"math"
	"strings"
	"testing"
)

// A target without variation is predicted, and said; the smallest and largest targets that a
// float64 holds have the fit of others; beyond, the error names the column.
func TestExtremeTargets(t *testing.T) {
	tab := newTruth(3, 3, 1).table(t, 8, 12, 12, 2)
	c := testConfig(t, 2, 0)
	c.TargetColumn = "yield"
	for _, value := range []float64{0, 3.5} {
		m, r := fit(t, changed(t, tab, func(int, []float64, float64) float64 { return value }), c)
		if got, constant, err := m.Coefficients("0"); err != nil || math.Abs(constant-value) > 1e-9 || math.Abs(got[0]) > 1e-9 {
			t.Errorf("%v: coefficients %v and %v, %v", value, got, constant, err)
		}
		if notes := strings.Join(r.Notes, " "); !strings.Contains(notes, "in all training rows") || strings.Contains(notes, "fitted exactly") {
			t.Errorf("%v: notes %q", value, notes)
		}
	}
	_, want := fit(t, tab, c)
	for _, e := range []int{-1000, 1000} {
		_, r := fit(t, changed(t, tab, func(_ int, _ []float64, y float64) float64 { return math.Ldexp(y, e) }), c)
		if got := math.Ldexp(r.Scores[0].Train.RMSE, -e); !(math.Abs(got/want.Scores[0].Train.RMSE-1) < 1e-6) {
			t.Errorf("2^%d: RMSE %v, want %v", e, got, want.Scores[0].Train.RMSE)
		}
	}
	_, _, err := Fit(t.Context(), changed(t, tab, func(i int, _ []float64, _ float64) float64 { return math.Copysign(1.7e308, float64(i%2)-0.5) }), c)
	check(t, err, `column "yield" has values beyond 8.99e+307`)
	_, _, err = Fit(t.Context(), changed(t, tab, func(i int, x []float64, y float64) float64 { x[1] = math.Copysign(1.7e308, float64(i%2)-0.5); return y }), c)
	check(t, err, `column "f1" has values beyond 8.99e+307`)
}

// A caller who wants no rank is not told that none was worth it.
func TestVerdictOfFixedRank(t *testing.T) {
	_, r := fit(t, newTruth(1, 4, 1).table(t, 12, 10, 10, 2), testConfig(t, 2, -1))
	if text := r.Verdict.Text; !strings.Contains(text, "no rank was tried") || strings.Contains(text, "worth") {
		t.Errorf("verdict %q", text)
	}
}
