package chart

import (
	"math"
	"slices"
	"testing"
)

func TestTicks(t *testing.T) {
	labels := func(low, high float64) (all []string) {
		for _, k := range (powers{}).Ticks(low, high) {
			if k.Label != "" {
				all = append(all, k.Label)
			}
		}
		return all
	}
	if got := labels(1e-3, 1); !slices.Equal(got, []string{"10^{−3}", "10^{−2}", "10^{−1}", "1"}) {
		t.Errorf("three decades have the labels %q", got)
	}
	for e := 1; e <= 17; e++ {
		if n := len(labels(math.Pow(10, float64(-e)), 1)); n < 2 || n > 9 {
			t.Errorf("%d decades have %d labels", e, n)
		}
	}
	for high, want := range map[float64][]string{
		500: {"0", "100", "200", "300", "400", "500"},
		1:   {"0", "0.2", "0.4", "0.6", "0.8", "1"},
		252: {"0", "50", "100", "150", "200", "250"},
		45:  {"0", "10", "20", "30", "40"},
	} {
		var got []string
		for _, k := range (roundNumbers{}).Ticks(0, high) {
			got = append(got, k.Label)
		}
		if !slices.Equal(got, want) {
			t.Errorf("0 to %g has the labels %q, want %q", high, got, want)
		}
	}
}

func TestLabelSpans(t *testing.T) {
	got := spans("SD_{2}(U^{x}, 5_a) ^")
	want := []span{{"SD", 0}, {"2", -1}, {"(U", 0}, {"x", 1}, {",\u00a05_a)\u00a0^", 0}}
	if !slices.Equal(got, want) {
		t.Errorf("spans are %v, want %v", got, want)
	}
}
