// Package collective computes with what all nodes of a network have: sums, maxima and
// broadcasts, along a breadth-first spanning tree of the graph, which all nodes know. So
// they take the fewest rounds, and their results have the same bits at all nodes.
package collective

import (
	"context"
	"fmt"

	"github.com/difalt/difalt/consensus/wire"
)

// Collectives are the collective operations of a network. z[i] belongs to node Hosted()[i],
// all have one length, the same at all nodes of the network, and are overwritten by the
// same bits at every node. All nodes must call the same operations in the same order. A
// number that is not finite is an error that wraps wire.ErrNotFinite, at all nodes. After
// an error z is unspecified.
type Collectives struct {
	rounds    *wire.Rounds
	traffic   *wire.Traffic
	tree      *Tree
	broadcast *Tree // of the last one from another root
	op        Operation
}

// New returns the collective operations of the nodes of r along a tree. What they send is
// added to traffic.
func New(r *wire.Rounds, tree *Tree, traffic *wire.Traffic) *Collectives {
	return &Collectives{rounds: r, traffic: traffic, tree: tree}
}

// Sum overwrites z[i] by the sum over all nodes. It goes up a breadth-first tree from
// a centre of the graph and the result down again: 2 x height rounds, L-1 messages
// each way. Children are added in ascending order, so that the bits do not depend on
// where nodes live. Neighbours in the tree see the partial sums of what is below them.
func (c *Collectives) Sum(ctx context.Context, z [][]float64) error {
	return c.run(ctx, wire.Sum, c.tree, Add, 0, z)
}

// SumRounds returns how many rounds Sum takes.
func (c *Collectives) SumRounds() int { return 2 * c.tree.Height }

// Max overwrites z[i] by the entrywise maximum over all nodes, at the cost of Sum.
func (c *Collectives) Max(ctx context.Context, z [][]float64) error {
	return c.run(ctx, wire.Max, c.tree, maximum, 0, z)
}

// MaxSum is Max of the first maxima entries and Sum of the others, at the cost of one.
func (c *Collectives) MaxSum(ctx context.Context, maxima int, z [][]float64) error {
	if maxima < 0 || len(z) > 0 && maxima > len(z[0]) {
		return fmt.Errorf("consensus: %d maxima of the numbers that a node has", maxima)
	}
	return c.run(ctx, wire.MaxSum, c.tree, maximaAndSums, maxima, z)
}

// Broadcast overwrites z[i] by what node root has, in as many rounds as the farthest
// node is hops away, by L-1 messages. If what root has is not finite, nodes that are
// far from it return the error from a later operation.
func (c *Collectives) Broadcast(ctx context.Context, root int, z [][]float64) error {
	if root < 0 || root >= c.rounds.Graph.Len() {
		return fmt.Errorf("consensus: a broadcast from node %d: the network has %d", root, c.rounds.Graph.Len())
	}
	tree := c.tree
	if root != tree.Root {
		if c.broadcast == nil || c.broadcast.Root != root {
			c.broadcast = NewTree(c.rounds.Graph, root)
		}
		tree = c.broadcast
	}
	return c.run(ctx, wire.Broadcast, tree, nil, root, z)
}

// run carries z along a tree. argument is the root of a broadcast or the number of maxima.
func (c *Collectives) run(ctx context.Context, channel wire.Channel, tree *Tree, how Combine, argument int, z [][]float64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.rounds.CheckRows(z); err != nil {
		return err
	}
	call := wire.Call{Operation: channel.String(), Arguments: [5]int{argument, len(z[0])}}
	progress, values, err := c.rounds.Begin(call)
	if err != nil {
		return err
	}
	if progress == wire.Repeated {
		for i, row := range z {
			copy(row, values[i*len(row):])
		}
		return nil
	}
	op := &c.op
	if progress == wire.Started {
		op.Start(c.rounds, channel, tree, how, argument, len(z[0]), func(i int, row []float64) { copy(row, z[i]) })
	}
	if err := c.rounds.Run(ctx, op, nil, op.way().Rounds(), how != nil, c.traffic); err != nil {
		return err
	}
	c.rounds.End()
	for i, row := range z {
		copy(row, op.Row(i))
		copy(c.rounds.Room(len(row)), row)
	}
	return nil
}

// A Combine is what a parent makes of what it has and what a child sends; the first
// maxima entries may be combined otherwise than the others.
type Combine func(parent, child []float64, maxima int)

// Add is the Combine of sums.
func Add(parent, child []float64, _ int) {
	for k, v := range child {
		parent[k] += v
	}
}

func maximum(parent, child []float64, _ int) {
	for k, v := range child {
		parent[k] = max(parent[k], v)
	}
}

func maximaAndSums(parent, child []float64, maxima int) {
	maximum(parent[:maxima], child[:maxima], 0)
	Add(parent[maxima:], child[maxima:], 0)
}

// An Operation carries rows of numbers along a tree, in rounds of its own.
type Operation struct{ relay }

// Start makes o an operation, on the given channel, on rows of n numbers that fill writes
// for every hosted node. They are combined by how, or overwritten by the root's if it is nil.
func (o *Operation) Start(r *wire.Rounds, channel wire.Channel, tree *Tree, how Combine, maxima, n int, fill func(i int, row []float64)) {
	if o.Words == nil {
		o.Words = make([]uint8, len(r.Hosted))
	}
	o.rounds, o.channel, o.tree, o.combine, o.maxima = r, channel, tree, how, maxima
	o.reset(n)
	for i := range r.Hosted {
		fill(i, o.Row(i))
	}
	o.noteFailures()
}

// Channel implements wire.Operation.
func (o *Operation) Channel() wire.Channel { return o.channel }

// Prepare implements wire.Operation: everything has been prepared.
func (o *Operation) Prepare() {}

// Step implements wire.Operation.
func (o *Operation) Step() wire.Traffic {
	messages := o.step(o.rounds.Code)
	return wire.Traffic{Rounds: 1, Messages: messages, Bytes: 8 * int64(o.Numbers) * messages}
}
