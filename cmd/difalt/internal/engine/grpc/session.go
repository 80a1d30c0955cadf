package grpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/engine"
	"github.com/difalt/difalt/consensus/transport"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A stream is either end of a gRPC stream.
type stream interface {
	SendMsg(m any) error
	RecvMsg(m any) error
}

// A session is a stream in use.
type session struct {
	end context.CancelCauseFunc
	wg  sync.WaitGroup
}

// handshakeTimeout limits the time to a handshake: ten seconds, or a quarter of JoinTimeout.
func (t *Transport) handshakeTimeout() time.Duration { return min(10*time.Second, t.o.JoinTimeout/4) }

func (t *Transport) ownHandshake(e *edge) *handshake {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &handshake{
		Version: protocolVersion, Run: t.cluster.Run, From: t.node, To: e.peer,
		Instance: t.instance, Next: e.in.next, PeerInstance: e.peerInstance, FrameCame: e.frameCame(),
		Settings: t.cluster.Settings(),
	}
}

func sendJSON(s stream, v any) error {
	text, _ := json.Marshal(v) // a handshake or a note: numbers and texts
	return s.SendMsg(&bytesMessage{p: text})
}

func receiveHandshake(s stream) (*handshake, error) {
	var m bytesMessage
	if err := s.RecvMsg(&m); err != nil {
		return nil, err
	}
	return parseHandshake(m.p)
}

// endSession ends the last session and waits for its goroutines.
func (t *Transport) endSession(e *edge) {
	t.mu.Lock()
	last := e.last
	t.mu.Unlock()
	if last != nil {
		last.end(errors.New("it has connected again"))
		last.wg.Wait()
	}
}

// exchangeFrames sends and receives frames over s until one end fails or leaves; their is the other end's
// handshake. The caller then ends s.
func (t *Transport) exchangeFrames(ctx context.Context, e *edge, s stream, their *handshake) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	ses := &session{end: end}
	t.mu.Lock()
	if e.session != nil {
		t.mu.Unlock()
		return errors.New("two connections at once")
	}
	if err := e.compare(t.instance, their); err != nil { // the run may have started meanwhile
		t.mu.Unlock()
		return err
	}
	if their.Next != e.out.handed && !e.out.canSend(their.Next) {
		err := fmt.Errorf("it needs frame %d, but %d were sent", their.Next, e.out.handed)
		t.mu.Unlock()
		t.fail(e, transport.Protocol, err)
		return err
	}
	again := e.peerSeen
	if again { // the broken connection may still be sending them: they must not change
		for i, p := range e.out.kept {
			e.out.kept[i] = slices.Clone(p)
		}
	}
	e.session, e.last, e.peerSeen, e.peerInstance, e.errs.last = ses, ses, true, their.Instance, nil
	e.closing.acked = false
	signal(e.wake)
	t.mu.Unlock()
	signal(t.wake)
	news := "connected"
	if again {
		news = "connected again"
	}
	t.o.Report(fmt.Sprintf("%s: %s, key %s", t.cluster.Label(e.peer), news, t.cluster.Nodes[e.peer].Pin))
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

// transmit sends notes, and frames from number pos on, until the session ends.
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
			return // the goroutine that receives has the reason
		}
	}
}

// due returns the next message: a note, frame number pos, or neither.
func (t *Transport) due(e *edge, pos uint64, left *bool) (*note, []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case e.closing.ackDue:
		e.closing.ackDue = false
		return &note{Ack: true}, nil
	case e.out.canSend(pos):
		return nil, e.out.kept[pos%2]
	case t.leaving.started && !*left:
		*left = true
		return &note{Bye: true, Reason: t.leaving.reason}, nil
	case e.waits.due && !*left:
		e.waits.due = false
		if who := t.awaited(); who != nil {
			return &note{WaitsFor: who}, nil
		}
	}
	return nil, nil
}

// sendFrame sends p in chunks of equal size, and then the remainder. p must not change before the other
// end has received it.
func sendFrame(s stream, p []byte) error {
	for {
		n := min(len(p), chunk)
		if err := s.SendMsg(&bytesMessage{p: p[:n]}); err != nil || n < chunk {
			return err
		}
		p = p[n:]
	}
}

// receive handles frames and notes until the stream ends. After a violation of the protocol it accepts no
// more frames, but keeps the stream open: the neighbour then receives the accusation, and not just a lost
// connection.
func (t *Transport) receive(e *edge, s stream) error {
	err := t.receiveFrames(e, s)
	var violation *transport.PeerError // permanent
	if !errors.As(err, &violation) {
		return err
	}
	t.fail(e, violation.Kind, violation.Err)
	for {
		var m bytesMessage
		if err := s.RecvMsg(&m); err != nil {
			return endOfSession(err)
		}
		if n, err := parseNote(m.p); err == nil && (n.Ack || n.Bye) {
			t.handleNote(e, n)
		}
	}
}

// receiveFrames handles frames and notes until the stream ends or the neighbour violates the protocol.
func (t *Transport) receiveFrames(e *edge, s stream) error {
	first := bytesMessage{room: func() []byte { return t.room(e) }}
	for {
		if err := s.RecvMsg(&first); err != nil {
			return endOfSession(err)
		}
		if len(first.p) > 0 && first.p[0] == '{' {
			n, err := parseNote(first.p)
			if err != nil {
				return e.failed(0, transport.Protocol, err)
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
				return endOfSession(err)
			}
			last = len(frame.p) - before
		}
		if len(frame.p) > t.o.MaxFrame {
			return e.failed(0, transport.Corrupt, fmt.Errorf("a frame of more than %d bytes", t.o.MaxFrame))
		}
		if err := t.deliver(e, frame.p); err != nil {
			return err
		}
	}
}

func endOfSession(err error) error {
	// The end that was dialled only sees that its stream is canceled.
	if err == io.EOF || status.Code(err) == codes.Canceled {
		return errors.New("the connection has ended")
	}
	return fmt.Errorf("connection lost: %s", plain(err))
}

// Stats implements engine.Transport.
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

// Waiting implements engine.Transport.
func (t *Transport) Waiting() (peers []int, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.awaited(), t.round.waiting
}

// awaited returns the neighbours whose frames this node waits for: before the first round those without a
// connection.
func (t *Transport) awaited() (peers []int) {
	for _, e := range t.edges {
		if !t.round.waiting.IsZero() && (!t.round.started && e.session == nil || e.in.lacks()) {
			peers = append(peers, e.peer)
		}
	}
	return peers
}

// Beyond implements engine.Transport.
func (t *Transport) Beyond(peer int) []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.edgeTo(peer); e != nil {
		return e.waits.on
	}
	return nil
}
