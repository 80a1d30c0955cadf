// Package npz reads and writes the .npz files of NumPy: zip archives of arrays in the NPY format, version 1.
// Reading is strict and its memory bounded by the size of the file: a header is believed only when it agrees
// with the archive.
package npz

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// magic are the first bytes of an array, with its version.
const magic = "\x93NUMPY\x01\x00"

// A dtype is the element type of an array.
type dtype struct {
	name   string // NumPy's, or "string"
	size   int    // bytes of an element
	decode func(order binary.ByteOrder, b []byte) float64
}

// numbers are the types of numbers by their names in a header. Strings are U and their width.
var numbers = map[string]dtype{
	"f8": {"float64", 8, func(o binary.ByteOrder, b []byte) float64 { return math.Float64frombits(o.Uint64(b)) }},
	"f4": {"float32", 4, func(o binary.ByteOrder, b []byte) float64 { return float64(math.Float32frombits(o.Uint32(b))) }},
	"i8": {"int64", 8, func(o binary.ByteOrder, b []byte) float64 { return float64(int64(o.Uint64(b))) }},
	"i4": {"int32", 4, func(o binary.ByteOrder, b []byte) float64 { return float64(int32(o.Uint32(b))) }},
	"i2": {"int16", 2, func(o binary.ByteOrder, b []byte) float64 { return float64(int16(o.Uint16(b))) }},
	"i1": {"int8", 1, func(_ binary.ByteOrder, b []byte) float64 { return float64(int8(b[0])) }},
	"u8": {"uint64", 8, func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint64(b)) }},
	"u4": {"uint32", 4, func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint32(b)) }},
	"u2": {"uint16", 2, func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint16(b)) }},
	"u1": {"uint8", 1, func(_ binary.ByteOrder, b []byte) float64 { return float64(b[0]) }},
	"b1": {"bool", 1, func(_ binary.ByteOrder, b []byte) float64 { return float64(b[0]) }},
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
		return fmt.Errorf("its header %.100q cannot be read: expected one array of numbers or strings, not a structured array",
			strings.TrimSpace(string(text)))
	}
	a.fortran = *header.Fortran
	for _, n := range header.Shape {
		a.Shape = append(a.Shape, int(n))
	}
	return a.setType(header.Descr)
}

// setType sets the type of the elements.
func (a *Array) setType(descr string) error {
	order, kind := descr[:min(1, len(descr))], descr[min(1, len(descr)):]
	a.dtype, a.order = numbers[kind], binary.LittleEndian
	if order == ">" {
		a.order = binary.BigEndian
	}
	if width, text := strings.CutPrefix(kind, "U"); text {
		if n, err := strconv.Atoi(width); err == nil && n > 0 && n <= 1<<18 {
			a.dtype = dtype{name: "string", size: 4 * n}
		}
	}
	if a.size == 0 || !strings.Contains("<>|", order) {
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
		return 0, a.errorf("integer %.0f is too large", v)
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
