package dataset

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/difalt/difalt/internal/text"
)

// columnCells is what the first cells of a column look like.
type columnCells struct {
	column  string
	cells   int // that are not missing
	numbers int // of them that are numbers in some way of writing
	truths  int // of them that are true or false
	marks   marksSeen
	dates   datesSeen
}

// marksSeen has cells by whose marks numbers can be read, as examples for messages: nil where there
// is none. The first of two is about points, the second about commas.
type marksSeen struct {
	decimal [2]*example // which is certain to be the decimal mark
	either  [2]*example // which may be that, or stand between thousands
	group   byte        // a mark that is certain to stand between thousands
	groupAt *example
	several bool // there are several such marks
}

// datesSeen counts cells that are dates.
type datesSeen struct {
	count       int
	first       date
	at          *example
	largest     [2]int // first and second number
	yearsDiffer bool   // the year comes first in some dates, and not in others
	different   bool   // the first two numbers are not always the same
}

// An example is a cell for a message.
type example struct {
	line   int
	column string
	text   string
}

func (p *example) String() string {
	return fmt.Sprintf("line %d, column %q: %q", p.line, p.column, p.text)
}

// areDates reports whether all cells are dates.
func (c *columnCells) areDates() bool { return c.dates.count > 0 && c.dates.count == c.cells }

// add takes a trimmed cell into account that is not missing.
func (c *columnCells) add(cell []byte, line int) {
	c.cells++
	at := example{line, c.column, ""}
	if m, ok := marksOf(cell); ok {
		c.numbers++
		c.marks.add(m, at, cell)
	}
	if _, ok := truth(cell); ok {
		c.truths++
	}
	if d, ok := splitDate(cell); ok {
		c.dates.add(d, at, cell)
	}
}

// note keeps a cell as the example, unless there is one.
func note(p **example, at example, cell []byte) {
	if *p == nil {
		*p = &example{at.line, at.column, clip(string(cell))}
	}
}

func (s *marksSeen) add(m marks, at example, cell []byte) {
	if m.decimal != 0 {
		note(&s.decimal[pointOrComma(m.decimal)], at, cell)
	}
	if m.either != 0 {
		note(&s.either[pointOrComma(m.either)], at, cell)
	}
	if m.group != 0 {
		s.several = s.several || s.group != 0 && s.group != m.group
		s.group = m.group
		note(&s.groupAt, at, cell)
	}
}

func pointOrComma(mark byte) int {
	if mark == ',' {
		return 1
	}
	return 0
}

func (s *datesSeen) add(d date, at example, cell []byte) {
	if s.count == 0 {
		s.first = d
	}
	note(&s.at, at, cell)
	s.count++
	s.yearsDiffer = s.yearsDiffer || d.yearFirst != s.first.yearFirst
	s.largest[0], s.largest[1] = max(s.largest[0], d.part[0]), max(s.largest[1], d.part[1])
	s.different = s.different || d.part[0] != d.part[1]
}

// sniffColumns finds how the cells of numbers are written, from the records at the start of a
// file, after the one with the names. An error about one column leaves those of the others.
func (r *reader) sniffColumns(p *recordParser, block []byte, line int) (err error) {
	seen := make([]columnCells, len(r.cols.header))
	for col := range seen {
		seen[col].column = r.cols.header[col]
	}
	_, broken := p.each(block, line, 0, func(line int, cells [][]byte) error {
		for col, cell := range cells[:min(len(cells), len(seen))] {
			if r.cols.roles[col].kind != numberRole {
				continue
			}
			if cell = bytes.TrimSpace(cell); !isMissing(cell) {
				seen[col].add(cell, line)
			}
		}
		return nil
	})
	if broken != nil {
		return nil // the parser says it better
	}
	p.decimal, err = r.o.sniffDecimal(seen, p.delimiter)
	p.formats = make([]cellFormat, len(seen))
	for col := range seen {
		c, f, undecided := &seen[col], &p.formats[col], error(nil)
		switch {
		case c.areDates() && r.cols.roles[col].at != r.cols.target:
			f.date, undecided = r.o.sniffDate(&c.dates, seen)
		case c.truths > 0 && c.truths == c.cells:
			f.truth = true
		case err == nil:
			f.group, undecided = r.o.sniffGroup(c, p.decimal)
			f.text = c.cells > 0 && c.numbers == 0
		}
		if f.date != noDate {
			r.cols.roles[col].kind = dateRole
		}
		err = cmp.Or(err, undecided)
	}
	return err
}

// sniffDecimal returns the decimal mark of a file.
func (o *TableOptions) sniffDecimal(seen []columnCells, delimiter byte) (byte, error) {
	if o.Decimal != 0 {
		return byte(o.Decimal), nil
	}
	var decimal, either [2]*example
	for i := range seen {
		c := &seen[i]
		if c.areDates() || c.numbers < c.cells {
			continue // dates, or text: no numbers to judge by
		}
		for k := range decimal {
			decimal[k] = cmp.Or(decimal[k], c.marks.decimal[k])
			either[k] = cmp.Or(either[k], c.marks.either[k])
		}
		if g := c.marks.group; g == '.' || g == ',' { // then the other one must be the decimal mark
			k := 1 - pointOrComma(g)
			decimal[k] = cmp.Or(decimal[k], c.marks.groupAt)
		}
	}
	values := []string{".", ","}
	switch point, comma := decimal[0], decimal[1]; {
	case point != nil && comma != nil:
		return '.', formatErrorf("Decimal", values, "%v has a decimal point, but %v a decimal comma", point, comma)
	case point != nil:
		return '.', nil
	case comma != nil:
		return ',', nil
	case either[1] != nil:
		return '.', formatErrorf("Decimal", values, "%v is a number with a decimal comma, or with a comma between thousands", either[1])
	case either[0] != nil && delimiter != ',':
		return '.', formatErrorf("Decimal", values, "%v is a number with a decimal point, or with a point between thousands", either[0])
	}
	return '.', nil
}

// sniffGroup returns what separates the thousands of a column.
func (o *TableOptions) sniffGroup(c *columnCells, decimal byte) (byte, error) {
	if o.Thousands != 0 {
		return byte(o.Thousands), nil
	}
	k := 1 - pointOrComma(decimal)
	switch other := c.marks.either[k]; {
	case c.numbers < c.cells || c.marks.several:
		return 0, nil // the parser names the cell that is wrong
	case c.marks.group != 0:
		return c.marks.group, nil
	case other != nil:
		mark := string(".,"[k])
		return 0, formatErrorf("Thousands", []string{mark}, "%v may have %q between thousands, in a table with the decimal mark %q", other, mark, decimal)
	}
	return 0, nil
}

// sniffDate returns the order of the dates of a column, if need be from those of others.
func (o *TableOptions) sniffDate(s *datesSeen, all []columnCells) (dateOrder, error) {
	switch {
	case s.yearsDiffer:
		return noDate, nil
	case s.first.yearFirst:
		return yearFirst, nil
	case o.Dates != "":
		return dateOrders[o.Dates], nil
	case s.first.mark == '.':
		return dayFirst, nil // nobody writes the month first with points
	}
	order := s.order()
	for i := range all {
		if other := &all[i].dates; order == noDate && all[i].areDates() && other.first.mark == s.first.mark && !other.first.yearFirst {
			order = other.order()
		}
	}
	if order != noDate || s.largest[0] > 12 || s.largest[1] > 12 {
		return order, nil
	}
	if !s.different {
		return dayFirst, nil // all are of the kind 03/03/2024
	}
	return noDate, formatErrorf("Dates", []string{"dmy", "mdy"}, "%v may be a date with the day or with the month first", s.at)
}

// order tells the order of dates with the year last by numbers that are no month.
func (s *datesSeen) order() dateOrder {
	switch {
	case s.largest[0] > 12 && s.largest[1] <= 12:
		return dayFirst
	case s.largest[1] > 12 && s.largest[0] <= 12:
		return monthFirst
	}
	return noDate
}

// assumptions says in words how a file is read, apart from the plain way: UTF-8, commas,
// decimal points.
func (r *reader) assumptions(d *dialect, encoding string, named bool) []string {
	var list []string
	if encoding != "" {
		list = append(list, encoding)
	}
	name, odd := map[byte]string{';': "semicolons", '\t': "tabs", '|': "vertical bars"}[d.delimiter]
	if odd && r.o.Delimiter == 0 {
		list = append(list, name)
	}
	if columns := r.cols.unnamed; columns != nil {
		list = append(list, fmt.Sprintf("without %s, of no name", text.List(columns)))
	}
	if d.quote == '\'' {
		list = append(list, "cells in apostrophes")
	}
	if !named && !r.o.NoHeader {
		list = append(list, "no line with the names of columns")
	}
	if d.decimal == ',' && r.o.Decimal == 0 {
		list = append(list, "decimal commas")
	}
	marks := map[byte]string{',': "commas", '.': "points", ' ': "spaces", '\'': "apostrophes"}
	for _, mark := range []byte{',', '.', ' ', '\''} {
		columns := r.columnsWhere(d, func(f cellFormat) bool { return f.group == mark })
		if columns != nil && r.o.Thousands == 0 {
			list = append(list, fmt.Sprintf("%s between thousands in %s", marks[mark], text.Names(columns)))
		}
	}
	if columns := r.columnsWhere(d, func(f cellFormat) bool { return f.truth }); columns != nil {
		list = append(list, fmt.Sprintf("true and false in %s as 1 and 0", text.Names(columns)))
	}
	words := map[dateOrder]string{yearFirst: "", dayFirst: " (day first)", monthFirst: " (month first)"}
	for _, order := range []dateOrder{yearFirst, dayFirst, monthFirst} {
		if columns := r.columnsWhere(d, func(f cellFormat) bool { return f.date == order }); columns != nil {
			list = append(list, fmt.Sprintf("dates%s in %s as days since 1970-01-01", words[order], text.Names(columns)))
		}
	}
	return list
}

// columnsWhere returns the names of the columns with such a format.
func (r *reader) columnsWhere(d *dialect, has func(cellFormat) bool) []string {
	var names []string
	for col, f := range d.formats {
		if has(f) {
			names = append(names, r.cols.header[col])
		}
	}
	return names
}

// An Assumption is what was assumed about the text of a file, since no option says it and
// it is not the plain default.
type Assumption struct{ File, Text string }

// Assumptions returns what was assumed about the files that the table was read from; nil
// if all were plain: UTF-8 with commas and decimal points, and numbers only. The slice
// aliases the table.
func (t *Table) Assumptions() []Assumption { return slices.Clip(t.assumed) }
