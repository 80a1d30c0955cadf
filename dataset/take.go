package dataset

import (
	"fmt"
	"math"
	"slices"
)

// Take removes a feature column of numbers from the table and returns its values, one a row: a
// weight, or a mark, that says something about rows and is no feature. A missing
// value is an error.
func (t *Table) Take(column string) ([]float64, error) {
	at := slices.Index(t.features, column)
	if at < 0 {
		return nil, fmt.Errorf("there is no column %q of numbers among the features", column)
	}
	if len(t.features) == 1 {
		return nil, fmt.Errorf("column %q is the only feature", column)
	}
	values, x := make([]float64, t.Rows()), make([]float64, len(t.features))
	for i := range values {
		if values[i] = t.X(x, i)[at]; math.IsNaN(values[i]) {
			return nil, fmt.Errorf("column %q has no value in row %d", column, i)
		}
	}
	if t.kept == nil {
		t.width = len(t.features)
		for j := range t.features {
			t.kept = append(t.kept, j)
		}
	}
	t.kept = slices.Delete(slices.Clone(t.kept), at, at+1)
	if k := slices.Index(t.schema.Columns, column); k >= 0 && t.missing != nil {
		t.missing = slices.Delete(slices.Clone(t.missing), k, k+1)
	}
	same := func(name string) bool { return name == column }
	t.features = slices.DeleteFunc(slices.Clone(t.features), same)
	t.schema.Columns = slices.DeleteFunc(slices.Clone(t.schema.Columns), same)
	return values, nil
}
