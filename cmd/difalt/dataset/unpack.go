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

// maxWindow bounds the window of a zstd decoder.
const maxWindow = 128 << 20

// maxUnpacked returns how many bytes a number of packed bytes may unpack to: a small file must not fill
// the memory.
func maxUnpacked(packed int64) int64 { return max(16<<20, 100*packed) }

// A readFunc is an io.Reader.
type readFunc func(b []byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }

// decompress returns the text of r, compressed or not, as UTF-8 without byte order mark. done frees the
// decoder.
func decompress(r io.Reader) (text io.Reader, done func(), err error) {
	packed, plain := int64(0), int64(0) // bytes
	in := bufio.NewReaderSize(readFunc(func(b []byte) (int, error) {
		n, err := r.Read(b)
		packed += int64(n)
		return n, err
	}), 1<<16)
	head, err := in.Peek(len(magicZstd))
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	text, done = in, func() {}
	var decoder io.Reader
	kind := ""
	switch {
	case bytes.HasPrefix(head, []byte(magicGzip)):
		kind = "gzip"
		decoder, err = gzip.NewReader(in)
	case bytes.HasPrefix(head, []byte(magicZstd)):
		kind = "zstd"
		var z *zstd.Decoder
		z, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		decoder, done = z, z.Close
	}
	if kind != "" {
		if err != nil {
			return nil, nil, unpackError(kind, err)
		}
		text = readFunc(func(b []byte) (int, error) {
			n, err := decoder.Read(b)
			if plain += int64(n); plain > maxUnpacked(packed) {
				return 0, fmt.Errorf("%d bytes of %s unpack to more than %d: unpack the file first if that is right", packed, kind, plain)
			}
			return n, unpackError(kind, err)
		})
	}
	return transform.NewReader(text, unicode.BOMOverride(transform.Nop)), done, nil
}

// unpackError names the cause of an error of a decoder. It returns io.EOF unchanged.
func unpackError(kind string, err error) error {
	switch {
	case err == nil, err == io.EOF:
		return err
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return fmt.Errorf("the zstd data need a window of more than %d bytes: compress the file without --long", maxWindow)
	}
	return fmt.Errorf("the %s data are damaged or truncated: %w", kind, err)
}
