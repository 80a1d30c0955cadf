// Package masked sums, broadcasts and gathers over the nodes of a network, along a breadth-first spanning
// tree of its graph. Operations take the fewest rounds, and their results have equal bits at all nodes.
//
// Sums are sums of integers modulo a power of two, which numbers are rounded to. They are independent of any
// order. Where nodes live in several processes, they are masked: every two nodes derive random words from a
// secret that they share, and one of them adds the words, the other subtracts them. The masks cancel in the
// sum over all nodes; any smaller sum is random (Bonawitz et al., Practical secure aggregation for
// privacy-preserving machine learning, 2017; Bell et al., Secure single-server aggregation with
// (poly)logarithmic overhead, 2020).
//
// The masks depend on all results that have come down the tree so far. A node that alters a result on its
// way to some nodes makes their masks differ from the masks of all other nodes: the next total is random, and
// all nodes return rounds.ErrInconsistent. Otherwise such a node could make nodes add values that reveal a
// single contribution (Pasquini, Francati and Ateniese, Eluding secure aggregation in federated learning via
// model inconsistency, 2022).
//
// Errors begin without the name of a package: package consensus adds it where they leave.
package masked

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/difalt/difalt/consensus/internal/frame"
	"github.com/difalt/difalt/consensus/internal/rounds"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/mask"
)

// Collectives are the collective operations of a network; see consensus.Network. A number that cannot be sent
// is an error that wraps rounds.ErrNotFinite, at all nodes. With nodes in other processes, all operations
// after an error return it again.
type Collectives struct {
	engine  *rounds.Engine
	keys    *keys // nil: all nodes live here
	traffic *transport.Traffic
	tree    *Tree // rooted at the centre
	relay   relay // of sums
	down    relay // of broadcasts
	sums    sums
	copies  copies
	gathers uint64 // the number of calls of Gather so far
}

// New returns the collective operations of the nodes of e along a tree. It adds their messages to traffic.
// source makes the masks of a hosted node; if it is nil, nodes make them from keys that they exchange.
func New(e *rounds.Engine, tree *Tree, traffic *transport.Traffic, source func(node int) mask.Source) *Collectives {
	c := &Collectives{engine: e, tree: tree, traffic: traffic, sums: sums{numbers: NewFixedPoint(e.Graph.Len())}}
	if !e.AllHosted() {
		c.keys = newKeys(e, source)
	}
	c.relay = relay{engine: e, keys: c.keys}
	c.down = relay{engine: e, keys: c.keys, downOnly: true}
	return c
}

// Sum overwrites z[i] with the sum over all nodes.
func (c *Collectives) Sum(ctx context.Context, z [][]float64) error {
	return c.SumOn(ctx, frame.Sum, c.traffic, z)
}

// SumOn is Sum on another channel; it adds the messages to traffic.
func (c *Collectives) SumOn(
	ctx context.Context, channel frame.Channel, traffic *transport.Traffic, z [][]float64,
) error {
	return c.sum(ctx, channel, traffic, z, 0, nil)
}

// SumThen is Sum for rows whose last numbers are not summed: the root sets the decided last ones by decide,
// which receives a row with the totals, and all nodes take them. decide may be nil where the root is not
// hosted, and there only.
func (c *Collectives) SumThen(ctx context.Context, z [][]float64, decided int, decide func(row []float64)) error {
	if decide == nil && c.engine.Index[c.tree.Root] >= 0 {
		return errors.New("a sum with numbers that this process decides on, but does not")
	}
	if len(z) > 0 && (decided < 0 || decided > len(z[0])) {
		return fmt.Errorf("a sum of %d numbers, with decisions on %d", len(z[0]), decided)
	}
	return c.sum(ctx, frame.Sum, c.traffic, z, decided, decide)
}

func (c *Collectives) sum(ctx context.Context, channel frame.Channel, traffic *transport.Traffic, z [][]float64,
	decided int, decide func(row []float64)) error {
	if err := c.engine.CheckRows(z); err != nil {
		return err
	}
	c.sums.set(z, decided, decide)
	down, err := c.Run(ctx, channel, &c.sums, traffic)
	overwrite(z, down)
	return err
}

// LongestMessage bounds the bytes of a message between nodes that sum that many numbers at a time, or
// gather bytes.
func LongestMessage(numbers, nodes int) int {
	nodes = max(nodes, 1)
	up, _ := (*FixedPoint)(nil).Segments(max(numbers, 0))
	sum := Layout{up, countOf(1, nodes), {1, wordBits}}
	return max(sum.Len(), nodes*(share(nodes)+mostProof+binary.MaxVarintLen32))
}

// Broadcast overwrites z[i] with the row of node root.
func (c *Collectives) Broadcast(ctx context.Context, root int, z [][]float64) error {
	if root < 0 || root >= c.engine.Graph.Len() {
		return fmt.Errorf("a broadcast from node %d: the network has %d", root, c.engine.Graph.Len())
	}
	if err := c.engine.CheckRows(z); err != nil {
		return err
	}
	tree := c.tree
	if root != tree.Root {
		tree = NewTree(c.engine.Graph, root)
	}
	c.copies.set(z)
	c.down.tree, c.down.channel, c.down.summand = tree, frame.Broadcast, &c.copies
	down, err := c.run(ctx, &c.down, c.traffic)
	overwrite(z, down)
	return err
}

// Run carries out the sum of a summand, and returns its result, which is valid until the next operation. It
// adds the messages to traffic.
func (c *Collectives) Run(
	ctx context.Context, channel frame.Channel, s Summand, traffic *transport.Traffic,
) ([]uint64, error) {
	c.relay.tree, c.relay.channel, c.relay.summand = c.tree, channel, s
	return c.run(ctx, &c.relay, traffic)
}

// run is Run with a relay.
func (c *Collectives) run(ctx context.Context, r *relay, traffic *transport.Traffic) ([]uint64, error) {
	if err := c.Join(ctx); err != nil {
		return nil, err
	}
	if err := c.engine.Run(ctx, r, r.length(), traffic); err != nil {
		return nil, err
	}
	if err := r.err(); err != nil {
		c.engine.End(ctx, err)
		return nil, err
	}
	c.keys.bindWords(r.channel, r.layoutDown, r.result)
	return r.result[:len(r.result)-1], nil
}
