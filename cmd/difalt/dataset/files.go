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
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/npz"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// Stdin is the path that stands for the standard input.
const Stdin = "-"

// ReadFiles reads one table from files: each pattern is a path, [Stdin], or a pattern such
// as "site-*.csv" (path/filepath.Match), and the rows of all files follow one another. The
// content determines the format: CSV, plain or compressed by gzip or zstd, Parquet, or an
// array of NumPy (.npy, N x k, with columns c0, c1, ...). All files must have the features
// of the first. Errors name the file, the line or row, the column and the value; a
// [FormatError] names the option that would help.
func ReadFiles(patterns []string, o TableOptions) (*Table, error) {
	r, err := newReader(o)
	if err != nil {
		return nil, err
	}
	paths, err := matching(patterns)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			r.total += info.Size()
		}
	}
	for _, path := range paths {
		if err := r.readFile(path); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	t, err := r.table()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text.List(patterns), err)
	}
	return t, nil
}

// matching returns the files of the patterns, in order. A pattern without a match and a
// file that is named twice are errors.
func matching(patterns []string) (paths []string, err error) {
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
			if slices.Contains(paths, path) {
				return nil, fmt.Errorf("file %s is named twice", path)
			}
			paths = append(paths, path)
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
	if r.done += int64(n); r.o.Progress != nil {
		r.o.Progress(min(r.done, r.total), r.total)
	}
}

func (r *reader) readFile(path string) (err error) {
	r.path, r.file = path, os.Stdin
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
		return errors.New("it is a zip archive: expected CSV, Parquet or .npy; problem files end in .npz, and spreadsheets have to be saved as CSV")
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
	if err := r.open(text.Numbered("c", a.Shape[1]), "row"); err != nil {
		return err
	}
	err = a.Rows(func(i int, values []float64) error {
		r.at = i + 1
		for col, v := range values {
			if err := r.setNumber(col, v); err != nil {
				return err
			}
		}
		return r.add()
	})
	return cmp.Or(err, r.close())
}
