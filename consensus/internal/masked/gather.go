package masked

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/difalt/difalt/consensus/internal/frame"
	"github.com/difalt/difalt/consensus/transport"
)

// share returns the largest number of bytes of a node in Gather: 4 MiB of all nodes, or enough for a tag of
// every other node.
func share(nodes int) int { return max(1<<22/nodes, 20*nodes) }

// Gather returns the bytes of every node of the network; own[i] are the bytes of hosted node i.
func (c *Collectives) Gather(ctx context.Context, own [][]byte) ([][]byte, error) {
	if hosted := len(c.engine.Hosted); len(own) != hosted {
		return nil, fmt.Errorf("bytes of %d nodes for %d hosted nodes", len(own), hosted)
	}
	for i, node := range c.engine.Hosted {
		if err := checkShare(node, own[i], c.engine.Graph.Len()); err != nil {
			return nil, err
		}
	}
	if err := c.Join(ctx); err != nil {
		return nil, err
	}
	return c.gather(ctx, frame.Gather, own, c.traffic)
}

// gather is Gather on another channel, with valid arguments and without masks. It adds the messages to
// traffic.
func (c *Collectives) gather(
	ctx context.Context, channel frame.Channel, own [][]byte, traffic *transport.Traffic,
) ([][]byte, error) {
	g := &gathering{
		relay: relay{engine: c.engine, channel: channel, tree: c.tree}, parts: make([][]byte, c.engine.Graph.Len()),
	}
	for i, node := range c.engine.Hosted {
		g.parts[node] = append([]byte{}, own[i]...)
	}
	if err := c.engine.Run(ctx, g, g.length(), traffic); err != nil {
		return nil, err
	}
	c.keys.bind(channel, appendParts(nil, g.tree.order, g.parts))
	return g.parts, nil
}

// A gathering relays the bytes of all nodes to all nodes, up the tree and down again. A message consists of
// the parts of the nodes of a subtree, in the order of the tree, each after its length.
type gathering struct {
	relay
	parts [][]byte // of every node; nil before its arrival
}

// checkShare returns an error if a node has more bytes than its share.
func checkShare(node int, part []byte, nodes int) error {
	if most := share(nodes); len(part) > most {
		return fmt.Errorf("node %d gathers %d bytes: at most %d", node, len(part), most)
	}
	return nil
}

// Start implements rounds.Operation.
func (g *gathering) Start() {}

// Append implements rounds.Operation.
func (g *gathering) Append(dst []byte, k int) []byte {
	return appendParts(dst, g.tree.subtree(g.top(g.engine.Links[k].Node)), g.parts)
}

// top returns the root of the subtree whose parts a node sends in this round.
func (g *gathering) top(sender int) int {
	if _, up := g.level(); up {
		return sender
	}
	return g.tree.Root
}

// appendParts appends the parts of the given nodes, each after its length.
func appendParts(dst []byte, nodes []int, parts [][]byte) []byte {
	for _, node := range nodes {
		dst = binary.AppendUvarint(dst, uint64(len(parts[node])))
		dst = append(dst, parts[node]...)
	}
	return dst
}

// Receive implements rounds.Operation: it stores the parts, except for nodes whose part is here already.
func (g *gathering) Receive(k int, code []byte) error {
	if link := g.engine.Links[k]; !g.sends(link.Peer, link.Node) {
		return wantBytes(code, 0)
	}
	return readParts(code, g.tree.subtree(g.top(g.engine.Links[k].Peer)), func(node int, part []byte) error {
		if err := checkShare(node, part, len(g.parts)); err != nil {
			return err
		}
		if g.parts[node] == nil {
			g.parts[node] = append([]byte{}, part...)
		}
		return nil
	})
}

// readParts calls f with the parts of the given nodes. It returns an error unless p consists of these parts
// alone.
func readParts(p []byte, nodes []int, f func(node int, part []byte) error) error {
	for _, node := range nodes {
		n, header := binary.Uvarint(p)
		if header <= 0 || n > uint64(len(p)-header) {
			return fmt.Errorf("bytes of node %d are cut off", node)
		}
		part := p[header:][:n:n]
		if err := f(node, part); err != nil {
			return err
		}
		p = p[header+len(part):]
	}
	if len(p) > 0 {
		return fmt.Errorf("%d bytes after the bytes of all nodes", len(p))
	}
	return nil
}

// Step implements rounds.Operation.
func (g *gathering) Step() transport.Traffic {
	t := transport.Traffic{Rounds: 1}
	depth, up := g.level()
	all := g.size(g.tree.Root) // the bytes that go down every edge
	for _, child := range g.tree.Levels[depth] {
		from, _ := g.tree.ends(child, up)
		if g.engine.Index[from] < 0 {
			continue
		}
		size := all
		if up {
			size = g.size(child)
		}
		t.Messages, t.Bytes = t.Messages+1, t.Bytes+size
	}
	g.round++
	return t
}

// size returns the length of a message with the parts of the subtree of top.
func (g *gathering) size(top int) (n int64) {
	for _, node := range g.tree.subtree(top) {
		part := len(g.parts[node])
		n += int64((bits.Len(uint(part)|1)+6)/7 + part) // a byte holds 7 bits of a length
	}
	return n
}
