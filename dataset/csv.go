package dataset

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// ReadCSV reads a table of text, whose first line names the columns unless the
// options say otherwise, and which may be compressed by gzip or zstd. A byte order
// mark, CRLF line ends and quoted cells (RFC 4180) are understood; blank lines are
// skipped. Rows are parsed as they are read, by all processors, and their text is
// not kept. Errors name the line, the column and the value.
func ReadCSV(r io.Reader, o TableOptions) (*Table, error) {
	l, err := newLoader(o)
	if err != nil {
		return nil, err
	}
	in, done, err := decompress(r)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := l.readCSV(in); err != nil {
		return nil, err
	}
	return l.finish()
}

// readCSV adds the rows of a file.
func (l *loader) readCSV(r io.Reader) error {
	delimiter, err := l.o.delimiter()
	if err != nil {
		return err
	}
	s := &splitter{in: r, line: 1}
	first, line, err := s.next(nil)
	if err != nil && err != io.EOF {
		return err
	}
	header, rest, err := readHeader(first, delimiter)
	if err != nil {
		return err
	}
	if l.o.NoHeader {
		for i := range header {
			header[i] = fmt.Sprintf("c%d", i)
		}
		rest = first
	}
	if err := l.open(header, "line"); err != nil {
		return err
	}
	line += bytes.Count(first[:len(first)-len(rest)], []byte("\n"))
	p := &recordParser{cols: l.cols, delimiter: delimiter, single: l.single()}
	if err := l.parseBlocks(s, p, rest, line); err != nil {
		return err
	}
	return l.close()
}

// delimiter returns the byte between cells.
func (o *TableOptions) delimiter() (byte, error) {
	d := o.Delimiter
	switch {
	case d == 0:
		return ',', nil
	case d == '"' || d == '\n' || d == '\r' || d == '.' || d == '-' || d == '+' || d >= '0' && d <= '9' || d >= utf8.RuneSelf:
		return 0, fmt.Errorf("the delimiter is %q: want one character that numbers and quotes do not have, such as a comma, a semicolon or a tab", d)
	}
	return byte(d), nil
}

// readHeader returns the cells of the first record, and what follows it.
func readHeader(first []byte, delimiter byte) (header []string, rest []byte, err error) {
	if len(bytes.TrimSpace(first)) == 0 {
		return nil, nil, errors.New("the table is empty: its first line should name the columns")
	}
	if bytes.HasPrefix(first, []byte("\xff\xfe")) || bytes.HasPrefix(first, []byte("\xfe\xff")) {
		return nil, nil, errors.New("line 1: the text is UTF-16: save it as UTF-8")
	}
	if i := bytes.IndexByte(first[:min(len(first), 1<<10)], 0); i >= 0 {
		return nil, nil, fmt.Errorf("line 1: byte %d is zero: this is not text", i)
	}
	if i := bytes.IndexByte(first, '\r'); i >= 0 && i < len(first)-1 && !bytes.Contains(first, []byte("\n")) {
		return nil, nil, errors.New("line 1: lines end with CR alone: save the table with LF or CRLF")
	}
	c := csv.NewReader(bytes.NewReader(first))
	c.Comma = rune(delimiter)
	header, err = c.Read()
	if err != nil {
		return nil, nil, csvError(err)
	}
	return header, first[c.InputOffset():], nil
}

// csvError rewords the errors of encoding/csv.
func csvError(err error) error {
	var pe *csv.ParseError
	if !errors.As(err, &pe) {
		return err
	}
	if errors.Is(err, csv.ErrQuote) {
		return fmt.Errorf("line %d: a quoted cell does not end: the file may be truncated", pe.StartLine)
	}
	return fmt.Errorf("line %d: %w", pe.StartLine, pe.Err)
}
