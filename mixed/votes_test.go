package mixed

import (
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// Owners have as many curves as all of them have rows for. One of 75 rows has three for each of 25 columns,
// and so curves of some columns of numbers beside nine linear ones, but not of all of them, and one of them
// has fewer knots. Those of columns that vary within tasks come first.
func TestAsManyCurvesAsRows(t *testing.T) {
	few, many := drawn(41, "v", 8, slices.Repeat([]int{25}, 3)...), drawn(42, "a", 8, slices.Repeat([]int{60}, 10)...)
	for _, d := range []*Data{few, many} { // the first two columns are of tasks
		for i, k := range d.TaskOf {
			d.Values[0][i], d.Values[1][i] = float64(k%10)+.1, float64(k*7%10)
		}
	}
	fits, errs := describeTogether(t, []Input{{Table: few}, {Table: many}}, Options{})
	check.Done(errs[0])
	check.Done(errs[1])
	design := fits[0].curved.design
	least := fits[0].rows.guard.LeastRows
	check.FailIf(t, least*design.Width() > few.Rows(), "%d columns for %d rows", design.Width(), few.Rows())
	check.FailIf(t, least*(design.Width()+1) <= few.Rows(), "only %d columns for %d rows", design.Width(), few.Rows())
	check.FailIf(t, len(design.Curves) != 6, "%d curves", len(design.Curves))
	thin := slices.IndexFunc(design.Curves, func(c Curve) bool { return len(c.Knots) < fewKnots })
	check.FailIf(t, thin < 0 || len(design.Curves[thin].Knots) != 3, "no curve has three knots")
	for _, c := range design.Curves {
		check.FailIf(t, c.Feature < 2, "the column of tasks %d has a curve, and others have none", c.Feature)
	}
	for name, numbers := range map[string]int{"owners against a curve": 4*8 + 1,
		"owners against a number of columns of curves": 1 + 8*3 - 1 + 1} { // with 5, 4 and 3 knots, or left out
		at := slices.IndexFunc(fits[0].rows.totals, func(t Total) bool { return t.Name == name })
		check.FailIf(t, at < 0 || fits[0].rows.totals[at].Numbers != numbers, "%s: %+v", name, fits[0].rows.totals)
	}
	said := slices.ContainsFunc(fits[0].rows.guard.did, func(note string) bool {
		return strings.Contains(note, "This owner voted against more than") && strings.Contains(note, "--least-rows")
	})
	check.FailIf(t, !said, "the owner is not told why: %q", fits[0].rows.guard.did)
}
