package mixed

import (
	"fmt"
	"math"
)

// Data is a table in memory, whose columns are slices. Its methods make it a [Table].
type Data struct {
	// Names are the names of the columns.
	Names []string
	// Values[j][i] is the value of column j in row i; NaN where it is missing. That of a categorical column
	// is the place of the level in Levels.
	Values [][]float64
	// Levels[j] are the levels of a categorical column; it is nil, as Levels may be, for columns of numbers.
	Levels [][]string
	// TaskNames are the names of the tasks, and TaskOf[i] is the place of the task of row i there.
	TaskNames []string
	TaskOf    []int
	Targets   []float64 // of every row; nil for a table without
	Weighting []float64 // weights of the rows; nil: all are 1

	places map[string]int // of tasks, for Append
}

// Check reports the first fault of the slices: their lengths, places beyond an end, and names that are given
// twice.
func (d *Data) Check() error {
	if len(d.Names) != len(d.Values) || d.Levels != nil && len(d.Levels) != len(d.Names) {
		const format = "the table has %d names, %d columns and %d lists of levels"
		return fmt.Errorf(format, len(d.Names), len(d.Values), len(d.Levels))
	}
	for _, list := range [][]float64{d.Targets, d.Weighting} {
		if list != nil && len(list) != d.Rows() {
			return fmt.Errorf("the table has %d rows and %d targets or weights", d.Rows(), len(list))
		}
	}
	for i, k := range d.TaskOf {
		if k < 0 || k >= len(d.TaskNames) {
			return fmt.Errorf("row %d is of task %d: the table has %d", i+1, k, len(d.TaskNames))
		}
	}
	schema := d.Schema()
	byColumn := schema.byColumn()
	for j, values := range d.Values {
		if len(values) != d.Rows() {
			return fmt.Errorf("column %q has %d values: the table has %d rows", d.Names[j], len(values), d.Rows())
		}
		levels, coded := byColumn[d.Names[j]]
		for i, v := range values {
			if coded && !math.IsNaN(v) && !(v >= 0 && v < float64(len(levels)) && v == math.Trunc(v)) {
				return fmt.Errorf("row %d, column %q: level %v: it has %d levels", i+1, d.Names[j], v, len(levels))
			}
		}
	}
	if _, err := numbered("task", d.TaskNames); err != nil {
		return err
	}
	if _, err := numbered("feature", d.Features()); err != nil {
		return err
	}
	return schema.Validate()
}

// Schema returns the columns with their levels.
func (d *Data) Schema() *Schema {
	s := &Schema{Columns: d.Names}
	for j, levels := range d.Levels {
		if levels != nil {
			s.Categories = append(s.Categories, Category{d.Names[j], levels})
		}
	}
	return s
}

// Features returns the names of the features.
func (d *Data) Features() []string { return d.Schema().Features() }

// Tasks returns TaskNames.
func (d *Data) Tasks() []string { return d.TaskNames }

// Rows returns the number of rows.
func (d *Data) Rows() int { return len(d.TaskOf) }

// Task returns the place of the task of a row in TaskNames.
func (d *Data) Task(row int) int { return d.TaskOf[row] }

// HasTarget reports whether there are targets.
func (d *Data) HasTarget() bool { return d.Targets != nil }

// Y returns the target of a row.
func (d *Data) Y(row int) float64 { return d.Targets[row] }

// Weights returns Weighting.
func (d *Data) Weights() []float64 { return d.Weighting }

// X sets dst to the features of a row and returns it.
func (d *Data) X(dst []float64, row int) []float64 {
	dst = dst[:0]
	for j, values := range d.Values {
		v := values[row]
		if d.Levels == nil || d.Levels[j] == nil {
			dst = append(dst, v)
			continue
		}
		for level := range d.Levels[j] {
			switch {
			case math.IsNaN(v):
				dst = append(dst, v)
			case v == float64(level):
				dst = append(dst, 1)
			default:
				dst = append(dst, 0)
			}
		}
	}
	return dst
}

// Append adds a row of a table without levels and weights: the target y of a task, and the values of the
// columns, which are copied.
func (d *Data) Append(task string, y float64, values ...float64) error {
	if len(values) != len(d.Names) {
		return fmt.Errorf("row %d has %d values: the table has %d columns", d.Rows()+1, len(values), len(d.Names))
	}
	if d.Values == nil {
		d.Values = make([][]float64, len(d.Names))
	}
	for j, v := range values {
		d.Values[j] = append(d.Values[j], v)
	}
	if len(d.places) != len(d.TaskNames) || d.places == nil {
		d.places = map[string]int{}
		for k, name := range d.TaskNames {
			d.places[name] = k
		}
	}
	k, known := d.places[task]
	if !known {
		k = len(d.TaskNames)
		d.places[task], d.TaskNames = k, append(d.TaskNames, task)
	}
	d.TaskOf, d.Targets = append(d.TaskOf, k), append(d.Targets, y)
	return nil
}
