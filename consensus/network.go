package consensus

import (
	"context"
	"errors"

	"github.com/difalt/difalt/consensus/internal/masked"
	"github.com/difalt/difalt/consensus/internal/rounds"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/mask"
	"github.com/difalt/difalt/internal/testdoor"
	"github.com/difalt/difalt/topology"
)

// A Network connects the hosted nodes with all other nodes. It serves one goroutine at a time, together with
// its exchanges. All processes of a network must make equal calls, of the network and of its exchanges, in
// one order.
//
// Rows are numbers of the hosted nodes: z[i] belongs to node Hosted()[i]. All rows of the network have one
// length, and are overwritten by equal bits at all nodes. After an error they are unspecified.
type Network struct {
	weights     *topology.Weights
	engine      *rounds.Engine
	collectives *masked.Collectives
	traffic     transport.Traffic // so far
}

// New returns the network with mixing weights w, where this process hosts the nodes t.Hosted(). The caller
// keeps t, and closes it. Without a transport, all nodes live in this process.
func New(w *topology.Weights, t transport.Transport) (*Network, error) { return newNetwork(w, t, nil) }

// newNetwork is New with a source of the masks of a hosted node; nil: nodes make them from keys.
func newNetwork(w *topology.Weights, t transport.Transport, source func(node int) mask.Source) (*Network, error) {
	if w == nil || w.Graph() == nil {
		return nil, signed(errors.New("a network needs weights"))
	}
	e, err := rounds.NewEngine(w.Graph(), t, w.Fingerprint())
	if err != nil {
		return nil, signed(err)
	}
	n := &Network{weights: w, engine: e}
	n.collectives = masked.New(e, masked.NewTree(w.Graph(), w.Graph().Center()), &n.traffic, source)
	return n, nil
}

func init() {
	testdoor.NewNetwork = func(w *topology.Weights, t transport.Transport, source testdoor.Masks) (any, error) {
		return newNetwork(w, t, source)
	}
}

// Weights returns the mixing weights of the whole network.
func (n *Network) Weights() *topology.Weights { return n.weights }

// Graph returns the graph of the weights.
func (n *Network) Graph() *topology.Graph { return n.weights.Graph() }

// Len returns the number of nodes L of the whole network.
func (n *Network) Len() int { return n.weights.Len() }

// Hosted returns the nodes that live in this process, in ascending order. The slice is read only.
func (n *Network) Hosted() []int { return n.engine.Hosted }

// AllHosted reports whether all nodes live in this process.
func (n *Network) AllHosted() bool { return n.engine.AllHosted() }

// Traffic returns the messages that the hosted nodes have sent so far, in exchanges too.
func (n *Network) Traffic() transport.Traffic { return n.traffic }

// Sums is the part of a Network for code that needs nothing but sums over all nodes.
type Sums interface {
	// Sum overwrites rows[i], the row of node Hosted()[i], with the sum over all nodes; see Network.Sum.
	Sum(ctx context.Context, rows [][]float64) error
	// Hosted returns the nodes that live in this process, in ascending order.
	Hosted() []int
}

var _ Sums = (*Network)(nil)

// AddTraffic adds the messages that an Exchange of the caller's own has sent.
func (n *Network) AddTraffic(t transport.Traffic) { n.traffic = n.traffic.Plus(t) }

// Sum overwrites every row with the sum over all nodes. It takes 2 x height rounds of a spanning tree, and
// L-1 messages each way. Nodes learn the result alone; of two nodes, each can compute the numbers of the
// other from it.
//
// The magnitude of every number must be below 2^64; otherwise all nodes return an error that wraps
// ErrNotFinite. Numbers are rounded towards zero to multiples of a power of two: 2^-124 for 5 to 8 nodes, and
// twice as much for each doubling of the nodes. A caller with smaller numbers scales them first. Sums of
// integers below 2^53 are exact.
func (n *Network) Sum(ctx context.Context, z [][]float64) error {
	return signed(n.collectives.Sum(ctx, z))
}

// SumThen is Sum where the node Graph().Center() also decides: the last numbers of every row are not summed.
// decided is their number, and all nodes take those that decide sets there. decide receives a row that begins
// with the totals. It runs once, during the call, in the process that hosts the node; it is not called in
// other processes, where it may be nil. The rounds are those of Sum. If a number that it sets is NaN or
// infinite, all nodes return an error that wraps ErrNotFinite.
func (n *Network) SumThen(ctx context.Context, z [][]float64, decided int, decide func(row []float64)) error {
	return signed(n.collectives.SumThen(ctx, z, decided, decide))
}

// Broadcast overwrites every row with the row of node root. The rounds are the hops from root to the farthest
// node; L-1 messages are sent, each answered by an empty frame. All nodes see the row. If a number of root is
// NaN or infinite, all nodes return an error that wraps ErrNotFinite.
func (n *Network) Broadcast(ctx context.Context, root int, z [][]float64) error {
	return signed(n.collectives.Broadcast(ctx, root, z))
}

// Gather returns the bytes of every node of the network; own[i] are the bytes of node Hosted()[i]. All nodes
// see them. It is an error if a node has more than 4 MiB / L bytes, or more than 20 L if that is larger.
// Nodes sign their bytes if the transport is a transport.Signer: a node that relays bytes cannot alter them.
// Gather returns a *transport.PeerError about a node whose signature is wrong.
func (n *Network) Gather(ctx context.Context, own [][]byte) ([][]byte, error) {
	all, err := n.collectives.Gather(ctx, own)
	return all, signed(err)
}

// Bind makes the masks of all later operations depend on a state that all nodes share, such as the state that
// a run continues from. If two nodes pass different bytes, all nodes return ErrInconsistent from the next
// operation that sends masked numbers. The first operation of a network exchanges keys, and this may be Bind.
func (n *Network) Bind(ctx context.Context, state []byte) error {
	return signed(n.collectives.Bind(ctx, state))
}

// Confirm returns ErrInconsistent unless all nodes have received equal results in all operations so far.
// Nodes call it before they use or publish what follows from totals: a node on the way of a result may have
// altered it for some of them. Confirm is not counted as traffic.
func (n *Network) Confirm(ctx context.Context) error { return signed(n.collectives.Confirm(ctx)) }

// MaxMasked, 1000, is the largest number of nodes of a network of several processes, where every two nodes
// share a secret.
const MaxMasked = masked.MaxNodes

// LongestMessage bounds the bytes of a message between nodes that sum that many numbers at a time, or
// gather bytes. A transport may refuse frames with more bytes than that and transport.FrameOverhead.
func LongestMessage(numbers, nodes int) int { return masked.LongestMessage(numbers, nodes) }
