package dataset

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/difalt/difalt/internal/text"
)

// An evidence is what the first rows say about how the numbers of a column are written.
type evidence struct {
	cells  int // that are not missing
	shapes int // of them that are numbers in some way of writing
	dates  int // that are dates
	truths int // that are true or false
	// Examples, of which there may be none.
	point, comma  *example // whose decimal mark is certain
	either        [2]*example
	group         byte // a mark between thousands that is certain
	groupPlace    *example
	mixed         bool // there are several such marks
	first         date // the first date, and
	largest       [2]int
	unequal, same bool // there are dates with and without the year first
	date          *example
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

// add takes a trimmed cell into account that is not missing.
func (e *evidence) add(cell []byte, line int, column string) {
	e.cells++
	here := func() *example { return &example{line, column, clip(string(cell))} }
	if s, ok := shapeOf(cell); ok {
		e.shapes++
		note := func(p **example) {
			if *p == nil {
				*p = here()
			}
		}
		switch s.decimal {
		case '.':
			note(&e.point)
		case ',':
			note(&e.comma)
		}
		switch s.either {
		case '.':
			note(&e.either[0])
		case ',':
			note(&e.either[1])
		}
		if s.group != 0 {
			e.mixed = e.mixed || e.group != 0 && e.group != s.group
			e.group = s.group
			note(&e.groupPlace)
		}
	}
	if _, ok := truth(cell); ok {
		e.truths++
	}
	if d, ok := splitDate(cell); ok {
		if e.dates == 0 {
			e.first, e.date = d, here()
		}
		e.dates++
		e.unequal = e.unequal || d.yearFirst != e.first.yearFirst
		e.largest[0], e.largest[1] = max(e.largest[0], d.part[0]), max(e.largest[1], d.part[1])
		e.same = e.same || d.part[0] != d.part[1]
	}
}

// sniffColumns finds how the cells of numbers are written, from the records at the start of a
// file, after the one with the names. An error about one column leaves those of the others.
func (r *reader) sniffColumns(p *recordParser, block []byte, line int) (err error) {
	found := make([]evidence, len(r.cols.header))
	broken := p.each(block, line, 0, func(line int, cells [][]byte) error {
		for col, cell := range cells[:min(len(cells), len(found))] {
			if r.cols.roles[col].kind != numberRole {
				continue
			}
			if cell = bytes.TrimSpace(cell); !isMissing(cell) {
				found[col].add(cell, line, r.cols.header[col])
			}
		}
		return nil
	})
	if broken != nil {
		return nil // the parser says it better
	}
	p.decimal, err = r.o.sniffDecimal(found, p.delimiter)
	p.formats = make([]cellFormat, len(found))
	for col := range found {
		e, f, problem := &found[col], &p.formats[col], error(nil)
		switch {
		case e.dates > 0 && e.dates == e.cells && r.cols.roles[col].at != r.cols.target:
			f.date, problem = r.o.sniffDate(e, found)
		case e.truths > 0 && e.truths == e.cells:
			f.truth = true
		case err == nil:
			f.group, problem = r.o.sniffGroup(e, p.decimal)
			f.text = e.cells > 0 && e.shapes == 0
		}
		if f.date != noDate {
			r.cols.roles[col].kind = dateRole
		}
		if err == nil {
			err = problem
		}
	}
	return err
}

// sniffDecimal returns the decimal mark of a file.
func (o *TableOptions) sniffDecimal(found []evidence, delimiter byte) (byte, error) {
	if o.Decimal != 0 {
		return byte(o.Decimal), nil
	}
	var point, comma *example
	var either [2]*example
	first := func(a, b *example) *example {
		if a == nil {
			return b
		}
		return a
	}
	for i := range found {
		e := &found[i]
		if e.dates > 0 && e.dates == e.cells || e.shapes < e.cells {
			continue // dates, or text: no numbers to judge by
		}
		point, comma = first(point, e.point), first(comma, e.comma)
		if e.group == '.' { // then the comma must be the decimal mark
			comma = first(comma, e.groupPlace)
		}
		if e.group == ',' {
			point = first(point, e.groupPlace)
		}
		for k := range either {
			either[k] = first(either[k], e.either[k])
		}
	}
	values := []string{".", ","}
	switch {
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
func (o *TableOptions) sniffGroup(e *evidence, decimal byte) (byte, error) {
	if o.Thousands != 0 {
		return byte(o.Thousands), nil
	}
	other := e.either[0]
	if decimal == '.' {
		other = e.either[1]
	}
	switch {
	case e.shapes < e.cells || e.mixed:
		return 0, nil // the parser names the cell that is wrong
	case e.group != 0:
		return e.group, nil
	case other != nil:
		mark := ","
		if decimal == ',' {
			mark = "."
		}
		return 0, formatErrorf("Thousands", []string{mark}, "%v may have %q between thousands, in a table with the decimal mark %q", other, mark, decimal)
	}
	return 0, nil
}

// sniffDate returns the order of the dates of a column, if need be from those of others.
func (o *TableOptions) sniffDate(e *evidence, all []evidence) (dateOrder, error) {
	if e.unequal {
		return noDate, nil
	}
	if e.first.yearFirst {
		return yearFirst, nil
	}
	if o.Dates != "" {
		return dateOrders[o.Dates], nil
	}
	if e.first.mark == '.' {
		return dayFirst, nil // nobody writes the month first with points
	}
	order := e.order()
	for i := range all {
		if other := &all[i]; order == noDate && other.dates > 0 && other.dates == other.cells && other.first.mark == e.first.mark && !other.first.yearFirst {
			order = other.order()
		}
	}
	if order == noDate && e.largest[0] <= 12 && e.largest[1] <= 12 {
		if !e.same {
			return dayFirst, nil // all are of the kind 03/03/2024
		}
		return noDate, formatErrorf("Dates", []string{"dmy", "mdy"}, "%v may be a date with the day or with the month first", e.date)
	}
	return order, nil
}

// order tells the order of dates with the year last by numbers that are no month.
func (e *evidence) order() dateOrder {
	switch {
	case e.largest[0] > 12 && e.largest[1] <= 12:
		return dayFirst
	case e.largest[1] > 12 && e.largest[0] <= 12:
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
			list = append(list, fmt.Sprintf("%s between thousands in %s", marks[mark], quotedList(columns)))
		}
	}
	if columns := r.columnsWhere(d, func(f cellFormat) bool { return f.truth }); columns != nil {
		list = append(list, fmt.Sprintf("true and false in %s as 1 and 0", quotedList(columns)))
	}
	words := map[dateOrder]string{yearFirst: "", dayFirst: " (day first)", monthFirst: " (month first)"}
	for _, order := range []dateOrder{yearFirst, dayFirst, monthFirst} {
		if columns := r.columnsWhere(d, func(f cellFormat) bool { return f.date == order }); columns != nil {
			list = append(list, fmt.Sprintf("dates%s in %s as days since 1970-01-01", words[order], quotedList(columns)))
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
