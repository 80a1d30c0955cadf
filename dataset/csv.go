package dataset

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// ReadCSV reads a table of text, whose first line names the columns unless the
// options say otherwise, and which may be compressed by gzip or zstd. A byte order
// mark, UTF-16, CRLF line ends and quoted cells (RFC 4180) are understood; blank lines
// are skipped. How cells, decimals, thousands and dates are written is found from the
// first half megabyte, unless the options say it, and [Table.Assumptions] tells; what
// can be read in two ways is a [FormatError]. Rows are parsed as they are read, by all
// processors, and their text is not kept. Errors name the line, the column and the
// value.
func ReadCSV(r io.Reader, o TableOptions) (*Table, error) {
	b, err := newBuilder(o)
	if err != nil {
		return nil, err
	}
	in, encoding, done, err := decompress(r)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := (&reader{o: &o, to: b}).readCSV(in, encoding); err != nil {
		return nil, err
	}
	return b.table()
}

// readCSV adds the rows of a file.
func (r *reader) readCSV(in io.Reader, encoding string) error {
	s := &splitter{in: in, line: 1}
	s.quote = sniffQuote(s.look())
	first, line, err := s.next(nil)
	if err != nil && err != io.EOF {
		return err
	}
	p, rest, named, err := r.openCSV(first, s.quote)
	if err != nil {
		return err
	}
	line += bytes.Count(first[:len(first)-len(rest)], []byte("\n"))
	undecided := r.sniffColumns(p, bytes.Clone(rest), line)
	if list := r.assumptions(&p.dialect, encoding, named); list != nil {
		r.to.assume(Assumption{r.path, strings.Join(list, ", ")})
	}
	if err := r.to.records(p, s, rest, line, undecided); err != nil {
		return err
	}
	return r.to.close()
}

// openCSV finds the columns of a file from its first block, and returns the parser of its
// records, those of the block, and whether a line names the columns.
func (r *reader) openCSV(first []byte, quote byte) (p *recordParser, rest []byte, named bool, err error) {
	delimiter, err := r.o.checkDelimiter()
	if err == nil {
		err = checkText(first)
	}
	if err == nil && delimiter == 0 {
		delimiter, err = sniffDelimiter(bytes.Clone(first), quote, r.o.named())
	}
	if err != nil {
		return nil, nil, false, err
	}
	p = &recordParser{dialect: dialect{delimiter: delimiter, quote: quote, decimal: '.'}, single: r.single()}
	var record []string
	end, err := p.each(bytes.Clone(first), 1, 1, func(_ int, cells [][]byte) error {
		for _, c := range cells {
			record = append(record, string(c))
		}
		return nil
	})
	if err != nil {
		return nil, nil, false, err
	}
	rest = first
	header, named := r.o.sniffHeader(record)
	if named {
		rest = first[end:]
	}
	if err := r.open(header, "line"); err != nil {
		if named && len(record) > 1 && countNumbers(record) > len(record)/2 {
			err = &FormatError{Option: "NoHeader", err: fmt.Errorf("%w; the first line looks like a row of numbers", err)}
		}
		return nil, nil, false, err
	}
	p.cols = r.cols
	return p, rest, named, nil
}

func countNumbers(cells []string) (n int) {
	for _, c := range cells {
		if looksLikeNumber(c) {
			n++
		}
	}
	return n
}
