package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/difalt/difalt/kernel"
)

// A batch is some rows of a file after parsing: numbers, and names that are still
// part of the file's text.
type batch struct {
	width, texts int // numbers, and names, of a row
	rows         int
	x            []float64 // width numbers a row; NaN is missing
	names        []span    // texts names a row
	text         []byte
	line         []int // of every row
	missing      bool  // there are NaN among x
	err          error // about the row after the last one
}

// A span is a part of a text.
type span struct{ lo, hi int }

func (b *batch) reset(c *columns) {
	b.width, b.texts, b.rows = len(c.numbers), c.names, 0
	b.x, b.names, b.line, b.text = b.x[:0], b.names[:0], b.line[:0], b.text[:0]
	b.missing, b.err = false, nil
}

// begin makes room for a row and returns its numbers and names.
func (b *batch) begin(line int) (x []float64, names []span) {
	b.x = slices.Grow(b.x, b.width)[:len(b.x)+b.width]
	b.names = slices.Grow(b.names, b.texts)[:len(b.names)+b.texts]
	b.line = append(b.line, line)
	x, names = b.x[len(b.x)-b.width:], b.names[len(b.names)-b.texts:]
	clear(names)
	return x, names
}

// numbers returns the numbers of a row.
func (b *batch) numbers(row int) []float64 { return b.x[row*b.width:][:b.width] }

// name returns a name of a row. It aliases the batch.
func (b *batch) name(row, which int) []byte {
	s := b.names[row*b.texts+which]
	return b.text[s.lo:s.hi]
}

// setName sets a name of a row.
func (b *batch) setName(row, which int, name []byte) {
	at := len(b.text)
	b.text = append(b.text, name...)
	b.names[row*b.texts+which] = trim(b.text, span{at, len(b.text)})
}

// store puts a number where the role of its column says, in a row of a batch. NaN is
// missing.
func (r *reader) store(b *batch, row, col int, v float64) error {
	to := r.cols.roles[col]
	missing := math.IsNaN(v)
	why := ""
	if !missing {
		why = refusal(v, r.single() && r.cols.isFeature(col))
	}
	switch {
	case to.kind == noRole || to.kind == nameRole && missing:
		return nil
	case why != "" && (to.kind != nameRole || math.IsInf(v, 0)):
		return fmt.Errorf("row %d, column %q: "+why, b.line[row], r.cols.header[col], v)
	case to.kind == nameRole:
		var digits [32]byte
		b.setName(row, to.at, strconv.AppendFloat(digits[:0], v, 'f', -1, 64))
		return nil
	}
	b.x[row*b.width+to.at] = v
	b.missing = b.missing || missing
	return nil
}

// single reports whether features must fit in float32.
func (r *reader) single() bool { return r.o.Storage == kernel.Float32 }

// trim returns the span without the white space at its ends.
func trim(block []byte, s span) span {
	for s.lo < s.hi && space(block[s.lo]) {
		s.lo++
	}
	for s.lo < s.hi && space(block[s.hi-1]) {
		s.hi--
	}
	return s
}

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
