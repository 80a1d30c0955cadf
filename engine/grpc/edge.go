package grpc

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/engine"
)

// An edge is what a node knows of a neighbour. Transport.mu guards it.
type edge struct {
	peer    int
	address string // which this node dials; empty if the neighbour does
	// kept are the frames handed over, frame seq at seq%2, that may have to be sent again:
	// the last one, and the one before until the neighbour has sent as many.
	kept   [2][]byte
	handed uint64 // number of frames handed over
	got    [2][]byte
	next   uint64        // sequence number of the frame that is due
	news   chan struct{} // for the goroutine that sends

	met      bool          // has been connected, or has answered a probe
	instance string        // of the process at the other end, once met
	session  *session      // nil without a connection
	last     *session      // also when it has ended
	lost     time.Duration // how long it was waited for without a connection
	silent   time.Duration // how long its frame was waited for without a sign of life
	why      error         // what went wrong last
	kind     wire.Kind
	err      error // for good
	bye      bool  // the neighbour sends no more
	acked    bool  // it has all that was sent
	ackDue   bool
	waitDue  bool  // the neighbour should hear that this node waits
	waitsFor []int // what it has said of itself in this round
	stats    engine.EdgeStats
}

// tell wakes the goroutine that sends.
func (e *edge) tell() {
	select {
	case e.news <- struct{}{}:
	default:
	}
}

func (e *edge) failed(seq uint64, kind wire.Kind, err error) *wire.PeerError {
	return &wire.PeerError{Peer: e.peer, Round: seq, Kind: kind, Err: err}
}

// broken notes why an edge is not connected, and tells the operator if that is news.
func (t *Transport) broken(e *edge, kind wire.Kind, err error) {
	t.mu.Lock()
	// A connection that ends early is often a refusal half heard.
	_, told := e.why.(*refusal)
	half := told && kind != wire.Refused
	news := !half && (e.why == nil || e.why.Error() != err.Error())
	if !half {
		e.why, e.kind = err, kind
	}
	quiet := e.bye || t.closing
	t.mu.Unlock()
	if news && !quiet {
		t.o.Report(fmt.Sprintf("%s: %v", t.cluster.Label(e.peer), err))
	}
	t.notify()
}

// fail ends an edge for good.
func (t *Transport) fail(e *edge, kind wire.Kind, err error) {
	t.mu.Lock()
	if e.err == nil {
		e.err = e.failed(e.next, kind, err)
	}
	t.mu.Unlock()
	t.notify()
}

// refuse ends an edge for good if it has never been connected; who comes later with
// other intentions must not end a run.
func (t *Transport) refuse(e *edge, err error) {
	t.mu.Lock()
	met := e.met
	t.mu.Unlock()
	if !met {
		t.fail(e, wire.Refused, err)
	}
}

// has reports whether frame seq can be sent.
func (e *edge) has(seq uint64) bool {
	return seq < e.handed && seq+2 >= e.handed && e.kept[seq%2] != nil
}

// because returns why the edge is not connected.
func (e *edge) because() error {
	switch {
	case e.why != nil:
		return e.why
	case e.address != "":
		return fmt.Errorf("no answer from %s yet", e.address)
	}
	return errors.New("it has not called")
}

// room returns memory for frame seq, of which the beginning has come: where the last but
// one was, which nobody reads any more if this one is due. Otherwise it returns nil.
func (t *Transport) room(e *edge, seq uint64) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if seq != e.next || seq > t.ahead() {
		return nil
	}
	p := e.got[seq%2]
	e.got[seq%2] = nil
	return p[:0]
}

// ahead is the last frame that may come: one round ahead, without which the caller's
// frames are safe. t.mu is held.
func (t *Transport) ahead() uint64 {
	if t.begun {
		return t.seq + 1
	}
	return 0
}

// deliver takes a frame that has come whole. The network looks at its checksum, so here
// only that of one which is left out counts: its number may be what is damaged.
func (t *Transport) deliver(e *edge, p []byte) error {
	seq := wire.FrameSeq(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case seq < e.next: // sent again, but not lost
		if err := wire.CheckFrame(p); err != nil {
			return &violation{wire.Corrupt, err}
		}
		return nil
	case seq > e.next || seq > t.ahead():
		return &violation{wire.Protocol, fmt.Errorf("frame %d came where %d was due, in round %d", seq, e.next, t.seq)}
	}
	e.stats.Received += int64(len(p))
	e.got[seq%2] = p
	e.next++
	e.waitsFor = nil
	if seq == t.seq && !slices.ContainsFunc(t.edges, func(e *edge) bool { return e.next <= seq }) {
		t.notify() // not of every frame: who waits for it, waits for all
	}
	return nil
}

// A violation is what an honest peer does not do: trying again does not help.
type violation struct {
	kind wire.Kind
	err  error
}

func (v *violation) Error() string { return v.err.Error() }

// take takes a note.
func (t *Transport) take(e *edge, n *note) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case n.Ack:
		e.acked = true
		t.notify()
		return
	case n.WaitsFor != nil:
		if !slices.Contains(n.WaitsFor, t.node) {
			e.silent = 0
		}
		e.waitsFor = n.WaitsFor
		return
	}
	e.bye, e.ackDue = true, true
	if e.err == nil {
		e.err = t.farewellOf(e, n.Reason)
	}
	e.tell()
	t.notify()
}

// farewellOf returns the error of an exchange with a neighbour that has left.
func (t *Transport) farewellOf(e *edge, r *reason) error {
	if r == nil {
		return e.failed(e.next, wire.Closed, errors.New("it has ended"))
	}
	text := errors.New(r.Text)
	if r.Gone {
		text = gone("%w", text)
	}
	err := e.failed(e.next, r.Kind, text)
	switch {
	case r.Node == t.node:
		err.Kind, err.Err = wire.Closed, fmt.Errorf("it has left because of this node: %w", text)
	case r.Node != e.peer && r.Node >= 0 && r.Node < len(t.cluster.Nodes):
		err.Peer = r.Node
		err.Err = fmt.Errorf("%w (so says %s)", text, t.cluster.Label(e.peer))
	}
	return err
}
