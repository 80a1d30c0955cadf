// Package testnet has transports for tests, between goroutines that stand for processes. A Tap alters frames
// on their way, a Spy keeps masked words, and Swap compares transcripts.
package testnet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/topology"
)

// ErrClosed is returned by Exchange after Close.
var ErrClosed = errors.New("testnet: the transport is closed")

// A memory carries the frames of its hosted nodes. It has no goroutines.
type memory struct {
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
// in one group. A transport fails with a *transport.PeerError if a peer has closed its end; it does not limit
// the time.
func Connect(g *topology.Graph, groups [][]int) ([]transport.Transport, error) {
	directions := make(map[transport.Link]chan []byte)
	of := func(node, peer int) chan []byte {
		l := transport.Link{Node: node, Peer: peer}
		if directions[l] == nil {
			directions[l] = make(chan []byte, 2)
		}
		return directions[l]
	}
	var transports []transport.Transport
	ends := 0
	for _, hosted := range groups {
		t := &memory{hosted: hosted, closed: make(chan struct{})}
		for _, l := range transport.Links(g, hosted) {
			t.links = append(t.links, &link{peer: l.Peer, out: of(l.Node, l.Peer), in: of(l.Peer, l.Node)})
			ends++
		}
		transports = append(transports, t)
	}
	if ends != len(directions) {
		return nil, fmt.Errorf("testnet: groups %d are not all nodes, each once", groups)
	}
	return transports, nil
}

// Hosted implements transport.Transport.
func (t *memory) Hosted() []int { return t.hosted }

// Exchange implements transport.Transport.
func (t *memory) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !t.send(out) {
		return ErrClosed
	}
	for k, l := range t.links {
		in[k] = nil
		if due != nil && !due[k] {
			continue
		}
		select {
		case p, open := <-l.in:
			in[k] = p
			if !open {
				return &transport.PeerError{Peer: l.peer, Round: seq, Kind: transport.Closed, Err: io.EOF}
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
func (t *memory) send(out [][]byte) bool {
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
func (t *memory) Close() error {
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
