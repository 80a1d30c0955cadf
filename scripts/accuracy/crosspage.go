package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

const crossed = `
## Evidence or cross-validation

What if cross-validation chose among the same models? A rank, and strengths for intercepts, for deviations in all directions, for those in
the directions found, and for what tasks share: one after the other over half decades, again and again as long as that gains anything, with
grids that go on where the best is at an end, each part left out as well, and directions found again by the same algorithm in each of 5 folds. One standard error: the fewest
effective coefficients among all that were tried within a standard error of the best. Seeds 171 to 173, which neither had seen,
10 nodes; RMSE on the held-out rows over that of evidence, median (least to most) over the seeds. What it costs, over what evidence costs
(the simpler methods of the report included): rounds, bytes, user seconds of the processor.

`

const crossedMeaning = `
Cross-validation does not weigh tasks by their noise: that is what it lacks where noise is uneven.
`

// crossTable compares cross-validation with evidence.
func crossTable(b *strings.Builder, rows [][]string) error {
	if !slices.Equal(rows[0], crossHeader) {
		return fmt.Errorf("comparisons have the columns %q: want %q", rows[0], crossHeader)
	}
	by := map[string]map[string]map[string][]float64{} // table, seed, choice: columns from rmse on
	for i, row := range rows[1:] {
		v := make([]float64, len(row)-3)
		for j := range v {
			var err error
			if v[j], err = strconv.ParseFloat(row[3+j], 64); err != nil {
				return fmt.Errorf("comparisons, row %d: %w", i+1, err)
			}
		}
		if by[row[0]] == nil {
			by[row[0]] = map[string]map[string][]float64{}
		}
		if by[row[0]][row[1]] == nil {
			by[row[0]][row[1]] = map[string][]float64{}
		}
		by[row[0]][row[1]][row[2]] = v
	}
	b.WriteString(crossed)
	head(b, "table", byFolds, byOneError, "ranks: "+byEvidence, byFolds, "rounds", "bytes", "seconds")
	var better, worse []string
	for _, d := range described {
		seeds := by[d.name]
		if seeds == nil {
			continue
		}
		cells, m := crossCells(seeds)
		if row(b, append([]string{d.name}, cells...)...); m < 0.99 {
			better = append(better, d.name)
		} else if m > 1.01 {
			worse = append(worse, d.name)
		}
	}
	fmt.Fprintf(b, "\nCross-validation is more than 1 %% better on %s, and worse on %s. ", list(better), list(worse))
	b.WriteString(strings.TrimPrefix(crossedMeaning, "\n"))
	return nil
}

// crossCells returns the cells of a table, and the median ratio of the errors of cross-validation.
func crossCells(seeds map[string]map[string][]float64) (cells []string, middle float64) {
	over := func(choice string, column int) (out []float64) {
		for _, by := range seeds {
			out = append(out, by[choice][column]/by[byEvidence][column])
		}
		return out
	}
	ranks := func(choice string) string {
		var out []string
		for _, seed := range slices.Sorted(maps.Keys(seeds)) {
			out = append(out, fmt.Sprint(seeds[seed][choice][1]))
		}
		return strings.Join(out, ", ")
	}
	for _, choice := range []string{byFolds, byOneError} {
		v := over(choice, 0)
		cells = append(cells, fmt.Sprintf("%s (%s to %s)", ratio(median(v)), ratio(slices.Min(v)), ratio(slices.Max(v))))
	}
	cells = append(cells, ranks(byEvidence), ranks(byFolds))
	for column := 2; column < 5; column++ {
		if m := median(over(byFolds, column)); math.IsInf(m, 0) || math.IsNaN(m) {
			cells = append(cells, "-")
		} else {
			cells = append(cells, fmt.Sprintf("x %.0f", m))
		}
	}
	return cells, median(over(byFolds, 0))
}
