package dataset

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/place"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/internal/npz"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Stdin is the path that stands for the standard input.
const Stdin = "-"

// NameOf returns the name of a file for a reader.
func NameOf(path string) string {
	if path == Stdin {
		return "the standard input"
	}
	return path
}

// NamesOf returns the names of files for a reader.
func NamesOf(paths []string) (names []string) {
	for _, path := range paths {
		names = append(names, NameOf(path))
	}
	return names
}

// The first bytes of the formats that are distinguished by content.
const (
	magicGzip    = "\x1f\x8b"
	magicZstd    = "\x28\xb5\x2f\xfd"
	magicZip     = "PK\x03\x04"
	magicNPY     = "\x93NUMPY"
	magicParquet = "PAR1"
)

// ReadFiles reads one table from files: each pattern is a path, [Stdin], or a pattern such as "site-*.csv"
// (path/filepath.Match), and the rows of all files follow one another. The content determines the format:
// CSV, plain or compressed by gzip or zstd, Parquet, or an array of NumPy (.npy, N x k, with columns c0, c1,
// ...). All files must have the features of the first. Errors name the file, the line or row, the column and
// the value; a [FormatError] names the option that would help.
func ReadFiles(patterns []string, o TableOptions) (*Table, error) {
	r, err := newReader(o)
	if err != nil {
		return nil, err
	}
	return r.readAll(patterns)
}

// readAll reads the table of the files of the patterns.
func (r *reader) readAll(patterns []string) (*Table, error) {
	if err := r.readEach(patterns); err != nil {
		return nil, err
	}
	t, err := r.table()
	if err != nil {
		return nil, place.NamedAll(NamesOf(patterns), err)
	}
	return t, nil
}

// readEach reads the files of the patterns. A file without rows beside others gets a note.
func (r *reader) readEach(patterns []string) error {
	paths, err := Matching(patterns)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			r.total += info.Size()
		}
	}
	for _, path := range paths {
		before := r.rows
		if err := r.readFile(path); err != nil {
			return place.Named(NameOf(path), err)
		}
		if r.rows == before {
			r.note("no rows after the names of the columns")
		}
	}
	return nil
}

// infoOf returns the identity of a regular file, nil for a stream and for a path without a file.
func infoOf(path string) os.FileInfo {
	info, err := os.Stdin.Stat()
	if path != Stdin {
		info, err = os.Stat(path)
	}
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return info
}

// Matching returns the files of the patterns, in order. A pattern without a match and a file that is named
// twice, under any name, are errors.
func Matching(patterns []string) (paths []string, err error) {
	var infos []os.FileInfo // of the paths; nil where a path may be read twice, or does not exist
	for _, pattern := range patterns {
		list := []string{pattern}
		if _, err := os.Stat(pattern); err != nil && strings.ContainsAny(pattern, "*?[") {
			if list, err = filepath.Glob(pattern); err != nil {
				return nil, fmt.Errorf("%q is not a pattern of file names: %w", pattern, err)
			}
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("no file matches %q", pattern)
		}
		for _, path := range list {
			info := infoOf(path)
			for i, before := range infos {
				switch {
				case paths[i] == path:
					return nil, fmt.Errorf("file %s is named twice", path)
				case info != nil && before != nil && os.SameFile(info, before):
					return nil, fmt.Errorf("%s and %s are the same file", NameOf(paths[i]), NameOf(path))
				}
			}
			paths, infos = append(paths, path), append(infos, info)
		}
	}
	if paths == nil {
		return nil, errors.New("no file is named")
	}
	return paths, nil
}

// Read reads the current file.
func (r *reader) Read(b []byte) (int, error) {
	n, err := r.file.Read(b)
	r.count(n)
	return n, err
}

// ReadAt reads the current file.
func (r *reader) ReadAt(b []byte, at int64) (int, error) {
	n, err := r.file.ReadAt(b, at)
	r.count(n)
	return n, err
}

func (r *reader) count(n int) {
	r.done += int64(n)
	if r.o.Progress != nil {
		r.o.Progress(min(r.done, r.total), r.total)
	}
}

func (r *reader) readFile(path string) (err error) {
	r.path, r.file = NameOf(path), os.Stdin
	if path != Stdin {
		if r.file, err = os.Open(path); err != nil {
			return text.Cause(err)
		}
		defer r.file.Close()
	}
	in := bufio.NewReaderSize(r, 1<<16)
	head, err := in.Peek(len(magicNPY))
	if err != nil && err != io.EOF {
		return text.Cause(err) // also of a folder
	}
	read := r.readParquet
	switch s := string(head); {
	case strings.HasPrefix(s, magicZip):
		return errors.New("it is a zip archive: expected CSV, Parquet or .npy, and spreadsheets saved as CSV")
	case strings.HasPrefix(s, magicNPY):
		read = r.readNPY
	case !strings.HasPrefix(s, magicParquet):
		return text.Cause(r.readCSV(in))
	}
	if info, err := r.file.Stat(); err == nil && info.Mode().IsRegular() {
		return read(r, info.Size())
	}
	all, err := io.ReadAll(in) // of a pipe
	if err != nil {
		return text.Cause(err)
	}
	return read(bytes.NewReader(all), int64(len(all)))
}

// readNPY adds the rows of an array of NumPy, whose columns are c0, c1, ...
func (r *reader) readNPY(f io.ReaderAt, size int64) error {
	a, err := npz.OpenMatrix(f, size)
	if err != nil {
		return err
	}
	if err := r.open(text.Numbered("c", a.Shape[1]), rowUnit, nil); err != nil {
		return err
	}
	err = a.Rows(func(i int, values []float64) error {
		r.at = i + 1
		for col, v := range values {
			if err := r.setNumber(col, v); err != nil {
				return err
			}
		}
		for i, col := range r.keep {
			r.row.Kept[i] = text.Number(values[col])
		}
		return r.add()
	})
	return cmp.Or(err, r.close())
}

// maxWindow bounds the window of a zstd decoder.
const maxWindow = 128 << 20

// maxUnpacked returns how many bytes a number of packed bytes may unpack to: a small file must not fill the
// memory.
func maxUnpacked(packed int64) int64 { return max(16<<20, 100*packed) }

// A readFunc is an io.Reader.
type readFunc func(b []byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }

// decompress returns the text of r, compressed or not, as UTF-8 without byte order mark. done frees the
// decoder.
func decompress(r io.Reader) (out io.Reader, done func(), err error) {
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
	out, done = in, func() {}
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
		out = readFunc(func(b []byte) (int, error) {
			n, err := decoder.Read(b)
			if plain += int64(n); plain > maxUnpacked(packed) {
				return 0, fmt.Errorf("%d bytes of %s unpack to %d: unpack the file first if that is right", packed,
					kind, plain)
			}
			return n, unpackError(kind, err)
		})
	}
	return transform.NewReader(out, unicode.BOMOverride(transform.Nop)), done, nil
}

// tooShort replaces the words of package io for a text that ends too early.
func tooShort(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("they end too early")
	}
	return err
}

// unpackError names the cause of an error of a decoder. It returns io.EOF unchanged.
func unpackError(kind string, err error) error {
	switch {
	case err == nil, err == io.EOF:
		return err
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return fmt.Errorf("the zstd data need a window above %d bytes: compress without --long", maxWindow)
	}
	return fmt.Errorf("the %s data are damaged or truncated: %w", kind, tooShort(err))
}
