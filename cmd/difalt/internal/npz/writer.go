package npz

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// A Writer writes a .npz file as numpy.savez does: stored, not compressed. The same arrays give the same
// bytes. The first error sticks and is returned by Close.
type Writer struct {
	zip *zip.Writer
	err error
}

// NewWriter starts a file on w.
func NewWriter(w io.Writer) *Writer { return &Writer{zip: zip.NewWriter(w)} }

// Float64s writes an array of float64 in C order.
func (w *Writer) Float64s(name string, shape []int, data []float64) {
	w.array(name, "<f8", shape, len(data), func(b []byte, i int) []byte { return appendFloat64(b, data[i]) })
}

// Rows writes an array of float64, or float32 if single is set. It calls row for each row along the last
// dimension, in order, to set dst to row i.
func (w *Writer) Rows(name string, shape []int, single bool, row func(dst []float64, i int)) {
	descr, put := "<f8", appendFloat64
	if single {
		descr, put = "<f4", appendFloat32
	}
	dst := make([]float64, shape[len(shape)-1])
	w.array(name, descr, shape, product(shape), func(b []byte, i int) []byte {
		j := i % len(dst)
		if j == 0 {
			row(dst, i/len(dst))
		}
		return put(b, dst[j])
	})
}

// Ints writes a one-dimensional array of int64.
func (w *Writer) Ints(name string, data []int) {
	w.array(name, "<i8", []int{len(data)}, len(data), func(b []byte, i int) []byte {
		return binary.LittleEndian.AppendUint64(b, uint64(data[i]))
	})
}

// Strings writes an array of strings.
func (w *Writer) Strings(name string, shape []int, data []string) {
	width := 1 // NumPy has no strings of width 0
	for _, s := range data {
		width = max(width, utf8.RuneCountInString(s))
	}
	w.array(name, fmt.Sprintf("<U%d", width), shape, len(data), func(b []byte, i int) []byte {
		for _, c := range data[i] {
			b = binary.LittleEndian.AppendUint32(b, uint32(c))
		}
		return append(b, make([]byte, 4*width-len(b))...)
	})
}

func appendFloat64(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

func appendFloat32(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
}

// Close writes the table of contents and returns the first error.
func (w *Writer) Close() error {
	if err := w.zip.Close(); w.err == nil {
		w.err = err
	}
	return w.err
}

// array writes one entry of n elements; put appends element i to the empty b.
func (w *Writer) array(name, descr string, shape []int, n int, put func(b []byte, i int) []byte) {
	if w.err == nil && n != product(shape) {
		w.err = fmt.Errorf("array %q: %d elements do not fill the shape %v", name, n, shape)
	}
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
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, tuple(shape))
	text += strings.Repeat(" ", 63-(10+len(text))%64) + "\n" // data start at a multiple of 64 bytes
	out.Write(append(binary.LittleEndian.AppendUint16([]byte(magic+"\x01\x00"), uint16(len(text))), text...))
	for i := range n {
		out.Write(put(out.AvailableBuffer(), i))
	}
	w.err = out.Flush()
}

// product returns the number of elements of a shape.
func product(shape []int) int {
	n := 1
	for _, k := range shape {
		n *= k
	}
	return n
}
