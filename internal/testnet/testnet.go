// Package testnet has transports for tests, between goroutines that stand for processes. A Tap alters frames
// on their way, a Spy keeps masked words, and Swap compares transcripts.
package testnet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/pads"
	"github.com/difalt/difalt/topology"
)

// Options of transports.
type Options struct {
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

// A transport carries the frames of its hosted nodes. It has no goroutines.
type transport struct {
	hosted []int
	links  []*link
	mu     sync.Mutex    // of sending and closing
	over   bool          // Close was called,
	closed chan struct{} // and this is closed
}

// A link is one end of a connection to a peer. A neighbour is at most a round ahead, so that at most two
// frames are under way while one is in use: buffers are used in turns.
type link struct {
	peer    int
	out, in chan []byte // the sender closes its own
	buffers [4][]byte
	sent    int
}

// Connect returns one transport for each group of nodes of g, connected with one another. Every node must be
// in one group. A transport fails with a *wire.PeerError if a peer has closed its end; it does not limit the
// time.
func Connect(g *topology.Graph, groups [][]int, o Options) ([]wire.Transport, error) {
	directions := make(map[wire.Link]chan []byte)
	of := func(node, peer int) chan []byte {
		l := wire.Link{Node: node, Peer: peer}
		if directions[l] == nil {
			directions[l] = make(chan []byte, 2)
		}
		return directions[l]
	}
	var transports []wire.Transport
	ends := 0
	for _, hosted := range groups {
		t := &transport{hosted: hosted, closed: make(chan struct{})}
		for _, l := range wire.Links(g, hosted) {
			t.links = append(t.links, &link{peer: l.Peer, out: of(l.Node, l.Peer), in: of(l.Peer, l.Node)})
			ends++
		}
		if o.Pads == nil {
			transports = append(transports, t)
		} else {
			transports = append(transports, provider{t, o.Pads})
		}
	}
	if ends != len(directions) {
		return nil, fmt.Errorf("testnet: groups %d are not all nodes, each once", groups)
	}
	return transports, nil
}

// A provider is a transport with the pads of its options.
type provider struct {
	wire.Transport
	of func(node int) pads.Source
}

// Pads implements pads.Provider.
func (p provider) Pads(node int) pads.Source { return p.of(node) }

// Hosted implements wire.Transport.
func (t *transport) Hosted() []int { return t.hosted }

// Exchange implements wire.Transport.
func (t *transport) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !t.send(out) {
		return ErrClosed
	}
	for k, l := range t.links {
		if in[k] = nil; due != nil && !due[k] {
			continue
		}
		select {
		case p, open := <-l.in:
			if in[k] = p; !open {
				return &wire.PeerError{Peer: l.peer, Round: seq, Kind: wire.Closed, Err: io.EOF}
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-t.closed:
			return ErrClosed
		}
	}
	return nil
}

// send sends copies of frames, unless t is closed.
func (t *transport) send(out [][]byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, l := range t.links {
		if len(out[k]) > 0 && !t.over {
			buffer := &l.buffers[l.sent%len(l.buffers)]
			l.sent++
			*buffer = append((*buffer)[:0], out[k]...)
			l.out <- *buffer
		}
	}
	return !t.over
}

// Close closes the connections; what was sent still arrives. It may be called more than once, and while
// Exchange waits.
func (t *transport) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		t.over = true
		close(t.closed)
		for _, l := range t.links {
			close(l.out)
		}
	}
	return nil
}

// A Buffer is a bytes.Buffer for several goroutines.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
