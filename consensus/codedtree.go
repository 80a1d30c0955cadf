package consensus

import (
	"context"
	"errors"
	"math"
	"math/bits"

	"github.com/difalt/difalt/consensus/collective"
	"github.com/difalt/difalt/consensus/wire"
)

// A codedTree is the mean over all nodes along the tree, in codes. Every node g keeps H_g, the sum of all
// that it has sent, and all nodes keep D, the mean of all H_g. Node g sends the difference Z_g - H_g as
// integers, multiples of a step that all nodes share, and adds what the integers represent to H_g. The
// integers are summed with masks. All nodes add their mean, times the step, to D, which is the new message.
// As Z converges the differences shrink, and the step with them; the rounding error of an integer is part
// of the next difference.
//
// The step follows the largest difference of all nodes. With every message the nodes count how many of them
// have their largest difference in each power of two, and the next message has the step that was right for
// this one: larger differences are cut off, and sent with the next message. Before the first message, and
// after a difference has outgrown the counts, the nodes count over all powers of two, in a sum of its own.
type codedTree struct {
	*Network
	codec    Codec
	layout   layout
	x        []float64 // the messages of the hosted nodes
	replica  []float64 // H_g of the hosted nodes, and D in the last row
	exponent [parts]int
	counts   counts
	codes    codes
}

// A message has two parts: the entries of the basis, in codes of the codec, and the scalars, which are few,
// in codes of 24 bits: as entries of a small matrix they matter through its smallest eigenvalue, which
// coarse codes would bury.
const (
	parts      = 2
	scalarBits = 24
	// unknown is the exponent of a part before the first count.
	unknown = math.MinInt32
)

func newCodedTree(n *Network, c Codec) *codedTree {
	t := &codedTree{Network: n, codec: c}
	t.counts = counts{t, collective.Form{{N: parts * groups, Bits: t.countBits()}}}
	t.codes = codes{codedTree: t, totals: collective.NewNumbers(n.Len())}
	return t
}

func (*codedTree) Exact() bool { return true }

// Refine implements Exchange.
func (t *codedTree) Refine(c Codec) { t.codec = max(t.codec, min(c, Int16)) }

// part returns the bounds of a part of a vector, and the bits of its codes.
func (t *codedTree) part(k int) (from, to, width int) {
	f := t.layout
	if basis := f.D * f.R; k == 0 {
		return 0, basis, int(t.codec)
	}
	return f.D * f.R, f.averaged(), scalarBits
}

// Average implements Exchange. After an error the next message is a first one.
func (t *codedTree) Average(ctx context.Context, z []Message) error {
	if err := t.checkMessages(z); err != nil {
		return err
	}
	err := t.average(ctx, z)
	if err != nil {
		t.x = nil
	}
	return err
}

func (t *codedTree) average(ctx context.Context, z []Message) error {
	if d := dimensionsOf(z[0]); t.x == nil || t.layout.dimensions != d {
		t.layout = layoutOf(d)
		n := len(z) * t.layout.stride
		t.x, t.replica = make([]float64, n), make([]float64, n+t.layout.stride)
		t.exponent = [parts]int{unknown, unknown}
	}
	f := t.layout
	for i := range z {
		f.gather(f.row(t.x, i), z[i])
	}
	if t.Len() == 1 {
		return t.checkFinite(f, t.x)
	}
	counted := t.mustCount()
	if counted {
		down, err := t.Run(ctx, wire.Average, &t.counts, &t.traffic)
		if err != nil {
			return err
		}
		t.takeCounts(down)
	}
	t.codes.prepare()
	down, err := t.Run(ctx, wire.Average, &t.codes, &t.traffic)
	if err != nil {
		if counted {
			t.rounds.End(ctx, err) // the other nodes go on with the codes
		}
		return err
	}
	t.takeCodes(down)
	for i := range z {
		f.scatter(f.row(t.replica, len(z)), z[i])
	}
	return nil
}

// mustCount reports whether a part has no exponent.
func (t *codedTree) mustCount() bool {
	for k := range parts {
		if from, to, _ := t.part(k); to > from && t.exponent[k] == unknown {
			return true
		}
	}
	return false
}

func (t *codedTree) countBits() int { return bits.Len(uint(t.Len())) + 1 }

// largest returns the exponents e of the parts of hosted node i: all differences are below 2^e in
// magnitude, and zero if zero[k].
func (t *codedTree) largest(i int) (e [parts]int, zero [parts]bool, err error) {
	x, h := t.layout.row(t.x, i), t.layout.row(t.replica, i)
	for k := range parts {
		from, to, _ := t.part(k)
		largest := 0.0
		for j := from; j < to; j++ {
			largest = max(largest, math.Abs(x[j]-h[j]))
		}
		if largest-largest != 0 {
			return e, zero, errors.New("a number is not finite")
		}
		_, e[k] = math.Frexp(largest)
		zero[k] = largest == 0
	}
	return e, zero, nil
}

// Powers of two are counted in groups: each of its own from 2^-64 to 2^63, and 64 together elsewhere, where
// a first message may lose most of its digits; later ones regain them.
const (
	together = 64
	outer    = 16 // groups on either side
	groups   = outer + 2*together + outer
)

// groupOf returns the group of an exponent of a float64.
func groupOf(exponent int) int {
	switch {
	case exponent < -together:
		return (exponent + (outer+1)*together) / together
	case exponent < together:
		return outer + exponent + together
	}
	return min(outer+2*together+(exponent-together)/together, groups-1)
}

// largestOf returns the largest exponent of a group.
func largestOf(group int) int {
	switch {
	case group < outer:
		return (group-outer)*together - 1
	case group < outer+2*together:
		return group - outer - together
	}
	return (group-outer-2*together+2)*together - 1
}

// counts is the collective.Content of a count over all groups of exponents.
type counts struct {
	*codedTree
	form collective.Form
}

func (c *counts) Up() collective.Form { return c.form }

func (c *counts) Down() collective.Form { return c.form }

func (c *counts) Finish(down, total []uint64) { copy(down, total) }

func (c *counts) Fill(words []uint64, i int) error {
	e, zero, err := c.largest(i)
	if err != nil {
		return err
	}
	for k := range parts {
		if !zero[k] {
			words[k*groups+groupOf(e[k])]++
		}
	}
	return nil
}

// takeCounts sets the exponents from the largest group of each part.
func (t *codedTree) takeCounts(down []uint64) {
	for k := range parts {
		if g := collective.Last(down[k*groups:][:groups]); g >= 0 {
			t.setExponent(k, largestOf(g))
		}
	}
}

// setExponent sets the exponent of the range of the codes of a part, within the limits where the step is
// finite and not too small to be inverted.
func (t *codedTree) setExponent(k, e int) { t.exponent[k] = min(max(e, leastRange), greatestRange) }

const leastRange, greatestRange = -900, 1000

// rangeOf returns the exponent of the range of the codes of a part.
func (t *codedTree) rangeOf(k int) int {
	if t.exponent[k] == unknown { // all differences are zero
		return 0
	}
	return t.exponent[k]
}

// Classes of exponents lie from that of the range of the codes less shrink to the largest that the next
// message can take.
const classes, shrink = 16, 11

// codes is the collective.Content of the codes of a message, the classes of its exponents, and its totals.
type codes struct {
	*codedTree
	up, down collective.Form
	totals   *collective.Numbers
	steps    [parts]float64 // the power of two that a code of each part represents
}

// prepare sets the forms and steps for the current codec and exponents.
func (c *codes) prepare() {
	c.up, c.down = c.up[:0], c.down[:0]
	for k := range parts {
		from, to, width := c.part(k)
		c.steps[k] = math.Ldexp(1, c.rangeOf(k)-(width-1))
		c.up = append(c.up, collective.Segment{N: to - from, Bits: width + bits.Len(uint(c.Len()-1))})
	}
	c.up = append(c.up, collective.Segment{N: parts * classes, Bits: c.countBits()})
	up, down := c.totals.Segments(c.layout.Totals)
	c.up, c.down = append(c.up, up), append(append(c.down, c.up...), down)
}

func (c *codes) Up() collective.Form { return c.up }

func (c *codes) Down() collective.Form { return c.down }

// coded returns the number of words before those of the totals.
func (c *codes) coded() int { return c.layout.averaged() + parts*classes }

func (c *codes) Finish(down, total []uint64) {
	n := c.coded()
	copy(down[:n], total)
	c.totals.Decode(down[n:], total[n:])
}

// Fill implements collective.Content. It adds what the codes represent to H.
func (c *codes) Fill(words []uint64, i int) error {
	f := c.layout
	x, h := f.row(c.x, i), f.row(c.replica, i)
	e, zero, err := c.largest(i)
	if err == nil {
		err = c.totals.Check(x[f.averaged():])
	}
	if err != nil {
		return err
	}
	for k := range parts {
		if !zero[k] {
			class := e[k] - c.rangeOf(k) + shrink
			words[f.averaged()+k*classes+min(max(class, 0), classes-1)]++
		}
		c.encode(words, x, h, k)
	}
	c.totals.Add(words[c.coded():], x[f.averaged():])
	return nil
}

// encode adds the codes of a part of x - h to words, and what they represent to h.
func (c *codes) encode(words []uint64, x, h []float64, k int) {
	from, to, width := c.part(k)
	step := c.steps[k]
	inverse, most := 1/step, float64(int(1)<<(width-1)-1)
	for j := from; j < to; j++ {
		code := min(max(math.RoundToEven((x[j]-h[j])*inverse), -most), most)
		words[j] += uint64(int64(code))
		h[j] += code * step
	}
}

// takeCodes adds the mean of the codes to D, and sets the exponents for the next message.
func (t *codedTree) takeCodes(down []uint64) {
	f := t.layout
	mean := f.row(t.replica, len(t.Hosted()))
	for k := range parts {
		from, to, _ := t.part(k)
		step := t.codes.steps[k]
		for j := from; j < to; j++ {
			mean[j] += float64(int64(down[j])) * step / float64(t.Len())
		}
		switch class := collective.Last(down[f.averaged()+k*classes:][:classes]); class {
		case -1: // all differences are zero
		case classes - 1:
			t.exponent[k] = unknown
		default:
			t.setExponent(k, t.rangeOf(k)+class-shrink)
		}
	}
	for k, w := range down[t.codes.coded():] {
		mean[f.averaged()+k] = math.Float64frombits(w)
	}
}
