// Package npz reads and writes the .npz files of NumPy: zip archives of arrays in the NPY format, versions 1
// to 3. Reading is strict and its memory bounded by the size of the file: a header is believed only when it
// agrees with the archive.
package npz

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

const magic = "\x93NUMPY"

// maxHeader bounds the header of an array; NumPy writes 128 bytes for most.
const maxHeader = 1 << 16

// A dtype is the element type of an array.
type dtype struct {
	order binary.ByteOrder
	kind  byte // f, i, u and b of numbers, U and S of strings
	size  int  // bytes of an element
}

// String returns NumPy's name of the type.
func (t dtype) String() string {
	switch {
	case t.text():
		return "string"
	case t.kind == 'b':
		return "bool"
	}
	return fmt.Sprint(map[byte]string{'f': "float", 'i': "int", 'u': "uint"}[t.kind], 8*t.size)
}

func (t dtype) text() bool { return t.kind == 'U' || t.kind == 'S' }

var dtypeForm = regexp.MustCompile(`^([<>=|])(?:([fiu])([48])|([iu])([12])|(b)(1)|([US])([1-9][0-9]{0,6}))$`)

func parseDtype(s string) (t dtype, err error) {
	m := dtypeForm.FindStringSubmatch(s)
	t.order = binary.LittleEndian
	if m != nil && m[1] == ">" {
		t.order = binary.BigEndian
	}
	for i := 2; i < len(m); i += 2 {
		if m[i] != "" {
			t.kind = m[i][0]
			t.size, _ = strconv.Atoi(m[i+1])
		}
	}
	if m == nil || t.size > 1<<20 {
		return t, fmt.Errorf("its type %q is not supported: expected float64, float32, integers or strings", s)
	}
	if t.kind == 'U' {
		t.size *= 4
	}
	return t, nil
}

// maxExact is 2^53: a float64 holds all integers up to it.
const maxExact = 1 << 53

// number converts the bytes of one number. It refuses an integer that a float64 cannot hold.
func (t dtype) number(b []byte) (float64, error) {
	var bits uint64
	switch t.size {
	case 1:
		bits = uint64(b[0])
	case 2:
		bits = uint64(t.order.Uint16(b))
	case 4:
		bits = uint64(t.order.Uint32(b))
	case 8:
		bits = t.order.Uint64(b)
	}
	switch t.kind {
	case 'f':
		if t.size == 4 {
			return float64(math.Float32frombits(uint32(bits))), nil
		}
		return math.Float64frombits(bits), nil
	case 'i':
		unused := 64 - 8*t.size
		v := int64(bits<<unused) >> unused
		if v > maxExact || v < -maxExact {
			return 0, fmt.Errorf("integer %d is too large", v)
		}
		return float64(v), nil
	}
	if bits > maxExact {
		return 0, fmt.Errorf("integer %d is too large", bits)
	}
	return float64(bits), nil
}

// string converts the bytes of one string, which ends before trailing zeros.
func (t dtype) string(b []byte) string {
	if t.kind == 'S' {
		return strings.TrimRight(string(b), "\x00")
	}
	var s strings.Builder
	for ; len(b) >= 4; b = b[4:] {
		s.WriteRune(rune(t.order.Uint32(b) & math.MaxInt32))
	}
	return strings.TrimRight(s.String(), "\x00")
}

var (
	descrKey    = regexp.MustCompile(`['"]descr['"]\s*:\s*['"]([^'"]*)['"]`)
	descrFields = regexp.MustCompile(`['"]descr['"]\s*:\s*\[`)
	fortranKey  = regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`)
	shapeKey    = regexp.MustCompile(`['"]shape['"]\s*:\s*\(([0-9,\s]*)\)`)
)

// readHeader reads the header of an array from the start of r and returns its length in bytes.
func (a *Array) readHeader(r io.Reader) (int64, error) {
	start := make([]byte, 12)
	if _, err := io.ReadFull(r, start[:8]); err != nil || string(start[:6]) != magic {
		return 0, fmt.Errorf("it does not start like an array of NumPy")
	}
	field := map[byte]int{1: 2, 2: 4, 3: 4}[start[6]]
	if field == 0 {
		return 0, fmt.Errorf("its NPY format has version %d: expected 1 to 3", start[6])
	}
	_, err := io.ReadFull(r, start[8:8+field])
	n := int64(binary.LittleEndian.Uint32(start[8:])) // of version 1 the last two bytes are zero
	if n > maxHeader {
		return 0, fmt.Errorf("its header claims more than %d bytes", maxHeader)
	}
	text := make([]byte, n)
	if err == nil {
		_, err = io.ReadFull(r, text)
	}
	if err != nil {
		return 0, fmt.Errorf("its header is truncated")
	}
	return int64(8+field) + n, a.parse(string(text))
}

// once returns the last submatch of the only match; ok is false for 0 or several matches.
func once(key *regexp.Regexp, text string) (match string, ok bool) {
	all := key.FindAllStringSubmatch(text, 2)
	if len(all) != 1 {
		return "", false
	}
	return all[0][1], true
}

// parse sets the type, the shape and the order of an array by the text of its header.
func (a *Array) parse(text string) (err error) {
	descr, ok1 := once(descrKey, text)
	fortran, ok2 := once(fortranKey, text)
	shape, ok3 := once(shapeKey, text)
	switch {
	case descrFields.MatchString(text):
		return fmt.Errorf("it is a structured array, with named fields: expected one array of numbers or strings")
	case !ok1 || !ok2 || !ok3:
		return fmt.Errorf("its header %.100q cannot be read: expected one array of numbers or strings", strings.TrimSpace(text))
	}
	if a.dtype, err = parseDtype(descr); err != nil {
		return err
	}
	a.fortran, a.len = fortran == "True", 1
	for s := range strings.SplitSeq(shape, ",") {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		n, err := strconv.Atoi(s)
		if err != nil || n > 0 && a.len > math.MaxInt/16/n {
			return fmt.Errorf("its shape (%s) is too large", shape)
		}
		a.Shape = append(a.Shape, n)
		a.len *= n
	}
	if a.len > math.MaxInt/2/a.dtype.size {
		return fmt.Errorf("its shape (%s) is too large", shape)
	}
	return nil
}

// tuple returns a shape as Python writes it.
func tuple(shape []int) string {
	if len(shape) == 1 {
		return fmt.Sprintf("(%d,)", shape[0])
	}
	return "(" + strings.Join(strings.Fields(strings.Trim(fmt.Sprint(shape), "[]")), ", ") + ")"
}
