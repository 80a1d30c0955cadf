package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/place"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/mixed"
)

// A reader reads the rows of one file after the other: into a table, or for Scan.
type reader struct {
	o         TableOptions
	marks     marks
	t         *Table     // nil before the first header
	levels    []*levels  // by slot; nil for numbers
	gaps      []gap      // by slot
	notations []notation // by slot
	done      int64      // bytes read
	total     int64      // bytes of all files

	rows    int               // so far, those that were left out included
	lenient bool              // leaves text out that ReadFiles refuses
	first   []string          // header of the first file
	out     map[string]string // why columns were left out, by name

	each   func(*Row) error // of Scan; nil for a table
	row    Row
	widths []int // levels of every column, 0 for numbers

	// The current file.
	columns
	file      *os.File // nil for a stream
	path      string
	unit      string   // lineUnit or rowUnit
	delimiter rune     // of CSV
	keep      []int    // columns to keep
	indices   []string // columns that are an index of pandas

	// The current row.
	at   int // line, or number of the row from 1
	task string
	x    []float64 // by slot; NaN where a value is missing
}

// The units of places in files of text, and in binary files.
const (
	lineUnit = "line"
	rowUnit  = "row"
)

// allRows is the name of the task of all rows, without a column of tasks.
const allRows = "all rows"

func newReader(o TableOptions) (*reader, error) {
	return &reader{o: o, marks: newMarks(&o), task: allRows}, o.Validate()
}

// open begins a file whose columns have the given names and kinds. All files have the features of the first.
func (r *reader) open(header []string, unit string, kinds []kind) (err error) {
	if r.columns, err = newColumns(header, unit); err != nil {
		return err
	}
	r.unit = unit
	o := &r.o
	roles := []string{taskSlot: o.Task, weightSlot: o.Weight, markSlot: o.Holdout, targetSlot: o.Target}
	for slot, column := range roles {
		if column != "" {
			if err := r.take(column, slot); err != nil {
				return err
			}
		}
	}
	more, err := r.unused(r.o.Drop)
	if err == nil && r.t == nil {
		err = r.begin(more, kinds)
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
		if r.slots[r.index[column]] == noSlot && o.Schema == nil && o.Features == nil && !addedName(column) {
			return formatErrorf("Drop", []string{column}, "column %q is not in the files before", column)
		}
	}
	r.keep = r.keep[:0]
	for _, column := range o.Keep {
		i, err := r.find(column, "the columns to keep")
		if err = cmp.Or(err, r.twice[column]); err != nil {
			return err
		}
		r.keep = append(r.keep, i)
	}
	r.row.Kept, r.row.Dates = make([]string, len(r.keep)), make([]Date, len(r.keep))
	return nil
}

// begin starts the table with the features of the schema or the options, or with the features of the first
// file.
func (r *reader) begin(features []string, kinds []kind) error {
	o := &r.o
	var added []string
	if o.Features == nil {
		features, added = withoutAdded(features, o.Categorical)
	} else {
		features = o.Features
	}
	var categories []mixed.Category
	for _, column := range o.Categorical {
		categories = append(categories, mixed.Category{Column: column})
	}
	inferred := len(categories)
	for _, column := range features {
		i, known := r.index[column]
		if known && kinds != nil && kinds[i] == words && !o.Numbers && !slices.Contains(o.Categorical, column) {
			categories = append(categories, mixed.Category{Column: column})
		}
	}
	if s := o.Schema; s != nil {
		features, categories, inferred, added = s.Columns, s.Categories, len(s.Categories), nil
	}
	n := featureSlot + len(features)
	r.levels, r.gaps, r.x, r.notations = make([]*levels, n), make([]gap, n), make([]float64, n), make([]notation, n)
	slots := map[string]int{}
	for j, column := range features {
		slots[column] = featureSlot + j
	}
	for i, c := range categories {
		slot, known := slots[c.Column]
		if !known {
			_, err := r.find(c.Column, "the categorical features")
			return cmp.Or(err, fmt.Errorf("column %q is categorical, but not a feature of %s", c.Column,
				quoted(features)))
		}
		own := &levels{column: c.Column, fixed: o.Schema != nil, others: o.NewLevels, inferred: i >= inferred}
		for _, name := range c.Levels {
			if _, err := own.of(name); err != nil {
				return fmt.Errorf("the schema of column %q: the level %w", c.Column, err)
			}
		}
		r.levels[slot] = own
	}
	r.first, r.out = r.header, map[string]string{}
	for _, column := range o.Drop {
		r.out[column] = "it is dropped"
	}
	for _, column := range added {
		r.out[column] = "another program has added it"
	}
	r.t = &Table{x: newChunks[float64](len(features)), task: newChunks[int32](1)}
	if o.Target != "" {
		r.t.y = newChunks[float64](1)
	}
	r.t.schema.Columns = slices.Clone(features)
	if added != nil {
		r.note(fmt.Sprintf("without %s, added by another program", text.Names(added)))
	}
	return nil
}

// note records how the current file was read.
func (r *reader) note(sentence string) {
	if r.path != "" {
		sentence = r.path + ": " + sentence
	}
	r.t.notes = append(r.t.notes, sentence)
}

// holdsNames reports whether a slot holds names: of tasks, or of levels.
func (r *reader) holdsNames(slot int) bool { return slot == taskSlot || r.levels[slot] != nil }

// isNumber reports whether a column is a feature that is not categorical.
func (r *reader) isNumber(col int) bool {
	return r.slots[col] >= featureSlot && r.levels[r.slots[col]] == nil
}

// here returns an error about the current row: its place, and the format after it.
func (r *reader) here(format string, args ...any) error {
	err := fmt.Errorf("%s %d"+format, append([]any{r.unit, r.at}, args...)...)
	if r.unit != lineUnit {
		return err
	}
	return place.OnLine(r.at, err)
}

// add ends the current row.
func (r *reader) add() error {
	r.rows++
	missing, lacks := false, false
	for slot, v := range r.x {
		if math.IsNaN(v) {
			missing = true
			lacks = lacks || r.o.Missing != MissingKeep || slot < featureSlot
		}
	}
	if r.each == nil && r.o.Weight != "" && r.x[weightSlot] == 0 {
		r.t.absent++ // whatever it lacks
		return nil
	}
	r.useLevels()
	if missing {
		r.countGaps(lacks)
	}
	if r.each != nil {
		return r.pass(!lacks)
	}
	if lacks {
		if r.t.dropped++; r.t.dropped == 1 {
			r.t.firstDropped = r.place().String()
		}
		return nil
	}
	return r.store()
}

// countGaps counts the missing values of the current row, which is left out or refused if it lacks one.
func (r *reader) countGaps(lacks bool) {
	for slot, v := range r.x {
		if !math.IsNaN(v) {
			continue
		}
		g := &r.gaps[slot]
		if g.all++; !lacks || r.o.Missing == MissingRefuse {
			if g.count++; g.count == 1 {
				g.first = fmt.Sprintf("%s %d", r.unit, r.at)
				if r.unit == lineUnit {
					g.line = r.at
				}
			}
		}
	}
}

// store appends the current row to the table.
func (r *reader) store() error {
	t := r.t
	if w := r.x[weightSlot]; r.o.Weight != "" {
		if w < 0 {
			return r.here(", column %q: the weight is %v: must not be negative", r.o.Weight, w)
		}
		t.weights = append(t.weights, w)
	}
	if mark := r.x[markSlot]; r.o.Holdout != "" {
		if mark != 0 && mark != 1 {
			return r.here(", column %q: the mark is %v: expected 1 or 0", r.o.Holdout, mark)
		}
		t.held = append(t.held, mark == 1)
	}
	t.places.next(t.Rows(), r.path, r.unit, r.at)
	if err := t.add(r.task, r.x[featureSlot:], r.x[targetSlot]); err != nil {
		return r.here(": %w", err)
	}
	return nil
}

// close ends a file. It refuses missing values unless the options allow them.
func (r *reader) close() error {
	if r.o.Missing != MissingRefuse {
		return nil
	}
	var list, empty []string
	line, fillable := 0, true // the line of the first missing value
	for col, slot := range r.slots {
		if slot == noSlot || r.gaps[slot].count == 0 {
			continue
		}
		g, name := r.gaps[slot], r.header[col]
		list = append(list, fmt.Sprintf("%d in column %.60q (first on %s)", g.count, name, g.first))
		if line == 0 || g.line < line {
			line = g.line
		}
		fillable = fillable && r.isNumber(col)
		if g.all == r.rows && r.rows > 1 && slot >= featureSlot {
			empty = append(empty, name)
		}
	}
	switch {
	case list == nil:
		return nil
	case len(empty) == len(list):
		return formatErrorf("Drop", empty, "%w",
			place.OnLine(line, fmt.Errorf("there is no value in %s", text.Names(empty))))
	}
	rules := []string{"drop"}
	if fillable {
		rules = append(rules, "mean")
	}
	hint := ""
	if g := r.gaps[taskSlot]; 2*g.all > r.rows {
		hint = "; is a task named in the first of its rows alone? Name it in all of them"
	}
	err := fmt.Errorf("there are missing values: %s%s", text.List(list), hint)
	return formatErrorf("Missing", rules, "%w", place.OnLine(line, err))
}

// errNoRows is the error of files without rows.
var errNoRows = errors.New("the table has zero rows after the column names")

// noteAbsent notes how many rows of weight 0 there were.
func (r *reader) noteAbsent() {
	if r.t.absent > 0 {
		r.t.notes = append(r.t.notes, text.Plural(r.t.absent, "row")+" of weight 0 taken as absent.")
	}
}

// table completes the table after the last file.
func (r *reader) table() (*Table, error) {
	t := r.t
	switch {
	case t.Rows() == 0 && t.dropped > 0:
		return nil, fmt.Errorf("the table has zero rows, besides %d that lack values%s", t.dropped, r.mostMissing())
	case t.Rows() == 0 && t.absent > 0:
		return nil, fmt.Errorf("column %q: all weights are 0, so that no row counts", r.o.Weight)
	case t.Rows() == 0:
		return nil, errNoRows
	}
	t.tasks.index = nil // it may take more memory than the names
	if err := r.leaveOut(); err != nil {
		return nil, err
	}
	s := &t.schema
	t.missing = make([]int, len(s.Columns))
	widths := make([]int, len(s.Columns))
	for j, own := range r.levels[featureSlot:] {
		if r.notations[featureSlot+j].dates {
			s.Dates = append(s.Dates, s.Columns[j])
		}
		t.missing[j] = r.gaps[featureSlot+j].count
		if own == nil {
			continue
		}
		levels := own.list
		if !own.fixed {
			levels = t.orderLevels(j, own)
		}
		if len(levels) == 0 {
			return nil, fmt.Errorf("column %q has no value", own.column)
		}
		s.Categories = append(s.Categories, mixed.Category{Column: own.column, Levels: levels})
		widths[j], t.widths = len(levels), widths
	}
	if err := t.nameFeatures(); err != nil {
		return nil, err
	}
	r.noteAbsent()
	r.remark()
	return t, nil
}

// mostMissing names the column that lacks the most values, in words that follow these.
func (r *reader) mostMissing() string {
	most, column := 0, ""
	for col, slot := range r.slots {
		if slot != noSlot && r.gaps[slot].all > most {
			most, column = r.gaps[slot].all, r.header[col]
		}
	}
	if column == "" {
		return ""
	}
	return fmt.Sprintf(", %d of them in column %.60q", most, column)
}
