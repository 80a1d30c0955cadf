package grpc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/consensus/wire"
	rpc "google.golang.org/grpc"
)

// A Transport carries the frames of one node. Its goroutines end with Close. Join and
// Exchange serve one goroutine at a time.
type Transport struct {
	who
	o engine.Options

	server server
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	once   sync.Once
	wake   chan struct{} // something has changed that Join, Exchange or Close may wait for
	pause  *time.Timer   // of Join and Exchange

	mu      sync.Mutex // of what follows
	edges   []*edge    // in the order of wire.Links
	round   round
	leaving leaving
}

// who is what this node says of itself to its neighbours.
type who struct {
	cluster  *cluster.Cluster
	identity *cluster.Identity
	node     int
	hosted   []int
	instance string // of this process
	settings []wire.Setting
}

// A server accepts neighbours, and those who ask for the health of this node. Transport.mu
// guards what it knows of them.
type server struct {
	*rpc.Server
	calls    map[int]calls // by node
	refusals refusals
}

// A round is the exchange under way, or the last one.
type round struct {
	started bool // Exchange has been called with seq
	seq     uint64
	waiting time.Time // since when Join or Exchange has been waiting; zero if it does not wait
}

// leaving says whether this node leaves.
type leaving struct {
	started bool
	reason  *reason // why, if it is a failure
}

// New returns the transport of a node, which listens on l from now on and dials its
// neighbours.
func New(c *cluster.Cluster, id *cluster.Identity, l net.Listener, o engine.Options) (*Transport, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	w, err := c.Weights()
	if err != nil {
		return nil, err
	}
	node, own := id.Node, id.Certificate
	o = o.WithDefaults()
	t := &Transport{
		who: who{cluster: c, identity: id, node: node, hosted: []int{node}, instance: rand.Text(), settings: append(c.Settings(), o.Settings...)},
		o:   o, wake: make(chan struct{}, 1), pause: time.NewTimer(tick),
	}
	if o.Failed != nil {
		t.leaving.reason = reasonOf(o.Failed, node)
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	for _, link := range wire.Links(w.Graph(), t.hosted) {
		e := &edge{peer: link.Peer, wake: make(chan struct{}, 1), waits: waits{may: w.Graph().Neighbors(link.Peer)}}
		if e.peer < node || o.Failed != nil { // who fails before it begins calls all
			e.address = c.Nodes[e.peer].Address
		}
		t.edges = append(t.edges, e)
	}
	t.serve(own, l)
	for _, e := range t.edges {
		if e.address != "" {
			t.wg.Go(func() { t.keepDialling(e, own) })
		}
	}
	return t, nil
}

// Hosted returns the node of this process.
func (t *Transport) Hosted() []int { return t.hosted }

// Run implements wire.Identified.
func (t *Transport) Run() (id uint64, epoch uint32) { return t.cluster.RunID(), t.cluster.Epoch }

// Sign implements wire.Signer, by the key of this node.
func (t *Transport) Sign(msg []byte) (proof []byte, err error) {
	return t.cluster.Sign(t.identity, msg)
}

// Verify implements wire.Signer, by the list of nodes.
func (t *Transport) Verify(node int, msg, proof []byte) error {
	return t.cluster.Verify(node, msg, proof)
}

// Join waits until all neighbours are connected. It returns ctx.Err() if ctx ends, and
// a *wire.PeerError if a neighbour refuses this node or does not come in time.
func (t *Transport) Join(ctx context.Context) error {
	return t.await(ctx, t.isThere, func(e *edge, waited time.Duration) *wire.PeerError {
		if waited < t.o.JoinTimeout {
			return nil
		}
		return e.failed(0, e.trouble.kind(), fmt.Errorf("not there after %v: %w", t.o.JoinTimeout, e.absence()))
	})
}

// isThere reports whether Join need not wait for a neighbour.
func (t *Transport) isThere(e *edge) bool { return e.session != nil || t.o.Probe && e.peerSeen }

// Exchange implements wire.Transport. It returns ctx.Err() if ctx ends, and a
// *wire.PeerError if a neighbour from which a frame is due sends nothing in the time of a round,
// is out of reach for too long, has left, or sends what is no frame. If it has left because
// another node failed, the error is about that node, and says who says so.
func (t *Transport) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	if !t.round.started || seq != t.round.seq {
		t.begin(seq, out, due)
	}
	t.mu.Unlock()
	err := t.await(ctx, func(e *edge) bool { return !e.in.lacks() }, func(e *edge, waited time.Duration) *wire.PeerError {
		return t.overdue(e, seq, waited)
	})
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, e := range t.edges {
		if in[k] = nil; e.in.due {
			in[k] = e.in.got[e.in.used%2]
			e.out.acknowledge()
		}
		e.out.lend(&out[k])
	}
	return nil
}

// begin hands over the frames of a round. t.mu is held.
func (t *Transport) begin(seq uint64, out [][]byte, due []bool) {
	t.round.started, t.round.seq = true, seq
	for k, e := range t.edges {
		e.out.hand(out[k])
		if e.in.due {
			e.in.used++
		}
		e.in.due = due == nil || due[k]
		e.overdue.silent = 0
		e.wakeSender()
	}
}

// overdue returns an error if a neighbour has kept this node waiting for frame seq for too
// long. t.mu is held.
func (t *Transport) overdue(e *edge, seq uint64, waited time.Duration) *wire.PeerError {
	switch {
	case e.overdue.lost >= t.o.RejoinTimeout:
		return e.failed(seq, wire.Closed, gone("out of reach for %v: %w", t.o.RejoinTimeout, e.absence()))
	case e.overdue.silent >= t.o.RoundTimeout:
		return e.failed(seq, wire.Timeout, gone("it has sent nothing for %v", t.o.RoundTimeout))
	case waited >= t.longestRound(e, seq):
		return e.failed(seq, wire.Timeout, fmt.Errorf("no frame of this round for %v, %s", waited.Round(time.Second/10), t.excuse(e)))
	}
	return nil
}

const (
	// A round may take so many times the time in which a silent neighbour has failed: no
	// more can be said by notes that somebody waits.
	roundTimeouts = 5
	// Who waits for nodes that wait themselves has more patience, by this for each of those
	// behind one another. So the neighbour of the one that keeps all waiting speaks first, and
	// names it, and the others hear of that before they blame each other.
	patience = time.Second
)

// longestRound is how long this node may wait for frame seq from a neighbour that says that
// it waits itself. In the first rounds a node may be waiting for others to join, to which
// other nodes can be ahead by as many rounds as they are hops away.
func (t *Transport) longestRound(e *edge, seq uint64) time.Duration {
	limit := roundTimeouts*t.o.RoundTimeout + time.Duration(e.chain())*patience
	if seq < uint64(len(t.cluster.Nodes)) {
		limit += t.o.JoinTimeout
	}
	return limit
}

// tick is how often what is waited for is looked at.
const tick = 50 * time.Millisecond

// await waits until done holds for all edges. Time in which this process itself did not
// run, since it was stopped, does not count against anybody.
func (t *Transport) await(ctx context.Context, done func(*edge) bool, late func(*edge, time.Duration) *wire.PeerError) error {
	var waited, passed time.Duration
	last := time.Now()
	for {
		ready, err := t.checkEdges(done, late, waited, passed)
		if err != nil || ready {
			return err
		}
		if waited == 0 {
			t.pause.Reset(tick)
		}
		select {
		case <-t.wake:
		case <-ctx.Done():
			return ctx.Err()
		case <-t.pause.C:
			t.pause.Reset(tick)
		}
		now := time.Now()
		passed = min(now.Sub(last), 2*tick)
		waited, last = waited+passed, now
	}
}

// checkEdges looks at all edges once; passed is the time since it did so before.
func (t *Transport) checkEdges(done func(*edge) bool, late func(*edge, time.Duration) *wire.PeerError, waited, passed time.Duration) (ready bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx.Err() != nil || t.leaving.started {
		return false, engine.ErrClosed
	}
	ready = true
	for _, e := range t.edges {
		if done(e) {
			continue
		}
		ready = false
		e.overdue.silent += passed
		e.stats.Waited += passed
		if e.session != nil {
			e.overdue.lost = 0
		} else {
			e.overdue.lost += passed
		}
		if e.trouble.final != nil {
			return false, e.trouble.final
		}
		if err := late(e, waited); err != nil {
			e.overdue.lost, e.overdue.silent = 0, 0
			return false, err
		}
	}
	t.round.waiting = time.Time{}
	if ready {
		return true, nil
	}
	for _, e := range t.edges { // whom it waits for may be waiting for this one, who joins anew
		if errors.Is(e.trouble.final, engine.ErrGone) {
			return false, e.trouble.final
		}
	}
	t.round.waiting = time.Now().Add(-waited)
	if period := min(max(t.o.RoundTimeout/8, tick), time.Second); waited/period != (waited-passed)/period {
		for _, e := range t.edges {
			e.waits.due = true
			e.wakeSender()
		}
	}
	return false, nil
}

// Close is Leave(nil).
func (t *Transport) Close() error {
	t.Leave(nil)
	return nil
}

// Leave tells the neighbours that this node has done its part, or that it has failed
// and why, waits until they have said that they have everything, though not for ever,
// and closes the connections. If why is a *wire.PeerError the neighbours take it that this
// node says so of the one that it names, and otherwise of itself. It may be called while
// Exchange waits; what counts is the first call.
func (t *Transport) Leave(why error) {
	t.once.Do(func() {
		t.mu.Lock()
		t.leaving.started = true
		if why != nil {
			t.leaving.reason = reasonOf(why, t.node)
		}
		for _, e := range t.edges {
			e.wakeSender()
		}
		t.mu.Unlock()
		t.notify()
		t.farewell(why != nil)
		t.cancel()
		timer := time.AfterFunc(tick, t.server.Stop)
		t.server.GracefulStop() // a refusal may be on its way
		timer.Stop()
	})
	t.wg.Wait()
	for _, e := range t.edges {
		t.endSession(e)
	}
}

// reasonOf returns what the neighbours are told about an error at a node.
func reasonOf(err error, node int) *reason {
	r := &reason{Node: node, Kind: wire.Closed, Text: shorten(err.Error()), Gone: errors.Is(err, engine.ErrGone)}
	var peer *wire.PeerError
	if errors.As(err, &peer) {
		r.Node, r.Via, r.Kind, r.Text = peer.Peer, peer.Via, peer.Kind, ""
		if k := slices.Index(r.Via, node); k >= 0 { // its own word, of before it joined anew, has come back
			r.Via = r.Via[:k]
		}
		if peer.Err != nil {
			r.Text = shorten(peer.Err.Error())
		}
	}
	return r
}

// farewell waits until no neighbour needs this node any more. Those that are out of
// reach are only waited for if this node has not failed, or, shortly, if they do not know
// it yet.
func (t *Transport) farewell(failed bool) {
	limit := t.o.Linger
	if failed {
		limit = min(limit, shortLinger)
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for t.needed(failed) && (!t.o.Probe || t.o.Failed != nil) {
		select {
		case <-t.wake:
		case <-timer.C:
			return
		}
	}
}

// needed reports whether a neighbour may still need something of this node.
func (t *Transport) needed(failed bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.edges, func(e *edge) bool {
		switch {
		case e.parting.acked:
			return false
		case e.session != nil:
			return true
		case e.parting.theirBye || e.trouble.final != nil: // it had this node's Bye, or needs none
			return false
		}
		// After a failure, a neighbour whose run has begun finds out by itself; one that has never
		// been connected would wait for long.
		return e.peerSeen != failed
	})
}

// shortLinger is how long a node that has failed waits until others know of it.
const shortLinger = 2 * time.Second

func (t *Transport) notify() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}
