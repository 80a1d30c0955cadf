package npz

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A Field is one of a structured array: a name, which is ASCII without quotes, and a type of NumPy, <f8, |b1 or <U and
// the number of Runes.
type Field struct {
	Name, Descr string
	Runes       int // of texts
}

// A Structured writes a .npy file with a structured array of one dimension, element after element, field after field.
type Structured struct {
	out        *bufio.Writer
	fields     []Field
	at, length int // fields of all elements
	err        error
}

// NewStructured begins an array of so many elements.
func NewStructured(out io.Writer, fields []Field, rows int) (*Structured, error) {
	s := &Structured{out: bufio.NewWriterSize(out, 1<<16), fields: fields, length: rows * len(fields)}
	var list []string
	for _, f := range fields {
		list = append(list, fmt.Sprintf("('%s', '%s')", f.Name, f.Descr))
	}
	return s, writeHeader(s.out, "["+strings.Join(list, ", ")+"]", []int{rows})
}

// Text writes a text, which must not be longer than the field.
func (s *Structured) Text(v string) {
	width := s.fields[s.at%len(s.fields)].Runes
	if n := utf8.RuneCountInString(v); n > width && s.err == nil {
		s.err = fmt.Errorf("a text of %d characters does not fit a field of %d", n, width)
	}
	if s.err == nil {
		putText(s.out, v, width)
	}
	s.at++
}

// Number writes a float64.
func (s *Structured) Number(v float64) {
	putNumber(s.out, v)
	s.at++
}

// Flag writes a bool.
func (s *Structured) Flag(v bool) {
	b := byte(0)
	if v {
		b = 1
	}
	s.out.WriteByte(b)
	s.at++
}

// Close returns the first error, or one that says that elements are missing or too many.
func (s *Structured) Close() error {
	if s.err == nil && s.at != s.length {
		s.err = fmt.Errorf("the array has %d fields less than its shape says", s.length-s.at)
	}
	return errors.Join(s.err, s.out.Flush())
}
