package consensus

import (
	"errors"

	"github.com/difalt/difalt/consensus/collective"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/topology"
)

// A Network says who talks to whom, and how to reach the nodes that live elsewhere.
// It serves one goroutine at a time, together with its mixers. All processes of a
// network must call the same operations, of the network and of mixers made in the same
// order, in the same order.
type Network struct {
	*collective.Collectives
	weights     *topology.Weights
	fingerprint uint64 // of the weights
	rounds      *wire.Rounds
	tree        *collective.Tree
	mixers      []*Mixer
	traffic     wire.Traffic // so far
	committed   wire.Traffic // at the last Commit
}

// New returns the network of weights w, of which this process hosts the nodes that
// t.Hosted() names; t remains the caller's, to close. Without a transport all nodes
// live in this process. One that hosts all nodes carries nothing; if it is a wire.Meter it
// is asked what faults would have cost.
func New(w *topology.Weights, t wire.Transport) (*Network, error) {
	if w == nil {
		return nil, errors.New("consensus: a network needs weights")
	}
	n := &Network{weights: w, fingerprint: w.Fingerprint()}
	var err error
	if n.rounds, err = wire.NewRounds(w.Graph(), t, n.fingerprint); err != nil {
		return nil, err
	}
	n.tree = collective.NewTree(w.Graph(), w.Graph().Center())
	n.Collectives = collective.New(n.rounds, n.tree, &n.traffic)
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
func (n *Network) Hosted() []int { return n.rounds.Hosted }

// AllHosted reports whether all nodes live in this process.
func (n *Network) AllHosted() bool { return n.rounds.AllHosted() }

// Traffic returns what the hosted nodes have sent so far, through mixers too.
func (n *Network) Traffic() wire.Traffic { return n.traffic }

// Rewind prepares for repeating the calls since the last Commit after an error. Those
// that succeeded return what they returned; the one that failed goes on with the round
// that failed. With all nodes in this process nothing has happened elsewhere, and all
// is computed again. Either way results have the bits that they have without an error.
func (n *Network) Rewind() {
	if !n.rounds.Rewind() {
		return
	}
	n.traffic = n.committed
	for _, m := range n.mixers {
		m.rewind()
	}
}

// Commit makes what was done so far final: Rewind will not go back behind it, what was
// kept for it is dropped, and it is what MarshalBinary of a mixer returns. It must not
// be called between an error and the repetition of what failed.
func (n *Network) Commit() {
	n.rounds.Commit()
	n.committed = n.traffic
	for _, m := range n.mixers {
		m.commit()
	}
}
