package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/difalt/difalt/dataset/internal/number"
)

// A recordParser turns blocks of CSV into batches. It may be used by several
// goroutines at once.
type recordParser struct {
	dialect
	cols   *columns
	single bool // numbers must fit in float32
}

// parse fills the batch with the records of a block, which starts at the given line,
// up to the first that is wrong. The batch aliases the block, which it may change.
func (p *recordParser) parse(block []byte, line int, out *batch) {
	out.reset(p.cols)
	_, err := p.each(block, line, 0, func(line int, cells [][]byte) error {
		x, names := out.begin(line)
		for col, cell := range cells[:min(len(cells), len(p.cols.roles))] {
			if err := p.take(col, cell, line, x, names, out); err != nil {
				return err
			}
		}
		if len(cells) != len(p.cols.roles) {
			return fmt.Errorf("line %d has %d cells, but there are %d columns", line, len(cells), len(p.cols.roles))
		}
		out.rows++
		return nil
	})
	out.err = err
}

// blank returns the length of the empty line that b starts with, 0 if it does not.
func blank(b []byte) int {
	switch {
	case b[0] == '\n':
		return 1
	case len(b) > 1 && b[0] == '\r' && b[1] == '\n':
		return 2
	}
	return 0
}

// cell returns the cell that starts at block[at], without its quotes, and where the
// delimiter or the line break after it is.
func (p *recordParser) cell(block []byte, at, line int) (cell []byte, next int, err error) {
	if at < len(block) && block[at] == p.quote {
		return p.quotedCell(block, at, line)
	}
	next = at
	for next < len(block) && block[next] != p.delimiter && block[next] != '\n' {
		if block[next] == '"' && p.quote == '"' {
			return nil, 0, fmt.Errorf("line %d: there is a quote within a cell that does not start with one", line)
		}
		next++
	}
	cell = block[at:next]
	if next == len(block) || block[next] == '\n' {
		cell = bytes.TrimSuffix(cell, []byte("\r"))
	}
	return cell, next, nil
}

// quotedCell is cell for one that starts with a quote. It moves the bytes after a
// doubled quote.
func (p *recordParser) quotedCell(block []byte, at, line int) (cell []byte, next int, err error) {
	to := at + 1
	for i := at + 1; i < len(block); i++ {
		if block[i] == p.quote {
			if i++; i >= len(block) || block[i] == p.delimiter || block[i] == '\n' {
				return block[at+1 : to], i, nil
			}
			if block[i] == '\r' && (i+1 == len(block) || block[i+1] == '\n') {
				return block[at+1 : to], i + 1, nil
			}
			if block[i] != p.quote {
				return nil, 0, fmt.Errorf("line %d: there is text after the quote that ends a cell", line)
			}
		}
		block[to] = block[i]
		to++
	}
	return nil, 0, fmt.Errorf("line %d: a quoted cell does not end: the file may be truncated", line)
}

// take stores a cell according to the role of its column.
func (p *recordParser) take(col int, cell []byte, line int, x []float64, names [][]byte, out *batch) error {
	r := p.cols.roles[col]
	switch r.kind {
	case noRole:
		return nil
	case nameRole:
		names[r.at] = trim(cell)
		return nil
	}
	if v, ok := number.Plain(cell, p.decimal); ok && r.kind == numberRole && fits(v) {
		x[r.at] = v // the common case
		return nil
	}
	v, err := p.number(col, bytes.TrimSpace(cell), line)
	out.missing = out.missing || math.IsNaN(v)
	x[r.at] = v
	return err
}

// number parses a trimmed cell; NaN is a missing value.
func (p *recordParser) number(col int, cell []byte, line int) (float64, error) {
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
	text := clip(string(cell))
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
func (p *recordParser) value(col int, cell []byte) (float64, error) {
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
	return number.Parse(cell)
}

// notNumber adds to the error about a cell which option would help.
func (p *recordParser) notNumber(col int, cell []byte, err error) error {
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
func truth(cell []byte) (v float64, ok bool) {
	switch {
	case bytes.EqualFold(cell, []byte("true")):
		return 1, true
	case bytes.EqualFold(cell, []byte("false")):
		return 0, true
	}
	return 0, false
}

// signOf returns the sign of a currency, or of percent, that stands before or after a number; empty
// if that is not what a cell is.
func signOf(cell []byte) string {
	for _, sign := range []string{"$", "\u20ac", "\u00a3", "\u00a5", "%"} {
		rest, before := bytes.CutPrefix(cell, []byte(sign))
		rest, after := bytes.CutSuffix(rest, []byte(sign))
		if before != after && readingsOf(bytes.TrimSpace(rest)) != 0 {
			return sign
		}
	}
	return ""
}

// each calls f with the cells of every record of a text, at most limit of them unless it
// is 0, and their first line, and returns where the last of them ends. The cells alias the text,
// which is changed.
func (p *recordParser) each(text []byte, line, limit int, f func(line int, cells [][]byte) error) (end int, err error) {
	var cells [][]byte
	for n := 0; end < len(text) && (limit == 0 || n < limit); {
		if k := blank(text[end:]); k > 0 {
			end += k
			line++
			continue
		}
		at := end
		cells = cells[:0]
		for last := false; !last; {
			cell, next, err := p.cell(text, at, line)
			if err != nil {
				return end, err
			}
			last = next >= len(text) || text[next] == '\n'
			cells = append(cells, cell)
			at = min(next+1, len(text))
		}
		if err := f(line, cells); err != nil {
			return end, err
		}
		line += max(bytes.Count(text[end:at], []byte("\n")), 1)
		end = at
		n++
	}
	return end, nil
}
