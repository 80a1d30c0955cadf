package dataset

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// ReadCSV reads a table from CSV (RFC 4180), plain or compressed by gzip or zstd, in UTF-8
// or, with a byte order mark, UTF-16. Its first line names the columns.
// Lines end with LF or CRLF; blank ones are skipped. See [ReadFiles] for errors.
func ReadCSV(r io.Reader, o TableOptions) (*Table, error) {
	b, err := newBuilder(o)
	if err != nil {
		return nil, err
	}
	if err := (&reader{builder: b}).readCSV(r); err != nil {
		return nil, err
	}
	return b.table()
}

// sampleBytes bounds the part of a text that is examined before it is read.
const sampleBytes = 512 << 10

func (r *reader) readCSV(packed io.Reader) error {
	in, encoding, done, err := decompress(packed)
	if err != nil {
		return err
	}
	defer done()
	plain := bufio.NewReaderSize(in, sampleBytes)
	sample, err := plain.Peek(sampleBytes)
	if err != nil && err != io.EOF {
		return fmt.Errorf("after line %d: %w", bytes.Count(sample, []byte("\n")), err)
	}
	if len(bytes.TrimSpace(sample)) == 0 {
		return errors.New("the table is empty: its first line should name the columns")
	}
	if i := bytes.IndexByte(sample, 0); i >= 0 {
		return fmt.Errorf("line %d: byte %d of the text is zero: this is not text, or UTF-16 without a byte order mark: save it as UTF-8",
			1+bytes.Count(sample[:i], []byte("\n")), i)
	}
	delimiter := byte(r.o.Delimiter)
	if delimiter == 0 {
		delimiter = r.o.findDelimiter(sample)
	}
	list := newRecords(plain, delimiter)
	_, header, err := list.next()
	if err != nil {
		return err
	}
	if err := r.openCSV(header); err != nil {
		return err
	}
	p := &parser{o: &r.o, cols: r.cols, decimal: byte(cmp.Or(r.o.Decimal, '.'))}
	for {
		line, cells, err := list.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if err := p.row(&r.row, line, cells); err != nil {
			return err
		}
		if err := r.add(); err != nil {
			return err
		}
	}
	r.noteCSV(delimiter, encoding)
	return r.close()
}

// openCSV finds the columns of a file from its first record.
func (r *reader) openCSV(header []string) error {
	err := r.open(header, "line")
	if err == nil {
		return nil
	}
	numbers := 0
	for _, cell := range header {
		if _, wrong := parseNumber(strings.TrimSpace(cell)); wrong == nil {
			numbers++
		}
	}
	switch first := header[0]; {
	case loneCR(1, header) != nil:
		return loneCR(1, header)
	case strings.HasPrefix(first, "#") || strings.HasPrefix(first, "sep=") || strings.HasPrefix(first, "<"):
		return fmt.Errorf("%w; the first line seems to be a comment, or HTML: expected the names of the columns", err)
	case len(header) > 1 && numbers > len(header)/2:
		return fmt.Errorf("%w; the first line seems to be a row of numbers: expected the names of the columns", err)
	}
	return err
}

// noteCSV records what differs from plain CSV.
func (r *reader) noteCSV(delimiter byte, encoding string) {
	var list []string
	if encoding != "" {
		list = append(list, encoding)
	}
	if name := map[byte]string{';': "semicolons", '\t': "tabs", '|': "vertical bars"}[delimiter]; name != "" && r.o.Delimiter == 0 {
		list = append(list, name)
	}
	if unnamed := r.cols.unnamed; unnamed != nil {
		list = append(list, fmt.Sprintf("without %s, of no name", text.List(unnamed)))
	}
	if list != nil {
		r.note("%s", strings.Join(list, ", "))
	}
}

// findDelimiter returns the delimiter that splits the first line of a text into cells with
// all names of the options, or else into the most cells.
func (o *TableOptions) findDelimiter(sample []byte) byte {
	best, most := byte(','), 1
	for _, mark := range []byte(",;\t|") {
		_, cells, err := newRecords(bytes.NewReader(sample), mark).next()
		if err == nil && len(cells) > 1 && containsAll(cells, o.named()) {
			return mark
		}
		if len(cells) > most {
			best, most = mark, len(cells)
		}
	}
	return best
}

// containsAll reports whether a header has all names that are not empty.
func containsAll(header, names []string) bool {
	have := map[string]bool{"": true}
	for _, cell := range header {
		have[strings.TrimSpace(cell)] = true
	}
	for _, name := range names {
		if !have[name] {
			return false
		}
	}
	return true
}

// records reads the records of CSV. Each has at most maxRecord bytes, which bounds the
// memory for a line or a quoted cell without end.
type records struct {
	in   *csv.Reader
	text io.Reader
	line int // of the last record
	n    int // bytes read since then
}

const maxRecord = 16 << 20

var errEndless = fmt.Errorf("a line or a quoted cell does not end within %d MB", maxRecord>>20)

func newRecords(text io.Reader, delimiter byte) *records {
	r := &records{text: text}
	r.in = csv.NewReader(r)
	r.in.Comma, r.in.FieldsPerRecord, r.in.ReuseRecord = rune(delimiter), -1, true
	return r
}

// Read reads text for the csv.Reader.
func (r *records) Read(b []byte) (int, error) {
	if r.n > maxRecord {
		return 0, errEndless
	}
	n, err := r.text.Read(b)
	r.n += n
	return n, err
}

// next returns the line and the cells of the next record, or io.EOF. The slice of cells is
// overwritten by the next call.
func (r *records) next() (line int, cells []string, err error) {
	cells, err = r.in.Read()
	var wrong *csv.ParseError
	switch {
	case err == io.EOF:
		return 0, nil, err
	case errors.Is(err, errEndless):
		return 0, nil, fmt.Errorf("line %d, or one after it: %w", r.line+1, err)
	case errors.As(err, &wrong) && wrong.Err == csv.ErrBareQuote:
		return 0, nil, fmt.Errorf("line %d: there is a quote within a cell that does not start with one", wrong.StartLine)
	case errors.As(err, &wrong):
		return 0, nil, fmt.Errorf("line %d: a quoted cell does not end, or has text after the quote that ends it: is the file truncated?",
			wrong.StartLine)
	case err != nil:
		return 0, nil, fmt.Errorf("after line %d: %w", r.line, err)
	}
	r.line, _ = r.in.FieldPos(0)
	r.n = 0
	return r.line, cells, nil
}
