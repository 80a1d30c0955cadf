package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A parser turns the records of a CSV file into rows.
type parser struct {
	o       *TableOptions
	cols    *columns
	decimal byte
	first   int // line of the first record
}

// row parses a record into to.
func (p *parser) row(to *row, line int, cells []string) error {
	p.first = cmp.Or(p.first, line)
	if len(cells) != len(p.cols.roles) {
		return cmp.Or(loneCR(line, cells), fmt.Errorf("line %d has %d cells, but there are %d columns", line, len(cells), len(p.cols.roles)))
	}
	to.begin(p.cols, line)
	for col, cell := range cells {
		cell = strings.TrimSpace(cell)
		switch r := p.cols.roles[col]; {
		case r.kind == nameRole:
			to.names[r.at] = cell
		case r.kind == noRole:
		case isMissing(cell):
			to.x[r.at] = math.NaN()
		default:
			v, err := p.value(col, cell)
			if err != nil {
				return p.explain(col, line, cells, err)
			}
			to.x[r.at] = v
		}
	}
	return nil
}

// value returns the number of a trimmed cell; strconv.ErrSyntax if it has none.
func (p *parser) value(col int, cell string) (float64, error) {
	v, err := withDecimal(cell, p.decimal)
	if err == nil {
		if why := refusal(v); why != "" {
			return 0, fmt.Errorf(why, clip(cell))
		}
		return v, nil
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is too large", clip(cell))
	case strings.EqualFold(cell, "true"):
		return 1, nil
	case strings.EqualFold(cell, "false"):
		return 0, nil
	}
	if p.o.Dates != "" && p.cols.isFeature(col) {
		if v, ok := days(cell, p.o.Dates); ok {
			return v, nil
		}
	}
	return 0, strconv.ErrSyntax
}

// explain adds to an error of value the line, the column, the cause, and an option that
// helps.
func (p *parser) explain(col, line int, cells []string, err error) error {
	name, cell := p.cols.header[col], strings.TrimSpace(cells[col])
	errorf := func(format string, args ...any) error {
		return fmt.Errorf("line %d, column %q: "+format, append([]any{line, clip(name)}, args...)...)
	}
	if err != strconv.ErrSyntax {
		return errorf("%w", err)
	}
	if err := loneCR(line, cells); err != nil {
		return err
	}
	if cell == name {
		return errorf("the cell repeats the name of the column: is this a second header line, of another file that was appended?")
	}
	wrong, numbers := p.textCells(cells)
	why, option, values := advice(cell, p.decimal)
	switch {
	case option == "Dates" && p.cols.isFeature(col), option == "Decimal":
		return &FormatError{option, values, errorf("%s", why)}
	case option != "" || why != "":
		return errorf("%s", why)
	case line == p.first && numbers == len(wrong) && numbers > 1:
		return errorf("%q is not a number, nor are the cells of the others of %d columns of numbers: is this a second header line, of units?",
			clip(cell), numbers)
	}
	err = errorf("%q is not a number", clip(cell))
	if !p.cols.isFeature(col) {
		return err
	}
	for _, i := range wrong {
		if p.cols.isFeature(i) {
			values = append(values, p.cols.header[i])
		}
	}
	return &FormatError{"Categorical", values, err}
}

// textCells returns the columns of numbers whose cells in a record are not numbers, and
// how many cells there should be numbers: missing ones don't count.
func (p *parser) textCells(cells []string) (wrong []int, numbers int) {
	for col, cell := range cells {
		if cell = strings.TrimSpace(cell); p.cols.roles[col].kind == numberRole && !isMissing(cell) {
			numbers++
			if _, err := p.value(col, cell); err == strconv.ErrSyntax {
				wrong = append(wrong, col)
			}
		}
	}
	return wrong, numbers
}

// loneCR refuses a record with a CR that does not end its line.
func loneCR(line int, cells []string) error {
	for _, cell := range cells {
		if i := strings.IndexByte(cell, '\r'); i >= 0 && i < len(cell)-1 {
			return fmt.Errorf("line %d contains a CR that no LF follows: save the table with LF or CRLF alone", line)
		}
	}
	return nil
}
