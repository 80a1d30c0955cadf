package collective

import (
	"fmt"

	"github.com/difalt/difalt/consensus/wire"
)

// A HeaderReduction goes along a tree in the headers of the rounds of other operations,
// and so costs no rounds of its own: a word of every node is combined by maximum, and
// numbers are summed. It implements wire.HeaderPart.
type HeaderReduction struct {
	rounds          *wire.Rounds
	channel         wire.Channel // of failures
	relay           relay        // of work
	work, committed State
	result          []float64 // what Take has returned
}

// A State is what is kept of a reduction from one round to the next.
type State struct {
	Active, Ready bool // under way; complete and not taken
	Round         int  // done
	Numbers       int  // a node has
	Words         []uint8
	Sums          []float64 // one row a hosted node
}

func (s *State) copyFrom(t *State) {
	words, sums := s.Words, s.Sums
	*s = *t
	s.Words, s.Sums = append(words[:0], t.Words...), append(sums[:0], t.Sums...)
}

// NewHeaderReduction returns a reduction of the nodes of r along a tree.
func NewHeaderReduction(r *wire.Rounds, tree *Tree) *HeaderReduction {
	hosted := len(r.Hosted)
	h := &HeaderReduction{rounds: r, channel: wire.StreamExact}
	h.relay = relay{rounds: r, tree: tree, how: add, Rows: make([][]float64, hosted)}
	h.work.Words, h.committed.Words = make([]uint8, hosted), make([]uint8, hosted)
	return h
}

// use makes the relay that of work.
func (h *HeaderReduction) use() {
	w := &h.work
	h.relay.done, h.relay.words = w.Round, w.Words
	for i := range h.relay.Rows {
		h.relay.Rows[i] = w.Sums[i*w.Numbers:][:w.Numbers]
	}
}

// Start starts a reduction of words[i] and sums[i] of the hosted nodes, which are copied.
// It returns false, and does nothing, while one is under way.
func (h *HeaderReduction) Start(words []uint8, sums [][]float64) bool {
	w := &h.work
	if w.Active {
		return false
	}
	w.Active, w.Ready, w.Round, w.Numbers = true, false, 0, 0
	w.Words, w.Sums = append(w.Words[:0], words...), w.Sums[:0]
	for i, row := range sums {
		w.Numbers = len(row)
		w.Sums = append(w.Sums, row...)
		if !wire.Finite(row) {
			h.rounds.Fail(h.channel, i)
		}
	}
	h.use()
	h.endIfComplete()
	return true
}

func (h *HeaderReduction) endIfComplete() {
	if h.work.Round == h.relay.Rounds() {
		h.work.Active, h.work.Ready = false, true
	}
}

// AppendTo implements wire.HeaderPart.
func (h *HeaderReduction) AppendTo(dst []byte, k int) []byte {
	if !h.work.Active {
		return dst
	}
	return h.relay.appendTo(dst, k)
}

// Check implements wire.HeaderPart.
func (h *HeaderReduction) Check(k int) error {
	p := h.rounds.HeaderCode(k)
	if h.work.Active {
		return h.relay.check(k, p)
	}
	return wire.NothingDue(p)
}

// Step implements wire.HeaderPart.
func (h *HeaderReduction) Step() {
	if h.work.Active {
		h.relay.step(h.channel, h.rounds.HeaderCode)
		h.work.Round++
		h.endIfComplete()
	}
}

// Skip does as many steps as n rounds have, with all nodes in this process.
func (h *HeaderReduction) Skip(n int) {
	for ; n > 0 && h.work.Active; n-- {
		h.Step()
	}
}

// Take returns the results of a reduction, once, when it is complete. The numbers are
// valid until the next call.
func (h *HeaderReduction) Take() (word uint8, sums []float64, ok bool) {
	if !h.work.Ready {
		return 0, nil, false
	}
	h.work.Ready = false
	h.result = append(h.result[:0], h.work.Sums[:h.work.Numbers]...)
	return h.work.Words[0], h.result, true
}

// Commit makes the state final: Rewind will not go back behind it.
func (h *HeaderReduction) Commit() { h.committed.copyFrom(&h.work) }

// Rewind goes back to the last Commit.
func (h *HeaderReduction) Rewind() {
	h.work.copyFrom(&h.committed)
	h.use()
}

// Committed returns the state of the last Commit. It is read only.
func (h *HeaderReduction) Committed() State { return h.committed }

// Restore takes over a state that Committed returned in an equal network. It returns an
// error, and changes nothing, if s cannot be one.
func (h *HeaderReduction) Restore(s State) error {
	hosted, rounds := len(h.rounds.Hosted), h.relay.Rounds()
	if s.Round < 0 || s.Round > rounds || s.Active && s.Round == rounds || len(s.Words) != hosted ||
		s.Numbers < 0 || len(s.Sums)%hosted != 0 || len(s.Sums)/hosted != s.Numbers || !wire.Finite(s.Sums) {
		return fmt.Errorf("consensus: the state has a reduction of %d words and %d numbers in round %d", len(s.Words), len(s.Sums), s.Round)
	}
	h.committed = s
	h.Rewind()
	return nil
}
