package collective

import (
	"fmt"

	"github.com/difalt/difalt/consensus/wire"
)

// A HeaderReduction goes along a tree in the headers of the rounds of other operations,
// and so costs no rounds of its own: a word of every node is combined by maximum, and
// numbers are summed. It implements wire.HeaderPart.
type HeaderReduction struct {
	relay
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

// NewHeaderReduction returns a reduction of the nodes of r along a tree.
func NewHeaderReduction(r *wire.Rounds, tree *Tree) *HeaderReduction {
	h := &HeaderReduction{relay: relay{rounds: r, channel: wire.StreamExact, tree: tree, combine: Add}}
	h.Words, h.committed.Words = make([]uint8, len(r.Hosted)), make([]uint8, len(r.Hosted))
	return h
}

// Start starts a reduction of words[i] and sums[i] of the hosted nodes, which are copied;
// sums may be nil. It returns false, and does nothing, while one is under way.
func (h *HeaderReduction) Start(words []uint8, sums [][]float64) bool {
	if h.Phase == Active {
		return false
	}
	numbers := 0
	if len(sums) > 0 {
		numbers = len(sums[0])
	}
	h.reset(numbers)
	copy(h.Words, words)
	for i, row := range sums {
		copy(h.Row(i), row)
	}
	h.noteFailures()
	h.Phase = Active
	h.endIfComplete()
	return true
}

func (h *HeaderReduction) endIfComplete() {
	if h.Round == h.way().Rounds() {
		h.Phase = Complete
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
func (h *HeaderReduction) Step() {
	if h.Phase == Active {
		h.step(h.rounds.HeaderCode)
		h.endIfComplete()
	}
}

// Skip does as many steps as n rounds have, with all nodes in this process.
func (h *HeaderReduction) Skip(n int) {
	for ; n > 0 && h.Phase == Active; n-- {
		h.Step()
	}
}

// Take returns the results of a reduction, once, when it is complete, and otherwise
// nothing: the word, and then the numbers. They are valid until the next call.
func (h *HeaderReduction) Take() []float64 {
	if h.Phase != Complete {
		return nil
	}
	h.Phase = Idle
	h.result = append(append(h.result[:0], float64(h.Words[0])), h.Row(0)...)
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
	hosted, rounds := len(h.rounds.Hosted), h.way().Rounds()
	if s.Phase > Complete || s.Round < 0 || s.Round > rounds || s.Phase == Active && s.Round == rounds || len(s.Words) != hosted ||
		s.Numbers < 0 || len(s.Rows)%hosted != 0 || len(s.Rows)/hosted != s.Numbers || !wire.Finite(s.Rows) {
		return fmt.Errorf("consensus: the state has a reduction of %d words and %d numbers in round %d", len(s.Words), len(s.Rows), s.Round)
	}
	h.committed = s
	h.reset(s.Numbers)
	h.Rewind()
	return nil
}
