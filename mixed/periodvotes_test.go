package mixed

import (
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// An owner is told that it voted against a period: only where one is possible, and where not --strict, but
// some value with few own rows decided.
func TestTellAgainstPeriod(t *testing.T) {
	const most = 5
	values := []float64{1, 2, 3, 4, 5}
	tests := []struct {
		name   string
		c      crossing
		strict bool
		said   bool
	}{
		{"few rows of a value", crossing{values: values, rows: []int{9, 9, 2, 9, 9}}, false, true},
		{"few missing", crossing{values: values[:4], rows: []int{9, 9, 9, 9}, missing: 1}, false, true},
		{"no value is rare", crossing{values: values, rows: []int{9, 9, 9, 9, 0}}, false, false},
		{"all at a limit", crossing{values: values, rows: []int{3, 3, 3, 3, 3}}, false, false},
		{"strict", crossing{values: values, rows: []int{9, 9, 2, 9, 9}}, true, false},
		{"more values", crossing{values: append(values, 6), rows: []int{9, 9, 2, 9, 9, 9}}, false, false},
		{"many", crossing{values: values, rows: []int{9, 9, 2, 9, 9}, many: true}, false, false},
	}
	for _, test := range tests {
		g := &guard{rows: &rows{in: &Input{}}}
		g.LeastLevel, g.Strict = 3, test.strict
		g.tellAgainst(&sharing{crossing: &test.c}, most, "year")
		said := len(g.did) == 1 && strings.Contains(g.did[0], `"year"`) &&
			strings.Contains(g.did[0], "fewer than 3 own")
		check.FailIf(t, said != test.said || len(g.did) > 1, "%s: said %q", test.name, g.did)
	}
	var open *guard
	open.tellAgainst(&sharing{crossing: &tests[0].c}, most, "year")
}
