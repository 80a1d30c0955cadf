package dataset

import (
	"errors"
	"fmt"
	"strings"

	"github.com/difalt/difalt/internal/text"
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
	first int // line or row of the first one
}

func (g *gaps) add(line int) {
	if g.count == 0 {
		g.first = line
	}
	g.count++
}

// ErrMissing is in the chain of the error about a table with missing values that was
// read with MissingRefuse.
var ErrMissing = errors.New("there are missing values")

// refuseGaps returns the error that counts missing values, nil if there are none.
func refuseGaps(columns []string, missing []gaps, unit string) error {
	var list []string
	for i, g := range missing {
		if g.count > 0 {
			list = append(list, fmt.Sprintf("%d in column %q (first on %s %d)", g.count, columns[i], unit, g.first))
		}
	}
	if list == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrMissing, text.List(list))
}

// A MissingCount says in how many rows a feature column has no value.
type MissingCount struct {
	Column string
	Rows   int
}

// Missing counts the missing values among the features, by column; nil if there are
// none. Only tables that were read with MissingKeep have any, and X returns NaN for
// them.
func (t *Table) Missing() []MissingCount {
	var list []MissingCount
	for j, n := range t.missing {
		if n > 0 {
			list = append(list, MissingCount{t.schema.Columns[j], n})
		}
	}
	return list
}

// Dropped returns the number of rows of the files that are not in the table because
// they lack values.
func (t *Table) Dropped() int { return t.dropped }
