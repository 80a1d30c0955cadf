package dataset

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// columnCells is what the first cells of a column look like.
type columnCells struct {
	column   string
	cells    int      // that are not missing
	numbers  int      // of them that are numbers in some notation
	truths   int      // of them that are true or false
	readings readings // of all these numbers
	// The first cells that need a decimal point, or a comma, and those with a point, or a comma, that may be the decimal
	// mark or stand between thousands; nil if there is none.
	needs, either [2]*example
	dates         datesSeen
}

// datesSeen is what cells that are dates have in common.
type datesSeen struct {
	count     int
	orders    dateOrders // of all of them
	mark      byte       // of the first one
	at        *example   // the first one
	different bool       // the first two numbers are not always the same
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
func (c *columnCells) add(cell string, line int) {
	c.cells++
	note := func(at **example) { // unless there is one
		if *at == nil {
			*at = &example{line, c.column, clip(cell)}
		}
	}
	if r := readingsOf(cell); r != 0 {
		c.numbers++
		c.readings &= r
		switch {
		case r&commaReadings == 0:
			note(&c.needs[0])
		case r&pointReadings == 0:
			note(&c.needs[1])
		case strings.ContainsAny(cell, ".,"):
			note(&c.either[pointOrComma(cell[strings.IndexAny(cell, ".,")])])
		}
	}
	if _, ok := truth(cell); ok {
		c.truths++
	}
	if d, ok := splitDate(cell); ok {
		s := &c.dates
		if s.count++; s.count == 1 {
			s.orders, s.mark = d.orders, d.mark
		}
		note(&s.at)
		s.orders &= d.orders
		s.different = s.different || d.part[0] != d.part[1]
	}
}

func pointOrComma(mark byte) int {
	if mark == ',' {
		return 1
	}
	return 0
}

// sniffColumns finds how the cells of numbers are written, from the first bytes of a file, whose first record may be the
// names. An error about one column leaves those of the others.
func (r *reader) sniffColumns(p *recordParser, sample []byte, named bool) (err error) {
	seen := make([]columnCells, len(r.cols.header))
	for col := range seen {
		seen[col].column, seen[col].readings = r.cols.header[col], allReadings
	}
	for i, rec := range p.sample(sample, math.MaxInt) {
		for col, cell := range rec.cells[:min(len(rec.cells), len(seen))] {
			if i == 0 && named || r.cols.roles[col].kind != numberRole {
				continue
			}
			if cell = strings.TrimSpace(cell); !isMissing(cell) {
				seen[col].add(cell, rec.line)
			}
		}
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
	var needs, either [2]*example
	for i := range seen {
		c := &seen[i]
		if c.areDates() || c.numbers < c.cells {
			continue // dates, or text: no numbers to judge by
		}
		for k := range needs {
			needs[k], either[k] = cmp.Or(needs[k], c.needs[k]), cmp.Or(either[k], c.either[k])
		}
	}
	values := []string{".", ","}
	switch point, comma := needs[0], needs[1]; {
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
	groups := c.readings.groups(decimal)
	if c.numbers < c.cells || len(groups) != 1 {
		return 0, nil // several: no mark is needed; none: the parser names the cell that is wrong
	}
	other := 1 - pointOrComma(decimal)
	if slices.Contains(c.readings.groups(".,"[other]), 0) { // as decimal marks they make numbers, too
		mark := string(groups)
		return 0, formatErrorf("Thousands", []string{mark}, "%v may have %q between thousands, in a table with the decimal mark %q", c.either[other], mark, decimal)
	}
	return groups[0], nil
}

// sniffDate returns the order of the dates of a column, if need be from those of others.
func (o *TableOptions) sniffDate(s *datesSeen, all []columnCells) (dateOrders, error) {
	const both = dayFirst | monthFirst
	order := s.orders
	switch {
	case order == yearFirst || order == noDate:
		return order, nil
	case o.Dates != "":
		return orderNames[o.Dates], nil
	case s.mark == '.':
		return dayFirst, nil // nobody writes the month first with points
	}
	for i := range all {
		if other := &all[i].dates; order == both && all[i].areDates() && other.mark == s.mark && other.orders&^both == 0 && other.orders != noDate {
			order = other.orders
		}
	}
	switch {
	case order != both:
		return order, nil
	case !s.different:
		return dayFirst, nil // all are of the kind 03/03/2024
	}
	return noDate, formatErrorf("Dates", []string{"dmy", "mdy"}, "%v may be a date with the day or with the month first", s.at)
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
	grouped := func(mark byte) func(f cellFormat) bool {
		return func(f cellFormat) bool { return f.group == mark && r.o.Thousands == 0 }
	}
	dated := func(order dateOrders) func(f cellFormat) bool {
		return func(f cellFormat) bool { return f.date == order }
	}
	for _, a := range []struct {
		text string
		has  func(f cellFormat) bool
	}{
		{"commas between thousands in %s", grouped(',')},
		{"points between thousands in %s", grouped('.')},
		{"spaces between thousands in %s", grouped(' ')},
		{"apostrophes between thousands in %s", grouped('\'')},
		{"true and false in %s as 1 and 0", func(f cellFormat) bool { return f.truth }},
		{"dates in %s as days since 1970-01-01", dated(yearFirst)},
		{"dates (day first) in %s as days since 1970-01-01", dated(dayFirst)},
		{"dates (month first) in %s as days since 1970-01-01", dated(monthFirst)},
	} {
		var columns []string
		for col, f := range d.formats {
			if a.has(f) {
				columns = append(columns, r.cols.header[col])
			}
		}
		if columns != nil {
			list = append(list, fmt.Sprintf(a.text, text.Names(columns)))
		}
	}
	return list
}

// An Assumption is what was assumed about the text of a file, since no option says it and
// it is not the plain default.
type Assumption struct{ File, Text string }

// Assumptions returns what was assumed about the files that the table was read from; nil
// if all were plain: UTF-8 with commas and decimal points, and numbers only. The slice
// aliases the table.
func (t *Table) Assumptions() []Assumption { return slices.Clip(t.assumed) }
