package wire

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/difalt/difalt/topology"
)

// A Transport carries frames between nodes that live in different processes.
type Transport interface {
	// Hosted returns the nodes that live in this process, in ascending order.
	Hosted() []int
	// Exchange carries frames over the links between hosted nodes and nodes elsewhere, in the
	// order of Links(graph, Hosted()): out[k] goes along link k, if it is not empty, and in[k] is
	// set to the next frame that comes the other way if due[k], and otherwise to nil; if due is
	// nil, all are due. What is due at one end is sent at the other, in its exchange with the same
	// seq, which begins with 0 and grows by one. A node sends at most one frame beyond the last
	// that it cannot know to have been used: two are under way along a link at most. What in
	// holds is valid until the next call. What out held belongs to the transport from the call on;
	// after success out[k] is memory, or nil, in which the caller may make its next frame. The
	// caller checks the checksums of frames, and what they are.
	//
	// All or nothing: after an error it may be called again with the same arguments, and
	// what has been sent need not be sent again. After success it may be called again with
	// the same seq, if the caller refuses what came; out is not looked at then.
	//
	// It returns ctx.Err() if the caller gives up, and a *PeerError if a peer fails, also
	// by saying nothing for longer than a round may take.
	Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error
	// Close ends the links, after what is left to be sent; the peers see that as Closed.
	Close() error
}

// An Identified transport knows which run it serves. Frames of others are refused; see Origin.
type Identified interface {
	Run() (id uint64, epoch uint32)
}

// MaxProof bounds the bytes of a proof of a Signer.
const MaxProof = 16 << 10

// A Signer is a Transport whose nodes can show to all others, not only to their neighbours,
// that they have said something in this run and epoch. One without keys is none.
type Signer interface {
	// Sign returns a proof, of at most MaxProof bytes, that the hosted node says msg.
	Sign(msg []byte) (proof []byte, err error)
	// Verify returns a *PeerError about a node, of kind Refused, unless proof shows that it
	// says msg. Whoever has passed the proof on may have spoilt it.
	Verify(node int, msg, proof []byte) error
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
// then by neighbour, ascending. It panics if g is nil.
func Links(g *topology.Graph, hosted []int) []Link {
	if g == nil {
		panic("consensus: links of a graph that is nil")
	}
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

// Traffic counts communication.
type Traffic struct {
	Rounds   int64 // exchanges that had to wait for one another
	Messages int64 // directed: one node to one neighbour
	Bytes    int64 // of all frames, with their headers, also of Silent
	Silent   int64 // messages of a header only, since there was too little news
	Lost     int64 // of Messages, those that had to be sent again; see Meter
}

// Minus returns what t counts beyond u, an earlier count.
func (t Traffic) Minus(u Traffic) Traffic {
	return Traffic{t.Rounds - u.Rounds, t.Messages - u.Messages, t.Bytes - u.Bytes, t.Silent - u.Silent, t.Lost - u.Lost}
}

// Plus returns the sum of two counts.
func (t Traffic) Plus(u Traffic) Traffic {
	return Traffic{t.Rounds + u.Rounds, t.Messages + u.Messages, t.Bytes + u.Bytes, t.Silent + u.Silent, t.Lost + u.Lost}
}

// A Placement says which nodes of a graph live in this process, and where their vectors
// and those of their neighbours are kept. It is read only.
type Placement struct {
	Graph  *topology.Graph
	Hosted []int // nodes that live here, ascending
	Index  []int // of every node among Hosted; -1 if it lives elsewhere
	// Row is the row of every node in a matrix of vectors: hosted nodes come first, then
	// their neighbours elsewhere, ascending; -1 for other nodes. Rows is how many there are.
	Row   []int
	Rows  int
	Links []Link
	First []bool // of every link, whether it is the first to its peer
	Ends  int64  // ends of edges at hosted nodes: so many messages are sent in a round
}

// newPlacement returns the placement of nodes of g of which the given ones live here.
func newPlacement(g *topology.Graph, hosted []int) (*Placement, error) {
	if len(hosted) == 0 {
		return nil, errors.New("consensus: the transport hosts no node")
	}
	l := g.Len()
	p := &Placement{Graph: g, Hosted: hosted, Index: slices.Repeat([]int{-1}, l)}
	for k, i := range hosted {
		if i < 0 || i >= l || k > 0 && i <= hosted[k-1] {
			return nil, fmt.Errorf("consensus: the transport hosts nodes %d: must ascend and be of the network's %d", hosted, l)
		}
		p.Index[i] = k
		p.Ends += int64(g.Degree(i))
	}
	p.Links = Links(g, hosted)
	elsewhere := make([]bool, l)
	for _, link := range p.Links {
		p.First = append(p.First, !elsewhere[link.Peer])
		elsewhere[link.Peer] = true
	}
	p.Row, p.Rows = slices.Clone(p.Index), len(hosted)
	for i, there := range elsewhere {
		if there {
			p.Row[i] = p.Rows
			p.Rows++
		}
	}
	return p, nil
}

// Number returns the number of a link in Links.
func (p *Placement) Number(node, peer int) int { return slices.Index(p.Links, Link{node, peer}) }

// AllHosted reports whether all nodes live in this process.
func (p *Placement) AllHosted() bool { return len(p.Hosted) == p.Graph.Len() }

// CheckRows returns an error unless there is one row a hosted node, all of one length.
func (p *Placement) CheckRows(z [][]float64) error {
	if len(z) != len(p.Hosted) {
		return fmt.Errorf("consensus: %d rows for %d hosted nodes", len(z), len(p.Hosted))
	}
	for i, row := range z {
		if len(row) != len(z[0]) {
			return fmt.Errorf("consensus: node %d has %d numbers, node %d has %d", p.Hosted[i], len(row), p.Hosted[0], len(z[0]))
		}
	}
	return nil
}
