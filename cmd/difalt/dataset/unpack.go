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

// The first bytes of the formats that are distinguished by content.
const (
	magicGzip    = "\x1f\x8b"
	magicZstd    = "\x28\xb5\x2f\xfd"
	magicZip     = "PK\x03\x04"
	magicNPY     = "\x93NUMPY"
	magicParquet = "PAR1"
)

// Text may unpack to maxPlain bytes, or to maxFactor times what was read: a small file must
// not fill the memory. maxWindow bounds the window of a zstd decoder.
const (
	maxPlain  = 16 << 20
	maxFactor = 100
	maxWindow = 128 << 20
)

// decompress returns the text of r, compressed or not, as UTF-8 without byte order mark,
// and the name of its encoding if that was another one. done frees the decoder.
func decompress(r io.Reader) (text io.Reader, encoding string, done func(), err error) {
	u := &unpacker{packed: r}
	in := bufio.NewReaderSize(countReader{u}, 1<<16)
	head, err := in.Peek(4)
	if err != nil && err != io.EOF {
		return nil, "", nil, err
	}
	done = func() {}
	switch {
	case bytes.HasPrefix(head, []byte(magicGzip)):
		u.kind = "gzip"
		u.plain, err = gzip.NewReader(in)
	case bytes.HasPrefix(head, []byte(magicZstd)):
		u.kind = "zstd"
		var z *zstd.Decoder
		if z, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow)); err == nil {
			u.plain, done = z, z.Close
		}
	default:
		err = nil
	}
	if err != nil {
		return nil, "", nil, u.error(err)
	}
	if u.plain != nil {
		in = bufio.NewReaderSize(u, 1<<16)
	}
	switch b, _ := in.Peek(4); {
	case bytes.HasPrefix(b, []byte("\ufeff")):
		_, _ = in.Discard(3)
	case bytes.HasPrefix(b, []byte("\xff\xfe")), bytes.HasPrefix(b, []byte("\xfe\xff")):
		decoder := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder()
		return transform.NewReader(in, decoder), "UTF-16", done, nil
	}
	return in, "", done, nil
}

// An unpacker reads what a decoder unpacks, names its errors, and bounds its output.
type unpacker struct {
	packed io.Reader
	plain  io.Reader // the decoder
	kind   string
	read   int64 // packed bytes
	n      int64 // plain bytes
}

// countReader reads the packed bytes of an unpacker.
type countReader struct{ *unpacker }

func (c countReader) Read(b []byte) (int, error) {
	n, err := c.packed.Read(b)
	c.read += int64(n)
	return n, err
}

func (u *unpacker) Read(b []byte) (int, error) {
	n, err := u.plain.Read(b)
	u.n += int64(n)
	if u.n > max(maxPlain, maxFactor*u.read) {
		return 0, fmt.Errorf("%d bytes of %s unpack to more than %d: unpack the file first if that is right", u.read, u.kind, u.n)
	}
	if err != nil && err != io.EOF {
		err = u.error(err)
	}
	return n, err
}

func (u *unpacker) error(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("the %s data end too early: the file may be truncated", u.kind)
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return fmt.Errorf("the zstd data need a window of more than %d bytes: compress the file without --long", maxWindow)
	}
	return fmt.Errorf("the %s data are damaged: %w", u.kind, err)
}
