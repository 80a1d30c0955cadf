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
	out.text = block
	for at := 0; at < len(block); {
		if n := blank(block[at:]); n > 0 {
			at += n
			line++
			continue
		}
		end, lines, err := p.record(block, at, line, out)
		if err != nil {
			out.err = err
			return
		}
		out.rows++
		at = end
		line += lines
	}
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

// record parses the record that starts at block[at] and returns where it ends, and
// its number of lines.
func (p *recordParser) record(block []byte, at, line int, out *batch) (end, lines int, err error) {
	x, names := out.begin(line)
	roles := p.cols.roles
	lines = 1
	for col := 0; ; col++ {
		if col < len(roles) && roles[col].kind == numberRole {
			// The common case: a number right up to the delimiter.
			v, n := number.Prefix(block[at:], p.decimal)
			if next := at + n; n > 0 && next < len(block) && (block[next] == p.delimiter || block[next] == '\n') && fits(v) {
				x[roles[col].at] = v
				at = next + 1
				if block[next] == p.delimiter {
					continue
				}
				return at, lines, p.width(line, col+1)
			}
		}
		cell, next, last, err := p.next(block, at, line)
		if err != nil {
			return 0, 0, err
		}
		lines += bytes.Count(block[at:next], newline)
		if col < len(roles) {
			if err := p.take(col, block, cell, line, x, names, out); err != nil {
				return 0, 0, err
			}
		}
		at = min(next+1, len(block))
		if last {
			return at, lines, p.width(line, col+1)
		}
	}
}

var newline = []byte("\n")

// next returns the cell that starts at text[at], where what ends it is, and whether that is the
// end of the record.
func (p *recordParser) next(text []byte, at, line int) (cell span, next int, last bool, err error) {
	cell, next, err = p.cell(text, at, line)
	last = next >= len(text) || text[next] == '\n'
	if err == nil && last && cell.hi == next && cell.hi > cell.lo && text[cell.hi-1] == '\r' {
		cell.hi--
	}
	return cell, min(next, len(text)), last, err
}

func (p *recordParser) width(line, cells int) error {
	if cells != len(p.cols.roles) {
		return fmt.Errorf("line %d has %d cells, but there are %d columns", line, cells, len(p.cols.roles))
	}
	return nil
}

// cell returns the cell that starts at block[at], without its quotes, and where the
// delimiter or the line break after it is.
func (p *recordParser) cell(block []byte, at, line int) (cell span, next int, err error) {
	if at < len(block) && block[at] == p.quote {
		return p.quotedCell(block, at, line)
	}
	next = at
	for next < len(block) && block[next] != p.delimiter && block[next] != '\n' {
		if block[next] == '"' && p.quote == '"' {
			return cell, 0, fmt.Errorf("line %d: there is a quote within a cell that does not start with one", line)
		}
		next++
	}
	return span{at, next}, next, nil
}

// quotedCell is cell for one that starts with a quote. It moves the bytes after a
// doubled quote.
func (p *recordParser) quotedCell(block []byte, at, line int) (cell span, next int, err error) {
	to := at + 1
	for i := at + 1; i < len(block); i++ {
		if block[i] == p.quote {
			if i++; i >= len(block) || block[i] == p.delimiter || block[i] == '\n' {
				return span{at + 1, to}, i, nil
			}
			if block[i] == '\r' && (i+1 == len(block) || block[i+1] == '\n') {
				return span{at + 1, to}, i + 1, nil
			}
			if block[i] != p.quote {
				return cell, 0, fmt.Errorf("line %d: there is text after the quote that ends a cell", line)
			}
		}
		block[to] = block[i]
		to++
	}
	return cell, 0, fmt.Errorf("line %d: a quoted cell does not end: the file may be truncated", line)
}

// take stores a cell according to the role of its column.
func (p *recordParser) take(col int, block []byte, cell span, line int, x []float64, names []span, out *batch) error {
	r := p.cols.roles[col]
	switch r.kind {
	case noRole:
		return nil
	case nameRole:
		names[r.at] = trim(block, cell)
		return nil
	}
	v, err := p.number(col, bytes.TrimSpace(block[cell.lo:cell.hi]), line)
	if math.IsNaN(v) {
		out.missing = true
	}
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
		return 0, p.notNumber(col, cell, complain("%q is not a number%s", text, aboutSign(cell)))
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
	if p.decimal != '.' || f.group != 0 {
		if v, err, ok := parseMarked(cell, p.decimal, f.group); ok {
			return v, err
		}
		if _, ok := marksOf(cell); ok { // with other marks
			return 0, strconv.ErrSyntax
		}
	}
	return number.Parse(cell)
}

// notNumber adds to the error about a cell which option would help.
func (p *recordParser) notNumber(col int, cell []byte, err error) error {
	s, ok := marksOf(cell)
	switch column := p.cols.header[col]; {
	case ok && s.decimal != 0 && s.decimal != p.decimal:
		return &FormatError{"Decimal", []string{string(s.decimal)}, err}
	case ok && s.group != 0:
		return &FormatError{"Thousands", []string{string(s.group)}, err}
	case ok && s.either != 0:
		return &FormatError{"Thousands", []string{string(s.either)}, err}
	case !p.cols.isFeature(col):
		return err
	default:
		return &FormatError{"Categorical", p.textColumns(column), err}
	}
}

// textColumns returns a column that holds text, and all other features that do.
func (p *recordParser) textColumns(column string) []string {
	list := []string{column}
	for i, f := range p.formats {
		if f.text && p.cols.header[i] != column && p.cols.isFeature(i) {
			list = append(list, p.cols.header[i])
		}
	}
	return list
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
		if _, ok := marksOf(bytes.TrimSpace(rest)); ok && before != after {
			return sign
		}
	}
	return ""
}

// aboutSign says that a number has a sign, if it has.
func aboutSign(cell []byte) string {
	if sign := signOf(cell); sign != "" {
		return fmt.Sprintf(" alone, but has a sign: take %q out of the column", sign)
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
			var cell span
			var next int
			if cell, next, last, err = p.next(text, at, line); err != nil {
				return end, err
			}
			cells = append(cells, text[cell.lo:cell.hi])
			at = min(next+1, len(text))
		}
		if err := f(line, cells); err != nil {
			return end, err
		}
		line += max(bytes.Count(text[end:at], newline), 1)
		end = at
		n++
	}
	return end, nil
}
