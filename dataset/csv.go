package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"

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
	delimiter, err := byte(r.o.Delimiter), checkText(first, quote)
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
		text := slices.DeleteFunc(slices.Clone(record), looksLikeNumber)
		if named && len(record) > 1 && len(record)-len(text) > len(record)/2 {
			err = &FormatError{Option: "NoHeader", err: fmt.Errorf("%w; the first line looks like a row of numbers", err)}
		}
		return nil, nil, false, err
	}
	p.cols = r.cols
	return p, rest, named, nil
}

// Sizes of the pieces in which text is read and parsed. A record must fit in the
// larger one, which bounds the memory for a quoted cell that never ends.
const (
	blockBytes = 512 << 10
	maxRecord  = 16 << 20
)

// A splitter cuts text into blocks that end where a record ends.
type splitter struct {
	in    io.Reader
	quote byte
	rest  []byte // was read, but not returned
	line  int    // of the first byte of rest
	err   error  // of in
}

// look returns the start of the text, before the first call of next.
func (s *splitter) look() []byte {
	s.rest = s.fill(nil, blockBytes)
	return s.rest
}

// next returns a block, its memory taken from buf if that suffices, and its first
// line. After the last block, the error is io.EOF.
func (s *splitter) next(buf []byte) (block []byte, line int, err error) {
	buf = append(buf[:0], s.rest...)
	line = s.line
	for size := blockBytes; ; size = min(2*size, maxRecord) {
		buf = s.fill(buf, size)
		if s.err != nil {
			s.rest, s.line = nil, line
			if s.err != io.EOF {
				return buf, line, fmt.Errorf("after line %d: %w", line+bytes.Count(buf, []byte("\n"))-1, s.err)
			}
			return buf, line, io.EOF
		}
		end := lastRecord(buf, s.quote)
		if end == 0 && size == maxRecord {
			end = len(buf) // for the parser to complain
		}
		if end > 0 {
			s.rest = append(s.rest[:0], buf[end:]...)
			s.line += bytes.Count(buf[:end], []byte("\n"))
			return buf[:end], line, nil
		}
	}
}

// fill reads until buf has the given length, or the text ends.
func (s *splitter) fill(buf []byte, size int) []byte {
	if cap(buf) < size {
		buf = append(make([]byte, 0, size), buf...)
	}
	for len(buf) < size && s.err == nil {
		var n int
		n, s.err = s.in.Read(buf[len(buf):size])
		buf = buf[:len(buf)+n]
	}
	return buf
}

// lastRecord returns where the last complete record ends, 0 if none does. Line
// breaks within quotes, of which an odd number lies before them, end no record.
func lastRecord(b []byte, quote byte) int {
	if bytes.IndexByte(b, quote) < 0 {
		return bytes.LastIndexByte(b, '\n') + 1
	}
	end, within := 0, false
	for at := 0; at < len(b); {
		n := bytes.IndexByte(b[at:], '\n') + 1
		if n == 0 {
			break
		}
		if bytes.Count(b[at:at+n], []byte{quote})%2 == 1 {
			within = !within
		}
		at += n
		if !within {
			end = at
		}
	}
	return end
}

// A job is a block on its way through a parser.
type job struct {
	block []byte
	line  int
	batch batch
	err   error // of reading, after the block
	done  chan struct{}
}

// records adds the records of first and of all blocks that follow it. Blocks are parsed in
// parallel and added in their order.
func (l *builder) records(p *recordParser, s *splitter, first []byte, line int, undecided error) error {
	if undecided != nil {
		return undecided
	}
	free := make(chan *job, min(runtime.GOMAXPROCS(0), 16)+2)
	for range cap(free) {
		free <- &job{}
	}
	order, stop := make(chan *job, cap(free)), make(chan struct{})
	var running sync.WaitGroup
	defer running.Wait()
	defer close(stop)
	running.Go(func() {
		defer close(order)
		for err := error(nil); err == nil; {
			var j *job
			select {
			case <-stop:
				return
			case j = <-free:
			}
			if first != nil {
				j.block, j.line = append(j.block[:0], first...), line
				first = nil
			} else {
				j.block, j.line, err = s.next(j.block)
			}
			j.err, j.done = err, make(chan struct{})
			order <- j
			running.Go(func() {
				defer close(j.done)
				p.parse(j.block, j.line, &j.batch)
			})
		}
	})
	for j := range order {
		<-j.done
		err := l.add(&j.batch)
		if err == nil && j.err != nil && !errors.Is(j.err, io.EOF) {
			err = j.err
		}
		if err != nil {
			return err
		}
		free <- j
	}
	return nil
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
