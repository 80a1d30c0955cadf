package dataset

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// A dialect says how the text of CSV is written.
type dialect struct {
	delimiter, quote byte
	decimal          byte         // the decimal mark
	formats          []cellFormat // of every column; nil while they are not known
}

// A cellFormat says how the numbers of a column are written.
type cellFormat struct {
	group byte       // between thousands: see notation
	date  dateOrders // the order of a column of dates
	truth bool       // true and false, as 1 and 0
	text  bool       // nothing in it is a number
}

// The delimiters that are looked for.
var delimiters = []byte{',', ';', '\t', '|'}

// sniffRecords is how many records tell the delimiter.
const sniffRecords = 200

// sniffQuote returns what quotes cells: an apostrophe if as many open cells as close them
// in every line that has one, and no cell begins with a quotation mark.
func sniffQuote(text []byte) byte {
	found := false
	for line := range bytes.Lines(text) {
		open, closed := 0, 0
		for i, c := range line {
			start := i == 0 || border(line[i-1])
			switch {
			case c == '"' && start:
				return '"'
			case c != '\'':
			case start:
				open++
			case i+1 == len(line) || border(line[i+1]):
				closed++
			}
		}
		if open != closed {
			return '"'
		}
		found = found || open > 0
	}
	if found {
		return '\''
	}
	return '"'
}

// border reports whether a cell may begin after c, or end before it.
func border(c byte) bool { return c == '\n' || c == '\r' || bytes.IndexByte(delimiters, c) >= 0 }

// endsLine reports whether a text has a line feed that is not within a cell of quotation marks.
func endsLine(text []byte, quote byte) bool {
	within := false
	for _, c := range text {
		if c == '\n' && !within {
			return true
		}
		within = within != (c == '"' && quote == '"')
	}
	return false
}

// checkText refuses what is no text.
func checkText(first []byte, quote byte) error {
	if len(bytes.TrimSpace(first)) == 0 {
		return errors.New("the table is empty: its first line should name the columns")
	}
	if i := bytes.IndexByte(first[:min(len(first), 1<<10)], 0); i >= 0 {
		if i < 4 {
			return fmt.Errorf("line 1: byte %d is zero: this is not text, or UTF-16 without a byte order mark: save it as UTF-8", i)
		}
		return fmt.Errorf("line 1: byte %d is zero: this is not text", i)
	}
	if i := bytes.IndexByte(first, '\r'); i >= 0 && i < len(first)-1 && !endsLine(first, quote) {
		return errors.New("line 1: lines end with CR alone: save the table with LF or CRLF")
	}
	return nil
}

// sniffDialect finds what separates and quotes the cells of a text from its first bytes.
func (o *TableOptions) sniffDialect(sample []byte) (d dialect, err error) {
	d = dialect{delimiter: byte(o.Delimiter), quote: sniffQuote(sample), decimal: '.'}
	if err = checkText(sample, d.quote); err == nil && d.delimiter == 0 {
		d.delimiter, err = sniffDelimiter(sample, d.quote, o.named())
	}
	return d, err
}

// sample returns records of the first bytes of a text: without the last one, which is cut off where there is more.
func (d *dialect) sample(text []byte, most int) (list []record) {
	if len(text) == sampleBytes {
		text = text[:cmp.Or(bytes.LastIndexByte(text, '\n')+1, len(text))]
	}
	for rec, err := range d.records(bytes.NewReader(text)) {
		if err != nil || len(list) == most {
			break // what is wrong the reader of the file says
		}
		list = append(list, record{rec.line, slices.Clone(rec.cells)})
	}
	return list
}

// sniffDelimiter returns what separates the cells of a text, in which names are to be
// the names of columns: what gives all records the same number of cells, and if
// that can be said of several, what gives the first record the names.
func sniffDelimiter(text []byte, quote byte, names []string) (byte, error) {
	var even, named []byte
	for _, mark := range delimiters {
		list := (&dialect{delimiter: mark, quote: quote}).sample(text, sniffRecords)
		if len(list) == 0 || len(list[0].cells) < 2 {
			continue
		}
		header := list[0].cells
		if !slices.ContainsFunc(list, func(rec record) bool { return len(rec.cells) != len(header) }) {
			even = append(even, mark)
		}
		if containsAll(header, names) {
			named = append(named, mark)
		}
	}
	both := slices.DeleteFunc(slices.Clone(even), func(d byte) bool { return bytes.IndexByte(named, d) < 0 })
	for _, found := range [][]byte{both, named, even} {
		if len(found) == 1 {
			return found[0], nil
		}
	}
	if len(both) > 1 {
		var values []string
		for _, d := range both {
			values = append(values, string(d))
		}
		return 0, formatErrorf("Delimiter", values, "line 1: cells may be separated by %q", values)
	}
	return ',', nil
}

// containsAll reports whether a header has all names.
func containsAll(header, names []string) bool {
	for _, name := range names {
		is := func(cell string) bool { return strings.TrimSpace(cell) == name }
		if name != "" && !slices.ContainsFunc(header, is) {
			return false
		}
	}
	return true
}

// sniffHeader returns the names of the columns, and whether the first record holds them.
// It does not if the options say so, or if they ask for columns such as c0 that it lacks.
func (o *TableOptions) sniffHeader(first []string) (header []string, named bool) {
	plain := text.Numbered("c", len(first)) // how a table without a line of names is addressed
	if o.NoHeader {
		return plain, false
	}
	wanted := o.named()
	if containsAll(first, wanted) || !containsAll(plain, wanted) || !slices.ContainsFunc(first, looksLikeNumber) {
		return first, true
	}
	return plain, false
}

func looksLikeNumber(cell string) bool { return readingsOf(cell) != 0 }
