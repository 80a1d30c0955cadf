package transport

import "fmt"

// A Kind classifies the failure of a peer.
type Kind uint8

// The kinds of failure.
const (
	Timeout     Kind = iota // nothing arrived within the time limit of a round
	Closed                  // the connection has ended
	Refused                 // the peer could not prove its identity
	Protocol                // the message differs from the message that is due
	Corrupt                 // the frame was damaged
	Waiting                 // the peer reports that it waits for others; it has not failed
	Interrupted             // the peer's user or system has interrupted it
)

var kindNames = []string{"timeout", "closed", "refused", "protocol", "corrupt", "waiting", "interrupted"}

// String returns a short name for error messages.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// A PeerError reports that another node has failed. It never reports that the caller's context has ended.
type PeerError struct {
	Peer int // the node that has failed
	// Via lists the nodes that relayed the report, from the neighbour that delivered it to the node that
	// made it. It is empty for a failure that this node has observed. Any node in it may be wrong, or lie.
	Via   []int
	Round uint64 // the sequence number of the exchange
	Kind  Kind
	Err   error // details, or nil
}

// Error returns a text such as "node 3, round 17: closed". The network begins it with "consensus: ".
func (e *PeerError) Error() string {
	s := ""
	for _, i := range e.Via {
		s += fmt.Sprintf("node %d reports that ", i)
	}
	s += fmt.Sprintf("node %d, round %d: %v", e.Peer, e.Round, e.Kind)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns Err.
func (e *PeerError) Unwrap() error { return e.Err }
