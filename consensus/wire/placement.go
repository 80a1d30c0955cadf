package wire

import (
	"errors"
	"fmt"
	"slices"

	"github.com/difalt/difalt/topology"
)

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
