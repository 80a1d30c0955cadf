package rounds

import (
	"errors"
	"fmt"
	"slices"

	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/topology"
)

// A Hosting lists the nodes of a graph that live in this process, and assigns rows to their vectors and to
// the vectors of their neighbours. It is read only.
type Hosting struct {
	Graph  *topology.Graph
	Hosted []int // the nodes that live here, ascending
	Index  []int // the position of every node in Hosted; -1 for a node elsewhere
	// Row is the row of every node in a matrix of vectors: first the hosted nodes, then their neighbours
	// elsewhere, in ascending order; -1 for other nodes. Rows is the number of rows.
	Row   []int
	Rows  int
	Links []transport.Link
	// MessagesPerRound is the number of messages that the hosted nodes send in a round of gossip: one to
	// every neighbour.
	MessagesPerRound int64
}

// newHosting returns the hosting of the given nodes of g.
func newHosting(g *topology.Graph, hosted []int) (*Hosting, error) {
	if len(hosted) == 0 {
		return nil, errors.New("the transport hosts no node")
	}
	l := g.Len()
	h := &Hosting{Graph: g, Hosted: hosted, Index: slices.Repeat([]int{-1}, l)}
	for k, i := range hosted {
		if i < 0 || i >= l || k > 0 && i <= hosted[k-1] {
			return nil, fmt.Errorf("the transport hosts nodes %d: must ascend and be of the network's %d", hosted, l)
		}
		h.Index[i] = k
		h.MessagesPerRound += int64(g.Degree(i))
	}
	h.Links = transport.Links(g, hosted)
	elsewhere := make([]bool, l)
	for _, link := range h.Links {
		elsewhere[link.Peer] = true
	}
	h.Row, h.Rows = slices.Clone(h.Index), len(hosted)
	for i, there := range elsewhere {
		if there {
			h.Row[i] = h.Rows
			h.Rows++
		}
	}
	return h, nil
}

// AllHosted reports whether all nodes live in this process.
func (h *Hosting) AllHosted() bool { return len(h.Hosted) == h.Graph.Len() }

// CheckRows returns an error unless z has one row for every hosted node, all of one length.
func (h *Hosting) CheckRows(z [][]float64) error {
	if len(z) != len(h.Hosted) {
		return fmt.Errorf("%d rows for %d hosted nodes", len(z), len(h.Hosted))
	}
	for i, row := range z {
		if len(row) != len(z[0]) {
			return fmt.Errorf("node %d has %d numbers, node %d has %d", h.Hosted[i], len(row), h.Hosted[0], len(z[0]))
		}
	}
	return nil
}
