package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// marks are the cells that stand for missing values in every column.
type marks struct {
	names   map[string]bool
	numbers []float64
}

func newMarks(o *TableOptions) (m marks) {
	for _, cell := range o.NA {
		if m.names == nil {
			m.names = map[string]bool{}
		}
		m.names[cell] = true
		if v, err := parseNumber(cell, cmp.Or(o.Decimal, '.')); err == nil {
			m.numbers = append(m.numbers, v)
		}
	}
	return m
}

// A gap counts the missing values of a slot.
type gap struct {
	count int
	first string // the place of the first one
	line  int    // of the first one, in a file of lines; otherwise 0
	all   int    // in rows that were left out, too
}

// missingNames are the cells that stand for a missing value in columns of numbers, in lower case, besides the
// empty one.
var missingNames = map[string]bool{"na": true, "n/a": true, "#n/a": true, "nan": true, "null": true, "none": true}

// isMissing reports whether a trimmed cell of a column of numbers stands for a missing value.
func isMissing(cell string) bool {
	return cell == "" || (cell[0]|0x20 == 'n' || cell[0] == '#') && missingNames[strings.ToLower(cell)]
}

// isMissing reports whether a trimmed cell of a column of numbers stands for a missing value.
func (r *reader) isMissing(cell string) bool { return isMissing(cell) || r.marks.names[cell] }

// setName puts a trimmed name of a task or level in its slot.
func (r *reader) setName(slot int, name string) error {
	switch {
	case name == "" || r.marks.names[name]:
		r.x[slot] = math.NaN()
		if slot == taskSlot {
			r.task = ""
		}
		return nil
	case slot == taskSlot:
		r.task, r.x[slot] = name, 0
		return nil
	}
	own := r.levels[slot]
	code, err := own.code(name, &r.o)
	if err != nil {
		at := r.here(", column %.60q: %w", own.column, err)
		if format, ok := errors.AsType[*FormatError](err); ok {
			return &FormatError{Option: format.Option, Values: format.Values, NA: format.NA, err: at}
		}
		return at
	}
	r.x[slot] = float64(code)
	return nil
}

// setNumber puts a number of a binary file in the slot of its column, if there is one. NaN is missing.
func (r *reader) setNumber(col int, v float64) error {
	v += 0 // -0 becomes 0
	if slices.Contains(r.marks.numbers, v) {
		v = math.NaN()
	}
	switch slot := r.slots[col]; {
	case slot == noSlot:
	case refused(v) && !math.IsNaN(v):
		return fmt.Errorf("row %d, column %.60q: %v "+tooLarge, r.at, r.header[col], v)
	case !refused(v) && r.holdsNames(slot):
		return r.setName(slot, wholeDigits(v))
	default:
		r.x[slot] = v
		if slot == taskSlot {
			r.task = ""
		}
	}
	return nil
}

// wholeDigits returns the digits of a number: all of a whole number that an int64 holds, otherwise the fewest
// that distinguish it from others.
func wholeDigits(v float64) string {
	if math.Abs(v) < 1<<63 && v == math.Trunc(v) {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
