package dataset

import (
	"fmt"
	"math"
	"strings"
)

// isMissing reports whether a trimmed cell stands for a missing value.
func isMissing(cell []byte) bool {
	switch len(cell) {
	case 0:
		return true
	case 2:
		return strings.EqualFold(string(cell), "NA")
	case 3:
		return strings.EqualFold(string(cell), "NaN") || strings.EqualFold(string(cell), "N/A")
	case 4:
		return strings.EqualFold(string(cell), "null") || strings.EqualFold(string(cell), "None")
	}
	return false
}

// gaps counts the missing values of a column.
type gaps struct {
	count int
	first string // where the first one is
}

func (g *gaps) add(where func() string) {
	if g.count == 0 {
		g.first = where()
	}
	g.count++
}

// refuseGaps returns the error that counts missing values, nil if there are none.
func refuseGaps(columns []string, missing []gaps) error {
	var list []string
	for i, g := range missing {
		if g.count > 0 {
			list = append(list, fmt.Sprintf("%d in column %q (first on %s)", g.count, columns[i], g.first))
		}
	}
	if list == nil {
		return nil
	}
	return fmt.Errorf("there are missing values: %s; rows that have any can be dropped", some(list))
}

// Means returns the mean of every feature over the chosen rows; nil chooses all.
// Missing values do not count; the mean of a feature without a value is NaN.
func (t *Table) Means(rows []bool) []float64 {
	d := len(t.features)
	mean, count := make([]float64, d), make([]int, d)
	x := make([]float64, d)
	for i := range t.Rows() {
		if rows != nil && !rows[i] {
			continue
		}
		for j, v := range t.X(x, i) {
			if !math.IsNaN(v) {
				mean[j] += v
				count[j]++
			}
		}
	}
	for j := range mean {
		mean[j] /= float64(count[j])
	}
	return mean
}

// FillMissing lets values[j] take the place of every missing value of feature j. It
// must not run while other goroutines read the table.
func (t *Table) FillMissing(values []float64) error {
	if len(values) != len(t.features) {
		return fmt.Errorf("%d values fill the gaps of %d features", len(values), len(t.features))
	}
	for j, v := range values {
		if t.missing != nil && t.missing[j] > 0 && !finite(v) {
			return fmt.Errorf("column %q: %v cannot take the place of its %d missing values", t.features[j], v, t.missing[j])
		}
	}
	if t.missing != nil {
		t.fill = append([]float64(nil), values...)
	}
	return nil
}

// Missing returns the number of missing values of every feature, filled or not; nil
// if there are none.
func (t *Table) Missing() []int { return t.missing }

// Dropped returns the number of rows of the files that are not in the table because
// they lack values.
func (t *Table) Dropped() int { return t.dropped }
