//go:build mpi

package mpi

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/topology"
)

// Options of a transport. The zero value of a time is its default.
type Options struct {
	// JoinTimeout is how long Connect waits for the others, ten minutes by default.
	JoinTimeout time.Duration
	// RoundTimeout is how long a neighbour may take for a round before it has failed, two
	// minutes by default. What it computes meanwhile must fit in.
	RoundTimeout time.Duration
	// MaxFrame is the length in bytes beyond which a frame is refused; 0 is 1 GiB.
	MaxFrame int
	// Terms are what the others must say too.
	Terms []consensus.Term
	// Trouble is why this process cannot take part, which the others are told; nil if it can.
	Trouble error
}

func (o *Options) defaults() {
	if o.JoinTimeout == 0 {
		o.JoinTimeout = 10 * time.Minute
	}
	if o.RoundTimeout == 0 {
		o.RoundTimeout = 2 * time.Minute
	}
	if o.MaxFrame == 0 {
		o.MaxFrame = 1 << 30
	}
}

// ErrClosed is returned by Exchange after Close.
var ErrClosed = errors.New("mpi: the transport is closed")

// A Transport carries the frames of one node. Exchange serves one goroutine at a time.
type Transport struct {
	world *World
	o     Options
	graph C.MPI_Comm
	c     *C.difalt_links
	links []*link

	seq   uint64 // of the exchange under way, or the last one
	begun bool   // Exchange has been called with seq
	stage stage  // of that exchange
	err   error  // for good
	pin   runtime.Pinner

	mu    sync.Mutex
	wants []int // who has not sent its frame yet
	since time.Time
	done  uint64 // rounds
	stats []EdgeStats
}

// EdgeStats is what a transport has done on an edge.
type EdgeStats struct {
	Peer           int
	Sent, Received int64 // bytes of frames
}

type stage int

const (
	complete stage = iota
	heads          // the collective is under way
	rests          // what was longer than expected is under way
)

// A link leads to a neighbour. Both ends know the lengths that they expect each way.
type link struct {
	peer             int
	expectOut        int
	expectIn         int
	length           int    // of the frame under way
	padded, received []byte // memory
}

// Connect returns a transport along the edges of g, once all processes have called it and
// said the same terms. Otherwise all return an error: that of Trouble where there is
// any, and a *consensus.PeerError that names the process elsewhere. It returns ctx.Err()
// if ctx ends.
func (w *World) Connect(ctx context.Context, g *topology.Graph, o Options) (*Transport, error) {
	o.defaults()
	own := hello{Version: protocolVersion, Terms: o.Terms}
	if o.Trouble == nil && g.Len() != w.size {
		o.Trouble = fmt.Errorf("mpi: a graph of %d nodes for %d processes", g.Len(), w.size)
	}
	if o.Trouble != nil {
		own.Trouble = o.Trouble.Error()
	}
	if err := w.agree(ctx, own, o.JoinTimeout); err != nil && (o.Trouble == nil || ctx.Err() != nil) {
		return nil, err
	}
	if o.Trouble != nil {
		return nil, o.Trouble
	}
	t := &Transport{world: w, o: o}
	peers := []C.int{0} // never empty
	for k, j := range g.Neighbors(w.rank) {
		t.links = append(t.links, &link{peer: j, expectOut: consensus.HeaderLen, expectIn: consensus.HeaderLen})
		peers = append(peers[:k], C.int(j))
		t.stats = append(t.stats, EdgeStats{Peer: j})
	}
	t.c = C.difalt_links_new(C.int(len(t.links)))
	if err := check(C.difalt_graph(t.c.n, &peers[0], &t.graph)); err != nil {
		return nil, fmt.Errorf("mpi: MPI_Dist_graph_create_adjacent: %w", err)
	}
	w.keep = append(w.keep, t)
	return t, nil
}

// Hosted returns the node of this process.
func (t *Transport) Hosted() []int { return []int{t.world.rank} }

// Exchange implements consensus.Transport. It returns ctx.Err() if ctx ends, and a
// *consensus.PeerError if a neighbour sends nothing in the time of a round, if MPI
// reports a failure, or if what comes is no frame. What out holds must stay as it is
// until an exchange has succeeded.
func (t *Transport) Exchange(ctx context.Context, seq uint64, out, in [][]byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.err == nil && (!t.begun || seq != t.seq) {
		t.err = t.begin(seq, out)
	}
	if t.err != nil {
		return t.err
	}
	if t.stage == heads {
		if err := t.await(ctx, 1); err != nil {
			return err
		}
		if t.err = t.more(); t.err != nil {
			return t.err
		}
	}
	if t.stage == rests {
		if err := t.await(ctx, 1+2*len(t.links)); err != nil {
			return err
		}
		t.finish(out)
	}
	for k, l := range t.links {
		in[k] = l.received[:l.length]
	}
	return nil
}

// begin starts an exchange: the collective, and what of the own frames goes beyond it.
func (t *Transport) begin(seq uint64, out [][]byte) error {
	if t.stage != complete {
		return fmt.Errorf("mpi: exchange %d while %d is under way", seq, t.seq)
	}
	for k, p := range out {
		if len(p) < consensus.HeaderLen || len(p) > t.o.MaxFrame {
			return fmt.Errorf("mpi: a frame of %d bytes to node %d: must be %d to %d", len(p), t.links[k].peer, consensus.HeaderLen, t.o.MaxFrame)
		}
	}
	n := len(t.links)
	counts := func(p *C.int) []C.int { return unsafe.Slice(p, n) }
	from, to := unsafe.Slice(t.c.from, n), unsafe.Slice(t.c.to, n)
	t.begun, t.seq, t.stage, t.world.pending = true, seq, heads, true
	for k, l := range t.links {
		p := out[k]
		if len(p) < l.expectOut {
			l.padded = append(l.padded[:0], p...)
			l.padded = room(l.padded, l.expectOut)
			p = l.padded
		}
		l.received = room(l.received[:0], l.expectIn)
		clear(l.received[:consensus.HeaderLen]) // see missing
		counts(t.c.out)[k], from[k] = C.int(l.expectOut), t.address(p)
		counts(t.c.in)[k], to[k] = C.int(l.expectIn), t.address(l.received)
	}
	if err := check(C.difalt_exchange(t.c, t.graph)); err != nil {
		return fmt.Errorf("mpi: MPI_Ineighbor_alltoallw: %w", err)
	}
	for k, l := range t.links {
		if rest := out[k][min(l.expectOut, len(out[k])):]; len(rest) > 0 {
			if err := check(C.difalt_send(t.c, C.int(k), C.int(l.peer), unsafe.Pointer(&rest[0]), C.int(len(rest)), t.graph)); err != nil {
				return t.failed(l.peer, consensus.Closed, err)
			}
		}
	}
	return nil
}

// address returns where p is, which does not change until the exchange is complete.
func (t *Transport) address(p []byte) C.MPI_Aint {
	t.pin.Pin(&p[0])
	return C.MPI_Aint(uintptr(unsafe.Pointer(&p[0])))
}

// room returns p with n bytes, of which those that it had are as they were.
func room(p []byte, n int) []byte {
	if cap(p) < n {
		p = append(make([]byte, 0, n), p...)
	}
	return p[:n]
}

// more begins to receive what is longer than expected.
func (t *Transport) more() error {
	t.stage = rests
	for k, l := range t.links {
		var err error
		if l.length, err = consensus.FrameLen(l.received); err == nil && l.length > t.o.MaxFrame {
			err = fmt.Errorf("a frame of %d bytes, more than %d", l.length, t.o.MaxFrame)
		}
		if err != nil {
			return t.failed(l.peer, consensus.Corrupt, err)
		}
		if rest := l.length - l.expectIn; rest > 0 {
			l.received = room(l.received, l.length)
			t.pin.Pin(&l.received[0])
			if err := check(C.difalt_receive(t.c, C.int(k), C.int(l.peer), unsafe.Pointer(&l.received[l.expectIn]), C.int(rest), t.graph)); err != nil {
				return t.failed(l.peer, consensus.Closed, err)
			}
		}
	}
	return nil
}

// finish ends an exchange that is complete.
func (t *Transport) finish(out [][]byte) {
	t.pin.Unpin()
	t.stage, t.world.pending = complete, false
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done++
	for k, l := range t.links {
		t.stats[k].Sent += int64(len(out[k]))
		t.stats[k].Received += int64(l.length)
		l.expectOut = expect(l.expectOut, len(out[k]))
		l.expectIn = expect(l.expectIn, l.length)
	}
}

// expect returns what both ends of a link expect after a frame of the given length.
func expect(before, length int) int { return max(length, before/2, consensus.HeaderLen) }

// await waits for the first n requests.
func (t *Transport) await(ctx context.Context, n int) error {
	open, err := t.world.wait(ctx, n, t.c.requests, t.o.RoundTimeout, func(waited time.Duration) { t.note(t.missing(), time.Now().Add(-waited)) })
	t.note(nil, time.Time{})
	if err == nil || ctx.Err() != nil {
		return err
	}
	peer := t.links[max(0, open-1)%len(t.links)].peer // of a message
	if missing := t.missing(); open == 0 && len(missing) > 0 {
		peer = missing[0]
	}
	if errors.Is(err, errLate) {
		return t.failed(peer, consensus.Timeout, fmt.Errorf("it has sent nothing for %v", t.o.RoundTimeout))
	}
	t.err = t.failed(peer, consensus.Closed, err)
	return t.err
}

func (t *Transport) failed(peer int, kind consensus.Kind, err error) error {
	return &consensus.PeerError{Peer: peer, Round: t.seq, Kind: kind, Err: err}
}

// missing returns the neighbours from which nothing has come yet. MPI does not say while
// a collective is under way: it is only for what people are told.
func (t *Transport) missing() (peers []int) {
	for _, l := range t.links {
		if l.received[0] == 0 {
			peers = append(peers, l.peer)
		}
	}
	return peers
}

func (t *Transport) note(peers []int, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wants, t.since = peers, since
}

// Waiting returns the neighbours for which Exchange has been waiting, as far as is known,
// and since when; none if it does not wait. It may be called at any time.
func (t *Transport) Waiting() (peers []int, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wants, t.since
}

// Stats returns how many rounds are done, and what they carried. It may be called at any
// time.
func (t *Transport) Stats() (rounds uint64, edges []EdgeStats) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.done, slices.Clone(t.stats)
}

// Close ends the use of the transport. Nothing is left to be sent after an exchange has
// succeeded; the processes part in World.Leave.
func (t *Transport) Close() error {
	if t.err == nil {
		t.err = ErrClosed
	}
	return nil
}
