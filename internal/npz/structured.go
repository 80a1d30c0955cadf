package npz

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// A Field is one of a structured array: a name, which is ASCII without quotes, and a type of NumPy: <f8, |b1 or <U and a number.
type Field struct{ Name, Descr string }

// A Structured writes a .npy file with a structured array of one dimension, element after element, field after field.
type Structured struct {
	out    io.Writer
	fields []Field
	widths []int // of texts, in runes
	left   int   // fields
	at     int
	buf    []byte
	err    error
}

// NewStructured begins an array of so many elements.
func NewStructured(out io.Writer, fields []Field, rows int) (*Structured, error) {
	s := &Structured{out: out, fields: fields, widths: make([]int, len(fields)), left: rows * len(fields)}
	var list []string
	for i, f := range fields {
		_, _ = fmt.Sscanf(f.Descr, "<U%d", &s.widths[i]) // of other types it is 0
		list = append(list, fmt.Sprintf("('%s', '%s')", f.Name, f.Descr))
	}
	return s, writeHeader(out, "["+strings.Join(list, ", ")+"]", []int{rows})
}

// Text writes a text, which must not be longer than the field.
func (s *Structured) Text(v string) {
	width := s.widths[s.at]
	if n := utf8.RuneCountInString(v); n > width {
		s.fail(fmt.Errorf("a text of %d characters does not fit a field of %d", n, width))
	}
	for _, c := range v {
		s.buf = binary.LittleEndian.AppendUint32(s.buf, uint32(c))
	}
	s.next(4 * width)
}

// Number writes a float64.
func (s *Structured) Number(v float64) {
	s.buf = binary.LittleEndian.AppendUint64(s.buf, math.Float64bits(v))
	s.next(8)
}

// Flag writes a bool.
func (s *Structured) Flag(v bool) {
	b := byte(0)
	if v {
		b = 1
	}
	s.buf = append(s.buf, b)
	s.next(1)
}

// next writes a field of so many bytes.
func (s *Structured) next(size int) {
	for len(s.buf) < size {
		s.buf = append(s.buf, 0)
	}
	_, err := s.out.Write(s.buf)
	s.fail(err)
	s.buf, s.at, s.left = s.buf[:0], (s.at+1)%len(s.fields), s.left-1
}

func (s *Structured) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// Close returns the first error, or one that says that elements are missing or too many.
func (s *Structured) Close() error {
	if s.err == nil && s.left != 0 {
		return fmt.Errorf("the array has %d fields less than its shape says", s.left)
	}
	return s.err
}
