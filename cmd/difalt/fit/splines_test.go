package fit

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// A model of straight lines loses to splines where effects are curved, and the verdict says so and names them; where effects are straight it does not.
func TestVerdictNamesSplines(t *testing.T) {
	for name, c := range map[string]struct {
		effect func(wave, wild, size, line, level float64) float64
		better bool
	}{
		"curved":   {func(wave, _, _, line, level float64) float64 { return 2*math.Cos(4*wave) + line + level }, true},
		"straight": {func(wave, _, _, line, level float64) float64 { return wave + line + level*(1+line) }, false},
	} {
		_, r, _ := bentFit(t, c.effect, func(c *Config) { c.Curves = []string{} })
		named := r.Verdict.Other == Splines && r.Verdict.Gain < -alike && strings.Contains(r.Verdict.Text, Splines)
		if named != c.better {
			t.Errorf("%s: %+v", name, r.Verdict)
		}
	}
	_, r, _ := bentFit(t, func(wave, _, _, line, level float64) float64 { return wave + line + level }, func(c *Config) { c.Owners = true })
	if slices.ContainsFunc(r.Scores, func(s Score) bool { return s.Method == Splines }) {
		t.Error("owners have splines to compare with, of which sums tell more")
	}
}

// A loss of more than 5 % is said whatever chance could have made of it, with the name of the better method.
func TestWordsOfLosses(t *testing.T) {
	for _, v := range []Verdict{{Gain: -0.08, Low: -0.2, High: 0.03}, {Gain: -0.06, Low: -0.07, High: -0.05}, {Gain: -0.3, Low: math.NaN(), High: math.NaN()}} {
		v.Other = Pooled
		if text := v.words(&Candidate{Rank: 1}, nil); !strings.Contains(text, Pooled+" the latter is probably better") && !strings.Contains(text, "a simpler method, "+Pooled+", has an RMSE") {
			t.Errorf("%+v: %s", v, text)
		}
	}
}

// Residuals of a model of straight lines name the column that is curved, and two whose effects depend on one another, between owners too; those of a model that has the
// curve, or of straight effects, name nothing.
func TestResidualsNameColumns(t *testing.T) {
	for name, c := range map[string]struct {
		effect     func(wave, wild, size, line, level float64) float64
		curves     []string
		want, none string
	}{
		"curved":   {func(wave, _, _, line, level float64) float64 { return 2*wave*wave + line + level }, []string{}, `is curved of "wave": try --curve wave.`, "depend"},
		"with it":  {func(wave, _, _, line, level float64) float64 { return 2*wave*wave + line + level }, []string{"wave"}, "", "Residuals"},
		"product":  {func(wave, _, _, line, level float64) float64 { return 2*wave*line + line + level }, []string{}, `depend on one another, of "wave" and "line"`, "curved"},
		"straight": {func(wave, _, _, line, level float64) float64 { return wave*level + line + level }, []string{}, "", "Residuals"},
	} {
		tab, err := bentTable([]int{0, 1, 2}, 9, 12, 15, c.effect)
		if err != nil {
			t.Fatal(err)
		}
		config := testConfig(t, 3, 0)
		config.Curves = c.curves
		_, r := fit(t, tab, config)
		if text := r.Verdict.Text; !strings.Contains(text, c.want) || strings.Contains(text, c.none) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// Features near both ends of what numbers can be have no curves, and fits of them go on as they did.
func TestCurvesOfExtremes(t *testing.T) {
	for _, factor := range []float64{1e-200, 1e-61, 1e-59, 1e59, 1e140} {
		tab, err := bentTable([]int{0, 1, 2}, 1, 4, 15, func(wave, _, _, line, level float64) float64 { return 2*wave*wave + line + level })
		if err != nil {
			t.Fatal(err)
		}
		tab = changed(t, tab, func(_ int, x []float64, y float64) float64 {
			x[0] *= factor
			return y
		})
		c := testConfig(t, 3, -1)
		c.Owners = false
		m, _, err := Fit(t.Context(), tab, c)
		if err != nil {
			t.Errorf("times %v: %v", factor, err)
			continue
		}
		if got, want := strings.Contains(kinds(m), "f0 curve"), factor > 1e-60 && factor < 1e60; got != want {
			t.Errorf("times %v: %q", factor, kinds(m))
		}
	}
}
