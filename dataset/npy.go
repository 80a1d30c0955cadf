package dataset

import (
	"io"

	"github.com/difalt/difalt/internal/npz"
)

// readNPY adds the rows of an array of NumPy, whose columns are c0, c1, ...
func (r *reader) readNPY(f io.ReaderAt, size int64) error {
	m, err := npz.NewMatrix(f, size)
	if err != nil {
		return err
	}
	n, k := m.Shape[0], m.Shape[1]
	if err := r.open(numbered("c", k), "row"); err != nil {
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
		b.reset(r.cols)
		for i := range hi - lo {
			r.takeRow(&b, lo+i+1, values[i*k:][:k])
		}
		if err := r.to.add(&b); err != nil {
			return err
		}
		r.readSoFar.to(int64(float64(size) * float64(hi) / float64(n)))
	}
	return r.to.close()
}

// takeRow adds a row of numbers to a batch, unless an earlier one was wrong.
func (r *reader) takeRow(b *batch, line int, row []float64) {
	if b.err != nil {
		return
	}
	b.begin(line)
	for col, v := range row {
		if b.err = r.store(b, b.rows, col, v); b.err != nil {
			return
		}
	}
	b.rows++
}
