package mixed

import (
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// Owners have as many curves as all of them have rows for. One of 75 rows has three for each of 25 columns,
// and so curves of some columns of numbers beside nine linear ones, but not of all of them. Those of columns
// that vary within tasks come first.
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
	check.FailIf(t, least*(design.Width()+fewKnots-2) <= few.Rows(), "only %d columns for %d rows", design.Width(), few.Rows())
	check.FailIf(t, len(design.Curves) != 5, "%d curves", len(design.Curves))
	for _, c := range design.Curves {
		check.FailIf(t, c.Feature < 2, "the column of tasks %d has a curve, and others have none", c.Feature)
	}
	said := slices.ContainsFunc(fits[0].rows.guard.did, func(note string) bool {
		return strings.Contains(note, "This owner voted against more than") && strings.Contains(note, "--least-rows")
	})
	check.FailIf(t, !said, "the owner is not told why: %q", fits[0].rows.guard.did)
}
