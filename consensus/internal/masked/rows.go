package masked

import (
	"errors"
	"math"

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

// sums is the Summand of rows that are summed.
type sums struct {
	rows
	numbers *FixedPoint
}

func (n *sums) set(z [][]float64) {
	n.z = z
	up, down := n.numbers.Segments(len(z[0]))
	n.up, n.down = append(n.up[:0], up), append(n.down[:0], down)
}

func (n *sums) Fill(words []uint64, i int) error {
	err := n.numbers.Check(n.z[i])
	if err == nil {
		n.numbers.Add(words, n.z[i])
	}
	return err
}

func (n *sums) Finish(down, total []uint64) { n.numbers.Decode(down, total) }

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
