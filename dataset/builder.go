package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/dataset/schema"
	"github.com/difalt/difalt/internal/text"
	"github.com/difalt/difalt/kernel"
)

// A builder makes a table of the rows of one file after the other.
type builder struct {
	o      TableOptions
	t      *Table
	levels []*levels // of every categorical column

	// Of the current file.
	cols *columns
	unit string // "line" or "row"
	node string // of all rows; empty if a column or nothing says it
	gaps []gaps // of the numbers, task, node and group
}

func newBuilder(o TableOptions) (*builder, error) {
	if o.Schema != nil {
		if o.Features != nil || o.Categorical != nil {
			return nil, fmt.Errorf("only one of schema, and features or categorical columns, may be given")
		}
		if err := o.Schema.Validate(); err != nil {
			return nil, err
		}
	}
	return &builder{o: o}, o.Validate()
}

// open begins a file. All files have the features of the first.
func (l *builder) open(header []string, unit string) (c *columns, err error) {
	o := l.o
	if l.t != nil && o.Schema == nil {
		o.Features = l.t.schema.Columns
		own, err := findColumns(header, &l.o)
		if err != nil {
			return nil, err
		}
		for _, column := range own.numbers[:own.features] {
			if !slices.Contains(o.Features, column) {
				return nil, fmt.Errorf("column %q is not in the files before: drop it, or say which columns are features", column)
			}
		}
	}
	if c, err = findColumns(header, &o); err != nil {
		return nil, err
	}
	l.cols, l.unit, l.gaps = c, unit, make([]gaps, len(c.numbers)+levelNames)
	if l.t != nil {
		return c, nil
	}
	l.t = newTable(c.features, c.target >= 0, l.o.Storage, l.o.Folder)
	l.t.schema.Columns = slices.Clone(c.numbers[:c.features])
	l.t.missing = make([]int, c.features)
	l.t.about.group.column = l.o.Group
	l.t.about.timeColumn = l.o.Time
	for _, at := range c.categories {
		own := &levels{column: c.numbers[at], others: l.o.NewLevels}
		if l.o.Schema != nil {
			var given []string
			given, own.fixed = l.o.Schema.Levels(own.column)
			for _, name := range given {
				own.names.number(name)
			}
		}
		l.levels = append(l.levels, own)
	}
	return c, nil
}

func (l *builder) assume(a Assumption) { l.t.assumed = append(l.t.assumed, a) }

// add appends the rows of a batch, up to one that is wrong. It changes the batch.
func (l *builder) add(b *batch) error {
	for i := range b.rows {
		if err := l.addRow(b, i); err != nil {
			return err
		}
	}
	return b.err
}

func (l *builder) addRow(b *batch, i int) error {
	t, c := l.t, l.cols
	x := b.numbers(i)
	if err := l.code(x, b, i); err != nil {
		return err
	}
	some, vital := l.findGaps(x, b, i)
	if vital || some && l.o.Missing != MissingKeep {
		t.dropped++
		return nil
	}
	if some {
		for j, v := range x[:c.features] {
			if math.IsNaN(v) {
				t.missing[j]++
			}
		}
	}
	if err := l.addAbout(b, i); err != nil {
		return err
	}
	node := []byte(l.node)
	if l.o.Node != "" {
		node = b.name(i, nodeName)
	}
	line := 0
	if l.unit == "line" {
		line = b.line[i]
	}
	if err := t.begin(b.line[i], line, b.name(i, taskName), node); err != nil {
		return err
	}
	if t.target {
		t.y = append(t.y, x[c.target])
	}
	return t.x.add(x[:c.features])
}

// code puts the codes of levels among the numbers of a row.
func (l *builder) code(x []float64, b *batch, i int) error {
	for k, at := range l.cols.categories {
		x[at] = math.NaN()
		if cell := b.name(i, levelNames+k); !isMissing(cell) {
			code, err := l.levels[k].of(cell)
			if err != nil {
				return fmt.Errorf("%s %d, %w", l.unit, b.line[i], err)
			}
			x[at] = float64(code)
		}
	}
	return nil
}

// findGaps counts the values that a row lacks: whether there are some, and whether one of them is what
// no row can do without.
func (l *builder) findGaps(x []float64, b *batch, i int) (some, vital bool) {
	gap := func(at int, isVital bool) {
		if g := &l.gaps[at]; g.count == 0 {
			g.first = b.line[i]
		}
		l.gaps[at].count++
		some, vital = true, vital || isVital
	}
	if b.missing || l.levels != nil {
		for j, v := range x {
			if math.IsNaN(v) {
				gap(j, j >= l.cols.features || j == l.cols.time)
			}
		}
	}
	for which, wanted := range [...]bool{taskName: true, nodeName: l.o.Node != "", groupName: l.o.Group != ""} {
		if wanted && len(b.name(i, which)) == 0 {
			gap(len(x)+which, true)
		}
	}
	return some, vital
}

// ErrMissing is in the chain of the error about a table with missing values that was
// read with MissingRefuse.
var ErrMissing = errors.New("there are missing values")

// gaps counts the missing values of a column.
type gaps struct {
	count int
	first int // line or row of the first one
}

// close refuses missing values, which it counts, unless the options allow them.
func (l *builder) close() error {
	var list []string
	for i, column := range append(slices.Clone(l.cols.numbers), l.o.Task, l.o.Node, l.o.Group) {
		if g := l.gaps[i]; g.count > 0 {
			list = append(list, fmt.Sprintf("%d in column %q (first on %s %d)", g.count, column, l.unit, g.first))
		}
	}
	if list == nil || l.o.Missing != MissingRefuse {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrMissing, text.List(list))
}

// table completes the table after the last file.
func (l *builder) table() (*Table, error) {
	t := l.t
	if t.Rows() == 0 {
		if t.dropped > 0 {
			return nil, fmt.Errorf("the table has zero rows: all %d lack values", t.dropped)
		}
		return nil, fmt.Errorf("the table has zero rows after the line of column names")
	}
	t.tasks.index = nil // of many names it takes more memory than they do
	s := &t.schema
	if len(l.levels) > 0 {
		t.ranks = make([][]int32, len(s.Columns))
	}
	for _, own := range l.levels {
		names, order := own.sorted()
		if len(names) == 0 {
			return nil, fmt.Errorf("column %q has no value", own.column)
		}
		s.Categories = append(s.Categories, schema.Category{Column: own.column, Levels: names})
		t.ranks[slices.Index(s.Columns, own.column)] = order
	}
	t.features = s.Features()
	if name, twice := firstDuplicate(t.features); twice {
		return nil, fmt.Errorf("two features would be named %q: rename a column", name)
	}
	return t, nil
}

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

// A batch is some rows of a file after parsing: numbers, and names that are still
// part of the file's text.
type batch struct {
	width, texts int // numbers, and names, of a row
	rows         int
	x            []float64 // width numbers a row; NaN is missing
	names        [][]byte  // texts names a row
	text         []byte    // that names were copied to
	line         []int     // of every row
	missing      bool      // there are NaN among x
	err          error     // about the row after the last one
}

func (b *batch) reset(c *columns) {
	b.width, b.texts, b.rows = len(c.numbers), c.names, 0
	b.x, b.names, b.line, b.text = b.x[:0], b.names[:0], b.line[:0], b.text[:0]
	b.missing, b.err = false, nil
}

// begin makes room for a row and returns its numbers and names.
func (b *batch) begin(line int) (x []float64, names [][]byte) {
	b.x = slices.Grow(b.x, b.width)[:len(b.x)+b.width]
	b.names = slices.Grow(b.names, b.texts)[:len(b.names)+b.texts]
	b.line = append(b.line, line)
	x, names = b.x[len(b.x)-b.width:], b.names[len(b.names)-b.texts:]
	clear(names)
	return x, names
}

func (b *batch) numbers(row int) []float64 { return b.x[row*b.width:][:b.width] }

// name returns a name of a row. It aliases the batch.
func (b *batch) name(row, which int) []byte { return b.names[row*b.texts+which] }

func (b *batch) setName(row, which int, name []byte) {
	at := len(b.text)
	b.text = append(b.text, name...)
	b.names[row*b.texts+which] = trim(b.text[at:])
}

// store puts a number where the role of its column says, in a row of a batch. NaN is
// missing.
func (r *reader) store(b *batch, row, col int, v float64) error {
	to := r.cols.roles[col]
	missing := math.IsNaN(v)
	why := ""
	if !missing {
		why = refusal(v, r.single() && r.cols.isFeature(col))
	}
	switch {
	case to.kind == noRole || to.kind == nameRole && missing:
		return nil
	case why != "" && (to.kind != nameRole || math.IsInf(v, 0)):
		return fmt.Errorf("row %d, column %q: "+why, b.line[row], r.cols.header[col], v)
	case to.kind == nameRole:
		var digits [32]byte
		b.setName(row, to.at, strconv.AppendFloat(digits[:0], v, 'f', -1, 64))
		return nil
	}
	b.x[row*b.width+to.at] = v
	b.missing = b.missing || missing
	return nil
}

// single reports whether features must fit in float32.
func (r *reader) single() bool { return r.o.Storage == kernel.Float32 }

// trim returns a cell without the white space at its ends.
func trim(cell []byte) []byte { return bytes.Trim(cell, " \t\r\n") }
