package grpc

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/engine"
	"github.com/difalt/difalt/consensus/transport"
)

// An edge is the state of the link to a neighbour. Transport.mu guards it.
type edge struct {
	peer    int
	address string // which this node dials; empty if the neighbour does
	out     outgoing
	in      incoming
	wake    chan struct{} // of the goroutine that sends

	peerSeen     bool     // the neighbour was connected
	peerInstance string   // of its process, set when it is connected
	session      *session // nil without a connection
	last         *session // the current or the previous one
	overdue      overdue
	errs         edgeErrors
	closing      closing

	waits waits
	stats engine.EdgeStats
}

// waits is the state of the waits_for notes of an edge.
type waits struct {
	due bool  // the neighbour should receive a note: this node waits
	may []int // the nodes that the neighbour may wait for: its own neighbours
	on  []int // the nodes that it waits for in this round, as it reports
}

// outgoing keeps the frames that may have to be sent again, frame n at n%2: those not known to have arrived,
// two at most. Invariant: known <= handed <= known + 2.
type outgoing struct {
	kept   [2][]byte
	handed uint64 // number of frames handed over
	now    bool   // whether the current round has one
	known  uint64 // number of frames that have arrived, as the neighbour's own frames show
	spare  []byte // memory of a frame that has arrived
}

// hand accepts the next frame; an empty p means that none is due in this round.
func (o *outgoing) hand(p []byte) {
	if o.now = len(p) > 0; o.now {
		o.kept[o.handed%2] = p
		o.handed++
	}
}

// acknowledge marks all frames of earlier rounds as arrived: the neighbour has sent a frame of the current
// round.
func (o *outgoing) acknowledge() {
	known := o.handed
	if o.now {
		known--
	}
	for ; o.known < known; o.known++ {
		o.spare, o.kept[o.known%2] = o.kept[o.known%2], nil
	}
}

// incoming keeps the last two frames that have arrived, frame n at n%2. Invariant: next <= used + 2.
type incoming struct {
	got  [2][]byte
	next uint64 // number of the next frame
	used uint64 // number of the first frame that earlier rounds have not used
	due  bool   // the current round needs frame number used
}

// lacks reports whether a frame is due and has not arrived.
func (i *incoming) lacks() bool { return i.due && i.next <= i.used }

// overdue measures how long this node has waited for a frame.
type overdue struct {
	lost   time.Duration // without a connection
	silent time.Duration // with a connection, and without a frame or note
}

// edgeErrors holds the errors of an edge.
type edgeErrors struct {
	last  error // the last one; dialling goes on
	final error // permanent: the edge has failed
}

// closing is the state of closing an edge.
type closing struct {
	theirBye bool // the neighbour sends no more frames
	ackDue   bool // the neighbour should receive an Ack
	acked    bool // the neighbour has received everything
}

func (e *edge) failed(seq uint64, kind transport.Kind, err error) *transport.PeerError {
	return &transport.PeerError{Peer: e.peer, Round: seq, Kind: kind, Err: err}
}

// kind returns the kind of the last error; Timeout without one.
func (t *edgeErrors) kind() transport.Kind {
	var r *refusal
	switch {
	case t.last == nil:
		return transport.Timeout
	case errors.As(t.last, &r):
		return transport.Refused
	}
	return transport.Closed
}

// noteTrouble records why an edge is not connected, and reports it to the operator if that has changed.
func (t *Transport) noteTrouble(e *edge, err error) {
	t.mu.Lock()
	was, is := e.errs, edgeErrors{last: err}
	// A connection that ends early is often a refusal whose text was lost.
	half := was.kind() == transport.Refused && is.kind() != transport.Refused
	if !half {
		e.errs.last = err
	}
	news := !half && (was.last == nil || was.last.Error() != err.Error()) && !e.closing.theirBye && !t.leaving.started
	t.mu.Unlock()
	if news {
		t.o.Report(fmt.Sprintf("%s: %v", t.cluster.Label(e.peer), err))
	}
	signal(t.wake)
}

func (t *Transport) fail(e *edge, kind transport.Kind, err error) {
	t.mu.Lock()
	if e.errs.final == nil {
		e.errs.final = e.failed(t.round.seq, kind, err)
	}
	t.mu.Unlock()
	signal(t.wake)
}

// refuse marks an edge as failed if it was never connected: a late, incompatible peer must not abort a run.
func (t *Transport) refuse(e *edge, err error) {
	t.mu.Lock()
	seen := e.peerSeen
	t.mu.Unlock()
	if !seen {
		t.fail(e, transport.Refused, err)
	}
}

// canSend reports whether frame n can be sent.
func (o *outgoing) canSend(n uint64) bool {
	return n >= o.known && n < o.handed && n+2 >= o.handed
}

// absence returns why an edge is not connected. A caller that was refused may have been the neighbour, with
// a key that is not in the list. t.mu is held.
func (t *Transport) absence(e *edge) error {
	last := len(t.server.refusals) - 1
	switch {
	case e.errs.last != nil:
		return e.errs.last
	case e.address != "":
		return fmt.Errorf("no answer from %s yet", e.address)
	case last >= 0:
		const format = "it connects to this node, and has not come yet; this node has refused %s"
		return fmt.Errorf(format, t.server.refusals[last])
	}
	return errors.New("it connects to this node, and has not come yet")
}

// room returns memory for the next frame: the memory of the last frame but one, or nil if gRPC may still read
// it.
func (t *Transport) room(e *edge) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.in.next >= e.in.used+2 {
		return nil
	}
	p := e.in.got[e.in.next%2]
	e.in.got[e.in.next%2] = nil
	return p[:0]
}

// deliver accepts a complete frame. The caller of Exchange verifies checksums; deliver verifies the
// checksum of a repeated frame, which it drops, since its number may be damaged.
func (t *Transport) deliver(e *edge, p []byte) error {
	number, ok := transport.FrameNumber(p)
	if !ok {
		return e.failed(0, transport.Corrupt, fmt.Errorf("a frame of %d bytes", len(p)))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if back := uint64(byte(e.in.next) - number); back > 0 && back <= min(e.in.next, 127) {
		// sent again, though it had arrived
		if err := transport.CheckFrame(p, t.Run(), e.peer, e.in.next-back); err != nil {
			return e.failed(t.round.seq, transport.Corrupt, err)
		}
		return nil
	}
	if number != byte(e.in.next) || e.in.next >= e.in.used+2 {
		return e.failed(t.round.seq, transport.Protocol, fmt.Errorf("frame %d came where %d was due, in round %d",
			number, byte(e.in.next), t.round.seq))
	}
	e.in.got[e.in.next%2] = p
	e.in.next++
	e.waits.on = nil
	if !slices.ContainsFunc(t.edges, func(e *edge) bool { return e.in.lacks() }) {
		signal(t.wake) // Exchange waits for the frames of all edges
	}
	return nil
}

// waitsFor records the nodes that a neighbour waits for. They must be its neighbours, in ascending
// order.
func (t *Transport) waitsFor(e *edge, n *note) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, i := range n.WaitsFor {
		if !slices.Contains(e.waits.may, i) || k > 0 && i <= n.WaitsFor[k-1] {
			return e.failed(t.round.seq, transport.Protocol,
				fmt.Errorf("it reports that it waits for nodes %s", shorten(fmt.Sprint(n.WaitsFor))))
		}
	}
	if !slices.Contains(n.WaitsFor, t.node) {
		e.overdue.silent = 0
	}
	e.waits.on = n.WaitsFor
	return nil
}

// handleNote handles Ack and Bye.
func (t *Transport) handleNote(e *edge, n *note) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n.Ack {
		e.closing.acked = true
		signal(t.wake)
		return
	}
	e.closing.theirBye, e.closing.ackDue = true, true
	if e.errs.final == nil {
		e.errs.final = t.leaveReason(e, n.Reason)
	}
	signal(e.wake)
	signal(t.wake)
}

// leaveReason returns the error of an exchange with a neighbour that has left, from its reason, which is
// about itself or about another node.
func (t *Transport) leaveReason(e *edge, r *reason) error {
	if r == nil {
		return e.failed(t.round.seq, transport.Closed, errors.New("it has ended"))
	}
	unknown := func(i int) bool { return i < 0 || i >= len(t.cluster.Nodes) }
	chain := append([]int{e.peer}, r.Via...)
	// A chain with a node twice could grow by relays until a node that has only relayed it seems to lie.
	distinct := slices.Compact(slices.Sorted(slices.Values(chain)))
	if unknown(r.Node) || slices.ContainsFunc(r.Via, unknown) || len(distinct) < len(chain) {
		return e.failed(t.round.seq, transport.Protocol, fmt.Errorf("it reports that nodes %d report a failure "+
			"of node %d", r.Via, r.Node))
	}
	err := e.failed(t.round.seq, r.Kind, errors.New(r.Text))
	if r.Node != e.peer || len(r.Via) > 0 {
		err.Peer, err.Via = r.Node, chain
	}
	return err
}
