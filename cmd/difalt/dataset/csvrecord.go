package dataset

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A recordParser turns the cells of CSV into numbers and names.
type recordParser struct {
	dialect
	cols   *columns
	single bool // numbers must fit in float32
}

// take puts a cell where the role of its column says.
func (p *recordParser) take(col int, cell string, to *row) error {
	r := p.cols.roles[col]
	switch r.kind {
	case noRole:
		return nil
	case nameRole:
		to.names[r.at] = trim(cell)
		return nil
	}
	v, err := p.number(col, strings.TrimSpace(cell), to.line)
	to.x[r.at] = v
	return err
}

// number parses a trimmed cell; NaN is a missing value.
func (p *recordParser) number(col int, cell string, line int) (float64, error) {
	if isMissing(cell) {
		return math.NaN(), nil
	}
	complain := func(format string, args ...any) error {
		return fmt.Errorf("line %d, column %q: "+format, append([]any{line, p.cols.header[col]}, args...)...)
	}
	v, err := p.value(col, cell)
	why := refusal(v, p.single && p.cols.isFeature(col))
	if err == nil && why == "" {
		return v, nil
	}
	text := clip(cell)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, complain("%s is too large", text)
	case err != nil && p.cols.roles[col].kind == dateRole:
		return 0, complain("%q is not a date like those before", text)
	case err != nil:
		about := ""
		if sign := signOf(cell); sign != "" {
			about = fmt.Sprintf(" alone, but has a sign: take %q out of the column", sign)
		}
		return 0, p.notNumber(col, cell, complain("%q is not a number%s", text, about))
	}
	return 0, complain(why, text)
}

// value returns the number, or the date, that a trimmed cell stands for.
func (p *recordParser) value(col int, cell string) (float64, error) {
	var f cellFormat
	if p.formats != nil {
		f = p.formats[col]
	}
	if f.date != noDate {
		if v, ok := f.date.days(cell); ok {
			return v, nil
		}
		return 0, strconv.ErrSyntax
	}
	if f.truth {
		if v, ok := truth(cell); ok {
			return v, nil
		}
	}
	if n := (notation{p.decimal, f.group}); n != notations[0] {
		if v, err, ok := n.parse(cell); ok {
			return v, err
		}
		if readingsOf(cell) != 0 { // with other marks
			return 0, strconv.ErrSyntax
		}
	}
	return parseNumber(cell)
}

// notNumber adds to the error about a cell which option would help.
func (p *recordParser) notNumber(col int, cell string, err error) error {
	readings := readingsOf(cell)
	switch marks := readings.groups(p.decimal); {
	case readings != 0 && marks == nil: // with the other decimal mark
		return &FormatError{"Decimal", []string{string(".,"[1-pointOrComma(p.decimal)])}, err}
	case readings != 0:
		return &FormatError{"Thousands", []string{string(marks[0])}, err}
	case !p.cols.isFeature(col):
		return err
	}
	list := []string{p.cols.header[col]} // with all other features that hold text
	for i, f := range p.formats {
		if f.text && i != col && p.cols.isFeature(i) {
			list = append(list, p.cols.header[i])
		}
	}
	return &FormatError{"Categorical", list, err}
}

// truth returns 1 for true and 0 for false, in any case.
func truth(cell string) (v float64, ok bool) {
	switch {
	case strings.EqualFold(cell, "true"):
		return 1, true
	case strings.EqualFold(cell, "false"):
		return 0, true
	}
	return 0, false
}

// signOf returns the sign of a currency, or of percent, that stands before or after a number; empty
// if that is not what a cell is.
func signOf(cell string) string {
	for _, sign := range []string{"$", "\u20ac", "\u00a3", "\u00a5", "%"} {
		rest, before := strings.CutPrefix(cell, sign)
		rest, after := strings.CutSuffix(rest, sign)
		if before != after && readingsOf(strings.TrimSpace(rest)) != 0 {
			return sign
		}
	}
	return ""
}
