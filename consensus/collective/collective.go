// Package collective sums, counts, broadcasts and gathers over the nodes of a network, along a
// breadth-first spanning tree of its graph. Operations take the fewest rounds, and their results have the
// same bits at all nodes.
//
// Sums are sums of integers modulo a power of two, which numbers are rounded to. They are independent of any
// order. Where nodes live in several processes, they are masked: every two nodes derive the same random
// words from a shared secret, and one of them adds the words, the other subtracts them. The masks cancel in
// the sum over all nodes; any smaller sum is random (Bonawitz et al., Practical secure aggregation for
// privacy-preserving machine learning, 2017; Bell et al., Secure single-server aggregation with
// (poly)logarithmic overhead, 2020).
//
// The masks depend on all results that have come down the tree so far. A node that alters a result on its
// way to some nodes makes the masks of these nodes differ from those of the others: the next total is
// random, and all nodes return wire.ErrInconsistent. Otherwise such a node could make the others add values
// that reveal a single contribution (Pasquini, Francati and Ateniese, Eluding secure
// aggregation in federated learning via model inconsistency, 2022).
package collective

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/difalt/difalt/consensus/wire"
)

// Collectives are the collective operations of a network. z[i] belongs to node Hosted()[i]; all rows have
// the same length at all nodes of the network, and are overwritten by the same bits at every node. All
// nodes must call the same operations in the same order.
//
// A number that cannot be sent is an error that wraps wire.ErrNotFinite, at all nodes. After an error z is
// unspecified; with nodes in other processes, later operations return the same error.
type Collectives struct {
	rounds  *wire.Rounds
	keys    *keys // nil: all nodes live here
	traffic *wire.Traffic
	relay   relay
	sums    sums
	copies  copies
}

// New returns the collective operations of the nodes of r along a tree. It adds their messages to traffic.
func New(r *wire.Rounds, tree *Tree, traffic *wire.Traffic) *Collectives {
	c := &Collectives{rounds: r, traffic: traffic, sums: sums{numbers: NewNumbers(r.Graph.Len())}}
	if !r.AllHosted() {
		c.keys = &keys{rounds: r}
	}
	c.relay = relay{rounds: r, keys: c.keys, tree: tree}
	return c
}

// Sum overwrites z[i] with the sum over all nodes. It takes 2 x height rounds and L-1 messages each way.
// Nodes learn the result alone; of two nodes, each can compute the numbers of the other from it.
//
// The magnitude of every number must be below 2^64. Numbers are rounded towards zero to multiples of a
// power of two: 2^-124 for 5 to 8 nodes, and twice as much for each doubling of the nodes. A caller with
// smaller numbers scales them first. Sums of integers below 2^53 are exact.
func (c *Collectives) Sum(ctx context.Context, z [][]float64) error {
	return c.SumOn(ctx, wire.Sum, c.traffic, z)
}

// SumOn is Sum on another channel; it adds the messages to traffic.
func (c *Collectives) SumOn(ctx context.Context, channel wire.Channel, traffic *wire.Traffic, z [][]float64) error {
	if err := c.rounds.CheckRows(z); err != nil {
		return err
	}
	c.sums.set(z)
	down, err := c.Run(ctx, channel, &c.sums, traffic)
	overwrite(z, down)
	return err
}

// LongestMessage bounds the bytes of a message between nodes that sum that many numbers at a time, or
// gather bytes.
func LongestMessage(numbers, nodes int) int {
	up, _ := (*Numbers)(nil).Segments(numbers)
	sum := Form{up, countOf(1, nodes), {1, wordBits}}
	return max(sum.Len(), nodes*(share(nodes)+binary.MaxVarintLen32))
}

// Last returns the index of the last entry that is not zero, or -1.
func Last(counts []uint64) int {
	k := len(counts) - 1
	for k >= 0 && counts[k] == 0 {
		k--
	}
	return k
}

// Broadcast overwrites z[i] with the row of node root. The rounds are the hops from root to the farthest
// node; L-1 messages are sent, each answered by an empty frame. All nodes see the row.
func (c *Collectives) Broadcast(ctx context.Context, root int, z [][]float64) error {
	if root < 0 || root >= c.rounds.Graph.Len() {
		return fmt.Errorf("consensus: a broadcast from node %d: the network has %d", root, c.rounds.Graph.Len())
	}
	if err := c.rounds.CheckRows(z); err != nil {
		return err
	}
	tree := c.relay.tree
	defer func() { c.relay.tree, c.relay.downOnly = tree, false }()
	if c.relay.downOnly = true; root != tree.Root {
		c.relay.tree = NewTree(c.rounds.Graph, root)
	}
	c.copies.set(z)
	down, err := c.Run(ctx, wire.Broadcast, &c.copies, c.traffic)
	overwrite(z, down)
	return err
}

// Run carries out the sum of a content, and returns its result, which is valid until the next operation. It
// adds the messages to traffic.
func (c *Collectives) Run(ctx context.Context, channel wire.Channel, content Content, traffic *wire.Traffic) (down []uint64, err error) {
	if err := c.Join(ctx); err != nil {
		return nil, err
	}
	r := &c.relay
	r.channel = channel
	r.start(content)
	if err := c.rounds.Run(ctx, r, r.length(), traffic); err != nil {
		return nil, err
	}
	if err := r.err(); err != nil {
		c.rounds.End(ctx, err)
		return nil, err
	}
	c.keys.bindWords(channel, r.down, r.result)
	return r.result[:len(r.result)-1], nil
}
