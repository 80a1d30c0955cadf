package dataset

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/place"
)

// separatorLine returns the delimiter that a first line such as "sep=;" of a spreadsheet names, in quotes or
// not, and the bytes of that line; 0 without one.
func separatorLine(sample []byte) (delimiter rune, bytes int) {
	line, _, found := strings.Cut(string(sample[:min(len(sample), len("\"sep=;\"\r\n"))]), "\n")
	mark, is := strings.CutPrefix(strings.Trim(line, "\r\""), "sep=")
	if !found || !is || len(mark) != 1 || !strings.Contains(delimiters, mark) {
		return 0, 0
	}
	return rune(mark[0]), len(line) + 1
}

// delimiters are the marks between cells that are recognised.
const delimiters = ",;\t|"

// findDelimiter returns the delimiter that splits the first line of a text into cells with all names of
// the options, or else into the most cells.
func (o *TableOptions) findDelimiter(sample []byte) rune {
	named, best, most := o.named(), ',', 1
	for _, mark := range delimiters {
		cells, _ := newRecords(bytes.NewReader(sample), mark).next() // none after an error
		if len(cells) > 1 && haveAll(cells, named) {
			return mark
		}
		if len(cells) > most {
			best, most = mark, len(cells)
		}
	}
	return best
}

// named returns the columns that the options name.
func (o *TableOptions) named() []string {
	list := slices.Concat([]string{o.Task, o.Target, o.Weight, o.Holdout}, o.Features, o.Categorical, o.Drop, o.Keep)
	if o.Schema != nil {
		list = append(list, o.Schema.Columns...)
	}
	return slices.DeleteFunc(list, func(name string) bool { return name == "" })
}

// haveAll reports whether the cells of a record contain all names.
func haveAll(cells, names []string) bool {
	known := make(map[string]bool, len(cells))
	for _, cell := range cells {
		known[strings.TrimSpace(cell)] = true
	}
	return !slices.ContainsFunc(names, func(name string) bool { return !known[name] })
}

// titleLines is the largest number of lines of a title that underTitle finds.
const titleLines = 20

// underTitle returns an error about a text whose columns have their names in a later line than the first one;
// nil where the options name no column, and where no line has all names.
func (o *TableOptions) underTitle(sample []byte) error {
	named := o.named()
	if named == nil {
		return nil
	}
	for line := 1; line <= titleLines && len(sample) > 0; line++ {
		for _, mark := range delimiters {
			list := newRecords(bytes.NewReader(sample), mark)
			cells, _ := list.next() // none after an error
			if !haveAll(cells, named) {
				continue
			}
			line += list.line - 1 // after blank lines
			if line == 1 {
				return nil
			}
			return onLine(line, " names the columns, but is not the first line: delete the lines above it")
		}
		_, sample, _ = bytes.Cut(sample, []byte("\n"))
	}
	return nil
}

// records reads the records of CSV. Each has at most maxRecord bytes, which bounds the memory for a line
// or a quoted cell without end.
type records struct {
	in    *csv.Reader
	text  *io.LimitedReader
	above int // lines before the text
	line  int // of the last record

	queue []record // read ahead
	err   error    // of reading ahead, after the queue
}

// A record is the cells of a row, and its first line.
type record struct {
	cells []string
	line  int
}

const (
	maxRecord = 16 << 20 // 16 MB
	maxAhead  = 4 << 20  // bytes of cells that are read ahead
)

func newRecords(text io.Reader, delimiter rune) *records {
	r := &records{text: &io.LimitedReader{R: text}}
	r.in = csv.NewReader(r.text)
	r.in.Comma, r.in.FieldsPerRecord, r.in.ReuseRecord = delimiter, -1, true
	return r
}

// ahead reads records, which next will return, until there is enough, or maxAhead bytes.
func (r *records) ahead(enough func(cells []string) bool) {
	for size := 0; size < maxAhead && r.err == nil; {
		var cells []string
		if cells, r.err = r.read(); r.err != nil {
			return
		}
		r.queue = append(r.queue, record{slices.Clone(cells), r.line})
		for _, c := range cells {
			size += len(c) + 16
		}
		if enough(cells) {
			return
		}
	}
}

// next returns the cells of the next record, or io.EOF. They are overwritten by the next call.
func (r *records) next() ([]string, error) {
	if len(r.queue) > 0 {
		first := r.queue[0]
		r.queue[0], r.queue = record{}, r.queue[1:]
		r.line = first.line
		return first.cells, nil
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.read()
}

// read reads a record.
func (r *records) read() ([]string, error) {
	r.text.N = maxRecord
	cells, err := r.in.Read()
	var wrong *csv.ParseError
	switch {
	case r.text.N == 0:
		return nil, onLine(r.line+1, ", or one after it: a line or a quoted cell does not end within 16 MB")
	case err == nil:
		r.line, _ = r.in.FieldPos(0)
		r.line += r.above
		return cells, nil
	case err == io.EOF:
		return nil, err
	case errors.As(err, &wrong) && wrong.Err == csv.ErrBareQuote:
		return nil, onLine(wrong.StartLine+r.above, ": there is a quote within a cell that does not start with one")
	case errors.As(err, &wrong):
		return nil, onLine(wrong.StartLine+r.above, ": a quoted cell does not end, or has text after the quote")
	}
	if r.line == 0 {
		return nil, err
	}
	return nil, fmt.Errorf("after line %d: %w", r.line, err)
}

// onLine returns an error about a line, with the sentence after its number.
func onLine(line int, sentence string) error {
	return place.OnLine(line, fmt.Errorf("line %d%s", line, sentence))
}
