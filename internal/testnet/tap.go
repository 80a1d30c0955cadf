package testnet

import (
	"context"
	"encoding/binary"
	"hash/crc32"

	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/topology"
)

// A Tap sees and alters the frames of a transport: those that it sends, before they leave, and those that it
// receives, before the network reads them, from the last link to the first.
type Tap struct {
	Sent, Received func(l transport.Link, f Frame)
}

// A Frame is the bytes of a frame. A tap may change them, not their number; the checksum follows.
type Frame []byte

// Channel returns the channel, a number that identifies the operation.
func (f Frame) Channel() byte { return f[0] }

// Channels of the format of frames.
const (
	Sum      = 64
	Keys     = 71
	Gather   = 73
	Farewell = 74
)

// Code returns the code, which aliases the frame.
func (f Frame) Code() []byte { return f[6 : len(f)-4] }

// Tag returns the tag of the results that the sender has received.
func (f Frame) Tag() uint32 { return binary.LittleEndian.Uint32(f[2:]) }

// SetTag sets the tag.
func (f Frame) SetTag(tag uint32) { binary.LittleEndian.PutUint32(f[2:], tag) }

// Open returns t with the tap on its links, for a network on g with the given run.
func (x Tap) Open(t transport.Transport, g *topology.Graph, run uint64) transport.Transport {
	links := transport.Links(g, t.Hosted())
	sent, received := make([]uint64, len(links)), make([]uint64, len(links))
	tapped := &tapped{Transport: t, tap: x, links: links, run: run, sent: sent, received: received}
	return tapped
}

type tapped struct {
	transport.Transport
	tap            Tap
	links          []transport.Link
	run            uint64
	sent, received []uint64
}

// Exchange implements transport.Transport.
func (x *tapped) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	for k, p := range out {
		if len(p) > 0 {
			x.alter(x.tap.Sent, k, p, x.links[k].Node, x.sent)
		}
	}
	if err := x.Transport.Exchange(ctx, seq, out, in, due); err != nil {
		return err
	}
	for k := len(in) - 1; k >= 0; k-- {
		if p := in[k]; len(p) > 0 {
			x.alter(x.tap.Received, k, p, x.links[k].Peer, x.received)
		}
	}
	return nil
}

// alter passes the frame p of a node to f, and makes its checksum right.
func (x *tapped) alter(f func(transport.Link, Frame), k int, p []byte, node int, counts []uint64) {
	if f != nil {
		f(x.links[k], p)
		Seal(p, x.run, node, counts[k])
	}
	counts[k]++
}

// Seal gives a frame the checksum of frame number n of a node in a run.
func Seal(p []byte, run uint64, node int, n uint64) []byte {
	origin := []byte{4} // the version
	origin = binary.LittleEndian.AppendUint64(origin, run)
	origin = binary.LittleEndian.AppendUint32(origin, uint32(node))
	table, end := crc32.MakeTable(crc32.Castagnoli), len(p)-4
	binary.LittleEndian.PutUint32(p[end:], crc32.Update(crc32.Checksum(origin, table)^uint32(n), table, p[:end]))
	return p
}
