package collective

import (
	"math"
)

// rowsContent is a Content of rows of numbers, one a hosted node, all of one length.
type rowsContent interface {
	Content
	// kept is how many numbers take needs, len is how many a row has.
	len() int
	kept() int
	// read makes numbers of what has come down, and take overwrites the rows by them.
	read(numbers []float64, down []uint64)
	take(numbers []float64)
}

// rows are what contents of rows have in common.
type rows struct {
	z        [][]float64
	up, down Form
}

func (r *rows) Up() Form   { return r.up }
func (r *rows) Down() Form { return r.down }
func (r *rows) len() int   { return len(r.z[0]) }
func (r *rows) kept() int  { return len(r.z[0]) }

func (r *rows) take(numbers []float64) {
	for _, row := range r.z {
		copy(row, numbers)
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

func (n *numbers) kept() int { return len(n.z[0]) + 1 }

func (n *numbers) read(v []float64, down []uint64) {
	last := len(down) - 1
	for k, w := range down[:last] {
		v[k] = math.Float64frombits(w)
	}
	v[last] = float64(int64(down[last]))
}

func (n *numbers) take(v []float64) {
	last := len(v) - 1
	n.over = v[last] == overflows
	if n.fit = v[last] == doesFit; n.fit && !n.alone {
		n.rows.take(v[:last])
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

func (v *votes) read(counts []float64, down []uint64) {
	for k, w := range down {
		counts[k] = float64(w)
	}
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

func (c *copies) read(v []float64, down []uint64) {
	for k, w := range down {
		v[k] = math.Float64frombits(w)
	}
}
