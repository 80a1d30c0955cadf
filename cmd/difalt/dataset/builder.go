package dataset

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/kernel"
)

// A builder makes a table of the rows of one file after the other.
type builder struct {
	o      TableOptions
	t      *Table
	levels []*levels // of every categorical column

	// Of the current file.
	cols  *columns
	unit  string      // "line" or "row"
	node  string      // of all rows; empty if a column or nothing says it
	gaps  []gaps      // of the numbers, task, node and group
	ahead parsedAhead // of text
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

// undecided refuses text whose numbers can be read in several ways.
func (l *builder) undecided(err error) error { return err }

// cells adds a record of text.
func (l *builder) cells(p *recordParser, rec record) error { return l.ahead.take(p, rec, l.add) }

// parsed adds what was read of a text and not yet parsed.
func (l *builder) parsed(p *recordParser) error { return l.ahead.end(p, l.add) }

func (l *builder) add(r *row) error {
	t, c := l.t, l.cols
	x := r.x
	if err := l.code(r); err != nil {
		return err
	}
	some, vital := l.findGaps(r)
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
	if err := l.addAbout(r); err != nil {
		return err
	}
	node := l.node
	if l.o.Node != "" {
		node = r.names[nodeName]
	}
	line := 0
	if l.unit == "line" {
		line = r.line
	}
	if err := t.begin(r.line, line, r.names[taskName], node); err != nil {
		return err
	}
	if t.target {
		t.y = append(t.y, x[c.target])
	}
	return t.x.add(x[:c.features])
}

// code puts the codes of levels among the numbers of a row.
func (l *builder) code(r *row) error {
	for k, at := range l.cols.categories {
		r.x[at] = math.NaN()
		if cell := r.names[levelNames+k]; !isMissing(cell) {
			code, err := l.levels[k].of(cell)
			if err != nil {
				return fmt.Errorf("%s %d, %w", l.unit, r.line, err)
			}
			r.x[at] = float64(code)
		}
	}
	return nil
}

// findGaps counts the values that a row lacks: whether there are some, and whether one of them is what
// no row can do without.
func (l *builder) findGaps(r *row) (some, vital bool) {
	gap := func(at int, isVital bool) {
		if g := &l.gaps[at]; g.count == 0 {
			g.first = r.line
		}
		l.gaps[at].count++
		some, vital = true, vital || isVital
	}
	for j, v := range r.x {
		if math.IsNaN(v) {
			gap(j, j >= l.cols.features || j == l.cols.time)
		}
	}
	for which, wanted := range [...]bool{taskName: true, nodeName: l.o.Node != "", groupName: l.o.Group != ""} {
		if wanted && r.names[which] == "" {
			gap(len(r.x)+which, true)
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

// A row is one of a file after parsing.
type row struct {
	line  int       // or the number of the row, from 1
	x     []float64 // NaN is missing
	names []string
}

// begin makes a row of numbers that are 0 and names that are missing.
func (w *row) begin(c *columns, line int) {
	w.line, w.x, w.names = line, slices.Grow(w.x[:0], len(c.numbers))[:len(c.numbers)], slices.Grow(w.names[:0], c.names)[:c.names]
	clear(w.x)
	clear(w.names)
}

// store puts a number where the role of its column says. NaN is missing.
func (r *reader) store(w *row, col int, v float64) error {
	to := r.cols.roles[col]
	missing := math.IsNaN(v)
	why := ""
	if !missing {
		why = refusal(v, r.single() && r.cols.isFeature(col))
	}
	switch {
	case to.kind == noRole || to.kind == nameRole && missing:
	case why != "" && (to.kind != nameRole || math.IsInf(v, 0)):
		return fmt.Errorf("row %d, column %q: "+why, w.line, r.cols.header[col], v)
	case to.kind == nameRole:
		w.names[to.at] = strconv.FormatFloat(v, 'f', -1, 64)
	default:
		w.x[to.at] = v
	}
	return nil
}

// single reports whether features must fit in float32.
func (r *reader) single() bool { return r.o.Storage == kernel.Float32 }

// trim returns a cell without the white space at its ends.
func trim(cell string) string { return strings.Trim(cell, " \t\r\n") }
