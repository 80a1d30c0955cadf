package consensus

import (
	"errors"

	"github.com/difalt/difalt/consensus/collective"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/topology"
)

// A Network connects the hosted nodes with all others. It serves one goroutine at a time, together with its
// exchanges. All processes of a network must call the same operations, of the network and of its exchanges,
// in the same order.
type Network struct {
	*collective.Collectives
	weights *topology.Weights
	rounds  *wire.Rounds
	traffic wire.Traffic // so far
}

// New returns the network with mixing weights w, where this process hosts the nodes t.Hosted(). The caller
// keeps t, and closes it. Without a transport, all nodes live in this process.
func New(w *topology.Weights, t wire.Transport) (*Network, error) {
	if w == nil {
		return nil, errors.New("consensus: a network needs weights")
	}
	n := &Network{weights: w}
	var err error
	if n.rounds, err = wire.NewRounds(w.Graph(), t, w.Fingerprint()); err != nil {
		return nil, err
	}
	n.Collectives = collective.New(n.rounds, collective.NewTree(w.Graph(), w.Graph().Center()), &n.traffic)
	return n, nil
}

// Weights returns the mixing weights of the whole network.
func (n *Network) Weights() *topology.Weights { return n.weights }

// Graph returns the graph of the weights.
func (n *Network) Graph() *topology.Graph { return n.weights.Graph() }

// Len returns the number of nodes L of the whole network.
func (n *Network) Len() int { return n.weights.Len() }

// Hosted returns the nodes that live in this process, in ascending order. The slice is read only.
func (n *Network) Hosted() []int { return n.rounds.Hosted }

// AllHosted reports whether all nodes live in this process.
func (n *Network) AllHosted() bool { return n.rounds.AllHosted() }

// Traffic returns the messages that the hosted nodes have sent so far, in exchanges too.
func (n *Network) Traffic() wire.Traffic { return n.traffic }
