package collective

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/difalt/difalt/consensus/wire"
)

// MaxGather bounds the bytes of a message of Gather, beside those of its frame: in a network of
// many nodes it takes several passes for what does not fit.
const MaxGather = 1 << 19

// maxGathered bounds the bytes that all nodes say at once.
const maxGathered = 1 << 25

// Gather returns the bytes of every node of the network; own[i] are those of hosted node i, of
// any length. All nodes see them. Those of a node go up the tree once, and down every edge.
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
	progress, kept, err := c.rounds.Begin(wire.Call{Operation: channel.String()})
	if err != nil {
		return nil, err
	}
	g, l := &c.gathering, c.rounds.Graph.Len()
	switch progress {
	case wire.Repeated:
		parts := make([][]byte, l)
		return parts, readParts(slices.Clone(kept), c.tree.order, func(node int, part []byte) error { parts[node] = part; return nil })
	case wire.Started:
		*g = gathering{relay: relay{rounds: c.rounds, channel: channel, tree: c.tree}, share: max(1, MaxGather/l-partHeader-1), rest: slices.Clone(own), parts: make([][]byte, l)}
		g.begin()
	}
	for g.more {
		if err := c.rounds.Run(ctx, g, nil, (g.passes+1)*g.Rounds(), false, traffic); err != nil {
			return nil, err
		}
		if err := c.rounds.Settle(); err != nil {
			return nil, err
		}
		if err := g.take(); err != nil {
			return nil, err
		}
	}
	c.rounds.End(func(p []byte) []byte { return appendParts(p, c.tree.order, g.parts) })
	return g.parts, nil
}

// A gathering is a relay of the bytes of all nodes to all nodes, in place of sums, in passes: up
// the tree and down again. Each message is pieces of the nodes below one, in the order of the tree:
// the length, whether more follow in another pass, and the bytes.
type gathering struct {
	relay
	share  int      // the longest piece
	rest   [][]byte // what the hosted nodes have not begun to send
	parts  [][]byte // of every node, of the passes so far
	passes int      // so far
	more   bool     // there is another pass
	pieces [][]byte // of every node, of this pass; nil: not yet here
}

const partHeader = 3 // bytes of a length, at most

// begin begins a pass.
func (g *gathering) begin() {
	g.more, g.Round, g.pieces = true, 0, make([][]byte, len(g.parts))
	for i, node := range g.rounds.Hosted {
		n, piece := min(len(g.rest[i]), g.share), []byte{0}
		if n < len(g.rest[i]) {
			piece[0] = 1
		}
		g.pieces[node], g.rest[i] = append(piece, g.rest[i][:n]...), g.rest[i][n:]
	}
}

// take takes over what a pass has brought, and begins the next if there is one.
func (g *gathering) take() error {
	g.passes++
	g.more = false
	total := 0
	for node, p := range g.pieces {
		g.parts[node] = append(g.parts[node], p[1:]...)
		g.more = g.more || p[0] != 0
		total += len(g.parts[node])
	}
	if total > maxGathered {
		return g.tooMuch()
	}
	if g.more {
		g.begin()
	}
	return nil
}

// tooMuch returns an error about the node that has said most: of another one a *wire.PeerError.
func (g *gathering) tooMuch() error {
	longest := 0
	for node, p := range g.parts {
		if len(p) > len(g.parts[longest]) {
			longest = node
		}
	}
	err := fmt.Errorf("consensus: nodes gather more than %d bytes, most of all node %d", maxGathered, longest)
	if g.rounds.Index[longest] < 0 {
		return &wire.PeerError{Peer: longest, Kind: wire.Protocol, Err: err}
	}
	return err
}

// check returns an error unless a piece can have been sent.
func (g *gathering) check(node int, piece []byte) error {
	if n := len(piece) - 1; n < 0 || n > g.share || piece[0] > 1 || piece[0] == 1 && n < g.share {
		return fmt.Errorf("a piece of %d bytes of node %d, at most %d may be", n, node, g.share)
	}
	return nil
}

// AppendTo implements wire.Operation.
func (g *gathering) AppendTo(dst []byte, k int) []byte {
	return appendParts(dst, g.tree.subtree(g.top(g.rounds.Links[k].Node)), g.pieces)
}

// top returns the node of which all that are below it are in what a node sends in this round.
func (g *gathering) top(sender int) int {
	if _, up := g.level(); up {
		return sender
	}
	return g.tree.Root
}

// appendParts appends the parts of some nodes, each behind its length.
func appendParts(dst []byte, nodes []int, parts [][]byte) []byte {
	for _, node := range nodes {
		dst = binary.AppendUvarint(dst, uint64(len(parts[node])))
		dst = append(dst, parts[node]...)
	}
	return dst
}

// Check implements wire.Operation.
func (g *gathering) Check(k int, code []byte) error {
	return readParts(code, g.tree.subtree(g.top(g.rounds.Links[k].Peer)), g.check)
}

// readParts calls f with the parts of some nodes, which must be all that there is.
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
		return fmt.Errorf("%d bytes behind those of all nodes", len(p))
	}
	return nil
}

// Step implements wire.Operation.
func (g *gathering) Step() wire.Traffic {
	t := wire.Traffic{Rounds: 1}
	depth, up := g.level()
	all := g.size(g.tree.Root) // what goes down every edge
	for _, child := range g.tree.Levels[depth] {
		from, to := g.tree.ends(child, up)
		switch {
		case g.rounds.Index[from] >= 0:
			size := all
			if up {
				size = g.size(child)
			}
			t.Messages, t.Bytes = t.Messages+1, t.Bytes+size
		case g.rounds.Index[to] >= 0:
			// Check has found it good. What is here already may not change.
			_ = readParts(g.rounds.Code(g.rounds.Number(to, from)), g.tree.subtree(g.top(from)), func(node int, part []byte) error {
				if g.pieces[node] == nil {
					g.pieces[node] = slices.Clone(part)
				}
				return nil
			})
		}
	}
	g.Round++
	return t
}

// size returns the length of a message with the parts of the nodes below top.
func (g *gathering) size(top int) (n int64) {
	for _, node := range g.tree.subtree(top) {
		piece := len(g.pieces[node])
		n += int64((bits.Len(uint(piece)|1)+6)/7 + piece) // 7 bits of a length in a byte
	}
	return n
}
