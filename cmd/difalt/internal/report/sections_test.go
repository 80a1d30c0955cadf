package report

import (
	"math"
	"testing"
)

// Numbers have digits by the size of another number, and at most nine; small ones that need more have a power of ten.
func TestFixed(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		of, value float64
		want      string
	}{
		{0, 1, "1.00"}, {inf, 2, "2.00"}, {nan, 3, "3.00"}, {1, 1.2345, "1.23"}, {10, 1.25, "1.2"}, {.1, 1.25, "1.250"}, {-999, 1, "1"},
		{1e9, 12, "12"}, {1e-20, 1, "1.000000000"}, {1, nan, "-"}, {1, inf, "-"}, {1, -inf, "-"}, {1, -.001, "0.00"}, {1, 2e9, "2.000e+09"},
		// An effect of 1e-12 for a column of 1e9, with a standard error of 5e-14.
		{5.05e-14, 9.8208e-13, "9.821e-13"}, {5.05e-14, -5.05e-14, "-5.05e-14"}, {5.05e-14, 1e-18, "1e-18"}, {5.05e-14, 0, "0.000000000"},
		{2e-9, 4e-9, "4.00e-09"}, {2e-7, 4e-9, "0.000000004"},
	} {
		if got := fixed(c.value, decimals(c.of, 2)); got != c.want {
			t.Errorf("%v with the digits of %v is %q, want %q", c.value, c.of, got, c.want)
		}
	}
}
