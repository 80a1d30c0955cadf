package testnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/topology"
)

// Options of a transport.
type Options struct {
	// RoundTimeout is how long Exchange waits for a frame before the peer has failed; 0
	// waits for ever, or until the caller's context ends.
	RoundTimeout time.Duration
	// Linger is how long Close waits for what was sent last to be taken; 0 is a second.
	Linger time.Duration
}

// ErrClosed is returned by Exchange after Close.
var ErrClosed = errors.New("testnet: the transport is closed")

// A transport carries the frames of the hosted nodes, one stream a link. Its reading
// and writing goroutines end with Close. Exchange serves one goroutine at a time.
type transport struct {
	hosted []int
	links  []*link
	o      Options

	seq    uint64
	begun  bool // Exchange has been called with seq
	closed chan struct{}
	once   sync.Once
	wg     sync.WaitGroup
}

// New returns the transport of the hosted nodes of g: conns[k] leads along link k of
// wire.Links(g, hosted). They belong to the transport from now on. It returns an
// error if there are not as many.
func New(g *topology.Graph, hosted []int, conns []io.ReadWriteCloser, o Options) (wire.Transport, error) {
	links := wire.Links(g, hosted)
	if len(links) != len(conns) {
		return nil, fmt.Errorf("testnet: %d connections for the %d links of nodes %d", len(conns), len(links), hosted)
	}
	if o.Linger == 0 {
		o.Linger = time.Second
	}
	t := &transport{hosted: slices.Clone(hosted), o: o, closed: make(chan struct{})}
	for k, conn := range conns {
		l := newLink(links[k].Peer, conn)
		t.links = append(t.links, l)
		t.wg.Add(2)
		go func() { defer t.wg.Done(); l.read() }()
		go func() { defer t.wg.Done(); l.write() }()
	}
	return t, nil
}

// Connect returns one transport for each group of nodes of g, connected by net.Pipe.
// Every node must be in one group.
func Connect(g *topology.Graph, groups [][]int, o Options) ([]wire.Transport, error) {
	return join(g, groups, func(wire.Link) (here, there io.ReadWriteCloser) { return net.Pipe() }, o)
}

// join is Connect by streams of which pair makes the ends at the Node and at the Peer of
// a link.
func join(g *topology.Graph, groups [][]int, pair func(l wire.Link) (here, there io.ReadWriteCloser), o Options) ([]wire.Transport, error) {
	ends := make(map[wire.Link]io.ReadWriteCloser)
	conns := make([][]io.ReadWriteCloser, len(groups))
	for k, hosted := range groups {
		for _, l := range wire.Links(g, hosted) {
			if ends[l] == nil {
				ends[l], ends[wire.Link{Node: l.Peer, Peer: l.Node}] = pair(l)
			}
			conns[k] = append(conns[k], ends[l])
			delete(ends, l)
		}
	}
	for l := range ends {
		return nil, fmt.Errorf("testnet: node %d is in no group, or node %d in two", l.Node, l.Peer)
	}
	var transports []wire.Transport
	for k, hosted := range groups {
		t, err := New(g, hosted, conns[k], o)
		if err != nil {
			return nil, err
		}
		transports = append(transports, t)
	}
	return transports, nil
}

// Hosted returns the nodes that live in this process.
func (t *transport) Hosted() []int { return t.hosted }

// Exchange implements wire.Transport. It returns ctx.Err() if ctx ends, and a
// *wire.PeerError if a frame does not come in the time of a round, if a peer has
// closed its end without sending one, or if what comes is no frame.
func (t *transport) Exchange(ctx context.Context, seq uint64, out, in [][]byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.over() {
		return ErrClosed
	}
	if !t.begun || seq != t.seq {
		t.begun, t.seq = true, seq
		for _, l := range t.links {
			l.sent, l.got = false, nil
		}
	}
	var late <-chan time.Time
	if t.o.RoundTimeout > 0 {
		timer := time.NewTimer(t.o.RoundTimeout)
		defer timer.Stop()
		late = timer.C
	}
	for k, l := range t.links {
		if err := t.send(ctx, l, out[k], late); err != nil {
			return err
		}
	}
	for k, l := range t.links {
		if err := t.receive(ctx, l, late); err != nil {
			return err
		}
		in[k] = l.got
	}
	return nil
}

// send hands the frame of a round to the writer of a link, once. It waits only for a
// peer that has not taken the frame of two rounds ago.
func (t *transport) send(ctx context.Context, l *link, p []byte, late <-chan time.Time) error {
	if l.sent {
		return nil
	}
	q := &l.out[l.count%len(l.out)]
	*q = append((*q)[:0], p...)
	select {
	case l.outgoing <- *q:
		l.sent = true
		l.count++
		return nil
	case <-l.stopped: // the reader says why
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-late:
		return l.failed(t.seq, wire.Timeout, errors.New("does not take what is sent"))
	case <-t.closed:
		return ErrClosed
	}
}

// receive waits for the frame of a link, unless it has come.
func (t *transport) receive(ctx context.Context, l *link, late <-chan time.Time) error {
	if l.got != nil {
		return nil
	}
	select {
	case p, ok := <-l.frames:
		if !ok {
			if t.over() {
				return ErrClosed
			}
			return l.failed(t.seq, l.kind, l.err)
		}
		l.got = p
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-late:
		return l.failed(t.seq, wire.Timeout, nil)
	case <-t.closed:
		return ErrClosed
	}
}

// over reports whether Close has been called.
func (t *transport) over() bool {
	select {
	case <-t.closed:
		return true
	default:
		return false
	}
}

// Close sends what Exchange has left to be sent, closes the connections and waits for
// the goroutines to end. It may be called more than once, and while Exchange waits.
func (t *transport) Close() error {
	t.once.Do(func() {
		close(t.closed)
		deadline := make(chan struct{})
		timer := time.AfterFunc(t.o.Linger, func() { close(deadline) })
		defer timer.Stop()
		for _, l := range t.links {
			l.finish(deadline)
		}
	})
	t.wg.Wait()
	return nil
}
