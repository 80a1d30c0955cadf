package consensus

import (
	"errors"
	"slices"

	"github.com/difalt/difalt/topology"
)

// A Network says who talks to whom, and how to reach the nodes that live elsewhere.
// It serves one goroutine at a time, and so do its mixers, with it.
type Network struct {
	weights *topology.Weights
	hosted  []int
	index   []int // of a node among hosted, -1 if it lives elsewhere
	row     []int // of a node among the vectors kept here: hosted ones, then their neighbours; -1 for others
	rows    int   // how many
	ends    int64 // edges at hosted nodes, counted at each of these
	tree    *tree // of the collective operations
	mixers  []*Mixer
	traffic counter
}

// A counter counts what is sent; Rewind goes back to what was there at Commit.
type counter struct{ now, committed Traffic }

// New returns the network of weights w. Without a transport all nodes live in this
// process.
func New(w *topology.Weights, t Transport) (*Network, error) {
	if w == nil {
		return nil, errors.New("consensus: a network needs weights")
	}
	if t != nil {
		return nil, errors.New("consensus: transports follow")
	}
	n := &Network{weights: w, index: slices.Repeat([]int{-1}, w.Len())}
	for i := range w.Len() {
		n.hosted = append(n.hosted, i)
	}
	for k, i := range n.hosted {
		n.index[i] = k
		n.ends += int64(w.Graph().Degree(i))
	}
	n.row, n.rows = slices.Clone(n.index), len(n.hosted)
	n.tree = newTree(w.Graph(), centre(w.Graph()))
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

// Traffic returns what the hosted nodes have sent so far, also through mixers.
func (n *Network) Traffic() Traffic {
	t := n.traffic.now
	for _, m := range n.mixers {
		t = t.Plus(m.traffic.now)
	}
	return t
}

// Rewind goes back to the last Commit, so that the calls since then can be repeated
// after an error.
func (n *Network) Rewind() {
	n.traffic.now = n.traffic.committed
	for _, m := range n.mixers {
		m.rewind()
	}
}

// Commit makes what was done so far final.
func (n *Network) Commit() {
	n.traffic.committed = n.traffic.now
	for _, m := range n.mixers {
		m.commit()
	}
}
