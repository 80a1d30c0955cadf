package dataset

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// readCSV reads CSV (RFC 4180), plain or compressed by gzip or zstd, in UTF-8 or, with a byte order mark,
// UTF-16. Its first line names the columns. Lines end with LF or CRLF; blank ones are skipped.
func (r *reader) readCSV(packed io.Reader) error {
	in, done, err := decompress(packed)
	if err != nil {
		return err
	}
	defer done()
	plain := bufio.NewReaderSize(in, 512<<10)
	sample, _ := plain.Peek(plain.Size()) // an error comes again
	if err := checkText(sample); err != nil {
		return err
	}
	delimiter, above := separatorLine(sample)
	_, _ = plain.Discard(above)
	if above == 0 {
		delimiter = r.o.findDelimiter(sample)
	}
	list := newRecords(plain, delimiter)
	if above > 0 {
		list.above = 1
	}
	header, err := list.next()
	switch err {
	case nil:
		header = slices.Clone(header)
		var kinds []kind
		if r.t == nil && r.o.Schema == nil {
			kinds = r.kindsOf(list, len(header))
		}
		r.delimiter = delimiter
		if err = r.open(header, lineUnit, kinds); err != nil {
			err = cmp.Or(loneCR(1, header), r.o.underTitle(sample), err)
		}
		if err == nil && len(r.keep) > 0 && r.o.Dates != "" {
			r.findDates(list)
		}
	case io.EOF:
		return errors.New("the table is empty: its first line should name the columns")
	}
	before := r.rows
	for err == nil {
		var cells []string
		if cells, err = list.next(); err == nil {
			r.at = list.line
			err = r.addCells(cells)
		}
	}
	if err != io.EOF {
		return err
	}
	if r.rows == before { // a file whose lines end with CR is one line
		if err := loneCR(1, header); err != nil {
			return err
		}
	}
	return r.close()
}

// addCells adds the row of a record.
func (r *reader) addCells(cells []string) (err error) {
	if len(cells) != len(r.slots) {
		if len(cells) == 1 && strings.TrimSpace(cells[0]) == "" {
			return nil // a blank line
		}
		return r.raggedRow(cells)
	}
	empty := true
	for col, cell := range cells {
		cell = strings.TrimSpace(cell)
		empty = empty && cell == ""
		switch slot := r.slots[col]; {
		case slot == noSlot:
		case r.holdsNames(slot):
			if err := r.setName(slot, cell); err != nil {
				return err
			}
		case r.isMissing(cell):
			r.x[slot] = math.NaN()
		default:
			var f form
			if r.x[slot], f, err = r.parse(col, cell); err != nil {
				return r.explain(col, cells, err)
			}
			if r.marks.numbers != nil && slices.Contains(r.marks.numbers, r.x[slot]) {
				r.x[slot] = math.NaN()
			}
			if slot >= featureSlot || slot == targetSlot {
				if !math.IsNaN(r.x[slot]) && !r.notations[slot].join(f) {
					return r.otherForm(col, cell)
				}
				if r.each == nil { // for the remarks about a table
					r.notations[slot].see(cell, cmp.Or(r.o.Decimal, '.'))
				}
			}
		}
	}
	if empty && r.each == nil { // spreadsheets write such rows at the end
		r.t.empty++
		return nil
	}
	for i, col := range r.keep {
		r.row.Kept[i] = cells[col]
	}
	return r.add()
}

// raggedRow describes a record whose cells do not match the columns.
func (r *reader) raggedRow(cells []string) error {
	if err := loneCR(r.at, cells); err != nil {
		return err
	}
	hint := ""
	switch {
	case len(cells) == len(r.slots)+1 && len(r.slots) > 1:
		hint = ": is the first one a row name without a header, or the last one empty? Delete it, or give it a " +
			"column name"
	case r.rows == 0, r.at <= titleLines && len(cells) > len(r.slots)+1:
		hint = ": is there a title above the names of the columns? Delete it"
	}
	return r.here(" has %s, but the header has %s%s", text.Plural(len(cells), "cell"),
		text.Plural(len(r.slots), "column"), hint)
}

// parse returns the number of a trimmed cell and its form; strconv.ErrSyntax if it has none.
func (r *reader) parse(col int, cell string) (float64, form, error) {
	v, err := parseNumber(cell, cmp.Or(r.o.Decimal, '.'))
	switch {
	case (err == nil || isRange(err)) && refused(v):
		return 0, amount, fmt.Errorf("%.60s "+tooLarge, cell)
	case err == nil && (v == 0 || v == 1):
		return v + 0, zeroOne, nil // -0 becomes 0
	case err == nil:
		return v, amount, nil
	}
	if v, isTruth := truthOf(cell); isTruth {
		return v, truth, nil
	}
	if r.o.Dates != "" && r.isNumber(col) {
		if v, clock, ok := timeIn(cell, r.o.Dates); ok {
			r.notations[r.slots[col]].seeTime(cell, clock)
			return v, date, nil
		}
	}
	return 0, unwritten, strconv.ErrSyntax
}

// otherForm describes a cell whose form does not fit the column.
func (r *reader) otherForm(col int, cell string) error {
	err := r.here(", column %.60q: %.60q is not %s, as other cells of the column are", r.header[col], cell,
		r.notations[r.slots[col]].form)
	if !r.isNumber(col) {
		return err
	}
	return &FormatError{Option: "Categorical", Values: []string{r.header[col]}, NA: cell, err: err}
}

// isInferred reports whether a column is categorical for its text.
func isInferred(l *levels) bool { return l != nil && l.inferred }

// isRange reports whether an error of strconv is about a number that float64 cannot hold.
func isRange(err error) bool { return errors.Is(err, strconv.ErrRange) }

// explain adds to an error of parse the line, the column, the cause, and an option that helps.
func (r *reader) explain(col int, cells []string, err error) error {
	name, cell := r.header[col], strings.TrimSpace(cells[col])
	errorf := func(format string, args ...any) error {
		return r.here(", column %.60q: "+format, append([]any{name}, args...)...)
	}
	if err != strconv.ErrSyntax {
		return errorf("%w", err)
	}
	if err := loneCR(r.at, cells); err != nil {
		return err
	}
	// How many features and targets are numbers, and the features with text.
	numbers, wrong := 0, []string(nil)
	for i, c := range cells {
		c = strings.TrimSpace(c)
		if slot := r.slots[i]; slot == noSlot || r.holdsNames(slot) || r.isMissing(c) {
			continue
		}
		if _, _, err := r.parse(i, c); err == nil {
			numbers++
		} else if r.isNumber(i) {
			wrong = append(wrong, r.header[i])
		}
	}
	why, option, values := r.o.advice(cell)
	switch {
	case option == "Dates" && r.isNumber(col), option == "Decimal":
		return formatErrorf(option, values, "%w", errorf("%s", why))
	case option == "Dates":
		return errorf("%.60q is a date: only features may be dates", cell)
	case option == "Plain" && wrong != nil && strings.HasPrefix(cell, "'"): // all cells of the row may be so
		return errorf("%s", why)
	case cell == name || numbers == 0 && (len(wrong) > 1 || r.t.Rows()+r.t.dropped == 0 && r.each == nil &&
		slices.ContainsFunc(r.levels, isInferred)):
		return errorf("%.60q is not a number: is this a second header line, of units or another file?", cell)
	case r.slots[col] == markSlot:
		return errorf("%.60q is not a mark of held-out rows: expected 1 or 0, TRUE or FALSE", cell)
	case why == "":
		why = fmt.Sprintf("%.60q is not a number", cell)
	}
	if !r.isNumber(col) {
		return errorf("%s", why)
	}
	help := &FormatError{Option: "Categorical", Values: wrong, NA: cell, err: errorf("%s", why)}
	if option == "Plain" { // a number in a notation that must go
		return help.err
	}
	return help
}

// loneCR refuses a record with a CR that does not end its line.
func loneCR(line int, cells []string) error {
	for _, cell := range cells {
		if i := strings.IndexByte(cell, '\r'); i >= 0 && i < len(cell)-1 {
			return onLine(line, " contains a CR that no LF follows: save the table with LF or CRLF alone")
		}
	}
	return nil
}
