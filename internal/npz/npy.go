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
	kind  byte // 'f', 'i', 'u', 'b', 'U' or 'S'
	size  int  // bytes of an element
}

// String returns NumPy's name of the type.
func (t dtype) String() string {
	switch t.kind {
	case 'f':
		return fmt.Sprintf("float%d", 8*t.size)
	case 'i':
		return fmt.Sprintf("int%d", 8*t.size)
	case 'u':
		return fmt.Sprintf("uint%d", 8*t.size)
	case 'b':
		return "bool"
	}
	return "string"
}

func (t dtype) number() bool { return t.kind == 'f' || t.integer() }

func (t dtype) integer() bool { return t.kind == 'i' || t.kind == 'u' || t.kind == 'b' }

func (t dtype) text() bool { return t.kind == 'U' || t.kind == 'S' }

func parseDtype(s string) (dtype, error) {
	unsupported := fmt.Errorf("its type %q is not supported: want float64, float32, integers or strings", s)
	if len(s) < 3 {
		return dtype{}, unsupported
	}
	t := dtype{order: binary.LittleEndian, kind: s[1]}
	switch s[0] {
	case '<', '|', '=':
	case '>':
		t.order = binary.BigEndian
	default:
		return dtype{}, unsupported
	}
	n, err := strconv.Atoi(s[2:])
	if err != nil || n < 1 || n > 1<<20 {
		return dtype{}, unsupported
	}
	t.size = n
	switch t.kind {
	case 'f':
		if n == 4 || n == 8 {
			return t, nil
		}
	case 'i', 'u':
		if n == 1 || n == 2 || n == 4 || n == 8 {
			return t, nil
		}
	case 'b':
		if n == 1 {
			return t, nil
		}
	case 'U':
		t.size = 4 * n
		return t, nil
	case 'S':
		return t, nil
	}
	return dtype{}, unsupported
}

var (
	descrKey   = regexp.MustCompile(`['"]descr['"]\s*:\s*['"]([^'"]*)['"]`)
	fortranKey = regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`)
	shapeKey   = regexp.MustCompile(`['"]shape['"]\s*:\s*\(([0-9,\s]*)\)`)
)

// readHeader reads the header of an array and returns its length in bytes.
func readHeader(r io.Reader, a *Array) (int64, error) {
	start := make([]byte, 12)
	if _, err := io.ReadFull(r, start[:8]); err != nil || string(start[:6]) != magic {
		return 0, fmt.Errorf("it does not start like an array of NumPy")
	}
	major := start[6]
	field := 2
	if major > 1 {
		field = 4
	}
	if major < 1 || major > 3 {
		return 0, fmt.Errorf("its NPY format has version %d: want 1 to 3", major)
	}
	if _, err := io.ReadFull(r, start[8:8+field]); err != nil {
		return 0, fmt.Errorf("its header is truncated")
	}
	n := int(binary.LittleEndian.Uint16(start[8:]))
	if field == 4 {
		n = int(min(binary.LittleEndian.Uint32(start[8:]), maxHeader+1))
	}
	if n > maxHeader {
		return 0, fmt.Errorf("its header claims more than %d bytes", maxHeader)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return 0, fmt.Errorf("its header is truncated")
	}
	return int64(8 + field + n), a.parse(string(text))
}

// once returns the submatches of the only match, and nil if there is none or another.
func once(key *regexp.Regexp, text string) []string {
	if all := key.FindAllStringSubmatch(text, 2); len(all) == 1 {
		return all[0]
	}
	return nil
}

func (a *Array) parse(text string) error {
	descr, fortran, shape := once(descrKey, text), once(fortranKey, text), once(shapeKey, text)
	if descr == nil || fortran == nil || shape == nil {
		return fmt.Errorf("its header %.100q cannot be read: want one array of numbers or strings", strings.TrimSpace(text))
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
	if a.dtype.size > 0 && a.len > math.MaxInt/2/a.dtype.size {
		return fmt.Errorf("its shape (%s) is too large", shape[1])
	}
	return nil
}

// WriteHeader writes the header of an array in C order, version 1. descr is a type, or a list of fields.
func WriteHeader(w io.Writer, descr string, shape []int) error {
	var dims strings.Builder
	for i, n := range shape {
		if i > 0 {
			dims.WriteByte(' ')
		}
		fmt.Fprintf(&dims, "%d,", n)
	}
	s := dims.String()
	if len(shape) > 1 {
		s = strings.TrimSuffix(s, ",")
	}
	if !strings.HasPrefix(descr, "[") {
		descr = "'" + descr + "'"
	}
	text := fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': (%s), }", descr, s)
	// Data start at a multiple of 64 bytes.
	pad := 63 - (10+len(text))%64
	text += strings.Repeat(" ", pad) + "\n"
	head := append([]byte(magic), 1, 0, 0, 0)
	binary.LittleEndian.PutUint16(head[8:], uint16(len(text)))
	_, err := io.WriteString(w, string(head)+text)
	return err
}

// A Matrix is a file in the NPY format with an array of numbers of two dimensions.
type Matrix struct {
	Array
	file io.ReaderAt
	buf  []byte
}

// NewMatrix reads the header of a file of the given size.
func NewMatrix(f io.ReaderAt, size int64) (*Matrix, error) {
	m := &Matrix{Array: Array{Name: "array"}, file: f}
	var err error
	if m.offset, err = readHeader(io.NewSectionReader(f, 0, size), &m.Array); err != nil {
		return nil, fmt.Errorf("the array: %w", err)
	}
	if len(m.Shape) != 2 || !m.dtype.number() {
		return nil, fmt.Errorf("the array is %s: want N x k numbers", &m.Array)
	}
	if want := uint64(m.len) * uint64(m.dtype.size); want != uint64(size-m.offset) {
		return nil, fmt.Errorf("the array is %s, which needs %d bytes, but %d are there", &m.Array, want, size-m.offset)
	}
	return m, nil
}

// Rows sets dst, of (hi-lo) x k entries, to rows lo to hi in C order.
func (m *Matrix) Rows(dst []float64, lo, hi int) error {
	n, k, size := m.Shape[0], m.Shape[1], m.dtype.size
	if !m.fortran {
		return m.run(dst, 1, lo*k, (hi-lo)*k, size)
	}
	for j := range k {
		if err := m.run(dst[j:], k, j*n+lo, hi-lo, size); err != nil {
			return err
		}
	}
	return nil
}

// run reads count elements, the first of which is number at of the file, to every
// step-th entry of dst.
func (m *Matrix) run(dst []float64, step, at, count, size int) error {
	if cap(m.buf) < count*size {
		m.buf = make([]byte, count*size)
	}
	buf := m.buf[:count*size]
	if _, err := m.file.ReadAt(buf, m.offset+int64(at)*int64(size)); err != nil {
		return fmt.Errorf("the array: element %d cannot be read: %w", at, err)
	}
	if step == 1 {
		return m.numbers(dst[:count], buf)
	}
	column := make([]float64, count)
	err := m.numbers(column, buf)
	for i, v := range column {
		dst[i*step] = v
	}
	return err
}
