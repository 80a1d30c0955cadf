package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrNotFinite is returned when a number cannot be sent since it is NaN, infinite
// or beyond the range of float32: the computation that made it has diverged.
var ErrNotFinite = errors.New("consensus: a message is not finite")

// ErrUntrue is what a node finds that has done nothing wrong itself, when what all nodes say does
// not go together: masks hide which of them is to blame.
var ErrUntrue = errors.New("what a node says cannot be, and masks hide which")

// A Kind says how a peer failed.
type Kind uint8

// The kinds of failure.
const (
	Timeout   Kind = iota // nothing came in the time of a round
	Closed                // the connection has ended
	Refused               // the peer is not who it should be
	Protocol              // what came is not what is due
	Corrupt               // what came was damaged on the way
	NotFinite             // it had a number that cannot be sent
)

var kindNames = []string{"timeout", "closed", "refused", "protocol", "corrupt", "not finite"}

// String returns a short name for messages.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// A PeerError says that another node has failed, never that the caller gave up. It says that
// of this node if another one does so.
type PeerError struct {
	Peer int // the node
	// Via is who says so: from the neighbour that this node has heard it from to the one that
	// speaks for itself, as far as that is known. It is empty for what this node has
	// found itself. Any of them may be wrong, or lie.
	Via   []int
	Round uint64 // the sequence number of the exchange
	Kind  Kind
	Err   error // what is known beyond, or nil
}

func (e *PeerError) Error() string {
	s := "consensus: "
	for _, i := range e.Via {
		s += fmt.Sprintf("node %d says that ", i)
	}
	s += fmt.Sprintf("node %d, round %d: %v", e.Peer, e.Round, e.Kind)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns Err.
func (e *PeerError) Unwrap() error { return e.Err }

// A failure says which node had a number that is not finite, and when. It is part of
// every frame from then on. Time passes by how far it spreads: by a hop in a round of gossip, in
// which frames cross all links, and by as many as the graph has across when an operation has
// gone up a tree and down again. So all know of it after that many, and then all fail, in the
// same round.
type failure struct {
	set     bool
	channel Channel
	node    int
	seq     uint64
	time    uint64
}

// append appends the bytes of f to dst.
func (f failure) append(dst []byte) []byte {
	dst = append(dst, byte(f.channel))
	for _, v := range [...]uint64{uint64(f.node), f.seq, f.time} {
		dst = binary.AppendUvarint(dst, v)
	}
	return dst
}

// parse overwrites f by what p begins with, and returns the rest of p; nil if there is no failure.
func (f *failure) parse(p []byte) []byte {
	if len(p) == 0 {
		return nil
	}
	f.set, f.channel, p = true, Channel(p[0]), p[1:]
	var v [3]uint64
	for k := range v {
		n := 0
		if v[k], n = binary.Uvarint(p); n <= 0 {
			return nil
		}
		p = p[n:]
	}
	f.node, f.seq, f.time = int(min(v[0], math.MaxInt32)), v[1], v[2]
	return p
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
	r.merge(failure{set: true, channel: c, node: r.Hosted[index], seq: r.seq, time: r.time})
}

// merge keeps the earlier of f and the failure that is known, and reports whether that is f.
func (r *Rounds) merge(f failure) bool {
	if !f.before(r.failure) {
		return false
	}
	r.failure = f
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
	case f.node >= r.Graph.Len() || f.seq > r.seq || f.time > r.time || r.time >= f.time+r.diameter:
		return &PeerError{Peer: peer, Round: r.seq, Kind: Protocol, Err: fmt.Errorf("it says that node %d failed in round %d", f.node, f.seq)}
	case r.Index[f.node] >= 0 && f != r.rumour.told:
		return &PeerError{Peer: f.node, Via: []int{peer}, Round: f.seq, Kind: NotFinite, Err: errors.New("this node knows that it has not")}
	}
	return nil
}

// Settle says that an operation is over that has gone up a tree and down again, so that all
// nodes know of every failure that was before it. It returns the error with which they end.
func (r *Rounds) Settle() error {
	r.time += r.diameter
	return r.outcome()
}

// outcome returns the error with which all nodes end in this round, if any.
func (r *Rounds) outcome() error {
	f := r.failure
	if !f.set {
		return nil
	}
	err := r.blame(f)
	if r.transport == nil {
		r.failure = failure{} // nobody else waits: the caller may rewind
		return err
	}
	if r.time < f.time+r.diameter {
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
