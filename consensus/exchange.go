package consensus

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/consensus/internal/rounds"
	"github.com/difalt/difalt/kernel"
)

// An Exchange is one way to average messages over the nodes of a network. It serves one goroutine at a time,
// together with its network. Errors may end the network; see the package.
type Exchange interface {
	// Average replaces every message with the mean over all nodes, or with an approximation of it. z[i] is
	// the message of hosted node i; all messages have equal dimensions. All nodes pass one codec c, the
	// representation of numbers in this call; an exchange refuses a codec that it lacks. A message that is
	// not finite is an error that wraps ErrNotFinite: of gossip at its node alone, otherwise at all nodes.
	Average(ctx context.Context, z []Message, c Codec) error
	// Exact reports whether all nodes get the mean with equal bits, and totals are allowed.
	Exact() bool
}

// A Codec is the representation of a number on a link. Its value is the number of bits. The zero value is
// invalid.
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

// codecs are all codecs.
var codecs = [...]Codec{Int8, Int16, Float64}

// ParseCodec returns the codec with the given name.
func ParseCodec(name string) (Codec, error) {
	for _, c := range codecs {
		if c.String() == name {
			return c, nil
		}
	}
	return 0, fmt.Errorf("consensus: unknown codec %q; valid are int8, int16, float64", name)
}

// onlyFloat64 returns an error for another codec.
func onlyFloat64(c Codec) error {
	if c != Float64 {
		return fmt.Errorf("codec %v: this exchange sends float64", c)
	}
	return nil
}

// MaxRounds is the largest number of rounds of AGREE in one call.
const MaxRounds = 1_000_000

// Agree returns AGREE (Alg. 1): in every round, a node replaces its message with a weighted mean of this
// message and the messages of its neighbours. It has the codec Float64 only; numbers must be below 2^1020 in
// magnitude. The caller keeps the pool, which may be nil for serial work.
func (n *Network) Agree(rounds int, pool *kernel.Pool) (Exchange, error) {
	if rounds < 1 || rounds > MaxRounds {
		return nil, fmt.Errorf("consensus: %d rounds of averaging: must be from 1 to %d", rounds, MaxRounds)
	}
	return newGossip(n, n.weights.At, rounds, pool), nil
}

// NeighbourMean returns the exchange of the DGD variant: one round that replaces the message of node g with
// (1/deg_g) sum_{j in N_g} Z_j, without Z_g. The message of a node without neighbours remains. It has the
// codec Float64 only.
func (n *Network) NeighbourMean(pool *kernel.Pool) Exchange {
	return newGossip(n, func(i, _ int) float64 { return 1 / float64(n.Graph().Degree(i)) }, 1, pool)
}

// TreeMean returns the mean itself, by masked sums along the tree. With Int8 or Int16, messages should
// converge from one call to the next: nodes send how a message differs from what they have sent before, in
// integers of that many bits, multiples of a step that follows the largest difference.
func (n *Network) TreeMean() Exchange { return &treeMean{net: n} }

// ServerMean returns the exchange of AltGDmin: TreeMean in float64, with the traffic of a mean that a
// server computes, which is not one of the nodes.
func (n *Network) ServerMean() Exchange { return &treeMean{net: n, server: true} }

// checkBelow returns an error that names the first hosted node with a number that is not below a limit in
// magnitude, or NaN.
func (n *Network) checkBelow(limit float64, f layout, x []float64) error {
	for i, node := range n.Hosted() {
		for k, v := range f.row(x, i) {
			if !(math.Abs(v) < limit) {
				return fmt.Errorf("%w: number %d of node %d is %v", rounds.ErrNotFinite, k, node, v)
			}
		}
	}
	return nil
}

var errTotals = errors.New("gossip does not carry totals")
