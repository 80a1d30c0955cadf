// Package testnet has transports for tests, between goroutines that stand for processes. Their links deliver
// immediately, or after retransmissions. A Tap alters frames on their way; Swap and Neighbours compare
// transcripts.
package testnet

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/pads"
	"github.com/difalt/difalt/topology"
)

// Options of transports.
type Options struct {
	// RoundTimeout is the time after which a peer without a frame has failed; 0 waits until the caller's
	// context ends.
	RoundTimeout time.Duration
	// Loss is the probability that a frame is lost; the link sends it again a millisecond later.
	Loss float64
	Seed uint64 // of the losses
	// Pads returns the pads of a node, in place of those that nodes make from keys. It may be nil.
	Pads func(node int) pads.Source
}

// NoPads masks nothing, so that a test sees the words of nodes.
type NoPads struct{}

// Add implements pads.Source.
func (NoPads) Add([]uint64, int) {}

// Next implements pads.Source: pads do not depend on results.
func (NoPads) Next([sha256.Size]byte) {}

// Tags implements pads.Source.
func (NoPads) Tags([sha256.Size]byte) []byte { return nil }

// Confirm implements pads.Source.
func (NoPads) Confirm([sha256.Size]byte, [][]byte) bool { return true }

// ErrClosed is returned by Exchange after Close.
var ErrClosed = errors.New("testnet: the transport is closed")

const (
	resendAfter = time.Millisecond
	linkStream  = 0x6c696e6b // "link": random numbers apart from other uses of a seed
)

// A transport carries the frames of its hosted nodes. It has no goroutines.
type transport struct {
	hosted []int
	links  []*link
	o      Options
	next   uint64        // sequence number of the next new exchange
	mu     sync.Mutex    // of sending and closing
	over   bool          // Close was called,
	closed chan struct{} // and this is closed
}

// A link is one end of a connection to a peer.
type link struct {
	peer    int
	out, in *direction
	coming  *delivery // of the exchange under way; nil before it has left the peer
}

// A direction is one half of a connection. A neighbour is at most a round ahead, so that
// at most two frames are under way while one is in use: buffers are used in turns.
type direction struct {
	frames  chan *delivery // the sender closes it
	buffers [4]delivery
	count   int
	fates   *rand.Rand
}

// A delivery is a frame that arrives at a certain time.
type delivery struct {
	frame []byte
	at    time.Time
}

// Connect returns one transport for each group of nodes of g, connected with one another.
// Every node must be in one group.
func Connect(g *topology.Graph, groups [][]int, o Options) ([]wire.Transport, error) {
	if !(o.Loss >= 0 && o.Loss < 1) {
		return nil, fmt.Errorf("testnet: loss is %v: must be at least 0 and below 1", o.Loss)
	}
	directions := make(map[wire.Link]*direction)
	of := func(l wire.Link) *direction {
		if directions[l] == nil {
			source := rand.NewPCG(o.Seed^linkStream, uint64(l.Node*g.Len()+l.Peer))
			directions[l] = &direction{frames: make(chan *delivery, 2), fates: rand.New(source)}
		}
		return directions[l]
	}
	var transports []wire.Transport
	ends := 0
	for _, hosted := range groups {
		t := &transport{hosted: slices.Clone(hosted), o: o, closed: make(chan struct{})}
		for _, l := range wire.Links(g, hosted) {
			t.links = append(t.links, &link{peer: l.Peer, out: of(l), in: of(wire.Link{Node: l.Peer, Peer: l.Node})})
			ends++
		}
		transports = append(transports, t.provided())
	}
	if ends != len(directions) {
		return nil, fmt.Errorf("testnet: groups %d are not all nodes, each once", groups)
	}
	return transports, nil
}

// provided returns t with the pads of its options.
func (t *transport) provided() wire.Transport {
	if t.o.Pads == nil {
		return t
	}
	return provider{t}
}

type provider struct{ *transport }

// Pads implements pads.Provider.
func (p provider) Pads(node int) pads.Source { return p.o.Pads(node) }

// Hosted returns the nodes that live in this process.
func (t *transport) Hosted() []int { return t.hosted }

// Exchange implements wire.Transport. It returns ctx.Err() if ctx ends, and a
// *wire.PeerError if a frame does not come in the time of a round, or if a peer has closed
// its end without sending one.
func (t *transport) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !t.send(seq, out) {
		return ErrClosed
	}
	var late <-chan time.Time
	if t.o.RoundTimeout > 0 {
		timer := time.NewTimer(t.o.RoundTimeout)
		defer timer.Stop()
		late = timer.C
	}
	for k, l := range t.links {
		if in[k] = nil; due != nil && !due[k] {
			continue
		}
		if err := t.receive(ctx, l, seq, late); err != nil {
			return err
		}
		in[k] = l.coming.frame
	}
	return nil
}

// send sends the frames of a new exchange, unless t is closed.
func (t *transport) send(seq uint64, out [][]byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, l := range t.links {
		if t.over || seq < t.next {
			break
		}
		if l.coming = nil; len(out[k]) > 0 {
			l.out.send(out[k], t.o.Loss)
		}
	}
	t.next = seq + 1
	return !t.over
}

// send sends a copy of p, which arrives after as many retransmissions as there are losses.
func (d *direction) send(p []byte, loss float64) {
	buffer := &d.buffers[d.count%len(d.buffers)]
	d.count++
	buffer.frame, buffer.at = append(buffer.frame[:0], p...), time.Time{}
	if loss > 0 {
		again := time.Duration(0)
		for d.fates.Float64() < loss {
			again++
		}
		buffer.at = time.Now().Add(resendAfter/10 + again*resendAfter)
	}
	d.frames <- buffer
}

// receive waits until the frame of a link has arrived.
func (t *transport) receive(ctx context.Context, l *link, seq uint64, late <-chan time.Time) error {
	for {
		frames, arrival := l.in.frames, (<-chan time.Time)(nil)
		if l.coming != nil {
			wait := time.Until(l.coming.at)
			if wait <= 0 {
				return nil
			}
			frames, arrival = nil, time.After(wait)
		}
		select {
		case p, open := <-frames:
			if l.coming = p; !open {
				return &wire.PeerError{Peer: l.peer, Round: seq, Kind: wire.Closed, Err: io.EOF}
			}
		case <-arrival:
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			return &wire.PeerError{Peer: l.peer, Round: seq, Kind: wire.Timeout}
		case <-t.closed:
			return ErrClosed
		}
	}
}

// Close closes the connections; what was sent still arrives. It may be called more than
// once, and while Exchange waits.
func (t *transport) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil
	}
	t.over = true
	close(t.closed)
	for _, l := range t.links {
		close(l.out.frames)
	}
	return nil
}
