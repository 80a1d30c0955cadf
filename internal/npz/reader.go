// Package npz reads and writes the .npz files of NumPy: zip archives of arrays in the NPY format, version 1.
// Reading is strict and its memory bounded by the size of the file: a header is believed only when it agrees
// with the archive.
package npz

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// A Reader is an open .npz file. Only one from Open has a Closer.
type Reader struct {
	io.Closer
	arrays map[string]*zip.File
	names  []string
	size   int64
}

// Open opens the file with the given path. Errors do not name the path: callers do.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, cause(err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, errors.New("it is a folder")
	}
	size, _ := f.Seek(0, io.SeekEnd) // 0, and thus an error, for a pipe
	r, err := NewReader(f, size)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.Closer = f
	return r, nil
}

// cause strips the operation and the file from an error.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// tooShort replaces the words of package io for a file that ends too early.
func tooShort(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends too early")
	}
	return err
}

// NewReader reads the table of contents of a file of the given size. All arrays together may unpack to 64 MB
// or 100 times that size.
func NewReader(f io.ReaderAt, size int64) (*Reader, error) {
	z, err := zip.NewReader(f, size)
	if err != nil {
		return nil, fmt.Errorf("not a complete .npz file: %w", tooShort(err))
	}
	r, left := &Reader{arrays: map[string]*zip.File{}, size: size}, max(64<<20, 100*uint64(size))
	for _, e := range z.File {
		name, ok := strings.CutSuffix(e.Name, ".npy")
		switch {
		case !ok:
			return nil, fmt.Errorf("entry %q is not an array of NumPy", e.Name)
		case r.Has(name):
			return nil, fmt.Errorf("array %q is there twice", name)
		case e.UncompressedSize64 > left:
			return nil, fmt.Errorf("array %q claims %d bytes, in a file of %d", name, e.UncompressedSize64, size)
		}
		left -= e.UncompressedSize64
		r.arrays[name] = e
		r.names = append(r.names, name)
	}
	return r, nil
}

// Names returns the names of the arrays in the order of the file.
func (r *Reader) Names() []string { return r.names }

// Size returns the size of the file in bytes.
func (r *Reader) Size() int64 { return r.size }

// Has reports whether there is an array of the given name.
func (r *Reader) Has(name string) bool { return r.arrays[name] != nil }

// namesShown is how many arrays of a file an error names.
const namesShown = 5

// first lists the first namesShown names in quotes, and counts the remaining ones.
func first(names []string) string {
	var shown []string
	for _, name := range names[:min(len(names), namesShown)] {
		shown = append(shown, fmt.Sprintf("%.100q", name))
	}
	list := strings.Join(shown, ", ")
	if more := len(names) - namesShown; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// Array reads the header of an array. If a shape is given, the array must have it; a -1 in it stands for any
// positive length.
func (r *Reader) Array(name string, shape ...int) (*Array, error) {
	e := r.arrays[name]
	if e == nil {
		return nil, fmt.Errorf("array %q is missing: the file has %s", name, first(r.names))
	}
	a, err := newArray(name, e.UncompressedSize64, func() (io.ReadCloser, error) {
		f, err := e.Open()
		if err != nil {
			err = fmt.Errorf("it is damaged or truncated: %w", cause(err))
		}
		return f, err
	})
	fits := func(n, want int) bool { return n == want || want < 0 && n > 0 }
	if err == nil && shape != nil && !slices.EqualFunc(a.Shape, shape, fits) {
		want := strings.ReplaceAll(tuple(shape), "-1", "n")
		return nil, fmt.Errorf("array %q is %s: expected the shape %s", name, a, want)
	}
	return a, err
}

// OpenMatrix reads the header of a file of the given size in the NPY format. The file must hold one array of
// numbers of two dimensions, with elements.
func OpenMatrix(f io.ReaderAt, size int64) (*Array, error) {
	a, err := newArray("array", uint64(size), func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(f, 0, size)), nil
	})
	if err != nil {
		return nil, err
	}
	if len(a.Shape) != 2 || a.decode == nil || a.len == 0 {
		return nil, fmt.Errorf("the array is %s: expected N x k numbers", a)
	}
	return a, nil
}
