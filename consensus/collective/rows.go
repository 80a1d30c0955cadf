package collective

import (
	"math"
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
	largest := maxAbs(v.about[i])
	return largest-largest == 0
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
	largest := maxAbs(c.z[i])
	return largest-largest == 0
}

func (c *copies) Finish([]uint64, []uint64) {}

func (c *copies) take(down []uint64) { c.overwrite(down, math.Float64frombits) }
