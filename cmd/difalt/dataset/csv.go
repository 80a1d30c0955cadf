package dataset

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// ReadCSV reads a table of text, whose first line names the columns unless the
// options say otherwise, and which may be compressed by gzip or zstd. A byte order
// mark, UTF-16, CRLF line ends and quoted cells (RFC 4180) are understood; blank lines
// are skipped. How cells, decimals, thousands and dates are written is found from the
// first half megabyte, unless the options say it, and [Table.Assumptions] tells; what
// can be read in two ways is a [FormatError]. Rows are parsed as they are read, and their
// text is not kept. Errors name the line, the column and the value.
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

// sampleBytes is how much of a text tells how it is written.
const sampleBytes = 512 << 10

func (r *reader) readCSV(in io.Reader, encoding string) error {
	text := bufio.NewReaderSize(in, sampleBytes)
	sample, err := text.Peek(sampleBytes)
	if err != nil && err != io.EOF {
		return fmt.Errorf("after line %d: %w", bytes.Count(sample, []byte("\n")), err)
	}
	sample = bytes.Clone(sample) // before more is read to its place
	d, err := r.o.sniffDialect(sample)
	if err != nil {
		return err
	}
	p := &recordParser{dialect: d, single: r.single()}
	for rec, err := range d.records(text) {
		if err != nil {
			return cmp.Or(r.to.parsed(p), err) // the first line that is wrong
		}
		if p.cols == nil {
			named, err := r.openCSV(p, rec, sample, encoding)
			if err != nil {
				return err
			}
			if named {
				continue
			}
		}
		if err := r.to.cells(p, rec); err != nil {
			return err
		}
	}
	if err := r.to.parsed(p); err != nil {
		return err
	}
	return r.to.close()
}

// openCSV finds the columns of a file from its first record, and how they are written from a sample of its text. It
// reports whether that record names the columns.
func (r *reader) openCSV(p *recordParser, first record, sample []byte, encoding string) (named bool, err error) {
	header, named := r.o.sniffHeader(first.cells)
	if err := r.open(header, "line"); err != nil {
		text := slices.DeleteFunc(slices.Clone(first.cells), looksLikeNumber)
		if n := len(first.cells); named && n > 1 && n-len(text) > n/2 {
			err = &FormatError{Option: "NoHeader", err: fmt.Errorf("%w; the first line looks like a row of numbers", err)}
		}
		return false, err
	}
	p.cols = r.cols
	undecided := r.sniffColumns(p, sample, named)
	if list := r.assumptions(&p.dialect, encoding, named); list != nil {
		r.to.assume(Assumption{r.path, strings.Join(list, ", ")})
	}
	return named, r.to.undecided(undecided)
}

// A record is the cells of one, without their quotes, and its first line. The slice is used again for the next one.
type record struct {
	line  int
	cells []string
}

// records are those of a text, up to the first that is none.
func (d *dialect) records(text io.Reader) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		if d.quote == '\'' {
			text = swapped{text}
		}
		own := &bounded{in: text}
		in := csv.NewReader(own)
		in.Comma, in.FieldsPerRecord, in.ReuseRecord = rune(d.delimiter), -1, true
		for line := 0; ; {
			cells, err := in.Read()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(record{}, recordError(err, line))
				return
			}
			line, _ = in.FieldPos(0)
			if d.quote == '\'' {
				for i, c := range cells {
					cells[i] = swapQuotes.Replace(c)
				}
			}
			if own.n = 0; !yield(record{line, cells}, nil) {
				return
			}
		}
	}
}

// recordError says what is wrong with the record after the one in a line.
func recordError(err error, line int) error {
	var wrong *csv.ParseError
	switch {
	case errors.Is(err, errEndless):
		return fmt.Errorf("line %d, or one after it: %w", line+1, err)
	case !errors.As(err, &wrong):
		return fmt.Errorf("after line %d: %w", line, err)
	case wrong.Err == csv.ErrBareQuote:
		return fmt.Errorf("line %d: there is a quote within a cell that does not start with one", wrong.StartLine)
	}
	return fmt.Errorf("line %d: a quoted cell does not end, or has text after the quote that ends it: the file may be truncated", wrong.StartLine)
}

// swapped is a text in which quotation marks and apostrophes have changed places.
type swapped struct{ in io.Reader }

var swapQuotes = strings.NewReplacer(`"`, "'", "'", `"`)

func (s swapped) Read(b []byte) (int, error) {
	n, err := s.in.Read(b)
	copy(b, swapQuotes.Replace(string(b[:n])))
	return n, err
}

// A bounded text has records of at most maxRecord bytes: that bounds the memory for a quoted cell that never ends.
type bounded struct {
	in io.Reader
	n  int // bytes since the last record
}

const maxRecord = 16 << 20

var errEndless = fmt.Errorf("a quoted cell does not end in %d MB", maxRecord>>20)

func (r *bounded) Read(b []byte) (int, error) {
	if r.n > maxRecord {
		return 0, errEndless
	}
	n, err := r.in.Read(b)
	r.n += n
	return n, err
}

// The first bytes of the formats that are told apart by content.
const (
	magicGzip    = "\x1f\x8b"
	magicZstd    = "\x28\xb5\x2f\xfd"
	magicZip     = "PK\x03\x04"
	magicNPY     = "\x93NUMPY"
	magicParquet = "PAR1"
)

// Text may unpack to so many bytes, or to so many times what was read: tables of any
// use compress less, and a small file must not fill the memory. maxWindow bounds
// what a zstd decoder keeps.
const (
	maxPlain  = 16 << 20
	maxFactor = 100
	maxWindow = 128 << 20
)

// decompress returns the text that r holds, compressed or not, as UTF-8 without byte
// order mark, and the name of its encoding if that was another one. done frees what the
// decoder holds.
func decompress(r io.Reader) (text io.Reader, encoding string, done func(), err error) {
	raw := &counter{in: r}
	in := bufio.NewReaderSize(raw, 1<<16)
	head, err := in.Peek(4)
	if err != nil && err != io.EOF {
		return nil, "", nil, err
	}
	done = func() {}
	switch {
	case bytes.HasPrefix(head, []byte(magicGzip)):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, "", nil, unpackError("gzip", err)
		}
		in = bufio.NewReaderSize(&unpacker{in: z, raw: raw, kind: "gzip"}, 1<<16)
	case bytes.HasPrefix(head, []byte(magicZstd)):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, "", nil, unpackError("zstd", err)
		}
		done = z.Close
		in = bufio.NewReaderSize(&unpacker{in: z, raw: raw, kind: "zstd"}, 1<<16)
	}
	switch b, _ := in.Peek(4); {
	case bytes.HasPrefix(b, []byte("\ufeff")):
		_, _ = in.Discard(3)
	case bytes.HasPrefix(b, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(b, []byte("\x00\x00\xfe\xff")):
		return nil, "", done, errors.New("line 1: the text is UTF-32: save it as UTF-8")
	case bytes.HasPrefix(b, []byte("\xff\xfe")), bytes.HasPrefix(b, []byte("\xfe\xff")):
		decoder := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder()
		return transform.NewReader(in, decoder), "UTF-16", done, nil
	}
	return in, "", done, nil
}

// A counter counts the bytes that are read through it, and tells how many there are so far, unless tell is nil.
type counter struct {
	in   io.Reader
	n    int64
	tell func(n int64)
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	if c.n += int64(n); c.tell != nil {
		c.tell(c.n)
	}
	return n, err
}

// An unpacker names the errors of a decoder and bounds what it makes of its input.
type unpacker struct {
	in   io.Reader
	raw  *counter
	kind string
	n    int64
}

func (u *unpacker) Read(b []byte) (int, error) {
	n, err := u.in.Read(b)
	u.n += int64(n)
	if u.n > max(maxPlain, maxFactor*u.raw.n) {
		return 0, fmt.Errorf("%d bytes of %s unpack to more than %d: unpack the file first if that is right", u.raw.n, u.kind, u.n)
	}
	if err != nil && err != io.EOF {
		err = unpackError(u.kind, err)
	}
	return n, err
}

func unpackError(kind string, err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("the %s data end too early: the file may be truncated", kind)
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return fmt.Errorf("the %s data need a window of more than %d bytes: compress the file without --long", kind, maxWindow)
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, zstd.ErrCRCMismatch):
		return fmt.Errorf("the %s data are damaged: their checksum is wrong", kind)
	}
	return fmt.Errorf("the %s data are damaged: %w", kind, err)
}
