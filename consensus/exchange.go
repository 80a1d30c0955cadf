package consensus

import (
	"context"
	"fmt"
	"math"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
)

// An Exchange is one way to average messages over the nodes of a network. It has the sums of the network,
// too. It serves one goroutine at a time. z[i] and rows[i] belong to hosted node i; all have the same
// dimensions, and are overwritten. An error ends the network; see the package.
type Exchange interface {
	// Average replaces every message with the mean over all nodes, or with an approximation of it. A
	// message that is not finite is an error that wraps wire.ErrNotFinite: of gossip at its node alone,
	// otherwise at all nodes.
	Average(ctx context.Context, z []Message) error
	// Exact reports whether all nodes get the mean with the same bits, and totals are allowed.
	Exact() bool
	// Refine makes the codes of later messages at least as fine as c, if messages are coded.
	Refine(c Codec)

	// The operations and properties of the Network.
	Sum(ctx context.Context, rows [][]float64) error
	Broadcast(ctx context.Context, root int, rows [][]float64) error
	Gather(ctx context.Context, own [][]byte) ([][]byte, error)
	Len() int
	Hosted() []int
	AllHosted() bool
	Traffic() wire.Traffic
}

// A Codec is the representation of a number along the tree. Its value is the number of bits. The zero value
// is invalid.
type Codec uint8

const (
	Int8    Codec = 8
	Int16   Codec = 16
	Float64 Codec = 64
)

// String returns int8, int16 or float64.
func (c Codec) String() string {
	if c == Float64 {
		return "float64"
	}
	return fmt.Sprintf("int%d", uint8(c))
}

// ParseCodec returns the codec with the given name.
func ParseCodec(name string) (Codec, error) {
	for _, c := range []Codec{Int8, Int16, Float64} {
		if c.String() == name {
			return c, nil
		}
	}
	return 0, fmt.Errorf("consensus: unknown codec %q; valid are int8, int16, float64", name)
}

// MaxRounds is the largest number of rounds of AGREE in one call.
const MaxRounds = 1 << 20

// Agree returns AGREE (Alg. 1): in every round, a node replaces its message with the weighted mean of its own
// and its neighbours'. The caller keeps the pool, which may be nil for serial work.
func (n *Network) Agree(rounds int, pool *kernel.Pool) (Exchange, error) {
	if rounds < 1 || rounds > MaxRounds {
		return nil, fmt.Errorf("consensus: %d rounds of averaging: must be from 1 to %d", rounds, MaxRounds)
	}
	return newGossip(n, n.weights.At, rounds, pool), nil
}

// NeighbourMean returns the exchange of the DGD variant: one round that replaces the message of node g with
// (1/deg_g) sum_{j in N_g} Z_j, without its own. The message of a node without neighbours remains.
func (n *Network) NeighbourMean(pool *kernel.Pool) Exchange {
	return newGossip(n, func(i, _ int) float64 { return 1 / float64(n.Graph().Degree(i)) }, 1, pool)
}

// TreeMean returns the mean itself, by masked sums along the tree. With Int8 or Int16, messages should
// converge from one call to the next: they are sent as differences, in codes of that many bits; see
// codedTree.
func (n *Network) TreeMean(c Codec) (Exchange, error) {
	switch c {
	case Float64:
		return &treeMean{Network: n}, nil
	case Int8, Int16:
		return newCodedTree(n, c), nil
	}
	return nil, fmt.Errorf("consensus: unknown codec %v", c)
}

// ServerMean returns the exchange of AltGDmin: TreeMean in float64, with the traffic of a mean that a
// server computes, which is not one of the nodes.
func (n *Network) ServerMean() Exchange { return &treeMean{Network: n, server: true} }

// A treeMean is the mean over all nodes by a masked sum along the tree.
type treeMean struct {
	*Network
	server bool
	layout layout
	rows   [][]float64
}

func (*treeMean) Exact() bool { return true }

func (*treeMean) Refine(Codec) {}

// Average implements Exchange.
func (x *treeMean) Average(ctx context.Context, z []Message) error {
	if err := x.checkMessages(z); err != nil {
		return err
	}
	if d := dimensionsOf(z[0]); x.rows == nil || x.layout.dimensions != d {
		x.layout, x.rows = layoutOf(d), nil
		all := make([]float64, len(z)*x.layout.stride)
		for i := range z {
			x.rows = append(x.rows, x.layout.row(all, i))
		}
	}
	f := x.layout
	for i, m := range z {
		f.gather(x.rows[i], m)
	}
	traffic, other := &x.traffic, wire.Traffic{}
	if x.server {
		traffic = &other
	}
	if err := x.SumOn(ctx, wire.Mean, traffic, x.rows); err != nil {
		return err
	}
	if x.server { // every node sends its message to the server, and receives one
		messages := 2 * int64(len(z))
		x.traffic = x.traffic.Plus(wire.Headers(wire.Traffic{Rounds: 2, Messages: messages, Bytes: 8 * int64(f.n) * messages}))
	}
	for i, row := range x.rows {
		for k := range row[:f.averaged()] {
			row[k] /= float64(x.Len())
		}
		f.scatter(row, z[i])
	}
	return nil
}

// checkFinite returns an error that names the first hosted node with a number that is NaN or infinite.
func (n *Network) checkFinite(f layout, x []float64) error {
	for i, node := range n.Hosted() {
		for k, v := range f.row(x, i) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("%w: number %d of node %d is %v", wire.ErrNotFinite, k, node, v)
			}
		}
	}
	return nil
}
