// Package npz reads and writes the .npz files of NumPy: zip archives of arrays in
// the NPY format, versions 1 to 3. Reading is strict and its memory bounded by the
// size of the file: a header is believed only when it agrees with the archive.
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
	code  string // a key of numbers, or U or S with the number of characters of a string
	size  int    // bytes of an element
}

// numbers maps the types of numbers in headers to their names.
var numbers = map[string]string{
	"f8": "float64", "f4": "float32", "i8": "int64", "i4": "int32", "i2": "int16", "i1": "int8",
	"u8": "uint64", "u4": "uint32", "u2": "uint16", "u1": "uint8", "b1": "bool",
}

// String returns NumPy's name of the type.
func (t dtype) String() string {
	if t.text() {
		return "string"
	}
	return numbers[t.code]
}

func (t dtype) text() bool { return t.code[0] == 'U' || t.code[0] == 'S' }

func (t dtype) float() bool { return t.code[0] == 'f' }

var dtypeForm = regexp.MustCompile(`^([<>=|])([A-Z]|[a-z])([1-9][0-9]{0,6})$`)

func parseDtype(s string) (t dtype, err error) {
	if m := dtypeForm.FindStringSubmatch(s); m != nil {
		t = dtype{order: binary.LittleEndian, code: m[2] + m[3]}
		if m[1] == ">" {
			t.order = binary.BigEndian
		}
		t.size, _ = strconv.Atoi(m[3])
		if numbers[t.code] != "" || t.text() && t.size <= 1<<20 {
			if m[2] == "U" {
				t.size *= 4
			}
			return t, nil
		}
	}
	return t, fmt.Errorf("its type %q is not supported: expected float64, float32, integers or strings", s)
}

var (
	descrKey    = regexp.MustCompile(`['"]descr['"]\s*:\s*['"]([^'"]*)['"]`)
	descrFields = regexp.MustCompile(`['"]descr['"]\s*:\s*\[`)
	fortranKey  = regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`)
	shapeKey    = regexp.MustCompile(`['"]shape['"]\s*:\s*\(([0-9,\s]*)\)`)
)

// readHeader reads the header of an array and returns its length in bytes.
func readHeader(r io.Reader, a *Array) (int64, error) {
	start := make([]byte, 12)
	if _, err := io.ReadFull(r, start[:8]); err != nil || string(start[:6]) != magic {
		return 0, fmt.Errorf("it does not start like an array of NumPy")
	}
	field := 2
	switch major := start[6]; major {
	case 1:
	case 2, 3:
		field = 4
	default:
		return 0, fmt.Errorf("its NPY format has version %d: expected 1 to 3", major)
	}
	if _, err := io.ReadFull(r, start[8:8+field]); err != nil {
		return 0, fmt.Errorf("its header is truncated")
	}
	n := int64(binary.LittleEndian.Uint32(start[8:])) // of version 1 the last two bytes are zero
	if n > maxHeader {
		return 0, fmt.Errorf("its header claims more than %d bytes", maxHeader)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return 0, fmt.Errorf("its header is truncated")
	}
	return int64(8+field) + n, a.parse(string(text))
}

// once returns the submatches of the only match, nil for 0 or several matches.
func once(key *regexp.Regexp, text string) []string {
	if all := key.FindAllStringSubmatch(text, 2); len(all) == 1 {
		return all[0]
	}
	return nil
}

func (a *Array) parse(text string) error {
	if descrFields.MatchString(text) {
		return fmt.Errorf("it is a structured array, with named fields: expected one array of numbers or strings")
	}
	descr, fortran, shape := once(descrKey, text), once(fortranKey, text), once(shapeKey, text)
	if descr == nil || fortran == nil || shape == nil {
		return fmt.Errorf("its header %.100q cannot be read: expected one array of numbers or strings", strings.TrimSpace(text))
	}
	var err error
	if a.dtype, err = parseDtype(descr[1]); err != nil {
		return err
	}
	a.fortran = fortran[1] == "True"
	a.len = 1
	for s := range strings.SplitSeq(shape[1], ",") {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		n, err := strconv.Atoi(s)
		if err != nil || n > 0 && a.len > math.MaxInt/16/n {
			return fmt.Errorf("its shape (%s) is too large", shape[1])
		}
		a.Shape = append(a.Shape, n)
		a.len *= n
	}
	if a.len > math.MaxInt/2/a.dtype.size {
		return fmt.Errorf("its shape (%s) is too large", shape[1])
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

// header returns the header of an array in C order, version 1.
func header(descr string, shape []int) []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, tuple(shape))
	// Data start at a multiple of 64 bytes.
	text += strings.Repeat(" ", 63-(10+len(text))%64) + "\n"
	return append(binary.LittleEndian.AppendUint16([]byte(magic+"\x01\x00"), uint16(len(text))), text...)
}

// ReadMatrix reads the n x k numbers, in C order, of a file in the NPY format of the given
// size, which must hold one array of two dimensions.
func ReadMatrix(f io.ReaderAt, size int64) (values []float64, n, k int, err error) {
	a := &Array{Name: "array", open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(f, 0, size)), nil
	}}
	if err := a.readHeader(uint64(size)); err != nil {
		return nil, 0, 0, err
	}
	if len(a.Shape) != 2 || a.dtype.text() {
		return nil, 0, 0, fmt.Errorf("the array is %s: expected N x k numbers", a)
	}
	values, err = a.Float64s()
	return values, a.Shape[0], a.Shape[1], err
}
