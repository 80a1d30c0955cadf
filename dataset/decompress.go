package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

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

// A counter counts the bytes that are read through it.
type counter struct {
	in io.Reader
	n  int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	c.n += int64(n)
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
