package npz

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"
)

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

// newArray reads the header of an array, whose size with it is given.
func newArray(label string, size uint64, open func() (io.ReadCloser, error)) (*Array, error) {
	a := &Array{label: label, open: open}
	f, err := open()
	if err == nil {
		defer f.Close()
		err = a.readHeader(f)
	}
	if err != nil {
		return nil, a.errorf("%w", err)
	}
	want, have := float64(a.size), int64(size)-int64(a.offset) // the product may exceed an integer
	for _, n := range a.Shape {
		want *= float64(n)
	}
	if want != float64(have) {
		return nil, a.errorf("%s needs %.0f bytes, but %d are there", a, want, have)
	}
	a.len = int(have) / a.size
	return a, nil
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

// Bytes returns the elements of an array of uint8 in C order.
func (a *Array) Bytes() ([]byte, error) {
	return elements(a, a.name == "uint8", "uint8", func(b []byte) (byte, error) { return b[0], nil })
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
	if a.decode == nil {
		return a.errorf("it is %s: expected numbers", a)
	}
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
		return a.errorf("it is damaged or truncated: %w", tooShort(err))
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

// magic are the first bytes of an array, with its version.
const magic = "\x93NUMPY\x01\x00"

type order = binary.ByteOrder

// A dtype is the element type of an array.
type dtype struct {
	name   string // NumPy's, or "string"
	size   int    // bytes of an element
	decode func(o order, b []byte) float64
}

// numbers are the types of numbers by their names in a header. Strings are U and their width.
var numbers = map[string]dtype{
	"f8": {"float64", 8, func(o order, b []byte) float64 { return math.Float64frombits(o.Uint64(b)) }},
	"f4": {"float32", 4, func(o order, b []byte) float64 { return float64(math.Float32frombits(o.Uint32(b))) }},
	"i8": {"int64", 8, func(o order, b []byte) float64 { return float64(int64(o.Uint64(b))) }},
	"i4": {"int32", 4, func(o order, b []byte) float64 { return float64(int32(o.Uint32(b))) }},
	"i2": {"int16", 2, func(o order, b []byte) float64 { return float64(int16(o.Uint16(b))) }},
	"i1": {"int8", 1, func(_ order, b []byte) float64 { return float64(int8(b[0])) }},
	"u8": {"uint64", 8, func(o order, b []byte) float64 { return float64(o.Uint64(b)) }},
	"u4": {"uint32", 4, func(o order, b []byte) float64 { return float64(o.Uint32(b)) }},
	"u2": {"uint16", 2, func(o order, b []byte) float64 { return float64(o.Uint16(b)) }},
	"u1": {"uint8", 1, func(_ order, b []byte) float64 { return float64(b[0]) }},
	"b1": {"bool", 1, func(_ order, b []byte) float64 { return float64(b[0]) }},
}

// python turns the dictionary of a header into JSON.
var python = strings.NewReplacer("'", `"`, "True", "true", "False", "false", "(", "[", ",)", "]", ", )", "]", ")", "]",
	", }", "}", ",}", "}")

// readHeader reads the header of an array from the start of r.
func (a *Array) readHeader(r io.Reader) error {
	start := make([]byte, len(magic)+2)
	if _, err := io.ReadFull(r, start); err != nil || !strings.HasPrefix(string(start), magic) {
		return errors.New("it does not start like an array of NumPy in version 1 of its format")
	}
	text := make([]byte, binary.LittleEndian.Uint16(start[len(magic):]))
	if _, err := io.ReadFull(r, text); err != nil {
		return errors.New("its header is truncated")
	}
	a.offset = len(start) + len(text)
	var header struct {
		Descr   string   `json:"descr"`
		Fortran *bool    `json:"fortran_order"`
		Shape   []uint32 `json:"shape"`
	}
	err := json.Unmarshal([]byte(python.Replace(string(text))), &header)
	if err != nil || header.Fortran == nil || header.Shape == nil {
		why := "NumPy writes others"
		if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			switch {
			case kind.Field == "descr":
				why = "is it a structured array?"
			case strings.HasPrefix(kind.Field, "shape"):
				why = "a length of its shape is too large, or not a whole number from 0"
			}
		}
		shown := strings.Join(strings.Fields(string(text)), " ")
		return fmt.Errorf("its header %.100q cannot be read: %s", shown, why)
	}
	a.fortran = *header.Fortran
	for _, n := range header.Shape {
		a.Shape = append(a.Shape, int(n))
	}
	return a.setType(header.Descr)
}

// setType sets the type of the elements.
func (a *Array) setType(descr string) error {
	sign, kind := descr[:min(1, len(descr))], descr[min(1, len(descr)):]
	a.dtype, a.order = numbers[kind], binary.LittleEndian
	if sign == ">" {
		a.order = binary.BigEndian
	}
	if width, text := strings.CutPrefix(kind, "U"); text {
		if n, err := strconv.Atoi(width); err == nil && n > 0 && n <= 1<<18 {
			a.dtype = dtype{name: "string", size: 4 * n}
		}
	}
	if a.size == 0 || !strings.Contains("<>|", sign) {
		return fmt.Errorf("its type %q is not supported: expected float64, float32, integers or strings", descr)
	}
	return nil
}

// maxExact is 2^53: a float64 holds all integers below it.
const maxExact = 1 << 53

// number decodes a number. It refuses an integer that a float64 may not hold.
func (a *Array) number(b []byte) (float64, error) {
	v := a.decode(a.order, b)
	if math.Abs(v) >= maxExact && !a.float() {
		return 0, a.errorf("integer %.0f is too large: save integers from 2^53 on as float64", v)
	}
	return v, nil
}

func (a *Array) float() bool { return strings.HasPrefix(a.name, "float") }

// text decodes a string, which ends before trailing zeros.
func (a *Array) text(b []byte) (string, error) {
	s := make([]rune, len(b)/4)
	_, err := binary.Decode(b, a.order, s)
	return strings.TrimRight(string(s), "\x00"), err
}

// tuple returns a shape as Python writes it.
func tuple(shape []int) string {
	if len(shape) == 1 {
		return fmt.Sprintf("(%d,)", shape[0])
	}
	return "(" + strings.Join(strings.Fields(strings.Trim(fmt.Sprint(shape), "[]")), ", ") + ")"
}
