package consensus

import (
	"context"
	"fmt"
)

// A Collective computes with what all nodes have. z[i] belongs to node Hosted()[i],
// all have one length, the same at all nodes of the network, and are overwritten by
// the same bits at every node. All nodes must call the same operations in the same
// order.
type Collective interface {
	Hosted() []int
	Len() int
	// Sum overwrites z[i] by the sum over all nodes, and Max by the largest entries.
	Sum(ctx context.Context, z [][]float64) error
	Max(ctx context.Context, z [][]float64) error
	// Broadcast overwrites z[i] by what node root has.
	Broadcast(ctx context.Context, root int, z [][]float64) error
}

// Sum overwrites z[i] by the sum over all nodes. It goes up a breadth-first tree and
// the result down again: 2 x height rounds, L-1 messages each way. Children are added
// in ascending order, so that the bits do not depend on where nodes live.
func (n *Network) Sum(ctx context.Context, z [][]float64) error {
	return n.collect(ctx, &relay{net: n, tree: n.tree, how: bySum, rows: z})
}

// Max overwrites z[i] by the entrywise maximum over all nodes, at the cost of Sum.
func (n *Network) Max(ctx context.Context, z [][]float64) error {
	return n.collect(ctx, &relay{net: n, tree: n.tree, how: byMax, rows: z})
}

// Broadcast overwrites z[i] by what node root has: as many rounds as the farthest
// node is hops away, L-1 messages.
func (n *Network) Broadcast(ctx context.Context, root int, z [][]float64) error {
	if root < 0 || root >= n.Len() {
		return fmt.Errorf("consensus: broadcast from node %d of a network of %d", root, n.Len())
	}
	return n.collect(ctx, &relay{net: n, tree: newTree(n.Graph(), root), down: true, rows: z})
}

// collect lets a relay run.
func (n *Network) collect(ctx context.Context, r *relay) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := n.checkRows(r.rows); err != nil {
		return err
	}
	r.words = make([]uint8, len(r.rows))
	entries := int64(len(r.rows[0]))
	for range r.rounds() {
		n.traffic.now = n.traffic.now.Plus(n.sent(r, entries))
		r.step()
	}
	return nil
}

// sent returns what the next round of a relay costs the hosted nodes.
func (n *Network) sent(r *relay, entries int64) Traffic {
	t := Traffic{Rounds: 1}
	depth, up := r.level()
	for _, i := range r.tree.levels[depth] {
		if n.index[i] < 0 {
			continue
		}
		if up {
			t.Messages++
		} else {
			t.Messages += int64(len(r.tree.children[i]))
		}
	}
	t.Bytes = 8 * entries * t.Messages
	return t
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

var _ Collective = (*Network)(nil)
