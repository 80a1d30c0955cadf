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
	rounds *wire.Rounds
	tree   *Tree
	how    Combine // nil: broadcast
	maxima int
	done   int // rounds
	// Of the hosted nodes: a word, combined by maximum, and a row of numbers.
	words   []uint8
	Rows    [][]float64
	decoded []float64 // the numbers of one link
}

// Way returns the state of the messages of the relay on their way.
func (r *relay) way() Way { return Way{r.tree, r.how == nil, r.done} }

// Rounds returns how many rounds the relay takes.
func (r *relay) Rounds() int { return r.way().Rounds() }

// Done returns how many rounds have been done.
func (r *relay) Done() int { return r.done }

// appendTo appends what goes along link k in the next round.
func (r *relay) appendTo(dst []byte, k int) []byte {
	link := r.rounds.Links[k]
	i := r.rounds.Index[link.Node]
	if !r.way().Sends(link.Node, link.Peer) || !wire.Finite(r.Rows[i]) {
		return dst
	}
	return wire.AppendFloats(append(dst, r.words[i]), r.Rows[i])
}

// check returns an error if p, which has come along link k, is not what is due.
func (r *relay) check(k int, p []byte) error {
	link := r.rounds.Links[k]
	switch {
	case !r.way().Sends(link.Peer, link.Node):
		return wire.NothingDue(p)
	case len(p) == 0 && r.rounds.PeerKnowsFailure(k):
		return nil // the peer has nothing that is finite, or knows of somebody who has not
	case len(p) != 1+8*len(r.Rows[0]):
		return fmt.Errorf("%d bytes of a reduction of %d numbers", len(p), len(r.Rows[0]))
	}
	return wire.ReadFloats(r.room(), p[1:])
}

func (r *relay) room() []float64 {
	if n := len(r.Rows[0]); cap(r.decoded) < n {
		r.decoded = make([]float64, n)
	}
	return r.decoded[:len(r.Rows[0])]
}

// step takes over what the nodes have sent in this round, and returns how many links
// the hosted ones have used. code returns what has come along a link.
func (r *relay) step(channel wire.Channel, code func(k int) []byte) (messages int64) {
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
			r.words[i] = max(r.words[i], word)
			r.how(r.Rows[i], row, r.maxima)
			if !wire.Finite(r.Rows[i]) {
				r.rounds.Fail(channel, i)
			}
		default:
			r.words[i] = word
			copy(r.Rows[i], row)
		}
	}
	r.done++
	return messages
}

// sent returns what node from has sent to hosted node to, if it could.
func (r *relay) sent(from, to int, code func(k int) []byte) (word uint8, row []float64, ok bool) {
	if i := r.rounds.Index[from]; i >= 0 {
		return r.words[i], r.Rows[i], true
	}
	p := code(r.rounds.Number(to, from))
	if len(p) == 0 {
		return 0, nil, false
	}
	row = r.room()
	return p[0], row, wire.ReadFloats(row, p[1:]) == nil // check has found it good
}
