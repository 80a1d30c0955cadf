package grpc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/engine"
	"github.com/difalt/difalt/cmd/difalt/internal/engine/cluster"
	"github.com/difalt/difalt/consensus/transport"
	rpc "google.golang.org/grpc"
)

// A Transport carries the frames of one node. Its goroutines end with Close. Join and Exchange serve one
// goroutine at a time.
type Transport struct {
	who
	o engine.Options

	server server
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	once   sync.Once
	wake   chan struct{} // receives after every change that Join, Exchange or Close may wait for
	pause  *time.Timer   // of Join and Exchange

	mu      sync.Mutex // guards the fields below
	edges   []*edge    // in the order of transport.Links
	round   round
	leaving leaving
}

// who identifies this node to its neighbours.
type who struct {
	cluster  *cluster.Cluster
	identity *cluster.Identity
	node     int
	hosted   []int
	instance string // random, of this process
}

// A server accepts connections of neighbours. Transport.mu guards its fields.
type server struct {
	*rpc.Server
	calls    map[int]calls // by node
	refusals []string      // reported ones
}

// A round is the current exchange, or the last one.
type round struct {
	started bool // Exchange was called
	seq     uint64
	waiting time.Time // when Join or Exchange began to wait; zero if it does not wait
}

// leaving is the state of Leave.
type leaving struct {
	started bool
	reason  *reason // of a failure
}

// New returns the transport of a node. It listens on l and dials its neighbours from now on.
func New(c *cluster.Cluster, id *cluster.Identity, l net.Listener, o engine.Options) (*Transport, error) {
	g, err := c.Graph()
	if err != nil {
		return nil, err
	}
	node, own := id.Node, id.Certificate()
	o = o.WithDefaults()
	t := &Transport{
		who: who{cluster: c, identity: id, node: node, hosted: []int{node}, instance: rand.Text()},
		o:   o, wake: make(chan struct{}, 1), pause: time.NewTimer(tick),
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	for _, link := range transport.Links(g, t.hosted) {
		e := &edge{peer: link.Peer, wake: make(chan struct{}, 1), waits: waits{may: g.Neighbors(link.Peer)}}
		if e.peer < node {
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

// Run implements transport.Identified.
func (t *Transport) Run() uint64 { return t.cluster.RunID() }

// Sign implements transport.Signer with the key of this node.
func (t *Transport) Sign(msg []byte) (proof []byte) { return t.cluster.Sign(t.identity, msg) }

// Verify implements transport.Signer with the list of nodes.
func (t *Transport) Verify(node int, msg, proof []byte) error {
	return t.cluster.Verify(node, msg, proof)
}

// Join implements engine.Transport.
func (t *Transport) Join(ctx context.Context) error {
	return t.await(ctx, func(e *edge) bool { return e.session != nil && e.errs.final == nil }, t.absent)
}

// absent returns an error if a neighbour has not connected in the time to join. t.mu is held.
func (t *Transport) absent(e *edge, waited time.Duration) *transport.PeerError {
	if waited < t.o.JoinTimeout {
		return nil
	}
	return e.failed(0, e.errs.kind(), fmt.Errorf("%w after %v: %w", engine.ErrAbsent, t.o.JoinTimeout, t.absence(e)))
}

// Exchange implements transport.Transport. If a neighbour has left because another node failed, the error
// names that node and the nodes that reported it.
func (t *Transport) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.begin(seq, out, due)
	err := t.await(ctx, func(e *edge) bool { return !e.in.lacks() },
		func(e *edge, waited time.Duration) *transport.PeerError {
			return t.overdue(e, seq, waited)
		})
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, e := range t.edges {
		in[k] = nil
		if e.in.due {
			in[k] = e.in.got[e.in.used%2]
			e.out.acknowledge()
		}
		out[k], e.out.spare = e.out.spare, nil
	}
	return nil
}

// begin accepts the frames of a round.
func (t *Transport) begin(seq uint64, out [][]byte, due []bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.round.started, t.round.seq = true, seq
	for k, e := range t.edges {
		e.out.hand(out[k])
		if e.in.due {
			e.in.used++
		}
		e.in.due = due == nil || due[k]
		e.overdue.silent = 0
		signal(e.wake)
	}
}

// overdue returns an error if a neighbour has kept this node waiting for frame seq for too long. t.mu is
// held.
func (t *Transport) overdue(e *edge, seq uint64, waited time.Duration) *transport.PeerError {
	switch {
	case e.overdue.lost >= t.o.RejoinTimeout:
		return e.failed(seq, transport.Closed, fmt.Errorf("unreachable for %v: %w", t.o.RejoinTimeout, t.absence(e)))
	case e.overdue.silent >= t.o.RoundTimeout:
		return e.failed(seq, transport.Timeout, fmt.Errorf("it has sent nothing for %v", t.o.RoundTimeout))
	case waited >= t.longestRound(seq) && e.waits.on == nil:
		return e.failed(seq, transport.Timeout, fmt.Errorf("no frame of this round for %v",
			waited.Round(time.Second/10)))
	case waited >= t.longestRound(seq)+patience:
		return e.failed(seq, transport.Waiting, fmt.Errorf("it reports that it waits for %s, for %v",
			strings.Join(t.cluster.Names(e.waits.on), ", "), waited.Round(time.Second/10)))
	}
	return nil
}

const (
	// roundTimeouts is how many RoundTimeouts a round may take while neighbours report that they wait.
	roundTimeouts = 5
	// patience is added for a neighbour that reports that it waits for other nodes. So the first node to fail
	// is a neighbour of the node that keeps all waiting, and its reason reaches all nodes.
	patience = 2 * time.Second
)

// longestRound returns how long this node may wait for frame seq from a neighbour that itself waits. In the
// first rounds the neighbour may be waiting for a node that still joins, as many hops away as the number of
// the round; and in every round for one that has lost its connection.
func (t *Transport) longestRound(seq uint64) time.Duration {
	limit := max(roundTimeouts*t.o.RoundTimeout, t.o.RejoinTimeout+t.o.RoundTimeout)
	if seq < uint64(len(t.cluster.Nodes)) {
		limit += t.o.JoinTimeout
	}
	return limit
}

// tick is the interval at which await checks the edges.
const tick = 50 * time.Millisecond

// await returns when done holds for all edges. Time while this process itself was stopped does not count.
func (t *Transport) await(ctx context.Context, done func(*edge) bool,
	late func(*edge, time.Duration) *transport.PeerError) error {
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

// checkEdges checks all edges once; passed is the time since the previous check.
func (t *Transport) checkEdges(done func(*edge) bool, late func(*edge, time.Duration) *transport.PeerError,
	waited, passed time.Duration) (ready bool, err error) {
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
		e.stats.Waited += passed
		if e.session != nil {
			e.overdue.lost = 0
			e.overdue.silent += passed
		} else {
			e.overdue.lost += passed
		}
		if e.errs.final != nil {
			return false, e.errs.final
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
	t.round.waiting = time.Now().Add(-waited)
	if period := min(max(t.o.RoundTimeout/8, tick), time.Second); (waited-passed)/period != waited/period {
		for _, e := range t.edges {
			e.waits.due = true
			signal(e.wake)
		}
	}
	return false, nil
}

// Close calls Leave(nil).
func (t *Transport) Close() error {
	t.Leave(nil)
	return nil
}

// Leave implements engine.Transport. It waits until the neighbours have received everything, at most Linger.
// A *transport.PeerError is passed on as this node's report about the node that it names.
func (t *Transport) Leave(why error) {
	t.once.Do(func() {
		t.mu.Lock()
		t.leaving.started = true
		if why != nil {
			t.leaving.reason = reasonOf(why, t.node)
		}
		for _, e := range t.edges {
			signal(e.wake)
		}
		t.mu.Unlock()
		signal(t.wake)
		t.drain(why != nil)
		t.cancel()
		timer := time.AfterFunc(t.o.Linger, t.server.Stop)
		t.server.GracefulStop() // a refusal may still be sent
		timer.Stop()
	})
	t.wg.Wait()
	for _, e := range t.edges {
		t.endSession(e)
	}
}

// reasonOf returns the reason that neighbours receive for an error at a node.
func reasonOf(err error, node int) *reason {
	r := &reason{Node: node, Kind: engine.PublicKind(err), Text: shorten(engine.PublicText(err))}
	var peer *transport.PeerError
	if errors.As(err, &peer) {
		r.Node, r.Via, r.Kind = peer.Peer, peer.Via, peer.Kind
		if k := slices.Index(r.Via, node); k >= 0 { // this node's own report has come back
			r.Via = r.Via[:k]
		}
	}
	return r
}

// drain waits until no neighbour needs this node any more, for a limited time.
func (t *Transport) drain(failed bool) {
	timer := time.NewTimer(t.o.Linger)
	defer timer.Stop()
	for t.needed(failed) {
		select {
		case <-t.wake:
		case <-timer.C:
			return
		}
	}
}

// needed reports whether a neighbour may still need something from this node. After a failure before any
// neighbour was there, none does.
func (t *Transport) needed(failed bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	there := func(e *edge) bool { return e.peerSeen || e.errs.final != nil }
	return (!failed || slices.ContainsFunc(t.edges, there)) && slices.ContainsFunc(t.edges, func(e *edge) bool {
		switch {
		case e.closing.acked:
			return false
		case e.session != nil:
			return true
		case e.errs.final != nil: // it has received Bye, or does not need it
			return false
		}
		// After a failure a neighbour that was connected notices by itself; one that never was would wait
		// until its timeout.
		return e.peerSeen != failed
	})
}

// signal wakes the receiver of a channel with room for one signal.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
