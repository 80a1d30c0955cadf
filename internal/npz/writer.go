package npz

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"time"
	"unicode/utf8"
)

// A Writer writes a .npz file as numpy.savez does: stored, not compressed. The
// same arrays give the same bytes. The first error sticks and is returned by
// Close.
type Writer struct {
	zip *zip.Writer
	err error
}

// NewWriter starts a file on w.
func NewWriter(w io.Writer) *Writer { return &Writer{zip: zip.NewWriter(w)} }

// Float64s writes an array of float64 in C order.
func (w *Writer) Float64s(name string, shape []int, data []float64) {
	w.Floats(name, shape, false, func(put func(float64)) {
		for _, v := range data {
			put(v)
		}
	})
}

// Floats writes an array of float64, or float32 if single is set, whose elements
// fill puts one after the other in C order.
func (w *Writer) Floats(name string, shape []int, single bool, fill func(put func(float64))) {
	descr, put := "<f8", PutNumber
	if single {
		descr, put = "<f4", putSingle
	}
	w.array(name, descr, shape, func(out *bufio.Writer) (n int) {
		fill(func(v float64) {
			n++
			put(out, v)
		})
		return n
	})
}

// Ints writes a one-dimensional array of int64.
func (w *Writer) Ints(name string, data []int) {
	w.array(name, "<i8", []int{len(data)}, func(out *bufio.Writer) int {
		for _, v := range data {
			out.Write(binary.LittleEndian.AppendUint64(out.AvailableBuffer(), uint64(v)))
		}
		return len(data)
	})
}

// Strings writes an array of strings.
func (w *Writer) Strings(name string, shape []int, data []string) {
	width := 1 // NumPy has no strings of width 0
	for _, s := range data {
		width = max(width, utf8.RuneCountInString(s))
	}
	w.array(name, fmt.Sprintf("<U%d", width), shape, func(out *bufio.Writer) int {
		for _, s := range data {
			PutText(out, s, width)
		}
		return len(data)
	})
}

// Elements of arrays; a bufio.Writer keeps its first error until it is flushed.

// PutNumber writes a float64.
func PutNumber(out *bufio.Writer, v float64) {
	out.Write(binary.LittleEndian.AppendUint64(out.AvailableBuffer(), math.Float64bits(v)))
}

func putSingle(out *bufio.Writer, v float64) {
	out.Write(binary.LittleEndian.AppendUint32(out.AvailableBuffer(), math.Float32bits(float32(v))))
}

// PutText writes a text of at most so many runes.
func PutText(out *bufio.Writer, s string, width int) {
	b := out.AvailableBuffer()
	for _, c := range s {
		b = binary.LittleEndian.AppendUint32(b, uint32(c))
	}
	out.Write(append(b, make([]byte, 4*width-len(b))...))
}

// Close writes the table of contents and returns the first error.
func (w *Writer) Close() error {
	if err := w.zip.Close(); w.err == nil {
		w.err = err
	}
	return w.err
}

// array writes one entry; fill writes the elements and returns their number.
func (w *Writer) array(name, descr string, shape []int, fill func(*bufio.Writer) int) {
	if w.err != nil {
		return
	}
	var entry io.Writer
	entry, w.err = w.zip.CreateHeader(&zip.FileHeader{
		Name: name + ".npy", Method: zip.Store, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC),
	})
	if w.err != nil {
		return
	}
	out := bufio.NewWriterSize(entry, 1<<16)
	if w.err = WriteHeader(out, descr, shape); w.err != nil {
		return
	}
	n := fill(out)
	if err := out.Flush(); w.err == nil {
		w.err = err
	}
	want := 1
	for _, k := range shape {
		want *= k
	}
	if w.err == nil && n != want {
		w.err = fmt.Errorf("array %q: %d elements do not fill the shape %v", name, n, shape)
	}
}
