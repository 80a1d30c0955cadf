package masked

import (
	"errors"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/sizes"
)

// overwrite sets all rows to a result.
func overwrite(z [][]float64, down []uint64) {
	for _, row := range z {
		for k, w := range down {
			row[k] = math.Float64frombits(w)
		}
	}
}

// rows are rows of numbers, one for every hosted node, all of one length.
type rows struct {
	z        [][]float64
	up, down Layout
}

func (r *rows) Up() Layout   { return r.up }
func (r *rows) Down() Layout { return r.down }

// sums is the Summand of rows that are summed. The last numbers of a row are not summed: the root decides on
// them.
type sums struct {
	rows
	numbers *FixedPoint
	count   int // numbers of a row that are summed
	decide  func(row []float64)
	row     []float64 // of decide
}

func (n *sums) set(z [][]float64, decided int, decide func(row []float64)) {
	n.z, n.count, n.decide = z, len(z[0])-decided, decide
	up, down := n.numbers.Segments(n.count)
	n.up, n.down = append(n.up[:0], up), append(n.down[:0], down, Segment{decided, wordBits})
}

func (n *sums) Fill(words []uint64, i int) error {
	row := n.z[i][:n.count]
	err := n.numbers.Check(row)
	if err == nil {
		n.numbers.Add(words, row)
	}
	return err
}

func (n *sums) Finish(down, total []uint64) {
	n.numbers.Decode(down[:n.count], total)
	if n.decide == nil {
		return
	}
	n.row = slices.Grow(n.row[:0], len(down))[:len(down)]
	for k, w := range down[:n.count] {
		n.row[k] = math.Float64frombits(w)
	}
	clear(n.row[n.count:])
	n.decide(n.row)
	for k, x := range n.row[n.count:] {
		down[n.count+k] = math.Float64bits(x)
	}
}

// copies is the Summand of rows that are overwritten with the row of the root.
type copies struct{ rows }

func (c *copies) set(z [][]float64) {
	c.z, c.down = z, append(c.down[:0], Segment{len(z[0]), wordBits})
}

func (c *copies) Fill(words []uint64, i int) error {
	if !sizes.Finite(c.z[i]) {
		return errors.New("a number is not finite")
	}
	for k, x := range c.z[i] {
		words[k] = math.Float64bits(x)
	}
	return nil
}

func (c *copies) Finish([]uint64, []uint64) {}
