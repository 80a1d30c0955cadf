package collective

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/difalt/difalt/consensus/wire"
)

// MaxGather bounds the bytes of a message of Gather. Longer contributions take several passes.
const MaxGather = 1 << 19

// maxGathered bounds the bytes of all nodes in one call of Gather.
const maxGathered = 1 << 25

// Gather returns the bytes of every node of the network; own[i] are the bytes of hosted node i, of any
// length. All nodes see them. The total is limited to 32 MiB.
func (c *Collectives) Gather(ctx context.Context, own [][]byte) ([][]byte, error) {
	if err := c.Join(ctx); err != nil {
		return nil, err
	}
	return c.gather(ctx, wire.Gather, own, c.traffic)
}

func (c *Collectives) gather(ctx context.Context, channel wire.Channel, own [][]byte, traffic *wire.Traffic) ([][]byte, error) {
	if hosted := len(c.rounds.Hosted); len(own) != hosted {
		return nil, fmt.Errorf("consensus: bytes of %d nodes for %d hosted ones", len(own), hosted)
	}
	l := c.rounds.Graph.Len()
	g := &gathering{
		relay: relay{rounds: c.rounds, channel: channel, tree: c.relay.tree},
		share: max(1, MaxGather/l-partHeader-1), rest: slices.Clone(own), parts: make([][]byte, l),
	}
	for more, first := true, true; more; {
		g.start()
		err := c.rounds.Run(ctx, g, g.length(), traffic)
		if err != nil && first {
			return nil, err
		}
		if err == nil {
			more, err = g.take()
		}
		if err != nil {
			c.rounds.End(ctx, err)
			return nil, err
		}
		first = false
	}
	c.keys.bind(channel, appendParts(nil, g.tree.order, g.parts))
	return g.parts, nil
}

// A gathering relays the bytes of all nodes to all nodes, in passes up the tree and down again. A message
// consists of the pieces of the nodes of a subtree, in the order of the tree: the length, a byte that is 1
// if more pieces follow in another pass, and the bytes.
type gathering struct {
	relay
	share  int      // the length of the longest piece
	rest   [][]byte // bytes of the hosted nodes that are left for later passes
	parts  [][]byte // of every node, from the passes so far
	pieces [][]byte // of every node, in this pass; nil before its arrival
}

const partHeader = 3 // bytes of a length, at most

// start starts a pass.
func (g *gathering) start() {
	g.round, g.pieces = 0, make([][]byte, len(g.parts))
	for i, node := range g.rounds.Hosted {
		n, piece := min(len(g.rest[i]), g.share), []byte{0}
		if n < len(g.rest[i]) {
			piece[0] = 1
		}
		g.pieces[node], g.rest[i] = append(piece, g.rest[i][:n]...), g.rest[i][n:]
	}
}

// take appends the pieces of a pass to the parts, and reports whether another pass follows.
func (g *gathering) take() (more bool, err error) {
	total := 0
	for node, p := range g.pieces {
		g.parts[node] = append(g.parts[node], p[1:]...)
		more = more || p[0] != 0
		total += len(g.parts[node])
	}
	if total > maxGathered {
		return false, g.tooMuch()
	}
	return more, nil
}

// tooMuch returns an error that names the node with the most bytes; it is a *wire.PeerError if that node
// lives elsewhere.
func (g *gathering) tooMuch() error {
	longest := 0
	for node, p := range g.parts {
		if len(p) > len(g.parts[longest]) {
			longest = node
		}
	}
	err := fmt.Errorf("consensus: the nodes gather more than %d bytes, node %d the most", maxGathered, longest)
	if g.rounds.Index[longest] < 0 {
		return &wire.PeerError{Peer: longest, Kind: wire.Protocol, Err: err}
	}
	return err
}

// check returns an error unless a piece has a valid length and mark.
func (g *gathering) check(node int, piece []byte) error {
	if n := len(piece) - 1; n < 0 || n > g.share || piece[0] > 1 || piece[0] == 1 && n < g.share {
		return fmt.Errorf("consensus: a piece of %d bytes of node %d: must have at most %d", n, node, g.share)
	}
	return nil
}

// AppendTo implements wire.Operation.
func (g *gathering) AppendTo(dst []byte, k int) []byte {
	return appendParts(dst, g.tree.subtree(g.top(g.rounds.Links[k].Node)), g.pieces)
}

// top returns the root of the subtree whose pieces a node sends in this round.
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

// Check implements wire.Operation: it stores the pieces, except for nodes whose piece is here already.
func (g *gathering) Check(k int, code []byte) error {
	if link := g.rounds.Links[k]; !g.sends(link.Peer, link.Node) {
		return wantBytes(code, 0)
	}
	return readParts(code, g.tree.subtree(g.top(g.rounds.Links[k].Peer)), func(node int, piece []byte) error {
		if err := g.check(node, piece); err != nil {
			return err
		}
		if g.pieces[node] == nil {
			g.pieces[node] = slices.Clone(piece)
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
			return fmt.Errorf("consensus: bytes of node %d are cut off", node)
		}
		part := p[header:][:n:n]
		if err := f(node, part); err != nil {
			return err
		}
		p = p[header+len(part):]
	}
	if len(p) > 0 {
		return fmt.Errorf("consensus: %d bytes after those of all nodes", len(p))
	}
	return nil
}

// Step implements wire.Operation.
func (g *gathering) Step() wire.Traffic {
	t := wire.Traffic{Rounds: 1}
	depth, up := g.level()
	all := g.size(g.tree.Root) // the bytes that go down every edge
	for _, child := range g.tree.Levels[depth] {
		from, _ := g.tree.ends(child, up)
		if g.rounds.Index[from] < 0 {
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

// size returns the length of a message with the pieces of the subtree of top.
func (g *gathering) size(top int) (n int64) {
	for _, node := range g.tree.subtree(top) {
		piece := len(g.pieces[node])
		n += int64((bits.Len(uint(piece)|1)+6)/7 + piece) // a byte holds 7 bits of a length
	}
	return n
}
