package consensus

import (
	"errors"
	"fmt"
	"slices"

	"github.com/difalt/difalt/topology"
)

// A Network says who talks to whom, and how to reach the nodes that live elsewhere.
// It serves one goroutine at a time, together with its mixers. All processes of a
// network must call the same operations, of the network and of mixers made in the same
// order, in the same order.
type Network struct {
	weights *topology.Weights
	hosted  []int
	index   []int  // of a node among hosted, -1 if it lives elsewhere
	row     []int  // of a node among the vectors kept here: hosted ones, then their neighbours; -1 for others
	rows    int    // how many
	ends    int64  // of edges at hosted nodes
	tree    *tree  // of the collective operations
	print   uint64 // fingerprint of the weights
	mixers  []*Mixer
	meter   Meter
	traffic counter
	wires
	journal   journal
	collected collected
	broadcast *tree // of the last one
}

// A counter counts what is sent; Rewind may go back to what was there at Commit.
type counter struct{ now, committed Traffic }

// New returns the network of weights w, of which this process hosts the nodes that
// t.Hosted() names; t remains the caller's, to close. Without a transport all nodes
// live in this process. One that hosts all nodes carries nothing; if it is a Meter it
// is asked what faults would have cost.
func New(w *topology.Weights, t Transport) (*Network, error) {
	if w == nil {
		return nil, errors.New("consensus: a network needs weights")
	}
	l := w.Len()
	n := &Network{weights: w, index: slices.Repeat([]int{-1}, l)}
	if t == nil {
		for i := range l {
			n.hosted = append(n.hosted, i)
		}
	} else {
		n.hosted = slices.Clone(t.Hosted())
	}
	if len(n.hosted) == 0 {
		return nil, errors.New("consensus: the transport hosts no node")
	}
	for k, i := range n.hosted {
		if i < 0 || i >= l || k > 0 && i <= n.hosted[k-1] {
			return nil, fmt.Errorf("consensus: the transport hosts nodes %d: must ascend and be of the network's %d", n.hosted, l)
		}
		n.index[i] = k
		n.ends += int64(w.Graph().Degree(i))
	}
	n.tree = newTree(w.Graph(), centre(w.Graph()))
	n.print = n.fingerprint()
	n.meter, _ = t.(Meter)
	n.connect(t)
	n.row, n.rows = slices.Clone(n.index), len(n.hosted)
	for _, i := range n.neighborsElsewhere() {
		n.row[i] = n.rows
		n.rows++
	}
	return n, nil
}

// Weights returns the mixing weights of the whole network.
func (n *Network) Weights() *topology.Weights { return n.weights }

// Graph returns the graph of the weights.
func (n *Network) Graph() *topology.Graph { return n.weights.Graph() }

// Len returns the number of nodes L of the whole network.
func (n *Network) Len() int { return n.weights.Len() }

// Hosted returns the nodes that live in this process, in ascending order. The slice
// is read only.
func (n *Network) Hosted() []int { return n.hosted }

// AllHosted reports whether all nodes live in this process.
func (n *Network) AllHosted() bool { return len(n.hosted) == n.Len() }

// Traffic returns what the hosted nodes have sent so far, through mixers too.
func (n *Network) Traffic() Traffic {
	t := n.traffic.now
	for _, m := range n.mixers {
		t = t.Plus(m.traffic.now)
	}
	return t
}

// metered returns t, of t.Rounds equal rounds, with what faults add to it.
func (n *Network) metered(t Traffic) Traffic {
	if n.meter == nil || t.Rounds == 0 {
		return t
	}
	all := t
	for range t.Rounds {
		all = all.Plus(n.meter.Round(t.Messages/t.Rounds, t.Bytes/t.Rounds))
	}
	return all
}
