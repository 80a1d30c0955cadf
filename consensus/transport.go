package consensus

import (
	"context"
	"fmt"

	"github.com/difalt/difalt/topology"
)

// A Transport carries bytes between nodes that live in different processes.
type Transport interface {
	// Hosted returns the nodes that live in this process, in ascending order.
	Hosted() []int
	// Exchange carries one frame over every link between a hosted node and a node
	// elsewhere, in the order of Links(graph, Hosted()): out[k] goes along link k, and
	// in[k] is set to what came the other way with the same sequence number seq. seq
	// begins with 0 and grows by one. What in holds is valid until the next call. What out
	// held belongs to the transport from the call on; after success out[k] is memory, or
	// nil, in which the caller may make its next frame. The caller checks the checksums of
	// frames, the transport no more than their length.
	//
	// All or nothing: after an error it may be called again with the same arguments, and
	// what has been sent need not be sent again. After success it may be called again with
	// the same seq, if the caller refuses what came; out is not looked at then.
	//
	// It returns ctx.Err() if the caller gives up, and a *PeerError if a peer fails, also
	// by saying nothing for longer than a round may take.
	Exchange(ctx context.Context, seq uint64, out, in [][]byte) error
	// Close ends the links, after what is left to be sent; the peers see that as Closed.
	Close() error
}

// A Term is something about which all nodes must say the same before they begin, in processes that
// live apart, or again when a run is taken up.
type Term struct {
	What  string `json:"what"` // as in "WHAT is 3 at node 1, but 2 here"
	Value string `json:"value"`
}

// A Meter is a Transport for a simulation with all nodes in this process, over which
// nothing is carried: it says what faults would have cost.
type Meter interface {
	// Round returns what was sent beyond the given messages of a round, in total of the
	// given bytes, until all had arrived.
	Round(messages, bytes int64) Traffic
}

// A Link is one direction of an edge, from a hosted node to a neighbour elsewhere.
type Link struct{ Node, Peer int }

// Links returns the links out of the hosted nodes to nodes that are not, by node,
// then by neighbour, ascending.
func Links(g *topology.Graph, hosted []int) []Link {
	here := make(map[int]bool)
	for _, i := range hosted {
		here[i] = true
	}
	var links []Link
	for _, i := range hosted {
		for _, j := range g.Neighbors(i) {
			if !here[j] {
				links = append(links, Link{i, j})
			}
		}
	}
	return links
}

// A Kind says how a peer failed.
type Kind uint8

// The kinds of failure.
const (
	Timeout  Kind = iota // nothing came in the time of a round
	Closed               // the connection has ended
	Refused              // the peer is not who it should be
	Protocol             // what came is not what is due
	Corrupt              // what came was damaged on the way
)

var kindNames = []string{"timeout", "closed", "refused", "protocol", "corrupt"}

// String returns a short name for messages.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// A PeerError says that another node has failed, never that the caller gave up.
type PeerError struct {
	Peer  int    // the node
	Round uint64 // the sequence number of the exchange
	Kind  Kind
	Err   error // what is known beyond, or nil
}

func (e *PeerError) Error() string {
	s := fmt.Sprintf("consensus: node %d, round %d: %v", e.Peer, e.Round, e.Kind)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns Err.
func (e *PeerError) Unwrap() error { return e.Err }
