package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/mixed"
)

// A reader makes a table of the rows of one file after the other.
type reader struct {
	o      TableOptions
	t      *Table    // nil before the first header
	levels []*levels // by slot; nil for numbers
	gaps   []gap     // by slot
	done   int64     // bytes read
	total  int64     // bytes of all files

	// The current file.
	columns
	file *os.File // nil for a stream
	path string
	unit string // "line" or "row"

	// The current row.
	at   int // line, or number of the row from 1
	task string
	x    []float64 // by slot; NaN where a value is missing
}

// A gap counts the missing values of a slot.
type gap struct {
	count int
	first int // line or row of the first one
}

// ErrMissing is in the chain of the error for missing values under MissingRefuse.
var ErrMissing = errors.New("there are missing values")

func newReader(o TableOptions) (*reader, error) { return &reader{o: o}, o.Validate() }

// open begins a file whose columns have the given names. All files have the features of the first.
func (r *reader) open(header []string, unit string) (err error) {
	if r.columns, err = newColumns(header); err != nil {
		return err
	}
	r.unit = unit
	o := &r.o
	for slot, column := range []string{taskSlot: o.Task, weightSlot: o.Weight, markSlot: o.Holdout, targetSlot: o.Target} {
		if column != "" || slot == taskSlot {
			if err := r.take(column, slot); err != nil {
				return err
			}
		}
	}
	more, err := r.unused(r.o.Drop)
	if err == nil && r.t == nil {
		err = r.begin(more)
	}
	if err != nil {
		return err
	}
	if r.unnamed != nil {
		r.note("without the unnamed " + text.List(r.unnamed))
	}
	for j, column := range r.t.schema.Columns {
		if err := r.take(column, featureSlot+j); err != nil {
			return err
		}
	}
	for _, column := range more {
		if r.slots[r.index[column]] == noSlot && r.o.Schema == nil {
			return formatErrorf("Drop", []string{column}, "column %q is not in the files before", column)
		}
	}
	return nil
}

// begin starts the table with the features of the schema, or with all the given ones of the first file.
func (r *reader) begin(features []string) error {
	var categories []mixed.Category
	for _, column := range r.o.Categorical {
		categories = append(categories, mixed.Category{Column: column})
	}
	if s := r.o.Schema; s != nil {
		features, categories = s.Columns, s.Categories
	}
	if len(features) == 0 {
		return fmt.Errorf("the table has no feature columns: the header names %s", quoted(r.header))
	}
	n := featureSlot + len(features)
	r.levels, r.gaps, r.x = make([]*levels, n), make([]gap, n), make([]float64, n)
	for _, c := range categories {
		j := slices.Index(features, c.Column)
		if j < 0 {
			_, err := r.find(c.Column, "the categorical features")
			return cmp.Or(err, fmt.Errorf("column %q is categorical, but not a feature of %s", c.Column, quoted(features)))
		}
		own := &levels{column: c.Column, fixed: r.o.Schema != nil, others: r.o.NewLevels}
		for _, name := range c.Levels {
			if _, err := own.of(name); err != nil {
				return fmt.Errorf("the schema of column %q: the level %w", c.Column, err)
			}
		}
		r.levels[featureSlot+j] = own
	}
	r.t = &Table{x: newChunks(len(features)), target: r.o.Target != ""}
	r.t.schema.Columns = slices.Clone(features)
	return nil
}

// note records how the current file was read.
func (r *reader) note(sentence string) {
	if r.path != "" {
		sentence = r.path + ": " + sentence
	}
	r.t.notes = append(r.t.notes, sentence)
}

// holdsNames reports whether a slot is that of the tasks or of levels.
func (r *reader) holdsNames(slot int) bool { return slot == taskSlot || r.levels[slot] != nil }

// isNumber reports whether a column is a feature that is not categorical.
func (r *reader) isNumber(col int) bool {
	return r.slots[col] >= featureSlot && r.levels[r.slots[col]] == nil
}

// setName puts a trimmed name of a task or level in its slot.
func (r *reader) setName(slot int, name string) error {
	switch {
	case slot == taskSlot && name != "":
		r.task, r.x[slot] = name, 0
	case slot == taskSlot || isMissing(name):
		r.x[slot] = math.NaN()
	default:
		code, err := r.levels[slot].code(name)
		if err != nil {
			return fmt.Errorf("%s %d, column %q: %w", r.unit, r.at, r.levels[slot].column, err)
		}
		r.x[slot] = float64(code)
	}
	return nil
}

// setNumber puts a number of a binary file in the slot of its column, if there is one. NaN is missing.
func (r *reader) setNumber(col int, v float64) error {
	switch slot := r.slots[col]; {
	case slot == noSlot:
	case refused(v) && !math.IsNaN(v):
		return fmt.Errorf("row %d, column %.60q: %v "+tooLarge, r.at, r.header[col], v)
	case !refused(v) && r.holdsNames(slot):
		return r.setName(slot, strconv.FormatFloat(v, 'f', -1, 64))
	default:
		r.x[slot] = v
	}
	return nil
}

// add appends the current row to the table, unless it lacks a value that it needs.
func (r *reader) add() error {
	t, drop := r.t, false
	for slot, v := range r.x {
		drop = drop || math.IsNaN(v) && (r.o.Missing != MissingKeep || slot < featureSlot)
	}
	for slot, v := range r.x {
		if math.IsNaN(v) && (!drop || r.o.Missing == MissingRefuse) {
			if g := &r.gaps[slot]; g.count == 0 {
				g.first = r.at
			}
			r.gaps[slot].count++
		}
	}
	if drop {
		t.dropped++
		return nil
	}
	if w := r.x[weightSlot]; r.o.Weight != "" {
		if w < 0 {
			return fmt.Errorf("%s %d, column %q: the weight is %v: must not be negative", r.unit, r.at, r.o.Weight, w)
		}
		t.weights = append(t.weights, w)
	}
	if mark := r.x[markSlot]; r.o.Holdout != "" {
		if mark != 0 && mark != 1 {
			return fmt.Errorf("%s %d, column %q: the mark is %v: expected 1 or 0", r.unit, r.at, r.o.Holdout, mark)
		}
		t.held = append(t.held, mark == 1)
	}
	if err := t.add(r.task, r.x[featureSlot:], r.x[targetSlot]); err != nil {
		return fmt.Errorf("%s %d: %w", r.unit, r.at, err)
	}
	return nil
}

// close ends a file. It refuses missing values unless the options allow them.
func (r *reader) close() error {
	var list []string
	for col, slot := range r.slots {
		if slot != noSlot && r.gaps[slot].count > 0 && r.o.Missing == MissingRefuse {
			g, name := r.gaps[slot], r.header[col]
			list = append(list, fmt.Sprintf("%d in column %.60q (first on %s %d)", g.count, name, r.unit, g.first))
		}
	}
	if list != nil {
		return fmt.Errorf("%w: %s", ErrMissing, text.List(list))
	}
	return nil
}

// table completes the table after the last file.
func (r *reader) table() (*Table, error) {
	t := r.t
	switch {
	case t.Rows() == 0 && t.dropped > 0:
		return nil, fmt.Errorf("the table has zero rows, besides %d that lack values", t.dropped)
	case t.Rows() == 0:
		return nil, errors.New("the table has zero rows after the column names")
	}
	t.tasks.index = nil // it may take more memory than the names
	s := &t.schema
	t.missing = make([]int, len(s.Columns))
	widths := make([]int, len(s.Columns))
	for j, own := range r.levels[featureSlot:] {
		t.missing[j] = r.gaps[featureSlot+j].count
		if own == nil {
			continue
		}
		if len(own.list) == 0 {
			return nil, fmt.Errorf("column %q has no value", own.column)
		}
		levels := own.list
		if !own.fixed { // the numbers become the places in order
			levels = slices.Sorted(slices.Values(levels))
			for i := range t.Rows() {
				if v := &t.x.row(i)[j]; !math.IsNaN(*v) {
					place, _ := slices.BinarySearch(levels, own.list[int(*v)])
					*v = float64(place)
				}
			}
		}
		s.Categories = append(s.Categories, mixed.Category{Column: own.column, Levels: levels})
		widths[j], t.widths = len(levels), widths
	}
	return t, t.nameFeatures()
}

// missingNames are the cells that stand for a missing value, in lower case, besides the empty one.
var missingNames = map[string]bool{"na": true, "n/a": true, "nan": true, "null": true, "none": true}

// isMissing reports whether a trimmed cell stands for a missing value.
func isMissing(cell string) bool {
	return cell == "" || cell[0]|0x20 == 'n' && missingNames[strings.ToLower(cell)]
}
