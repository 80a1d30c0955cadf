package wire

import (
	"errors"
	"fmt"
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
