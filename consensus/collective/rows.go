package collective

import (
	"math"
	"math/bits"

	"github.com/difalt/difalt/consensus/wire"
)

// rowsContent is a Content of rows of numbers, one a hosted node, all of one length.
type rowsContent interface {
	Content
	// len is how many numbers a row has, and take overwrites all rows by what has come down.
	len() int
	take(down []uint64)
}

// rows are what contents of rows have in common.
type rows struct {
	z        [][]float64
	up, down Form
}

func (r *rows) Up() Form   { return r.up }
func (r *rows) Down() Form { return r.down }
func (r *rows) len() int   { return len(r.z[0]) }

// overwrite overwrites all rows by the numbers for which words stand.
func (r *rows) overwrite(words []uint64, number func(uint64) float64) {
	for k, w := range words {
		x := number(w)
		for _, row := range r.z {
			row[k] = x
		}
	}
}

// numbers are rows of float64 that are added up in a window, with votes.
type numbers struct {
	rows
	window window
	shift  int // numbers are multiplied by 2^-shift
	alone  bool
	fit    bool // the last sum has all the digits that it should have
	over   bool // it is beyond the range of float64
}

// What goes down behind a sum.
const (
	doesNotFit = 0
	doesFit    = 1
	overflows  = -1
)

func (n *numbers) set(z [][]float64, shift, nodes int) {
	if n.window.nodes != nodes {
		n.window = newWindow(digits, top, nodes)
	}
	n.z, n.shift, n.alone = z, shift, nodes == 1
	n.up = append(n.up[:0], n.window.form(len(z[0])), countOf(voteKinds, nodes))
	n.down = append(n.down[:0], Segment{len(z[0]), wordBits}, Segment{1, 2})
}

func (n *numbers) Fill(words []uint64, i int) bool {
	w, votes := &n.window, words[len(words)-voteKinds:]
	largest := maxAbs(n.z[i])
	if largest-largest != 0 {
		return false
	}
	if n.alone {
		return true
	}
	if w.vote(votes, math.Ldexp(largest, -n.shift)) { // otherwise all will be added up once more
		w.add(words, n.z[i], n.shift)
	}
	return true
}

func (n *numbers) Finish(down, total []uint64) {
	w, last, how := &n.window, len(down)-1, doesNotFit
	if fits(total[len(total)-voteKinds:]) {
		how = doesFit
	}
	for k := range down[:last] {
		x := w.decode(total[k*w.digits:][:w.digits])
		if n.shift != 0 {
			x = math.Ldexp(x, n.shift)
		}
		if x-x != 0 {
			x, how = 0, overflows
		}
		down[k] = math.Float64bits(x)
	}
	down[last] = uint64(how)
}

func (n *numbers) take(down []uint64) {
	last := len(down) - 1
	how := int64(down[last])
	n.over = how == overflows
	if n.fit = how == doesFit; n.fit && !n.alone {
		n.overwrite(down[:last], math.Float64frombits)
	}
}

// maxAbs returns the largest magnitude, NaN if there is one.
func maxAbs(v []float64) float64 {
	largest := 0.0
	for _, x := range v {
		largest = max(largest, math.Abs(x))
	}
	return largest
}

// votes are rows of 0 and 1 that are counted.
type votes struct {
	rows
	about [][]float64 // numbers that have to be finite
}

func (v *votes) set(z, about [][]float64, nodes int) {
	form := countOf(len(z[0]), nodes)
	v.z, v.about, v.up, v.down = z, about, append(v.up[:0], form), append(v.down[:0], form)
}

func (v *votes) Fill(words []uint64, i int) bool {
	for k, x := range v.z[i] {
		words[k] += uint64(x)
	}
	return wire.Finite(v.about[i])
}

func (v *votes) Finish(down, total []uint64) { copy(down, total) }

func (v *votes) take(down []uint64) {
	v.overwrite(down, func(w uint64) float64 { return float64(w) })
}

// copies are rows of which all become that of the root.
type copies struct{ rows }

func (c *copies) set(z [][]float64) {
	c.z, c.down = z, append(c.down[:0], Segment{len(z[0]), wordBits})
}

func (c *copies) Fill(words []uint64, i int) bool {
	for k, x := range c.z[i] {
		words[k] = math.Float64bits(x)
	}
	return wire.Finite(c.z[i])
}

func (c *copies) Finish([]uint64, []uint64) {}

func (c *copies) take(down []uint64) { c.overwrite(down, math.Float64frombits) }

// A window says how float64 become integers whose sums are exact, whatever their order: a number
// is rounded towards zero to a multiple of 2^low, of which it is so many, in two's complement with
// room for the sum over all nodes. An integer is several words, the lowest first, which are added
// with carry: what the words of several nodes were before cannot be told from their sum.
type window struct {
	nodes            int
	digits, low, top int                 // words of a number, which is below 2^top
	scale            [wideDigits]float64 // of each word: 2^(low + 64 k)
}

// Of 8 nodes the numbers of a sum are below 2^56 and rounded to multiples of 2^-132. Header
// reductions, which cannot be repeated, take what lies between 2^100 and 2^-216: an objective,
// the square of a move.
const (
	digits, top         = 3, 56
	wideDigits, wideTop = 5, 100
	significandBits     = 53
	wordBits            = 64
)

// newWindow returns the window of numbers below 2^top of so many nodes.
func newWindow(digits, top, nodes int) window {
	w := window{nodes: nodes, digits: digits, top: top, low: top + 1 + bits.Len(uint(nodes-1)) - digits*wordBits}
	for k := range w.digits {
		w.scale[k] = math.Ldexp(1, w.low+k*wordBits)
	}
	return w
}

// form returns the segment of so many numbers.
func (w *window) form(numbers int) Segment { return Segment{numbers, w.digits * wordBits} }

// Votes, of which there are three, say how the numbers of a node lie in the window: one is too
// large for it; the largest keeps all of its digits; one is not zero.
const (
	tooLarge, large, nonzero = 0, 1, 2
	voteKinds                = 3
)

// vote writes the votes of a node whose numbers have this largest magnitude. It returns false if
// that is too large.
func (w *window) vote(votes []uint64, largest float64) bool {
	if largest == 0 {
		return true
	}
	_, e := math.Frexp(largest) // largest < 2^e
	votes[nonzero]++
	if e > w.top {
		votes[tooLarge]++
		return false
	}
	if e >= w.low+significandBits {
		votes[large]++
	}
	return true
}

// fits reports whether a sum is right by the counts of votes: no number is too large, and the
// largest of all nodes keeps all of its digits.
func fits(votes []uint64) bool {
	return votes[tooLarge] == 0 && (votes[large] > 0 || votes[nonzero] == 0)
}

// place returns |x| 2^-low, rounded towards zero, as significand 2^at. All bits of sign are set if x
// is negative, and none otherwise.
func place(x float64, low int) (significand uint64, at uint, sign uint64) {
	const exponentBits, bias = 11, 1075 // of float64: x = significand 2^(exponent - bias)
	b := math.Float64bits(x)
	exponent := int(b >> (significandBits - 1) & (1<<exponentBits - 1))
	significand = b & (1<<(significandBits-1) - 1)
	if exponent > 0 {
		significand |= 1 << (significandBits - 1)
	} else {
		exponent = 1
	}
	shift := exponent - bias - low
	if shift < 0 {
		significand >>= uint(-shift)
		shift = 0
	}
	return significand, uint(shift), uint64(int64(b) >> (wordBits - 1))
}

// add adds v 2^-shift to words: of a negative number the complement and one more, which changes
// nothing below its lowest word.
func (w *window) add(words []uint64, v []float64, shift int) {
	for _, x := range v {
		significand, at, sign := place(x, w.low+shift)
		s, from := at%wordBits, words[at/wordBits:w.digits]
		low, high, carry := significand<<s, significand>>1>>(wordBits-1-s), sign&1
		from[0], carry = bits.Add64(from[0], low^sign, carry)
		for k := 1; k < len(from); k++ {
			from[k], carry = bits.Add64(from[k], high^sign, carry)
			high = 0
		}
		words = words[w.digits:]
	}
}

// decode returns what a sum stands for, rounded once or twice. It overwrites it.
func (w *window) decode(words []uint64) float64 {
	negative := int64(words[w.digits-1]) < 0
	if negative {
		carry := uint64(1)
		for k := range words {
			words[k], carry = bits.Add64(^words[k], 0, carry)
		}
	}
	x := 0.0
	for k := w.digits - 1; k >= 0; k-- {
		x += float64(words[k]) * w.scale[k]
	}
	if negative {
		return -x
	}
	return x
}
