package collective

import (
	"errors"
	"math"

	"github.com/difalt/difalt/consensus/wire"
)

// MaxWord is the largest word of a HeaderReduction.
const MaxWord = 7

// A HeaderReduction goes along a tree in the headers of the rounds of other operations, and so
// costs no rounds of its own. Every node contributes a word and some numbers; results are the
// largest word, from a count of the nodes that have each, and the sums of the numbers. It
// implements wire.HeaderPart.
type HeaderReduction struct {
	relay
	content   headerContent
	committed State
	result    []float64 // what Take has returned
}

// A Phase says what there is of a reduction.
type Phase uint8

// The phases of a reduction.
const (
	Idle     Phase = iota // nothing
	Active                // it is under way
	Complete              // its results have not been taken
)

// NewHeaderReduction returns a reduction of the nodes of c.
func (c *Collectives) NewHeaderReduction() *HeaderReduction {
	h := &HeaderReduction{relay: relay{rounds: c.rounds, keys: c.keys, channel: wire.StreamExact, tree: c.tree}}
	h.content.window = newWindow(wideDigits, wideTop, c.rounds.Graph.Len())
	return h
}

// Start starts a reduction of words[i], at most MaxWord, and sums[i] of the hosted nodes; sums
// may be nil. It returns false, and does nothing, while one is under way. Numbers beyond 2^100
// count as 2^100, and are rounded to multiples of 2^-200 or so.
func (h *HeaderReduction) Start(words []uint8, sums [][]float64) bool {
	if h.Phase == Active {
		return false
	}
	numbers := 0
	if len(sums) > 0 {
		numbers = len(sums[0])
	}
	h.content.set(words, sums, numbers)
	h.fill(&h.content)
	h.Phase, h.Masked, h.Numbers = Active, false, numbers
	h.endIfComplete()
	return true
}

func (h *HeaderReduction) endIfComplete() {
	if h.Round == h.Rounds() {
		h.Phase = Complete
	}
}

// Mask masks what has been started, before the first round that carries it.
func (h *HeaderReduction) Mask() {
	if h.Phase == Active && !h.Masked {
		h.mask()
		h.Masked = true
	}
}

// AppendTo implements wire.HeaderPart.
func (h *HeaderReduction) AppendTo(dst []byte, k int) []byte {
	if h.Phase != Active {
		return dst
	}
	return h.relay.AppendTo(dst, k)
}

// Check implements wire.HeaderPart.
func (h *HeaderReduction) Check(k int, p []byte) error {
	if h.Phase != Active {
		return wire.NothingDue(p)
	}
	return h.relay.Check(k, p)
}

// Step implements wire.HeaderPart.
func (h *HeaderReduction) Step() (bytes int64) {
	if h.Phase != Active {
		return 0
	}
	messages, length, _ := h.step(h.rounds.HeaderCode)
	h.endIfComplete()
	return messages * wire.PartBytes(int(length))
}

// Skip does as many steps as n rounds have, with all nodes in this process.
func (h *HeaderReduction) Skip(n int) (bytes int64) {
	for ; n > 0 && h.Phase == Active; n-- {
		bytes += h.Step()
	}
	return bytes
}

// Take returns the results of a reduction, once, when it is complete, and otherwise
// nothing: the word, and then the numbers. They are valid until the next call.
func (h *HeaderReduction) Take() []float64 {
	if h.Phase != Complete {
		return nil
	}
	h.Phase = Idle
	h.result = append(h.result[:0], float64(max(Last(h.Down[:MaxWord+1]), 0)))
	for _, w := range h.Down[MaxWord+1:] {
		h.result = append(h.result, math.Float64frombits(w))
	}
	return h.result
}

// Commit makes the state final: Rewind will not go back behind it.
func (h *HeaderReduction) Commit() { h.committed.copyFrom(&h.State) }

// Rewind goes back to the last Commit.
func (h *HeaderReduction) Rewind() { h.State.copyFrom(&h.committed) }

// Committed returns the state of the last Commit. It is read only.
func (h *HeaderReduction) Committed() State { return h.committed }

// Restore takes over a state that Committed returned in an equal network. It returns an
// error, and changes nothing, if s cannot be one.
func (h *HeaderReduction) Restore(s State) error {
	hosted, rounds := len(h.rounds.Hosted), h.Rounds()
	wrong := errors.New("consensus: the state has a reduction that cannot be")
	if s.Phase > Complete || s.Round < 0 || s.Round > rounds || s.Phase == Active && s.Round == rounds || s.Numbers < 0 || s.Numbers > len(s.Down) {
		return wrong
	}
	h.content.setForms(s.Numbers)
	if s.Phase != Idle && (len(s.Up) != h.rows()*h.content.up.words() || len(s.Down) != h.content.down.words() || len(s.Silent) != hosted) {
		return wrong
	}
	h.committed = s
	h.prepare(&h.content)
	h.Rewind()
	return nil
}

// headerContent is the Content of a HeaderReduction.
type headerContent struct {
	window   window
	words    []uint8
	sums     [][]float64
	clamped  []float64 // sums of a node
	up, down Form
}

func (c *headerContent) set(words []uint8, sums [][]float64, numbers int) {
	c.words, c.sums = words, sums
	c.setForms(numbers)
}

func (c *headerContent) setForms(numbers int) {
	counts := countOf(MaxWord+1, c.window.nodes)
	c.up = append(c.up[:0], counts, c.window.form(numbers))
	c.down = append(c.down[:0], counts, Segment{numbers, wordBits})
}

func (c *headerContent) Up() Form   { return c.up }
func (c *headerContent) Down() Form { return c.down }

func (c *headerContent) Fill(words []uint64, i int) bool {
	words[c.words[i]]++
	if c.sums == nil {
		return true
	}
	w := &c.window
	most := math.Nextafter(math.Ldexp(1, w.top), 0)
	c.clamped = c.clamped[:0]
	for _, x := range c.sums[i] {
		if x-x != 0 {
			return false
		}
		c.clamped = append(c.clamped, min(max(x, -most), most))
	}
	w.add(words[MaxWord+1:], c.clamped, 0)
	return true
}

func (c *headerContent) Finish(down, total []uint64) {
	w, counts := &c.window, MaxWord+1
	copy(down[:counts], total)
	for k := range down[counts:] {
		down[counts+k] = math.Float64bits(w.decode(total[counts+k*w.digits:][:w.digits]))
	}
}
