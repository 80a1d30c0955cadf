package report

import (
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// Numbers have digits by the size of another number, and at most nine; small ones that need more have a power
// of ten.
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

// A long table is cut behind its first rows, and a sentence counts the others. The heading is no row.
func TestAtMost(t *testing.T) {
	for rows, want := range map[int]struct {
		shown    int
		sentence string
	}{
		0: {0, ""}, 2: {2, ""}, 3: {3, ""}, 4: {3, "Not shown: 1 row."}, 9: {3, "Not shown: 6 rows."},
	} {
		s := section{rows: text.Table{{"heading"}}, words: []string{"last"}}
		for range rows {
			s.rows = append(s.rows, []string{"row"})
		}
		words := []string{"last"}
		if want.sentence != "" {
			words = []string{want.sentence, "last"}
		}
		if cut := s.atMost(3); len(cut.rows) != want.shown+1 || !slices.Equal(cut.words, words) || len(s.rows) != rows+1 {
			t.Errorf("%d rows: %d are shown, %q", rows, len(cut.rows)-1, cut.words)
		}
	}
}
