package grpc

import (
	"errors"
	"fmt"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/engine"
)

// A goneError says why a node is gone.
type goneError struct{ err error }

func gone(format string, args ...any) error { return &goneError{fmt.Errorf(format, args...)} }

func (g *goneError) Error() string   { return g.err.Error() }
func (g *goneError) Unwrap() []error { return []error{g.err, engine.ErrGone} }

var (
	errAgain = &goneError{errors.New("it has been started again, and has lost its state")}
	// What a process is told that is not the one with which the run began, and the other
	// way round.
	errBusy  = errors.New("another process of this node is in this run, which cannot be entered again")
	errStale = errors.New("it is still in a run with another process of this node")
)

// compare returns why the process instance and the one that has said their cannot go on
// together. A run begins with the first frame that comes: from then on the other end must be
// the process that it was; before, a new one gets all frames that were sent. Transport.mu is
// held.
func (e *edge) compare(instance string, their *hello) error {
	switch began := e.frameCame(); {
	case began && e.peerInstance != their.Instance && e.session != nil:
		return errBusy
	case began && e.peerInstance != their.Instance:
		return errAgain
	case their.FrameCame && their.PeerInstance != instance:
		return errStale
	}
	return nil
}

// frameCame reports whether a frame has come.
func (e *edge) frameCame() bool { return e.in.next > 0 }

// admit ends a session that is still there, so that a new one can begin with the process
// that has greeted, or returns why there can be none. If that is that the process has
// lost the state of a run that has begun, the edge has failed.
func (t *Transport) admit(e *edge, their *hello) error {
	t.mu.Lock()
	err := e.compare(t.instance, their)
	t.mu.Unlock()
	switch err {
	case nil:
		t.endSession(e)
	case errAgain:
		t.fail(e, wire.Closed, err)
	case errBusy:
		t.refused(fmt.Sprintf("%s: %v", t.cluster.Label(e.peer), err))
	}
	return err
}

// noteFailure takes it that a node cannot take part, unless it is connected: then that
// is another process.
func (t *Transport) noteFailure(e *edge, r *reason) {
	t.mu.Lock()
	if e.session == nil && e.trouble.final == nil {
		e.trouble.final = t.farewellOf(e, r)
	}
	t.mu.Unlock()
	t.notify()
}
