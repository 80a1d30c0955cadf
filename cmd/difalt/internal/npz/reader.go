package npz

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// A Reader is an open .npz file. Only one from Open has a Closer.
type Reader struct {
	io.Closer
	arrays map[string]*zip.File
	names  []string
}

// Open opens the file with the given path. Errors do not name the path: callers do.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, text.Cause(err)
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

// NewReader reads the table of contents of a file of the given size. An array may unpack to 64 MB or 100
// times that size.
func NewReader(f io.ReaderAt, size int64) (*Reader, error) {
	z, err := zip.NewReader(f, size)
	if err != nil {
		return nil, fmt.Errorf("not a complete .npz file: %w", err)
	}
	r := &Reader{arrays: map[string]*zip.File{}}
	for _, e := range z.File {
		name, ok := strings.CutSuffix(e.Name, ".npy")
		switch {
		case !ok:
			return nil, fmt.Errorf("entry %q is not an array of NumPy", e.Name)
		case r.Has(name):
			return nil, fmt.Errorf("array %q is there twice", name)
		case e.UncompressedSize64 > max(64<<20, 100*uint64(size)):
			return nil, fmt.Errorf("array %q claims to unpack to %d bytes, in a file of %d", name, e.UncompressedSize64, size)
		}
		r.arrays[name] = e
		r.names = append(r.names, name)
	}
	return r, nil
}

// Names returns the names of the arrays in the order of the file.
func (r *Reader) Names() []string { return r.names }

// Has reports whether there is an array of the given name.
func (r *Reader) Has(name string) bool { return r.arrays[name] != nil }

// Array reads the header of an array.
func (r *Reader) Array(name string) (*Array, error) {
	e := r.arrays[name]
	if e == nil {
		return nil, fmt.Errorf("array %q is missing: the file has %s", name, text.Names(r.names))
	}
	a := &Array{label: name, open: e.Open}
	return a, a.check(e.UncompressedSize64)
}

// Shaped is Array for an array that must have the given shape; a -1 in it stands for any positive length.
func (r *Reader) Shaped(name string, shape ...int) (*Array, error) {
	a, err := r.Array(name)
	if err != nil {
		return nil, err
	}
	if !slices.EqualFunc(a.Shape, shape, func(n, want int) bool { return n == want || want < 0 && n > 0 }) {
		return nil, fmt.Errorf("array %q is %s: expected the shape %s", name, a, strings.ReplaceAll(tuple(shape), "-1", "n"))
	}
	return a, nil
}

// OpenMatrix reads the header of a file in the NPY format of the given size, which must hold one array of
// numbers of two dimensions, with elements.
func OpenMatrix(f io.ReaderAt, size int64) (*Array, error) {
	a := &Array{label: "array", open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(f, 0, size)), nil
	}}
	if err := a.check(uint64(size)); err != nil {
		return nil, err
	}
	if len(a.Shape) != 2 || a.decode == nil || a.len == 0 {
		return nil, fmt.Errorf("the array is %s: expected N x k numbers", a)
	}
	return a, nil
}

// An Array is an entry of a .npz file with a checked header.
type Array struct {
	Shape []int

	dtype
	order   binary.ByteOrder
	label   string
	fortran bool
	len     int // number of elements
	offset  int // of the first element, in bytes
	open    func() (io.ReadCloser, error)
}

// check reads the header of an array, whose size with it is given.
func (a *Array) check(size uint64) error {
	f, err := a.open()
	if err == nil {
		defer f.Close()
		err = a.readHeader(f)
	}
	if err != nil {
		return a.errorf("%w", err)
	}
	want, have := float64(a.size), int64(size)-int64(a.offset) // the product may exceed an integer
	for _, n := range a.Shape {
		want *= float64(n)
	}
	if want != float64(have) {
		return a.errorf("%s needs %.0f bytes, but %d are there", a, want, have)
	}
	a.len = int(have) / a.size
	return nil
}

// Type returns NumPy's name of the type of the elements, or "string".
func (a *Array) Type() string { return a.name }

// String describes shape and type, as in "(3, 4) float64".
func (a *Array) String() string { return tuple(a.Shape) + " " + a.name }

// Float64s returns the elements of an array of numbers in C order. Integers from 2^53 on are refused.
func (a *Array) Float64s() ([]float64, error) {
	return elements(a, a.decode != nil, "numbers", a.number)
}

// Ints returns the elements of an array of integers in C order. Those from 2^53 on are refused.
func (a *Array) Ints() ([]int, error) {
	return elements(a, a.decode != nil && !a.float(), "integers", func(b []byte) (int, error) {
		v, err := a.number(b)
		return int(v), err
	})
}

// Strings returns the elements of an array of strings in C order.
func (a *Array) Strings() ([]string, error) { return elements(a, a.decode == nil, "strings", a.text) }

// elements returns the elements of an array in C order. It refuses one that does not fit.
func elements[T any](a *Array, fits bool, want string, convert func(b []byte) (T, error)) ([]T, error) {
	if !fits {
		return nil, a.errorf("it is %s: expected %s", a, want)
	}
	out := make([]T, a.len)
	return out, a.each(func(i int, b []byte) (err error) {
		out[i], err = convert(b)
		return err
	})
}

// Rows calls row with the number and the elements of every row along the last axis of an array of numbers, in
// C order. The slice is overwritten by the next call. Only an array in Fortran order is held in memory.
func (a *Array) Rows(row func(i int, v []float64) error) error {
	width := a.Shape[len(a.Shape)-1]
	if a.fortran {
		all, err := a.Float64s()
		for i := 0; err == nil && i < len(all); i += width {
			err = row(i/width, all[i:][:width])
		}
		all = nil
		runtime.GC() // a heap that has held the array may else grow to twice its size with it
		return err
	}
	v := make([]float64, width)
	return a.each(func(i int, b []byte) (err error) {
		j := i % width
		if v[j], err = a.number(b); err == nil && j == width-1 {
			err = row(i/width, v)
		}
		return err
	})
}

// each calls put with the bytes of every element, in the order of the file, and its number in C order. An
// error of put ends it.
func (a *Array) each(put func(i int, b []byte) error) error {
	r, err := a.open()
	if err != nil {
		return a.errorf("%w", err)
	}
	defer r.Close()
	in, b := bufio.NewReaderSize(r, 1<<16), make([]byte, a.size)
	_, err = in.Discard(a.offset)
	for i := 0; err == nil && i < a.len; i++ {
		if _, err = io.ReadFull(in, b); err == nil {
			if err := put(a.position(i), b); err != nil {
				return err
			}
		}
	}
	if err == nil { // the checksum is compared at the end of the entry
		_, err = io.Copy(io.Discard, in)
	}
	if err != nil {
		return a.errorf("it is damaged or truncated: %w", err)
	}
	return nil
}

// position returns the number in C order of element i of the file.
func (a *Array) position(i int) int {
	if !a.fortran {
		return i
	}
	at, stride := 0, a.len
	for _, n := range a.Shape {
		stride /= n
		at += i % n * stride
		i /= n
	}
	return at
}

func (a *Array) errorf(format string, args ...any) error {
	return fmt.Errorf("array %q: "+format, append([]any{a.label}, args...)...)
}
