package dataset

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/difalt/difalt/dataset/schema"
	"github.com/difalt/difalt/kernel"
)

// A batch is some rows of a file after parsing: numbers, and names that are still
// part of the file's text.
type batch struct {
	width, texts int // stored columns, and names, of a row
	rows         int
	x            []float64 // width numbers a row; NaN is missing
	y            []float64
	names        []span // texts names a row
	text         []byte
	line         []int // of every row
	missing      bool  // there are NaN among x and y
	err          error // about the row after the last one
}

// A span is a part of a text.
type span struct{ lo, hi int }

func (b *batch) reset(c *columns) {
	b.width, b.texts, b.rows = c.stored, c.names, 0
	b.x, b.y, b.names, b.line, b.text = b.x[:0], b.y[:0], b.names[:0], b.line[:0], b.text[:0]
	b.missing, b.err = false, nil
}

// begin makes room for a row and returns its numbers and names.
func (b *batch) begin(line int) (x []float64, names []span) {
	b.x = slices.Grow(b.x, b.width)[:len(b.x)+b.width]
	b.names = slices.Grow(b.names, b.texts)[:len(b.names)+b.texts]
	b.y = append(b.y, 0)
	b.line = append(b.line, line)
	x, names = b.x[len(b.x)-b.width:], b.names[len(b.names)-b.texts:]
	clear(names)
	return x, names
}

// name returns a name of a row. It aliases the batch.
func (b *batch) name(row, which int) []byte {
	s := b.names[row*b.texts+which]
	return b.text[s.lo:s.hi]
}

// A loader fills a table with the rows of one file after the other.
type loader struct {
	o      TableOptions
	t      *Table
	levels []*levels // of every categorical column

	about *describer // takes the rows in place of t, if it is set

	// Of the current file.
	cols *columns
	unit string // "line" or "row"
	file string // its path, empty for a stream
	node string // of all rows; empty if a column or nothing says it
	gaps []gaps // of stored numbers, target, task, node and group
}

func newLoader(o TableOptions) (*loader, error) {
	if o.Schema != nil {
		if o.Features != nil || o.Categorical != nil {
			return nil, fmt.Errorf("only one of schema, and features or categorical columns, may be given")
		}
		if err := o.Schema.Validate(); err != nil {
			return nil, err
		}
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &loader{o: o}, nil
}

// Validate refuses options about the text of CSV that are not there. Those about columns
// need a file.
func (o *TableOptions) Validate() error {
	if _, err := o.checkDelimiter(); err != nil {
		return err
	}
	if o.Decimal != 0 && o.Decimal != '.' && o.Decimal != ',' {
		return formatErrorf("Decimal", []string{".", ","}, "the decimal mark is %q: want '.' or ','", o.Decimal)
	}
	if o.Thousands != 0 && !strings.ContainsRune(",.' ", o.Thousands) || o.Thousands != 0 && o.Thousands == o.Decimal {
		return formatErrorf("Thousands", []string{",", ".", "'", " "}, "the mark between thousands is %q: want one of , . ' and space, and not the decimal mark", o.Thousands)
	}
	if _, known := dateOrders[o.Dates]; o.Dates != "" && !known {
		return formatErrorf("Dates", []string{"dmy", "mdy"}, "the order of dates is %q: want ymd, dmy or mdy", o.Dates)
	}
	return nil
}

// open begins a file with the given columns.
func (l *loader) open(header []string, unit string) (err error) {
	if l.about != nil {
		return l.describeColumns(header)
	}
	o := l.o
	if l.t != nil && o.Schema == nil {
		o.Features = l.t.schema.Columns
		own, err := findColumns(header, &l.o)
		if err != nil {
			return err
		}
		for _, column := range own.features {
			if !slices.Contains(o.Features, column) {
				return fmt.Errorf("column %q is not in the files before: drop it, or say which columns are features", column)
			}
		}
	}
	if l.cols, err = findColumns(header, &o); err != nil {
		return err
	}
	l.unit, l.gaps = unit, make([]gaps, l.cols.stored+4)
	if l.t != nil {
		return nil
	}
	l.t = newTable(len(l.cols.features), l.cols.target, l.o.Storage, l.o.Folder)
	l.t.schema.Columns = slices.Clone(l.cols.features)
	l.t.missing = make([]int, len(l.cols.features))
	l.t.about.group.column = l.o.Group
	l.t.about.timeColumn = l.o.Time
	for _, c := range l.cols.categories {
		var known []string
		if l.o.Schema != nil {
			known, _ = l.o.Schema.Levels(c.column)
		}
		l.levels = append(l.levels, newLevels(c.column, known))
	}
	return nil
}

// add appends the rows of a batch, up to one that is wrong. It may change the batch.
func (l *loader) add(b *batch) error {
	if l.about != nil {
		return l.about.addBatch(l, b)
	}
	for i := range b.rows {
		if err := l.addRow(b, i); err != nil {
			return err
		}
	}
	return b.err
}

func (l *loader) addRow(b *batch, i int) error {
	t := l.t
	x := b.x[i*b.width:][:b.width]
	if err := l.code(x, b, i); err != nil {
		return err
	}
	node := l.node
	if l.o.Node != "" {
		node = string(b.name(i, nodeName))
	}
	bad, gap := l.findGaps(x, b, i)
	if bad || gap && l.o.Missing != MissingKeep {
		t.dropped++
		return nil
	}
	x = x[:len(l.cols.features)]
	if gap {
		for j, v := range x {
			if math.IsNaN(v) {
				t.missing[j]++
			}
		}
	}
	if err := l.addAbout(b, i); err != nil {
		return err
	}
	if err := l.join(b, i, node); err != nil {
		return err
	}
	if t.target {
		t.y = append(t.y, b.y[i])
	}
	return t.x.add(x)
}

// code puts the numbers of levels into a row.
func (l *loader) code(x []float64, b *batch, i int) error {
	for k, c := range l.cols.categories {
		x[c.stored] = math.NaN()
		if cell := b.name(i, levelNames+k); !isMissing(cell) {
			code, err := l.levels[k].of(cell)
			if err != nil {
				return fmt.Errorf("%s %d, %w", l.unit, b.line[i], err)
			}
			x[c.stored] = float64(code)
		}
	}
	return nil
}

// findGaps counts the values that a row misses: gap says that there are any, and bad that one of
// them is no feature and must be there.
func (l *loader) findGaps(x []float64, b *batch, i int) (bad, gap bool) {
	if b.missing || l.levels != nil {
		for j, v := range x {
			if math.IsNaN(v) {
				gap = true
				bad = bad || j >= len(l.cols.features) || j == l.cols.about[timeOf]
				l.gaps[j].add(b.line[i])
			}
		}
	}
	for k, missing := range [...]bool{
		l.t.target && math.IsNaN(b.y[i]), len(b.name(i, taskName)) == 0,
		l.o.Node != "" && len(b.name(i, nodeName)) == 0, l.o.Group != "" && len(b.name(i, groupName)) == 0,
	} {
		if missing {
			bad = true
			l.gaps[len(x)+k].add(b.line[i])
		}
	}
	return bad, gap || bad
}

// join begins the row of a task in the table.
func (l *loader) join(b *batch, i int, node string) error {
	t := l.t
	task := b.name(i, taskName)
	name, line := "", 0
	if l.unit == "line" {
		line = b.line[i]
	}
	if k, ok := t.taskIndex[string(task)]; ok {
		name = t.tasks[k]
	} else {
		name = string(task)
	}
	return t.join(b.line[i], line, name, node)
}

// close ends a file.
func (l *loader) close() error {
	if l.about != nil {
		return nil
	}
	c := l.cols
	if l.o.Missing == MissingRefuse {
		named := append(slices.Clone(c.features), make([]string, c.stored-len(c.features))...)
		for k, column := range l.o.numbersAbout() {
			if column != "" {
				named[c.about[k]] = column
			}
		}
		named = append(named, l.o.Target, l.o.Task, l.o.Node, l.o.Group)
		if err := refuseGaps(named, l.gaps, l.unit); err != nil {
			return err
		}
	}
	return nil
}

// finish completes the table after the last file.
func (l *loader) finish() (*Table, error) {
	t := l.t
	if t.Rows() == 0 {
		if t.dropped > 0 {
			return nil, fmt.Errorf("the table has zero rows: all %d lack values", t.dropped)
		}
		return nil, fmt.Errorf("the table has zero rows after the line of column names")
	}
	s := &t.schema
	rank := map[string][]int32{}
	for k, c := range l.cols.categories {
		names, order := l.levels[k].sorted()
		if len(names) == 0 {
			return nil, fmt.Errorf("column %q has no value", c.column)
		}
		s.Categories = append(s.Categories, schema.Category{Column: c.column, Levels: names})
		rank[c.column] = order
	}
	if len(rank) > 0 {
		for _, column := range s.Columns {
			t.coding = append(t.coding, coding{rank[column]})
		}
	}
	t.features = s.Features()
	if name, twice := firstDuplicate(t.features); twice {
		return nil, fmt.Errorf("two features would be named %q: rename a column", name)
	}
	return t, nil
}

// single reports whether numbers must fit in float32.
func (l *loader) single() bool { return l.o.Storage == kernel.Float32 }

// firstDuplicate returns the first of the names that is there twice.
func firstDuplicate(names []string) (name string, twice bool) {
	seen := make(map[string]bool, len(names))
	for _, n := range names {
		if seen[n] {
			return n, true
		}
		seen[n] = true
	}
	return "", false
}
