package dataset

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ReadCSV reads a table from CSV (RFC 4180), plain or compressed by gzip or zstd, in UTF-8 or, with a byte
// order mark, UTF-16. Its first line names the columns. Lines end with LF or CRLF; blank ones are skipped.
// See [ReadFiles] for errors.
func ReadCSV(in io.Reader, o TableOptions) (*Table, error) {
	r, err := newReader(o)
	if err != nil {
		return nil, err
	}
	if err := r.readCSV(in); err != nil {
		return nil, err
	}
	return r.table()
}

func (r *reader) readCSV(packed io.Reader) error {
	in, done, err := decompress(packed)
	if err != nil {
		return err
	}
	defer done()
	plain := bufio.NewReaderSize(in, 512<<10)
	sample, _ := plain.Peek(plain.Size()) // an error comes again
	list := newRecords(plain, r.o.findDelimiter(sample))
	header, err := list.next()
	switch err {
	case nil:
		if err = r.open(header, "line"); err != nil {
			err = cmp.Or(loneCR(1, header), err)
		}
	case io.EOF:
		return errors.New("the table is empty: its first line should name the columns")
	}
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
	return r.close()
}

// addCells adds the row of a record.
func (r *reader) addCells(cells []string) (err error) {
	if len(cells) != len(r.slots) {
		err = fmt.Errorf("line %d has %d cells, but there are %d columns", r.at, len(cells), len(r.slots))
		return cmp.Or(loneCR(r.at, cells), err)
	}
	for col, cell := range cells {
		cell = strings.TrimSpace(cell)
		switch slot := r.slots[col]; {
		case slot == noSlot:
		case r.holdsNames(slot):
			if err := r.setName(slot, cell); err != nil {
				return err
			}
		case isMissing(cell):
			r.x[slot] = math.NaN()
		default:
			if r.x[slot], err = r.parse(col, cell); err != nil {
				return r.explain(col, cells, err)
			}
		}
	}
	return r.add()
}

// parse returns the number of a trimmed cell; strconv.ErrSyntax if it has none.
func (r *reader) parse(col int, cell string) (float64, error) {
	v, err := parseNumber(cell, cmp.Or(r.o.Decimal, '.'))
	switch {
	case (err == nil || errors.Is(err, strconv.ErrRange)) && refused(v):
		return 0, fmt.Errorf("%.60s "+tooLarge, cell)
	case err == nil:
		return v, nil
	case strings.EqualFold(cell, "true"):
		return 1, nil
	case strings.EqualFold(cell, "false"):
		return 0, nil
	}
	if r.o.Dates != "" && r.isNumber(col) {
		if v, ok := days(cell, r.o.Dates); ok {
			return v, nil
		}
	}
	return 0, strconv.ErrSyntax
}

// explain adds to an error of parse the line, the column, the cause, and an option that helps.
func (r *reader) explain(col int, cells []string, err error) error {
	name, cell := r.header[col], strings.TrimSpace(cells[col])
	errorf := func(format string, args ...any) error {
		return fmt.Errorf("line %d, column %.60q: "+format, append([]any{r.at, name}, args...)...)
	}
	if err != strconv.ErrSyntax {
		return errorf("%w", err)
	}
	if err := loneCR(r.at, cells); err != nil {
		return err
	}
	numbers, wrong := 0, []string(nil) // count of numbers, with that of the target, and features with text
	for i, c := range cells {
		c = strings.TrimSpace(c)
		if slot := r.slots[i]; slot == noSlot || r.holdsNames(slot) || isMissing(c) {
			continue
		}
		if _, err := r.parse(i, c); err == nil {
			numbers++
		} else if r.isNumber(i) {
			wrong = append(wrong, r.header[i])
		}
	}
	why, option, values := advice(cell, cmp.Or(r.o.Decimal, '.'))
	switch {
	case option == "Dates" && r.isNumber(col), option == "Decimal":
		return &FormatError{option, values, errorf("%s", why)}
	case why != "":
		return errorf("%s", why)
	case cell == name || numbers == 0 && len(wrong) > 1:
		return errorf("%.60q is not a number: is this a second header line, of units or another file?", cell)
	case r.isNumber(col):
		return &FormatError{"Categorical", wrong, errorf("%.60q is not a number", cell)}
	}
	return errorf("%.60q is not a number", cell)
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

// findDelimiter returns the delimiter that splits the first line of a text into cells with all names of
// the options, or else into the most cells.
func (o *TableOptions) findDelimiter(sample []byte) rune {
	named := slices.Concat([]string{o.Task, o.Target, o.Weight, o.Holdout}, o.Categorical, o.Drop)
	best, most := ',', 1
	for _, mark := range ",;\t|" {
		cells, _ := newRecords(bytes.NewReader(sample), mark).next() // none after an error
		absent := func(name string) bool {
			is := func(cell string) bool { return strings.TrimSpace(cell) == name }
			return name != "" && !slices.ContainsFunc(cells, is)
		}
		if len(cells) > 1 && !slices.ContainsFunc(named, absent) {
			return mark
		}
		if len(cells) > most {
			best, most = mark, len(cells)
		}
	}
	return best
}

// records reads the records of CSV. Each has at most maxRecord bytes, which bounds the memory for a line
// or a quoted cell without end.
type records struct {
	in   *csv.Reader
	text *io.LimitedReader
	line int // of the last record
}

const maxRecord = 16 << 20 // 16 MB

func newRecords(text io.Reader, delimiter rune) *records {
	r := &records{text: &io.LimitedReader{R: text}}
	r.in = csv.NewReader(r.text)
	r.in.Comma, r.in.FieldsPerRecord, r.in.ReuseRecord = delimiter, -1, true
	return r
}

// next returns the cells of the next record, or io.EOF. They are overwritten by the next call.
func (r *records) next() ([]string, error) {
	r.text.N = maxRecord
	cells, err := r.in.Read()
	var wrong *csv.ParseError
	switch {
	case r.text.N == 0:
		return nil, fmt.Errorf("line %d, or one after it: a line or a quoted cell does not end within 16 MB", r.line+1)
	case err == nil:
		r.line, _ = r.in.FieldPos(0)
		return cells, nil
	case err == io.EOF:
		return nil, err
	case errors.As(err, &wrong) && wrong.Err == csv.ErrBareQuote:
		return nil, fmt.Errorf("line %d: there is a quote within a cell that does not start with one", wrong.StartLine)
	case errors.As(err, &wrong):
		return nil, fmt.Errorf("line %d: a quoted cell does not end, or has text after the quote", wrong.StartLine)
	}
	return nil, fmt.Errorf("after line %d: %w", r.line, err)
}

// parseNumber parses a number in decimal notation with the given decimal mark. It refuses hexadecimal numbers
// and underscores, which are literals of programs.
func parseNumber(cell string, mark rune) (float64, error) {
	if mark == ',' {
		if strings.IndexByte(cell, '.') >= 0 {
			return 0, strconv.ErrSyntax
		}
		cell = strings.Replace(cell, ",", ".", 1)
	}
	if strings.ContainsAny(cell, "xX_") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(cell, 64)
}

// layouts are the forms of dates by order, with hyphens, and clocks those of times that may follow a T.
var (
	layouts = map[string]string{"ymd": "2006-1-2", "dmy": "2-1-2006", "mdy": "1-2-2006"}
	clocks  = []string{"", "T15:04:05Z07:00", "T15:04:05", "T15:04Z07:00", "T15:04"}
	hyphens = strings.NewReplacer("/", "-", ".", "-", " ", "T")
)

// days returns the days since 1970-01-01 of a date in the given order, with hyphens, slashes or points,
// perhaps followed by T or a space and a time, in UTC if it has no zone.
func days(cell, order string) (days float64, ok bool) {
	date := min(len("31.12.2024 "), len(cell)) // a point after it is that of a fraction of a second
	cell = hyphens.Replace(cell[:date]) + cell[date:]
	for _, clock := range clocks {
		if t, err := time.Parse(layouts[order]+clock, cell); err == nil {
			return float64(t.Unix())/86400 + float64(t.Nanosecond())/86400e9, true
		}
	}
	return 0, false
}

// foreign takes out marks between thousands, and signs of currencies and per cent. U+2212 is a minus sign.
var foreign = strings.NewReplacer("\u2212", "-", ",", "", ".", "", "'", "", "\u2019", "",
	" ", "", "\u00a0", "", "\u202f", "", "$", "", "\u20ac", "", "\u00a3", "", "%", "")

// advice returns the reason why a cell is not a number with the given decimal mark, if it
// is known, and an option that helps, with its values.
func advice(cell string, decimal rune) (why, option string, values []string) {
	other := '.' + ',' - decimal
	shown := fmt.Sprintf("%.60q", cell)
	for _, order := range []string{"ymd", "dmy", "mdy"} {
		if _, ok := days(cell, order); ok {
			values = append(values, order)
		}
	}
	isNumber := func(s string, mark rune) bool { _, err := parseNumber(s, mark); return err == nil }
	switch {
	case values != nil:
		return shown + " is a date: its order must be given", "Dates", values
	case isNumber(cell, other):
		why = fmt.Sprintf("%s has %q as decimal mark, in place of %q, or between thousands", shown, other, decimal)
		return why, "Decimal", []string{string(other)}
	case isNumber(foreign.Replace(cell), '.'):
		return shown + " is not a number alone: spaces, signs, marks between thousands and U+2212 for - must go", "", nil
	}
	return "", "", nil
}
