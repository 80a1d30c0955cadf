package grpc

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/consensus/wire"
)

// An edge is what a node knows of a neighbour. Transport.mu guards it.
type edge struct {
	peer    int
	address string // which this node dials; empty if the neighbour does
	out     outgoing
	in      incoming
	wake    chan struct{} // of the goroutine that sends

	peerSeen     bool     // the neighbour has been connected, or has answered a probe
	peerInstance string   // of its process, once it has been connected
	session      *session // nil without a connection
	last         *session // also when it has ended
	overdue      overdue
	trouble      trouble
	parting      parting

	waits waits
	stats engine.EdgeStats
}

// waits is what two neighbours say about for whom they wait.
type waits struct {
	due    bool  // the neighbour should know that this node waits
	may    []int // for whom the neighbour may have to wait: those with which it has an edge
	on     []int // for whom it has said that it waits itself in this round
	behind int   // how many nodes wait one for the other behind it, as it says
}

// outgoing are the frames that were handed over, frame n at n%2, as long as they may have to be
// sent again: those that are not known to have come, two at most.
type outgoing struct {
	kept   [2][]byte
	handed uint64 // number of frames handed over
	now    bool   // the last of them is of the round under way
	known  uint64 // so many of them have come, as what the neighbour has sent shows
	spare  [][]byte
	lent   bool // the caller has memory for the next frame
}

// hand takes over the next frame, if there is one in this round.
func (o *outgoing) hand(p []byte) {
	if o.now = len(p) > 0; o.now {
		o.kept[o.handed%2] = p
		o.handed++
		o.lent = false
	}
}

// acknowledge takes it that a frame has come which the neighbour sent in the round under way: it
// has used all frames of rounds before.
func (o *outgoing) acknowledge() {
	known := o.handed
	if o.now {
		known--
	}
	for ; o.known < known; o.known++ {
		o.spare = append(o.spare, o.kept[o.known%2])
		o.kept[o.known%2] = nil
	}
}

// lend sets p to memory of a frame that is no longer needed, or nil, unless the caller has some.
func (o *outgoing) lend(p *[]byte) {
	if o.lent {
		return
	}
	*p = nil
	if last := len(o.spare) - 1; last >= 0 {
		*p, o.spare, o.lent = o.spare[last], o.spare[:last], true
	}
}

// incoming are the last two frames that have come, frame n at n%2.
type incoming struct {
	got  [2][]byte
	next uint64 // number of the frame that comes next
	used uint64 // number of the first that was not used in rounds before
	due  bool   // in the round under way frame number used is
}

// lacks reports whether a frame is due and has not come.
func (i *incoming) lacks() bool { return i.due && i.next <= i.used }

// overdue is how long a frame has been waited for.
type overdue struct {
	lost   time.Duration // without a connection
	silent time.Duration // without a sign of life
}

// trouble is what is wrong with an edge.
type trouble struct {
	why   error // what went wrong last
	final error // for good: nothing is tried any more
}

// parting is how far two neighbours are with leaving each other.
type parting struct {
	theirBye bool // the neighbour sends no more
	ackDue   bool // it should know that all has come
	acked    bool // it has all that was sent
}

func (e *edge) wakeSender() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func (e *edge) failed(seq uint64, kind wire.Kind, err error) *wire.PeerError {
	return &wire.PeerError{Peer: e.peer, Round: seq, Kind: kind, Err: err}
}

// kind returns what kind of trouble there is: none yet is silence.
func (t *trouble) kind() wire.Kind {
	var r *refusal
	switch {
	case t.why == nil:
		return wire.Timeout
	case errors.As(t.why, &r):
		return wire.Refused
	}
	return wire.Closed
}

// noteTrouble notes why an edge is not connected, and tells the operator if that is news.
func (t *Transport) noteTrouble(e *edge, err error) {
	t.mu.Lock()
	was, is := e.trouble, trouble{why: err}
	// A connection that ends early is often a refusal of which the words were lost.
	half := was.kind() == wire.Refused && is.kind() != wire.Refused
	if !half {
		e.trouble.why = err
	}
	news := !half && (was.why == nil || was.why.Error() != err.Error()) && !e.parting.theirBye && !t.leaving.started
	t.mu.Unlock()
	if news {
		t.o.Report(fmt.Sprintf("%s: %v", t.cluster.Label(e.peer), err))
	}
	t.notify()
}

func (t *Transport) fail(e *edge, kind wire.Kind, err error) {
	t.mu.Lock()
	if e.trouble.final == nil {
		e.trouble.final = e.failed(t.round.seq, kind, err)
	}
	t.mu.Unlock()
	t.notify()
}

// refuse ends an edge for good if it has never been connected; who comes later with
// other intentions must not end a run.
func (t *Transport) refuse(e *edge, err error) {
	t.mu.Lock()
	seen := e.peerSeen
	t.mu.Unlock()
	if !seen {
		t.fail(e, wire.Refused, err)
	}
}

// canSend reports whether frame n can be sent.
func (o *outgoing) canSend(n uint64) bool {
	return n >= o.known && n < o.handed && n+2 >= o.handed
}

// absence returns why the edge is not connected.
func (e *edge) absence() error {
	switch {
	case e.trouble.why != nil:
		return e.trouble.why
	case e.address != "":
		return fmt.Errorf("no answer from %s yet", e.address)
	}
	return errors.New("it has not called")
}

// room returns memory for the next frame: where the last but one was, which nobody reads any more
// if this one may come. Otherwise it returns nil.
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

// deliver takes a frame that has come whole. The network looks at its checksum, so here
// only that of one which is left out counts: its number may be what is damaged.
func (t *Transport) deliver(e *edge, p []byte) error {
	number, ok := wire.FrameNumber(p)
	if !ok {
		return e.failed(0, wire.Corrupt, fmt.Errorf("a frame of %d bytes", len(p)))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if back := uint64(byte(e.in.next) - number); back > 0 && back <= min(e.in.next, 127) { // sent again, but not lost
		run, epoch := t.Run()
		if err := wire.CheckFrame(p, wire.Origin{Run: run, Epoch: epoch, Node: e.peer}, e.in.next-back); err != nil {
			return e.failed(t.round.seq, wire.Corrupt, err)
		}
		return nil
	}
	if number != byte(e.in.next) || e.in.next >= e.in.used+2 {
		return e.failed(t.round.seq, wire.Protocol, fmt.Errorf("frame %d came where %d was due, in round %d", number, byte(e.in.next), t.round.seq))
	}
	e.stats.Received += int64(len(p))
	e.in.got[e.in.next%2] = p
	e.in.next++
	e.waits.on, e.waits.behind = nil, 0
	if !slices.ContainsFunc(t.edges, func(e *edge) bool { return e.in.lacks() }) {
		t.notify() // not of every frame: who waits for it, waits for all
	}
	return nil
}

// waitsFor takes it that a neighbour waits for nodes itself. What it says is shown to people,
// and must be of its own neighbours.
func (t *Transport) waitsFor(e *edge, n *note) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, i := range n.WaitsFor {
		if !slices.Contains(e.waits.may, i) || k > 0 && i <= n.WaitsFor[k-1] {
			return e.failed(t.round.seq, wire.Protocol, fmt.Errorf("it says that it waits for nodes %s", shorten(fmt.Sprint(n.WaitsFor))))
		}
	}
	if !slices.Contains(n.WaitsFor, t.node) {
		e.overdue.silent = 0
	}
	e.waits.on, e.waits.behind = n.WaitsFor, min(max(n.Behind, 0), len(t.cluster.Nodes))
	return nil
}

// handleNote does what a note of the neighbour's leaving asks for.
func (t *Transport) handleNote(e *edge, n *note) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n.Ack {
		e.parting.acked = true
		t.notify()
		return
	}
	e.parting.theirBye, e.parting.ackDue = true, true
	if e.trouble.final == nil {
		e.trouble.final = t.farewellOf(e, n.Reason)
	}
	e.wakeSender()
	t.notify()
}

// farewellOf returns the error of an exchange with a neighbour that has left: what it says of
// itself, or what it says of another node, which may be this one.
func (t *Transport) farewellOf(e *edge, r *reason) error {
	if r == nil {
		return e.failed(t.round.seq, wire.Closed, errors.New("it has ended"))
	}
	stranger := func(i int) bool { return i < 0 || i >= len(t.cluster.Nodes) }
	if stranger(r.Node) || len(r.Via) >= len(t.cluster.Nodes) || slices.ContainsFunc(r.Via, stranger) {
		return e.failed(t.round.seq, wire.Protocol, fmt.Errorf("it says that nodes %d say that node %d has failed", r.Via, r.Node))
	}
	text := errors.New(r.Text)
	if r.Gone {
		text = gone("%w", text)
	}
	err := e.failed(t.round.seq, r.Kind, text)
	if r.Node != e.peer || len(r.Via) > 0 {
		err.Peer, err.Via = r.Node, append([]int{e.peer}, r.Via...)
	}
	return err
}
