package transport

import (
	"context"
	"slices"

	"github.com/difalt/difalt/topology"
)

// A Transport carries frames between nodes that live in different processes. It serves one goroutine,
// except for Close.
type Transport interface {
	// Hosted returns the nodes that live in this process, in ascending order.
	Hosted() []int
	// Exchange carries frames over the links between hosted nodes and nodes elsewhere, in the order of
	// Links(graph, Hosted()). It sends out[k] along link k unless out[k] is empty. It sets in[k] to the next
	// frame that arrives along link k if due[k], and to nil otherwise; a nil due means that all links are
	// due. A frame that is due at one end is sent at the other end in the exchange with that seq. seq starts
	// at 0 and grows by one.
	//
	// A node sends at most one frame before it has received an answer to its last frame: at most two frames
	// are under way along a link. in is valid until the next call. The transport owns the memory of out once
	// the call has started; on success it sets out[k] to memory for the caller's next frame, or to nil. The
	// caller checks the checksums and the contents of frames.
	//
	// Exchange returns ctx.Err() if ctx ends, and a *PeerError if a peer fails, or sends nothing within the
	// time limit of a round. No exchange follows an error.
	Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error
	// Close sends the frames that are left, and ends the links; the peers see Closed.
	Close() error
}

// An Identified transport supplies the identity of its run. Frames of other runs are refused.
type Identified interface {
	Run() uint64
}

// A Signer is a Transport whose nodes can prove to all nodes, not only to their neighbours, that they have
// sent a message in this run. A transport without keys does not implement it.
type Signer interface {
	// Sign returns a proof that the hosted node sends msg.
	Sign(msg []byte) (proof []byte)
	// Verify returns a *PeerError about node, of kind Refused, unless proof shows that node sends msg. A
	// node that has relayed the proof may have altered it.
	Verify(node int, msg, proof []byte) error
}

// A Link is one direction of an edge, from a hosted node to a neighbour elsewhere.
type Link struct{ Node, Peer int }

// Links returns the links from the hosted nodes, which ascend, to nodes elsewhere, sorted by node and then by
// neighbour.
func Links(g *topology.Graph, hosted []int) []Link {
	var links []Link
	for _, i := range hosted {
		for _, j := range g.Neighbors(i) {
			if _, here := slices.BinarySearch(hosted, j); !here {
				links = append(links, Link{i, j})
			}
		}
	}
	return links
}

// Traffic counts the messages that nodes have sent.
type Traffic struct {
	Rounds   int64 // exchanges that had to wait for one another
	Messages int64 // from one node to one neighbour
	Bytes    int64 // of all frames, with their headers
}

// Minus returns t less u, an earlier count.
func (t Traffic) Minus(u Traffic) Traffic {
	return Traffic{t.Rounds - u.Rounds, t.Messages - u.Messages, t.Bytes - u.Bytes}
}

// Plus returns the sum of two counts.
func (t Traffic) Plus(u Traffic) Traffic {
	return Traffic{t.Rounds + u.Rounds, t.Messages + u.Messages, t.Bytes + u.Bytes}
}
