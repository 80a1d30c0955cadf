package collective

import (
	"fmt"

	"github.com/difalt/difalt/consensus/wire"
)

// A relay carries a word and some numbers along a tree, one level a round: up to the
// root, where parents combine what comes from their children in ascending order, and
// down again unchanged. So all nodes end with the same bits, wherever they live. A
// relay that does not combine only goes down, and broadcasts what the root has.
type relay struct {
	State
	rounds  *wire.Rounds
	channel wire.Channel // of failures
	tree    *Tree
	combine Combine   // nil: broadcast
	maxima  int       // see Combine
	decoded []float64 // the numbers of one link
}

// A State is what a relay keeps from one round to the next.
type State struct {
	Phase   Phase
	Round   int       // done
	Numbers int       // a node has
	Words   []uint8   // of the hosted nodes, combined by maximum
	Rows    []float64 // one row of numbers a hosted node
}

func (s *State) copyFrom(t *State) {
	words, rows := s.Words, s.Rows
	*s = *t
	s.Words, s.Rows = append(words[:0], t.Words...), append(rows[:0], t.Rows...)
}

// Row returns the numbers of hosted node i.
func (s *State) Row(i int) []float64 { return s.Rows[i*s.Numbers:][:s.Numbers] }

// reset makes room for rows of the given length, to be filled.
func (r *relay) reset(numbers int) {
	size := len(r.rounds.Hosted) * numbers
	if cap(r.Rows) < size {
		r.Rows = make([]float64, size)
	}
	r.Round, r.Numbers, r.Rows = 0, numbers, r.Rows[:size]
	if len(r.decoded) < numbers {
		r.decoded = make([]float64, numbers)
	}
}

// way says how far the messages have come.
func (r *relay) way() Way { return Way{r.tree, r.combine == nil, r.Round} }

// noteFailures looks for numbers that are not finite, where they matter.
func (r *relay) noteFailures() {
	for i, node := range r.rounds.Hosted {
		if (r.combine != nil || node == r.tree.Root) && !wire.Finite(r.Row(i)) {
			r.rounds.Fail(r.channel, i)
		}
	}
}

// AppendTo appends what goes along link k in the next round.
func (r *relay) AppendTo(dst []byte, k int) []byte {
	link := r.rounds.Links[k]
	i := r.rounds.Index[link.Node]
	if !r.way().Sends(link.Node, link.Peer) || !wire.Finite(r.Row(i)) {
		return dst
	}
	return wire.AppendFloats(append(dst, r.Words[i]), r.Row(i))
}

// Check returns an error if p, which has come along link k, is not what is due.
func (r *relay) Check(k int, p []byte) error {
	link := r.rounds.Links[k]
	switch {
	case !r.way().Sends(link.Peer, link.Node):
		return wire.NothingDue(p)
	case len(p) != 1+8*r.Numbers:
		return fmt.Errorf("%d bytes of a reduction of %d numbers", len(p), r.Numbers)
	}
	return wire.ReadFloats(r.decoded[:r.Numbers], p[1:])
}

// step takes over what the nodes have sent in this round, and returns how many links
// the hosted ones have used. code returns what has come along a link.
func (r *relay) step(code func(k int) []byte) (messages int64) {
	depth, up := r.way().Level()
	level := depth
	if !up {
		level++
	}
	for _, child := range r.tree.Levels[level] {
		from, to := child, r.tree.Parent[child]
		if !up {
			from, to = to, from
		}
		if r.rounds.Index[from] >= 0 {
			messages++
		}
		i := r.rounds.Index[to]
		if i < 0 {
			continue
		}
		word, row, ok := r.sent(from, to, code)
		switch {
		case !ok:
		case up:
			r.Words[i] = max(r.Words[i], word)
			r.combine(r.Row(i), row, r.maxima)
			if !wire.Finite(r.Row(i)) {
				r.rounds.Fail(r.channel, i)
			}
		default:
			r.Words[i] = word
			copy(r.Row(i), row)
		}
	}
	r.Round++
	return messages
}

// sent returns what node from has sent to hosted node to, if it could.
func (r *relay) sent(from, to int, code func(k int) []byte) (word uint8, row []float64, ok bool) {
	if i := r.rounds.Index[from]; i >= 0 {
		return r.Words[i], r.Row(i), true
	}
	p := code(r.rounds.Number(to, from))
	if len(p) == 0 {
		return 0, nil, false // it knows of a failure
	}
	row = r.decoded[:r.Numbers]
	return p[0], row, wire.ReadFloats(row, p[1:]) == nil // Check has found it good
}
