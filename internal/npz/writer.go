package npz

import (
	"archive/zip"
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// A Writer writes a .npz file as numpy.savez does: stored, not compressed. Equal arrays give equal
// bytes. The first error sticks and is returned by Close.
type Writer struct {
	zip *zip.Writer
	err error
}

// NewWriter starts a file on w.
func NewWriter(w io.Writer) *Writer { return &Writer{zip: zip.NewWriter(w)} }

// Float64s writes an array of float64 in C order. The data must fill the shape.
func (w *Writer) Float64s(name string, shape []int, data []float64) {
	w.Rows(name, shape, false, func(dst []float64, i int) { copy(dst, data[i*len(dst):]) })
}

// Rows writes an array of float64, or float32 if single is set. It calls row for each row along the last
// dimension, in order, to set dst to row i.
func (w *Writer) Rows(name string, shape []int, single bool, row func(dst []float64, i int)) {
	descr, dst := "<f8", make([]float64, shape[len(shape)-1])
	if single {
		descr = "<f4"
	}
	w.array(name, descr, shape, func(b []byte, i int) []byte {
		j := i % len(dst)
		if j == 0 {
			row(dst, i/len(dst))
		}
		if single {
			return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(dst[j])))
		}
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(dst[j]))
	})
}

// Ints writes a one-dimensional array of int64.
func (w *Writer) Ints(name string, data []int) {
	w.array(name, "<i8", []int{len(data)}, func(b []byte, i int) []byte {
		return binary.LittleEndian.AppendUint64(b, uint64(data[i]))
	})
}

// Strings writes an array of strings. The data must fill the shape.
func (w *Writer) Strings(name string, shape []int, data []string) {
	width := 1 // NumPy has no strings of width 0
	for _, s := range data {
		width = max(width, utf8.RuneCountInString(s))
	}
	w.array(name, fmt.Sprintf("<U%d", width), shape, func(b []byte, i int) []byte {
		for _, c := range data[i] {
			b = binary.LittleEndian.AppendUint32(b, uint32(c))
		}
		return append(b, make([]byte, 4*width-len(b))...)
	})
}

// Bytes writes a one-dimensional array of uint8.
func (w *Writer) Bytes(name string, data []byte) {
	w.array(name, "|u1", []int{len(data)}, func(b []byte, i int) []byte { return append(b, data[i]) })
}

// Close writes the table of contents and returns the first error.
func (w *Writer) Close() error {
	if err := w.zip.Close(); w.err == nil {
		w.err = err
	}
	return w.err
}

// array writes one entry; put appends element i to the empty b.
func (w *Writer) array(name, descr string, shape []int, put func(b []byte, i int) []byte) {
	entry, err := w.zip.CreateHeader(&zip.FileHeader{
		Name: name + ".npy", Method: zip.Store, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC),
	})
	if w.err != nil || err != nil {
		w.err = cmp.Or(w.err, err)
		return
	}
	out, n := bufio.NewWriterSize(entry, 1<<16), 1
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, tuple(shape))
	text += strings.Repeat(" ", 63-(10+len(text))%64) + "\n" // data start at a multiple of 64 bytes
	out.Write(append(binary.LittleEndian.AppendUint16([]byte(magic), uint16(len(text))), text...))
	for _, k := range shape {
		n *= k
	}
	for i := range n {
		out.Write(put(out.AvailableBuffer(), i))
	}
	w.err = out.Flush()
}
