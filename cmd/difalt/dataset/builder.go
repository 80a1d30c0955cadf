package dataset

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// A builder makes a table of the rows of one file after the other.
type builder struct {
	o      TableOptions
	t      *Table
	levels []*levels // of every categorical column

	// Of the current file.
	path string // empty for a stream
	cols *columns
	unit string // "line" or "row"
	gaps []gap  // of the numbers, and then of the task
	row  row    // the current one
}

// A row is parsed: its numbers, NaN where missing, and its names, "" where missing.
type row struct {
	at    int // line, or number of the row from 1
	x     []float64
	names []string
}

// begin prepares w for a row of missing names.
func (w *row) begin(c *columns, at int) {
	w.at, w.x, w.names = at, slices.Grow(w.x[:0], len(c.numbers))[:len(c.numbers)], slices.Grow(w.names[:0], c.names)[:c.names]
	clear(w.names)
}

func newBuilder(o TableOptions) (*builder, error) {
	return &builder{o: o}, o.Validate()
}

// open begins a file with the given columns. All files have the features of the first.
func (b *builder) open(header []string, unit string) (err error) {
	var features []string
	if b.o.Schema != nil {
		features = b.o.Schema.Columns
	} else if b.t != nil {
		features = b.t.schema.Columns
		own, err := findColumns(header, &b.o, nil)
		if err != nil {
			return err
		}
		for _, column := range own.numbers[:own.features] {
			if !slices.Contains(features, column) {
				return formatErrorf("Drop", []string{column}, "column %q is not in the files before", column)
			}
		}
	}
	if b.cols, err = findColumns(header, &b.o, features); err != nil {
		return err
	}
	c := b.cols
	b.unit, b.gaps = unit, make([]gap, len(c.numbers)+1)
	if b.t != nil {
		return nil
	}
	b.t = &Table{x: newChunks(c.features), target: c.target >= 0}
	b.t.schema.Columns = slices.Clone(c.numbers[:c.features])
	b.t.missing = make([]int, c.features)
	for _, at := range c.categories {
		own := &levels{column: c.numbers[at], others: b.o.NewLevels}
		if b.o.Schema != nil {
			var given []string
			given, own.fixed = b.o.Schema.Levels(own.column)
			for _, name := range given {
				own.names.number(name)
			}
		}
		b.levels = append(b.levels, own)
	}
	return nil
}

// note records how the current file was read.
func (b *builder) note(format string, args ...any) {
	sentence := fmt.Sprintf(format, args...)
	if b.path != "" {
		sentence = b.path + ": " + sentence
	}
	b.t.notes = append(b.t.notes, sentence)
}

// add appends the current row to the table.
func (b *builder) add() error {
	t, c, w := b.t, b.cols, &b.row
	if err := b.code(w); err != nil {
		return err
	}
	some, vital := b.findGaps(w)
	if vital || some && b.o.Missing != MissingKeep {
		t.dropped++
		return nil
	}
	if some {
		for j, v := range w.x[:c.features] {
			if math.IsNaN(v) {
				t.missing[j]++
			}
		}
	}
	if k := c.weight; k >= 0 {
		if w.x[k] < 0 {
			return fmt.Errorf("%s %d, column %q: the weight is %v: must not be negative", b.unit, w.at, b.o.Weight, w.x[k])
		}
		t.weights = append(t.weights, w.x[k])
	}
	if k := c.mark; k >= 0 {
		if w.x[k] != 0 && w.x[k] != 1 {
			return fmt.Errorf("%s %d, column %q: the mark is %v: expected 1 for a test row, 0 for the others", b.unit, w.at, b.o.Holdout, w.x[k])
		}
		t.held = append(t.held, w.x[k] == 1)
	}
	y := 0.0
	if t.target {
		y = w.x[c.target]
	}
	if err := t.add(w.names[taskName], w.x[:c.features], y); err != nil {
		return fmt.Errorf("%s %d: %w", b.unit, w.at, err)
	}
	return nil
}

// code puts the codes of levels among the numbers of a row.
func (b *builder) code(w *row) error {
	for k, at := range b.cols.categories {
		w.x[at] = math.NaN()
		if cell := w.names[levelNames+k]; !isMissing(cell) {
			code, err := b.levels[k].of(cell)
			if err != nil {
				return fmt.Errorf("%s %d, %w", b.unit, w.at, err)
			}
			w.x[at] = float64(code)
		}
	}
	return nil
}

// findGaps counts missing values. It reports whether the row has some, and whether one of
// them cannot be filled: not that of a feature.
func (b *builder) findGaps(w *row) (some, vital bool) {
	count := func(g *gap) {
		if g.count == 0 {
			g.first = w.at
		}
		g.count++
		some = true
	}
	for j, v := range w.x {
		if math.IsNaN(v) {
			count(&b.gaps[j])
			vital = vital || j >= b.cols.features
		}
	}
	if w.names[taskName] == "" {
		count(&b.gaps[len(w.x)])
		vital = true
	}
	return some, vital
}

// ErrMissing is in the chain of the error for missing values under MissingRefuse.
var ErrMissing = errors.New("there are missing values")

// A gap counts the missing values of a column.
type gap struct {
	count int
	first int // line or row of the first one
}

// close ends a file. It refuses missing values unless the options allow them.
func (b *builder) close() error {
	var list []string
	for i, column := range append(slices.Clone(b.cols.numbers), b.o.Task) {
		if g := b.gaps[i]; g.count > 0 {
			list = append(list, fmt.Sprintf("%d in column %q (first on %s %d)", g.count, clip(column), b.unit, g.first))
		}
	}
	if list == nil || b.o.Missing != MissingRefuse {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrMissing, text.List(list))
}

// table completes the table after the last file.
func (b *builder) table() (*Table, error) {
	t := b.t
	if t.Rows() == 0 {
		if t.dropped > 0 {
			return nil, fmt.Errorf("the table has zero rows: all %d lack values", t.dropped)
		}
		return nil, fmt.Errorf("the table has zero rows after the line of column names")
	}
	t.tasks.index = nil // it may take more memory than the names
	s := &t.schema
	if len(b.levels) > 0 {
		t.ranks = make([][]int32, len(s.Columns))
	}
	for _, own := range b.levels {
		names, rank := own.sorted()
		if len(names) == 0 {
			return nil, fmt.Errorf("column %q has no value", own.column)
		}
		s.Categories = append(s.Categories, schema.Category{Column: own.column, Levels: names})
		t.ranks[slices.Index(s.Columns, own.column)] = rank
	}
	t.features = s.Features()
	if name, twice := firstDuplicate(t.features); twice {
		return nil, fmt.Errorf("two features would be named %q: rename a column", name)
	}
	return t, nil
}

// isMissing reports whether a trimmed cell stands for a missing value.
func isMissing(cell string) bool {
	switch len(cell) {
	case 0:
		return true
	case 2:
		return strings.EqualFold(cell, "NA")
	case 3:
		return strings.EqualFold(cell, "NaN") || strings.EqualFold(cell, "N/A")
	case 4:
		return strings.EqualFold(cell, "null") || strings.EqualFold(cell, "None")
	}
	return false
}
