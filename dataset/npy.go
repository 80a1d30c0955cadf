package dataset

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/difalt/difalt/internal/npz"
)

// readNPY adds the rows of an array of NumPy, whose columns are c0, c1, ...
func (l *loader) readNPY(f io.ReaderAt, size int64) error {
	m, err := npz.NewMatrix(f, size)
	if err != nil {
		return err
	}
	n, k := m.Shape[0], m.Shape[1]
	if err := l.open(numbered("c", k), "row"); err != nil {
		return err
	}
	const rows = 512
	var b batch
	values := make([]float64, rows*k)
	for lo := 0; lo < n; lo += rows {
		hi := min(lo+rows, n)
		if err := m.Rows(values, lo, hi); err != nil {
			return err
		}
		b.reset(l.cols)
		for i := range hi - lo {
			l.takeRow(&b, lo+i+1, values[i*k:][:k])
		}
		if err := l.add(&b); err != nil {
			return err
		}
	}
	return l.close()
}

// takeRow adds a row of numbers to a batch, unless an earlier one was wrong.
func (l *loader) takeRow(b *batch, line int, row []float64) {
	if b.err != nil {
		return
	}
	b.begin(line)
	for col, v := range row {
		if b.err = l.store(b, b.rows, col, v); b.err != nil {
			return
		}
	}
	b.rows++
}

// store puts a number where the role of its column says, in a row of a batch. NaN is
// missing.
func (l *loader) store(b *batch, row, col int, v float64) error {
	r := l.cols.roles[col]
	missing := math.IsNaN(v)
	switch {
	case r.kind == ignored || r.kind == name && missing:
		return nil
	case math.IsInf(v, 0):
		return fmt.Errorf("row %d, column %q: the value is %v", b.line[row], l.cols.header[col], v)
	case r.kind == feature && l.single() && !missing && !fits(v):
		return fmt.Errorf("row %d, column %q: %v is too large for float32", b.line[row], l.cols.header[col], v)
	case r.kind == name:
		at := len(b.text)
		b.text = strconv.AppendFloat(b.text, v, 'f', -1, 64)
		b.names[row*b.texts+r.at] = span{at, len(b.text)}
		return nil
	case r.kind == feature:
		b.x[row*b.width+r.at] = v
	default:
		b.y[row] = v
	}
	b.missing = b.missing || missing
	return nil
}
