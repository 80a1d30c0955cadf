package grpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/consensus/wire"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// stream is what both ends of a gRPC stream have.
type stream interface {
	SendMsg(m any) error
	RecvMsg(m any) error
}

// A session is a stream in use.
type session struct {
	end context.CancelCauseFunc
	wg  sync.WaitGroup
}

// helloTimeout is how long the other end of a new connection may take to say who it is. Tests wait for less.
var helloTimeout = 10 * time.Second

func (t *Transport) greeting(e *edge) *hello {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := &hello{
		Version: protocolVersion, Run: t.cluster.Run, Epoch: t.cluster.Epoch, From: t.node, To: e.peer,
		Instance: t.instance, Next: e.in.next, PeerInstance: e.peerInstance, FrameCame: e.frameCame(), Probe: t.o.Probe, Settings: t.settings,
	}
	if t.o.Failed != nil {
		h.Failed = t.leaving.reason
	}
	return h
}

func sendJSON(s stream, v any) error {
	text, _ := json.Marshal(v) // a hello or a note: numbers and texts
	return s.SendMsg(&bytesMessage{p: text})
}

func receiveHello(s stream) (*hello, error) {
	var m bytesMessage
	if err := s.RecvMsg(&m); err != nil {
		return nil, err
	}
	return parseHello(m.p)
}

// endSession ends what is left of the last session.
func (t *Transport) endSession(e *edge) {
	t.mu.Lock()
	last := e.last
	t.mu.Unlock()
	if last != nil {
		last.end(errors.New("it has connected anew"))
		last.wg.Wait()
	}
}

// exchangeFrames exchanges frames over s until one end fails or leaves; their is what the other
// end has said. The caller must end s then.
func (t *Transport) exchangeFrames(ctx context.Context, e *edge, s stream, their *hello) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	ses := &session{end: end}
	t.mu.Lock()
	if e.session != nil {
		t.mu.Unlock()
		return errors.New("two connections at once")
	}
	if err := e.compare(t.instance, their); err != nil { // it may have begun meanwhile
		t.mu.Unlock()
		return err
	}
	if their.Next != e.out.handed && !e.out.canSend(their.Next) {
		err := fmt.Errorf("it wants frame %d, but %d have been sent", their.Next, e.out.handed)
		t.mu.Unlock()
		t.fail(e, wire.Protocol, err)
		return err
	}
	again := e.peerSeen
	if again { // the connection that broke may have them still to send: they must not change
		for i, p := range e.out.kept {
			e.out.kept[i] = slices.Clone(p)
		}
	}
	e.session, e.last, e.peerSeen, e.peerInstance, e.trouble.why = ses, ses, true, their.Instance, nil
	e.parting.acked = false
	e.stats.Connections++
	e.wakeSender()
	t.mu.Unlock()
	t.notify()
	news := t.cluster.Label(e.peer) + ": connected"
	if again {
		news += " again"
	}
	t.o.Report(news)
	ended := make(chan error, 1)
	ses.wg.Go(func() { ended <- t.receive(e, s) })
	ses.wg.Go(func() { t.transmit(ctx, e, s, their.Next) })
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	t.mu.Lock()
	e.session = nil
	t.mu.Unlock()
	return err
}

// transmit sends the frames from number pos on, and notes, until the session ends.
func (t *Transport) transmit(ctx context.Context, e *edge, s stream, pos uint64) {
	left := false
	for {
		say, frame := t.due(e, pos, &left)
		var err error
		switch {
		case say != nil:
			err = sendJSON(s, say)
		case frame != nil:
			err = sendFrame(s, frame)
			pos++
			t.mu.Lock()
			e.stats.Sent += int64(len(frame))
			t.mu.Unlock()
		default:
			select {
			case <-e.wake:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			<-ctx.Done() // the goroutine that receives knows why
			return
		}
	}
}

// due returns what is to be sent next: a note, or frame number pos, or nothing.
func (t *Transport) due(e *edge, pos uint64, left *bool) (*note, []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case e.parting.ackDue:
		e.parting.ackDue = false
		return &note{Ack: true}, nil
	case e.out.canSend(pos):
		return nil, e.out.kept[pos%2]
	case t.leaving.started && !*left:
		*left = true
		return &note{Bye: true, Reason: t.leaving.reason}, nil
	case e.waits.due && !*left:
		e.waits.due = false
		if who := t.awaited(); who != nil {
			return &note{WaitsFor: who, Behind: t.behind()}, nil
		}
	}
	return nil, nil
}

// sendFrame sends p in chunks, of which the last is a shorter one. p may change once the other
// end has all of it, and not before.
func sendFrame(s stream, p []byte) error {
	for {
		n := min(len(p), chunk)
		if err := s.SendMsg(&bytesMessage{p: p[:n]}); err != nil || n < chunk {
			return err
		}
		p = p[n:]
	}
}

// receive takes what comes until the stream ends. After what an honest neighbour does not do
// it takes no more frames, but the stream stays, so that the neighbour is told of what it is
// accused: otherwise it would see no more than that this node is gone, and tell others so.
func (t *Transport) receive(e *edge, s stream) error {
	err := t.receiveFrames(e, s)
	var violation *wire.PeerError // what an honest peer does not do: trying again does not help
	if !errors.As(err, &violation) {
		return err
	}
	t.fail(e, violation.Kind, violation.Err)
	for {
		var m bytesMessage
		if err := s.RecvMsg(&m); err != nil {
			return ended(err)
		}
		if n, err := parseNote(m.p); err == nil && (n.Ack || n.Bye) {
			t.handleNote(e, n)
		}
	}
}

// receiveFrames takes frames and notes until the stream ends, or a violation.
func (t *Transport) receiveFrames(e *edge, s stream) error {
	var words []byte // memory of notes
	first := bytesMessage{room: func(first byte) []byte {
		if first == '{' {
			return words[:0]
		}
		return t.room(e)
	}}
	for {
		if err := s.RecvMsg(&first); err != nil {
			return ended(err)
		}
		if len(first.p) > 0 && first.p[0] == '{' {
			words = first.p
			n, err := parseNote(first.p)
			if err != nil {
				return e.failed(0, wire.Protocol, err)
			}
			if n.WaitsFor == nil {
				t.handleNote(e, n)
			} else if err := t.waitsFor(e, n); err != nil {
				return err
			}
			continue
		}
		frame, last := bytesMessage{p: first.p}, len(first.p)
		for last == chunk && len(frame.p) <= t.o.MaxFrame {
			before := len(frame.p)
			if err := s.RecvMsg(&frame); err != nil {
				return ended(err)
			}
			last = len(frame.p) - before
		}
		if len(frame.p) > t.o.MaxFrame {
			return e.failed(0, wire.Corrupt, fmt.Errorf("a frame of more than %d bytes", t.o.MaxFrame))
		}
		if err := t.deliver(e, frame.p); err != nil {
			return err
		}
	}
}

func ended(err error) error {
	// The end that was dialled learns no more than that its stream is canceled.
	if err == io.EOF || status.Code(err) == codes.Canceled {
		return errors.New("the connection has ended")
	}
	return fmt.Errorf("connection lost: %s", plain(err))
}

// Stats may be called at any time.
func (t *Transport) Stats() engine.Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	var s engine.Stats
	if t.round.started {
		s.Rounds = t.round.seq + 1
	}
	for _, e := range t.edges {
		own := e.stats
		own.Peer, own.Connected = e.peer, e.session != nil
		s.Edges = append(s.Edges, own)
	}
	return s
}

// Waiting returns the neighbours for which Join or Exchange has been waiting, and since
// when; none if it does not wait. It may be called at any time.
func (t *Transport) Waiting() (peers []int, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.awaited(), t.round.waiting
}

func (t *Transport) awaited() (peers []int) {
	for _, e := range t.edges {
		if !t.round.waiting.IsZero() && (!t.round.started && !t.isThere(e) || e.in.lacks()) {
			peers = append(peers, e.peer)
		}
	}
	return peers
}

// chain is how many nodes wait one for the other from a neighbour on, as they say; 0 if it
// does not say that it waits.
func (e *edge) chain() int {
	if e.waits.on == nil {
		return 0
	}
	return e.waits.behind + 1
}

// behind is how long the chain is behind this node. t.mu is held.
func (t *Transport) behind() (n int) {
	for _, e := range t.edges {
		if e.in.lacks() {
			n = max(n, e.chain())
		}
	}
	return n
}

// excuse is why a neighbour waits, as it says.
func (t *Transport) excuse(e *edge) string {
	if e.waits.on == nil {
		return "and it does not say why"
	}
	var names []string
	for _, i := range e.waits.on {
		names = append(names, t.cluster.Label(i))
	}
	return "though it says that it waits for " + strings.Join(names, ", ")
}

// Beyond returns for whom a neighbour that is waited for says that it waits itself;
// nothing if it has not said so in this round.
func (t *Transport) Beyond(peer int) []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.edgeTo(peer); e != nil {
		return e.waits.on
	}
	return nil
}
