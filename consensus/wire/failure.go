package wire

import (
	"errors"
	"fmt"
)

// A failure says which node had a number that is not finite, and when. It is part of
// every header from then on, so that all know of it after as many rounds as the graph
// has hops across, and then all fail, in the same round.
type failure struct {
	set     bool
	channel Channel
	node    int
	seq     uint64
}

// A rumour is what this process knows of the failure in its headers.
type rumour struct {
	teller int     // the peer that it has come from first, if that is not of a hosted node
	told   failure // of a hosted node, of which the peers have been told
}

// before reports whether f came before g.
func (f failure) before(g failure) bool {
	return f.set && (!g.set || f.seq < g.seq || f.seq == g.seq && f.node < g.node)
}

// Fail notes that a hosted node, by its index, has a number that is not finite.
func (r *Rounds) Fail(c Channel, index int) {
	r.merge(failure{set: true, channel: c, node: r.Hosted[index], seq: r.header.seq})
}

// merge keeps the earlier of f and the failure that is known, and reports whether that is f.
func (r *Rounds) merge(f failure) bool {
	if !f.before(r.header.failure) {
		return false
	}
	r.header.failure = f
	return true
}

// hear takes it that a peer knows of a failure.
func (r *Rounds) hear(peer int, f failure) {
	if r.merge(f) {
		r.rumour.teller = peer
	}
}

// doubt returns an error if what a peer says of a failure cannot be: what it says of a hosted
// node is known better here, and of another one's all nodes have ended once as many rounds
// are over as the graph has hops across.
func (r *Rounds) doubt(peer int, f failure) error {
	switch {
	case !f.set:
		return nil
	case f.node >= r.Graph.Len() || f.seq > r.header.seq || r.header.seq >= f.seq+r.diameter:
		return &PeerError{Peer: peer, Round: r.header.seq, Kind: Protocol, Err: fmt.Errorf("it says that node %d failed in round %d", f.node, f.seq)}
	case r.Index[f.node] >= 0 && f != r.rumour.told:
		return &PeerError{Peer: f.node, Via: []int{peer}, Round: f.seq, Kind: NotFinite, Err: errors.New("this node knows that it has not")}
	}
	return nil
}

// outcome returns the error with which all nodes end in this round, if any. spread says
// that what any of them knows of failures, all know.
func (r *Rounds) outcome(spread bool) error {
	f := r.header.failure
	if !f.set {
		return nil
	}
	err := r.blame(f)
	if r.transport == nil {
		r.header.failure = failure{} // nobody else waits: the caller may rewind
		return err
	}
	if !spread && r.header.seq < f.seq+r.diameter {
		return nil
	}
	r.ended = err
	return err
}

// blame returns the error about a failure: of this process, or of another one that says so
// itself, or of which a peer does.
func (r *Rounds) blame(f failure) error {
	if r.Index[f.node] >= 0 {
		return fmt.Errorf("%w: node %d, %v", ErrNotFinite, f.node, f.channel)
	}
	e := &PeerError{Peer: f.node, Round: f.seq, Kind: NotFinite, Err: fmt.Errorf("%w: %v", ErrNotFinite, f.channel)}
	if r.rumour.teller != f.node {
		e.Via = []int{r.rumour.teller}
	}
	return e
}
