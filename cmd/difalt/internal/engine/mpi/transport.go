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
	"math"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/difalt/difalt/cmd/difalt/internal/engine"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/topology"
)

// A Transport carries the frames of one node. Join and Exchange serve one goroutine at a time.
type Transport struct {
	world *World
	graph *topology.Graph
	o     engine.Options
	c     *C.difalt_links
	links []C.difalt_link // of c

	seq  uint64           // of the last exchange
	err  error            // permanent
	pins []runtime.Pinner // of the memory that a link sends, until it sends other memory

	mu    sync.Mutex // guards stats
	stats engine.Stats
}

// New returns a transport along the edges of g, which is not connected before Join.
func (w *World) New(g *topology.Graph, o engine.Options) *Transport {
	o = o.WithDefaults()
	o.MaxFrame = min(o.MaxFrame, math.MaxInt32) // the largest count of MPI
	return &Transport{world: w, graph: g, o: o}
}

// Join connects the processes once all have called it. It returns ctx.Err() if ctx ends.
func (t *Transport) Join(ctx context.Context) error {
	if n := t.graph.Len(); n != t.world.size {
		return fmt.Errorf("mpi: a graph of %d nodes for %d processes", n, t.world.size)
	}
	if err := t.world.allThere(ctx, t.o.JoinTimeout); err != nil {
		return err
	}
	peers := []C.int{0} // never empty
	var edges []engine.EdgeStats
	for k, j := range t.graph.Neighbors(t.world.rank) {
		peers = append(peers[:k], C.int(j))
		edges = append(edges, engine.EdgeStats{Peer: j, Connected: true})
	}
	t.c = C.difalt_links_new(C.int(len(edges)))
	t.links, t.pins = unsafe.Slice(t.c.link, len(edges)), make([]runtime.Pinner, len(edges))
	for k := range t.links {
		t.links[k].peer = peers[k]
	}
	if err := check(C.difalt_graph(t.c.n, &peers[0], &t.c.graph)); err != nil {
		return fmt.Errorf("mpi: MPI_Dist_graph_create_adjacent: %w", err)
	}
	t.world.keep = append(t.world.keep, t)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.Edges = edges
	return nil
}

// Hosted returns the node of this process.
func (t *Transport) Hosted() []int { return []int{t.world.rank} }

// Exchange implements transport.Transport. It returns ctx.Err() if ctx ends. It returns a
// *transport.PeerError if a neighbour sends nothing in the time of a round or a frame that is too long, or if
// MPI reports a failure. After an error MPI may still read the memory in out, and every later call returns
// this error.
func (t *Transport) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if t.err == nil {
		t.err = ctx.Err()
	}
	if t.err == nil {
		t.err = t.begin(seq, out, due)
	}
	if t.err == nil {
		t.err = t.await(ctx)
	}
	if t.err != nil {
		return t.err
	}
	t.finish(out)
	for k, l := range t.links {
		in[k] = nil
		if l.length > 0 {
			in[k] = unsafe.Slice((*byte)(l.in), int(l.length))
		}
	}
	return nil
}

func (t *Transport) begin(seq uint64, out [][]byte, due []bool) error {
	for k, p := range out {
		if len(p) > t.o.MaxFrame {
			return fmt.Errorf("mpi: a frame of %d bytes to node %d: must be at most %d", len(p), t.links[k].peer,
				t.o.MaxFrame)
		}
	}
	t.seq, t.world.pending = seq, true // MPI may read what is sent
	for k, p := range out {
		l := &t.links[k]
		l.length = 0
		if due == nil || due[k] {
			l.length = -1
		}
		l.size = C.int(len(p))
		if len(p) > 0 && l.out != unsafe.Pointer(&p[0]) {
			t.pins[k].Unpin()
			t.pins[k].Pin(&p[0])
			l.out = unsafe.Pointer(&p[0])
		}
	}
	t.c.fresh = 1
	return nil
}

// turn goes on with an exchange.
func (t *Transport) turn() (done bool, err error) {
	code := C.difalt_exchange(t.c, C.int(t.o.MaxFrame), tries)
	if code == C.MPI_SUCCESS {
		return t.c.open == 3*t.c.n, nil
	}
	k := int(t.c.open % t.c.n)
	if n := int(t.links[k].length); n > t.o.MaxFrame {
		return false, t.peerError(k, transport.Corrupt, fmt.Errorf("a frame of %d bytes, more than %d", n,
			t.o.MaxFrame))
	}
	return false, t.peerError(k, transport.Closed, check(code))
}

// await waits until the exchange is complete.
func (t *Transport) await(ctx context.Context) error {
	err := t.world.wait(ctx, t.turn, t.o.RoundTimeout)
	if errors.Is(err, errLate) {
		// Processes send no notes while they wait.
		err = t.peerError(int(t.c.open%t.c.n), transport.Waiting,
			fmt.Errorf("%w for %v", engine.ErrBeyond, t.o.RoundTimeout))
	}
	return err
}

func (t *Transport) finish(out [][]byte) {
	t.world.pending = false
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.Rounds++
	for k := range t.links {
		t.stats.Edges[k].Sent += int64(len(out[k]))
	}
}

func (t *Transport) peerError(k int, kind transport.Kind, err error) error {
	return &transport.PeerError{Peer: int(t.links[k].peer), Round: t.seq, Kind: kind, Err: err}
}

// Waiting returns no node: MPI does not report the neighbours whose frames are missing while it waits.
func (t *Transport) Waiting() ([]int, time.Time) { return nil, time.Time{} }

// Beyond returns nil: processes do not report the nodes that they wait for.
func (t *Transport) Beyond(int) []int { return nil }

// Stats implements engine.Transport.
func (t *Transport) Stats() engine.Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return engine.Stats{Rounds: t.stats.Rounds, Edges: slices.Clone(t.stats.Edges)}
}

// Leave does nothing: World.Leave ends the process.
func (t *Transport) Leave(error) {}

// Close ends the use of the transport. Nothing is left to be sent after an exchange has
// succeeded; the processes part in World.Leave.
func (t *Transport) Close() error {
	if t.err == nil {
		t.err = engine.ErrClosed
	}
	for k := range t.pins {
		if !t.world.pending { // otherwise MPI may still read it
			t.pins[k].Unpin()
			t.links[k].out = nil
		}
	}
	return nil
}
