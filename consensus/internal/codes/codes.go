package codes

import (
	"math"
	"math/bits"

	"github.com/difalt/difalt/consensus/internal/masked"
)

// Classes of exponents lie from the exponent of the range of the codes less shrink to the largest exponent
// that the next vector can take.
const classes, shrink = 16, 11

// codes is the masked.Summand of the codes of a vector, the classes of its exponents, and its totals.
type codes struct {
	mean     *Mean
	up, down masked.Layout
	totals   *masked.FixedPoint
	steps    [parts]float64 // the power of two that a code of each part represents
}

// widthOf returns the bits of a code of a part.
func (c *codes) widthOf(part int) int {
	if part == 0 {
		return c.mean.width
	}
	return scalarWidth
}

// prepare sets the layouts and steps for the current width and exponents.
func (c *codes) prepare() {
	m, nodes := c.mean, c.mean.engine.Graph.Len()
	c.up, c.down = c.up[:0], c.down[:0]
	for k := range parts {
		from, to := m.sizes.bounds(k)
		width := c.widthOf(k)
		c.steps[k] = math.Ldexp(1, m.rangeOf(k)-(width-1))
		c.up = append(c.up, masked.Segment{N: to - from, Bits: width + bits.Len(uint(nodes-1))})
	}
	c.up = append(c.up, masked.Segment{N: parts * classes, Bits: m.countBits()})
	c.down = append(c.down, c.up...)
	up, down := c.totals.Segments(m.sizes.Totals)
	c.up, c.down = append(c.up, up), append(c.down, down)
}

func (c *codes) Up() masked.Layout { return c.up }

func (c *codes) Down() masked.Layout { return c.down }

// coded returns the number of words before the words of the totals.
func (c *codes) coded() int { return c.mean.sizes.averaged() + parts*classes }

// classesOf returns the counts of the classes of a part.
func (c *codes) classesOf(part int, words []uint64) []uint64 {
	return words[c.mean.sizes.averaged()+part*classes:][:classes]
}

func (c *codes) Finish(down, total []uint64) {
	n := c.coded()
	copy(down[:n], total)
	c.totals.Decode(down[n:], total[n:])
}

// Fill implements masked.Summand. It adds what the codes represent to H.
func (c *codes) Fill(words []uint64, i int) error {
	m := c.mean
	m.started = true
	totals := m.x[i][m.sizes.averaged():]
	e, zero, err := m.largest(i)
	if err == nil {
		err = c.totals.Check(totals)
	}
	if err != nil {
		return err
	}
	for k := range parts {
		if !zero[k] {
			class := e[k] - m.rangeOf(k) + shrink
			c.classesOf(k, words)[min(max(class, 0), classes-1)]++
		}
		c.encode(words, i, k)
	}
	c.totals.Add(words[c.coded():], totals)
	return nil
}

// encode adds the codes of a part of hosted node i to words, and what they represent to H.
func (c *codes) encode(words []uint64, i, part int) {
	x, h := c.mean.x[i], c.mean.sent[i]
	from, to := c.mean.sizes.bounds(part)
	step := c.steps[part]
	inverse, most := 1/step, float64(int(1)<<(c.widthOf(part)-1)-1)
	for j := from; j < to; j++ {
		code := min(max(math.RoundToEven((x[j]-h[j])*inverse), -most), most)
		words[j] += uint64(int64(code))
		h[j] += float64(code * step)
	}
}

// take adds the mean of the codes to D, and sets the exponents for the next vector.
func (c *codes) take(down []uint64) {
	m := c.mean
	nodes := float64(m.engine.Graph.Len())
	for k := range parts {
		from, to := m.sizes.bounds(k)
		for j := from; j < to; j++ {
			m.mean[j] += float64(int64(down[j])) * c.steps[k] / nodes
		}
		switch class := lastNonzero(c.classesOf(k, down)); class {
		case -1: // all differences are zero
		case classes - 1:
			m.exponent[k] = unknown
		default:
			m.setExponent(k, m.rangeOf(k)+class-shrink)
		}
	}
	for k, w := range down[c.coded():] {
		m.mean[m.sizes.averaged()+k] = math.Float64frombits(w)
	}
}
