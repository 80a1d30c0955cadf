package consensus

import (
	"context"
	"fmt"
)

// The collective operations compute with what all nodes have. z[i] belongs to node
// Hosted()[i], all have one length, the same at all nodes of the network, and are
// overwritten by the same bits at every node. All nodes must call the same operations in
// the same order. A number that is not finite is an error that wraps ErrNotFinite, at all
// nodes. After an error z is unspecified.

// Sum overwrites z[i] by the sum over all nodes. It goes up a breadth-first tree from
// a centre of the graph and the result down again: 2 x height rounds, L-1 messages
// each way. Children are added in ascending order, so that the bits do not depend on
// where nodes live. Neighbours in the tree see the partial sums of what is below them.
func (n *Network) Sum(ctx context.Context, z [][]float64) error {
	return n.collect(ctx, call{kind: callSum}, n.tree, z)
}

// SumRounds returns how many rounds Sum takes, and agreeing by Tree.
func (n *Network) SumRounds() int { return 2 * n.tree.height }

// Max overwrites z[i] by the entrywise maximum over all nodes, at the cost of Sum.
func (n *Network) Max(ctx context.Context, z [][]float64) error {
	return n.collect(ctx, call{kind: callMax}, n.tree, z)
}

// MaxSum is Max of the first maxima entries and Sum of the others, at the cost of one.
func (n *Network) MaxSum(ctx context.Context, maxima int, z [][]float64) error {
	if maxima < 0 || len(z) > 0 && maxima > len(z[0]) {
		return fmt.Errorf("consensus: %d maxima of the numbers that a node has", maxima)
	}
	return n.collect(ctx, call{kind: callMaxSum, root: maxima}, n.tree, z)
}

// Broadcast overwrites z[i] by what node root has, in as many rounds as the farthest
// node is hops away, by L-1 messages. If what root has is not finite, nodes that are
// far from it return the error from a later operation.
func (n *Network) Broadcast(ctx context.Context, root int, z [][]float64) error {
	if root < 0 || root >= n.Len() {
		return fmt.Errorf("consensus: a broadcast from node %d: the network has %d", root, n.Len())
	}
	tree := n.tree
	if root != tree.root {
		if n.broadcast == nil || n.broadcast.root != root {
			n.broadcast = newTree(n.Graph(), root)
		}
		tree = n.broadcast
	}
	return n.collect(ctx, call{kind: callBroadcast, root: root}, tree, z)
}

// collect carries z along a tree.
func (n *Network) collect(ctx context.Context, c call, tree *tree, z [][]float64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := n.checkRows(z); err != nil {
		return err
	}
	c.shape.Scalars = len(z[0])
	if r, err := n.replay(c); r != nil || err != nil {
		return r.rowsTo(z, err)
	}
	again, err := n.begin(c)
	if err != nil {
		return err
	}
	op := &n.collected
	if !again {
		op.reset(n, tree, c.kind, len(z[0]))
		op.maxima = c.root
		for i, row := range z {
			copy(op.rows[i], row)
		}
		op.check()
	}
	for ; n.journal.done < op.rounds(); n.journal.done++ {
		t, err := n.round(ctx, op, nil)
		n.traffic.now = n.traffic.now.Plus(n.metered(t))
		if err != nil {
			return err
		}
	}
	if err := n.verdict(c.kind != callBroadcast); err != nil {
		return err
	}
	for i := range z {
		copy(z[i], op.rows[i])
	}
	if r := n.keep(c); r != nil {
		r.rowsFrom(z)
	}
	return nil
}

func (r *record) rowsFrom(z [][]float64) {
	for _, row := range z {
		r.values = append(r.values, row...)
	}
}

func (r *record) rowsTo(z [][]float64, err error) error {
	if err == nil {
		for i, row := range z {
			copy(row, r.values[i*len(row):])
		}
	}
	return err
}

func (n *Network) checkRows(z [][]float64) error {
	if len(z) != len(n.hosted) {
		return fmt.Errorf("consensus: %d rows for %d hosted nodes", len(z), len(n.hosted))
	}
	for i, row := range z {
		if len(row) != len(z[0]) {
			return fmt.Errorf("consensus: node %d has %d numbers, node %d has %d", n.hosted[i], len(row), n.hosted[0], len(z[0]))
		}
	}
	return nil
}

// A collected is a relay as an operation of its own.
type collected struct {
	relay
	kind   callKind // callMix: through a server
	maxima int      // of callMaxSum
	data   []float64
	mixed  func(parent, child []float64) // stored, so that a reset does not allocate
}

// reset makes rows of the given length, to be filled.
func (o *collected) reset(n *Network, tree *tree, kind callKind, entries int) {
	hosted := len(n.hosted)
	if o.net == nil {
		o.relay = relay{net: n, words: make([]uint8, hosted), rows: make([][]float64, hosted)}
		o.come = func(k int) []byte { return n.got[k].code }
		o.mixed = func(parent, child []float64) {
			raise(parent[:o.maxima], child[:o.maxima])
			add(parent[o.maxima:], child[o.maxima:])
		}
	}
	o.tree, o.kind, o.down, o.round, o.how = tree, kind, kind == callBroadcast, 0, add
	switch kind {
	case callMax:
		o.how = raise
	case callMaxSum:
		o.how = o.mixed
	}
	if len(o.data) < hosted*entries {
		o.data = make([]float64, hosted*entries)
	}
	for i := range o.rows {
		o.rows[i] = o.data[i*entries:][:entries]
	}
}

// check looks for numbers that are not finite, where they matter.
func (o *collected) check() {
	for i, row := range o.rows {
		if !finite(row) && (!o.down || o.net.hosted[i] == o.tree.root) {
			o.net.fail(o.channel(), i)
		}
	}
}

func (o *collected) channel() uint8                { return channelCollective + uint8(o.kind) }
func (o *collected) speak()                        {}
func (o *collected) part(dst []byte, k int) []byte { return o.relay.part(dst, k) }
func (o *collected) hear(k int) error              { return o.relay.hear(k, o.net.got[k].code) }

func (o *collected) step() Traffic {
	messages := o.relay.step(o.channel())
	return Traffic{Rounds: 1, Messages: messages, Bytes: 8 * int64(len(o.rows[0])) * messages}
}
