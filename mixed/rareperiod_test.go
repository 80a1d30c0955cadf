package mixed

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// A design with periods has more columns than one without, so that a column with few values other than the
// usual one is rare beside them, as beside curves: 14 rows are fewer than 1 + 3 + 15 columns.
func TestRareColumnBesidePeriods(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 28))
	years := make([]float64, 15)
	for k := range years {
		years[k] = 5 * r.NormFloat64()
	}
	var list []Input
	for g := range 3 {
		d := drawn(uint64(60+g), fmt.Sprint("owner ", g, " task "), 1, slices.Repeat([]int{30}, 20)...)
		year, flag := make([]float64, d.Rows()), make([]float64, d.Rows())
		for i := range year {
			year[i], flag[i] = float64(2000+i%15), float64(i/15%2)
			if g == 0 {
				flag[i] = 0
				if i%41 == 7 && i < 14*41 {
					flag[i] = 1
				}
			}
			d.Targets[i] += years[i%15] + 3*flag[i]*float64(d.TaskOf[i]%3)
		}
		d.Names, d.Values = append(d.Names, "year", "flag"), append(d.Values, year, flag)
		list = append(list, Input{Table: d})
	}
	fits, errs := describeTogether(t, list, Options{NoCurves: true, Disclosure: Disclosure{LeastLevel: 12}})
	check.FailIf(t, errs[0] != nil, "%v", errs[0])
	g, design := fits[0].rows.guard, *fits[0].plain.design
	at := 1 + slices.Index(fits[0].rows.schema.Features(), "flag")
	check.FailIf(t, check.OK(g.rare(t.Context(), &design))[at], "the column is rare beside no period")
	period := Period{Feature: slices.Index(fits[0].rows.schema.Features(), "year"), Deviation: 1}
	for k := range years {
		period.Values = append(period.Values, float64(2000+k))
	}
	design.Periods = []Period{period}
	check.FailIf(t, !check.OK(g.rare(t.Context(), &design))[at], "the column is not rare beside a period")
}
