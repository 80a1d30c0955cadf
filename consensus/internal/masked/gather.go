package masked

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/difalt/difalt/consensus/internal/frame"
	"github.com/difalt/difalt/consensus/transport"
)

// share returns the largest number of bytes of a node in Gather: 4 MiB of all nodes, or enough for a tag of
// every other node.
func share(nodes int) int { return max(1<<22/nodes, 20*nodes) }

// mostProof is the largest number of bytes that a signature adds to the bytes of a node in Gather.
const mostProof = 256

// Gather returns the bytes of every node of the network; own[i] are the bytes of hosted node i. Nodes sign
// them if the transport is a transport.Signer. Gather returns a *transport.PeerError with a node whose
// signature is wrong, as it is where another node has altered its bytes.
func (c *Collectives) Gather(ctx context.Context, own [][]byte) ([][]byte, error) {
	if hosted := len(c.engine.Hosted); len(own) != hosted {
		return nil, fmt.Errorf("bytes of %d nodes for %d hosted nodes", len(own), hosted)
	}
	for i, node := range c.engine.Hosted {
		if err := checkShare(node, own[i], share(c.engine.Graph.Len())); err != nil {
			return nil, err
		}
	}
	if err := c.Join(ctx); err != nil {
		return nil, err
	}
	signer, signs := c.engine.Transport().(transport.Signer)
	if !signs {
		return c.gather(ctx, frame.Gather, own, c.traffic)
	}
	c.gathers++
	signed := make([][]byte, len(own))
	for i, part := range own {
		signed[i] = append(binary.AppendUvarint(nil, uint64(len(part))), part...)
		signed[i] = append(signed[i], signer.Sign(c.statement(part))...)
	}
	all, err := c.gather(ctx, frame.Gather, signed, c.traffic)
	if err != nil {
		return nil, err
	}
	if err := c.verify(signer, all); err != nil {
		c.engine.End(ctx, err)
		return nil, err
	}
	return all, nil
}

// statement returns what a node signs for its bytes in the present Gather. It differs from a key for masks.
func (c *Collectives) statement(part []byte) []byte {
	return append(binary.LittleEndian.AppendUint64([]byte("gathered bytes of a node\x00"), c.gathers), part...)
}

// verify replaces the signed bytes of all nodes by their bytes.
func (c *Collectives) verify(signer transport.Signer, all [][]byte) error {
	for node, sent := range all {
		n, header := binary.Uvarint(sent)
		if header <= 0 || n > uint64(len(sent)-header) {
			err := errors.New("its bytes, as relayed by other nodes, are cut off")
			return &transport.PeerError{Peer: node, Kind: transport.Refused, Err: err}
		}
		part, proof := sent[header:][:n:n], sent[header:][n:]
		if c.engine.Index[node] < 0 {
			if err := signer.Verify(node, c.statement(part), proof); err != nil {
				return err
			}
		}
		all[node] = part
	}
	return nil
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
func checkShare(node int, part []byte, most int) error {
	if len(part) > most {
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
		if err := checkShare(node, part, share(len(g.parts))+mostProof); err != nil {
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
