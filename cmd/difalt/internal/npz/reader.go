package npz

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// A Reader is an open .npz file.
type Reader struct {
	file   io.Closer // nil for NewReader
	size   int64
	arrays map[string]*zip.File
	names  []string
}

// Open opens the file with the given path. Errors do not name the path: callers do.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, text.Cause(err)
	}
	var r *Reader
	info, err := f.Stat()
	if err == nil {
		r, err = NewReader(f, info.Size())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	r.file = f
	return r, nil
}

// NewReader reads the table of contents of a file of the given size.
func NewReader(f io.ReaderAt, size int64) (*Reader, error) {
	z, err := zip.NewReader(f, size)
	if err != nil {
		return nil, fmt.Errorf("not a complete .npz file: %w", err)
	}
	r := &Reader{size: size, arrays: map[string]*zip.File{}}
	for _, e := range z.File {
		name, ok := strings.CutSuffix(e.Name, ".npy")
		if !ok {
			return nil, fmt.Errorf("entry %q is not an array of NumPy", e.Name)
		}
		if r.arrays[name] != nil {
			return nil, fmt.Errorf("array %q is there twice", name)
		}
		r.arrays[name] = e
		r.names = append(r.names, name)
	}
	return r, nil
}

// Close closes a file from Open.
func (r *Reader) Close() error { return r.file.Close() }

// Names returns the names of the arrays in the order of the file.
func (r *Reader) Names() []string { return r.names }

// Has reports whether there is an array of the given name.
func (r *Reader) Has(name string) bool { return r.arrays[name] != nil }

// An Array is an entry of a .npz file with a checked header.
type Array struct {
	Shape []int

	name    string
	dtype   dtype
	fortran bool
	len     int   // number of elements
	offset  int64 // of the first element
	open    func() (io.ReadCloser, error)
}

// Array reads the header of an array. It may unpack to 64 MB or 100 times the size of the file.
func (r *Reader) Array(name string) (*Array, error) {
	e := r.arrays[name]
	if e == nil {
		return nil, fmt.Errorf("array %q is missing: the file has %s", name, text.Names(r.names))
	}
	a := &Array{name: name, open: e.Open}
	if e.UncompressedSize64 > max(64<<20, 100*uint64(r.size)) {
		return nil, a.errorf("it claims to unpack to %d bytes, in a file of %d", e.UncompressedSize64, r.size)
	}
	return a, a.check(e.UncompressedSize64)
}

// Shaped is Array for an array that must have the given shape; a -1 in it stands for any positive length.
func (r *Reader) Shaped(name string, shape ...int) (*Array, error) {
	a, err := r.Array(name)
	if err != nil {
		return nil, err
	}
	same := len(a.Shape) == len(shape)
	for i := 0; same && i < len(shape); i++ {
		same = a.Shape[i] == shape[i] || shape[i] < 0 && a.Shape[i] > 0
	}
	if !same {
		return nil, fmt.Errorf("array %q is %s: expected the shape %s", name, a, strings.ReplaceAll(tuple(shape), "-1", "n"))
	}
	return a, nil
}

// ReadMatrix reads the n x k numbers, in C order, of a file in the NPY format of the given size, which must
// hold one array of two dimensions.
func ReadMatrix(f io.ReaderAt, size int64) (values []float64, n, k int, err error) {
	a := &Array{name: "array", open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(f, 0, size)), nil
	}}
	if err := a.check(uint64(size)); err != nil {
		return nil, 0, 0, err
	}
	if len(a.Shape) != 2 || a.dtype.text() {
		return nil, 0, 0, fmt.Errorf("the array is %s: expected N x k numbers", a)
	}
	values, err = a.Float64s()
	return values, a.Shape[0], a.Shape[1], err
}

// check reads the header of an array, whose size with it is given.
func (a *Array) check(size uint64) error {
	f, err := a.open()
	if err != nil {
		return a.errorf("%w", err)
	}
	defer f.Close()
	if a.offset, err = a.readHeader(f); err != nil {
		return a.errorf("%w", err)
	}
	if want, have := uint64(a.len)*uint64(a.dtype.size), size-uint64(a.offset); want != have {
		return a.errorf("%s needs %d bytes, but %d are there", a, want, have)
	}
	return nil
}

// String describes shape and type, as in "(3, 4) float64".
func (a *Array) String() string { return tuple(a.Shape) + " " + a.dtype.String() }

// Text reports whether the elements are strings.
func (a *Array) Text() bool { return a.dtype.text() }

// Float reports whether the elements are float64 or float32.
func (a *Array) Float() bool { return a.dtype.kind == 'f' }

// Float32 reports whether the elements are float32.
func (a *Array) Float32() bool { return a.Float() && a.dtype.size == 4 }

// Len returns the number of elements.
func (a *Array) Len() int { return a.len }

// Float64s returns the elements of an array of numbers in C order. Integers beyond 2^53 are refused.
func (a *Array) Float64s() ([]float64, error) {
	return elements(a, !a.dtype.text(), "numbers", a.dtype.number)
}

// Ints returns the elements of an array of integers in C order. Those beyond 2^53 are refused.
func (a *Array) Ints() ([]int, error) {
	return elements(a, !a.Float() && !a.Text(), "integers", func(b []byte) (int, error) {
		v, err := a.dtype.number(b)
		return int(v), err
	})
}

// Strings returns the elements of an array of strings in C order.
func (a *Array) Strings() ([]string, error) {
	return elements(a, a.dtype.text(), "strings", func(b []byte) (string, error) { return a.dtype.string(b), nil })
}

// elements returns the elements of an array in C order. It refuses one that does not fit.
func elements[T any](a *Array, fits bool, want string, convert func(b []byte) (T, error)) ([]T, error) {
	if !fits {
		return nil, a.errorf("it is %s: expected %s", a, want)
	}
	r, err := a.open()
	if err != nil {
		return nil, a.errorf("%w", err)
	}
	defer r.Close()
	in := bufio.NewReaderSize(r, 1<<16)
	if _, err := in.Discard(int(a.offset)); err != nil {
		return nil, a.damaged(err)
	}
	out, b, position := make([]T, a.len), make([]byte, a.dtype.size), a.positions()
	for i := range out {
		if _, err := io.ReadFull(in, b); err != nil {
			return nil, a.damaged(err)
		}
		if out[position(i)], err = convert(b); err != nil {
			return nil, a.errorf("%w", err)
		}
	}
	// The end of the entry is where its checksum is compared.
	if _, err := in.ReadByte(); err != io.EOF {
		return nil, a.damaged(err)
	}
	return out, nil
}

// positions returns the function from the index of an element in the file to that in C order.
func (a *Array) positions() func(int) int {
	if !a.fortran || len(a.Shape) < 2 {
		return func(i int) int { return i }
	}
	return func(i int) int {
		at, stride := 0, a.len
		for _, n := range a.Shape {
			stride /= n
			at += i % n * stride
			i /= n
		}
		return at
	}
}

func (a *Array) damaged(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return a.errorf("it is truncated")
	}
	return a.errorf("it is damaged: %w", err)
}

func (a *Array) errorf(format string, args ...any) error {
	return fmt.Errorf("array %q: "+format, append([]any{a.name}, args...)...)
}
