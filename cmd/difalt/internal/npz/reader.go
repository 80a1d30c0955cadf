package npz

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// A Reader is an open .npz file.
type Reader struct {
	file   io.Closer
	size   int64
	arrays map[string]*zip.File
	names  []string
}

// An Array is an entry of a .npz file with a checked header.
type Array struct {
	Name  string
	Shape []int

	dtype   dtype
	fortran bool
	len     int   // number of elements
	offset  int64 // of the first element
	open    func() (io.ReadCloser, error)
}

// Open opens the file with the given path. Errors do not name the path: callers do.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, text.Cause(err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("it is a folder")
	}
	var r *Reader
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

// Close closes the file.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// Names returns the names of the arrays in the order of the file.
func (r *Reader) Names() []string { return r.names }

// Has reports whether there is an array of the given name.
func (r *Reader) Has(name string) bool { return r.arrays[name] != nil }

// An array may unpack to maxPlain bytes, or to maxFactor times the size of the file.
const (
	maxPlain  = 64 << 20
	maxFactor = 100
)

// Array reads the header of an array.
func (r *Reader) Array(name string) (*Array, error) {
	e := r.arrays[name]
	if e == nil {
		return nil, fmt.Errorf("array %q is missing: the file has %s", name, text.Names(r.names))
	}
	a := &Array{Name: name, open: e.Open}
	if e.UncompressedSize64 > max(maxPlain, maxFactor*uint64(r.size)) {
		return nil, a.errorf("it claims to unpack to %d bytes, in a file of %d", e.UncompressedSize64, r.size)
	}
	return a, a.readHeader(e.UncompressedSize64)
}

// readHeader reads the header of an array, of the given size with it.
func (a *Array) readHeader(size uint64) error {
	f, err := a.open()
	if err != nil {
		return a.errorf("%w", err)
	}
	defer f.Close()
	if a.offset, err = readHeader(f, a); err != nil {
		return a.errorf("%w", err)
	}
	if want, have := uint64(a.len)*uint64(a.dtype.size), size-uint64(a.offset); want != have {
		return a.errorf("%s needs %d bytes, but %d are there", a, want, have)
	}
	return nil
}

// Shaped is Array for an array that must have the given shape; a -1 in it stands for any
// positive length.
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
		return nil, fmt.Errorf("array %q is %s: expected the shape %v", name, a, shape)
	}
	return a, nil
}

// String describes shape and type, as in "(3, 4) float64".
func (a *Array) String() string { return tuple(a.Shape) + " " + a.dtype.String() }

// Text reports whether the elements are strings.
func (a *Array) Text() bool { return a.dtype.text() }

// Float reports whether the elements are float64 or float32.
func (a *Array) Float() bool { return a.dtype.float() }

// Float32 reports whether the elements are float32.
func (a *Array) Float32() bool { return a.dtype.code == "f4" }

// Len returns the number of elements.
func (a *Array) Len() int { return a.len }

// Float64s returns the elements of an array of numbers in C order. Integers beyond
// 2^53 are refused.
func (a *Array) Float64s() ([]float64, error) {
	if a.dtype.text() {
		return nil, a.errorf("it is %s: expected numbers", a)
	}
	out := make([]float64, a.len)
	return out, a.Each(func(at int, run []float64) error { copy(out[at:], run); return nil })
}

// Each calls f with all elements of an array of numbers, in the order of the file:
// runs that are consecutive in C order, and the index of their first element. f must
// not keep a run. An error of f ends it.
func (a *Array) Each(f func(at int, run []float64) error) error {
	position := a.positions()
	var run []float64
	return a.each(func(i, n int, b []byte) error {
		run = slices.Grow(run[:0], n)[:n]
		if err := a.numbers(run, b); err != nil {
			return err
		}
		if position == nil {
			return f(i, run)
		}
		for k := range run {
			if err := f(position(i+k), run[k:k+1]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Ints returns the elements of an array of integers in C order.
func (a *Array) Ints() ([]int, error) {
	if a.dtype.float() || a.dtype.text() {
		return nil, a.errorf("it is %s: expected integers", a)
	}
	out := make([]int, a.len)
	return out, a.Each(func(at int, run []float64) error {
		for k, v := range run {
			out[at+k] = int(v)
		}
		return nil
	})
}

// Strings returns the elements of an array of strings in C order.
func (a *Array) Strings() ([]string, error) {
	if !a.dtype.text() {
		return nil, a.errorf("it is %s: expected strings", a)
	}
	out, position := make([]string, a.len), a.positions()
	if position == nil {
		position = func(i int) int { return i }
	}
	return out, a.each(func(i, n int, b []byte) error {
		for k := range n {
			out[position(i+k)] = a.text(b[k*a.dtype.size:][:a.dtype.size])
		}
		return nil
	})
}

// numbers converts the bytes of as many elements as dst has.
func (a *Array) numbers(dst []float64, b []byte) error {
	switch a.dtype.code {
	case "f8":
		return decode[float64](a, dst, b)
	case "f4":
		return decode[float32](a, dst, b)
	case "i8":
		return decode[int64](a, dst, b)
	case "i4":
		return decode[int32](a, dst, b)
	case "i2":
		return decode[int16](a, dst, b)
	case "i1":
		return decode[int8](a, dst, b)
	case "u8":
		return decode[uint64](a, dst, b)
	case "u4":
		return decode[uint32](a, dst, b)
	case "u2":
		return decode[uint16](a, dst, b)
	}
	return decode[uint8](a, dst, b) // u1 and b1
}

// decode converts elements of a type, and refuses integers that a float64 does not have.
func decode[T float64 | float32 | int64 | int32 | int16 | int8 | uint64 | uint32 | uint16 | uint8](a *Array, dst []float64, b []byte) error {
	list := make([]T, len(dst))
	if _, err := binary.Decode(b, a.dtype.order, list); err != nil {
		return err
	}
	for i, v := range list {
		if dst[i] = float64(v); !a.dtype.float() && (math.Abs(dst[i]) > 1<<53 || T(dst[i]) != v) {
			return a.errorf("integer %v is too large", v)
		}
	}
	return nil
}

// text converts the bytes of one string, which ends before trailing zeros.
func (a *Array) text(b []byte) string {
	if a.dtype.code[0] == 'S' {
		return strings.TrimRight(string(b), "\x00")
	}
	var s strings.Builder
	for ; len(b) >= 4; b = b[4:] {
		s.WriteRune(rune(a.dtype.order.Uint32(b) & math.MaxInt32))
	}
	return strings.TrimRight(s.String(), "\x00")
}

// each calls f with the bytes of all elements, in the order of the file: n elements, and the
// index in the file of the first of them.
func (a *Array) each(f func(i, n int, b []byte) error) error {
	r, err := a.open()
	if err != nil {
		return a.errorf("%w", err)
	}
	defer r.Close()
	in := bufio.NewReaderSize(r, 1<<16)
	if _, err := in.Discard(int(a.offset)); err != nil {
		return a.damaged(err)
	}
	size := a.dtype.size
	buf := make([]byte, size*max(1, 1<<16/size))
	for i, n := 0, 0; i < a.len; i += n {
		n = min(len(buf)/size, a.len-i)
		if _, err := io.ReadFull(in, buf[:n*size]); err != nil {
			return a.damaged(err)
		}
		if err := f(i, n, buf[:n*size]); err != nil {
			return err
		}
	}
	// The end of the entry is where its checksum is compared.
	if _, err := in.ReadByte(); err != io.EOF {
		return a.damaged(err)
	}
	return nil
}

// positions returns the function from the index in the file to that in C order; nil
// if they are the same.
func (a *Array) positions() func(int) int {
	if !a.fortran || len(a.Shape) < 2 {
		return nil
	}
	stride := make([]int, len(a.Shape))
	n := 1
	for k := len(a.Shape) - 1; k >= 0; k-- {
		stride[k] = n
		n *= a.Shape[k]
	}
	return func(i int) int {
		at := 0
		for k, n := range a.Shape {
			at += i % n * stride[k]
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
	return fmt.Errorf("array %q: "+format, append([]any{a.Name}, args...)...)
}
