package npz

import (
	"fmt"
	"io"
)

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
