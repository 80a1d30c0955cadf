package grpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/consensus/wire"
)

const (
	protocolVersion = 3
	maxHello        = chunk
	maxText         = 400 // of a reason that is passed on
)

// A hello is the first thing that both ends of a stream say.
type hello struct {
	Version  int    `json:"version"`
	Run      string `json:"run"`
	Epoch    uint32 `json:"epoch"`
	From     int    `json:"from"`
	To       int    `json:"to"`
	Instance string `json:"instance"` // another one every time that a process starts
	Next     uint64 `json:"next"`     // sequence number of the first frame that has not come
	// PeerInstance is that at the other end which this one has been connected with, and
	// FrameCame says whether a frame has come from it.
	PeerInstance string `json:"knows,omitempty"`
	FrameCame    bool   `json:"begun,omitempty"`
	Probe        bool   `json:"probe,omitempty"`
	// Failed is why a node that only asks cannot take part.
	Failed   *reason        `json:"failed,omitempty"`
	Settings []wire.Setting `json:"terms"`
}

// A note is what is said between frames.
type note struct {
	// Ack says that all that came before the other end's Bye has come.
	Ack bool `json:"ack,omitempty"`
	// WaitsFor are the nodes for which the sender waits: it is alive, and not to blame.
	WaitsFor []int `json:"waits_for,omitempty"`
	// Behind is how many of them wait one for the other: 0 if they say nothing.
	Behind int `json:"behind,omitempty"`
	// Bye says that no frame will follow, and why if the sender has failed.
	Bye    bool    `json:"bye,omitempty"`
	Reason *reason `json:"reason,omitempty"`
}

// A reason is a wire.PeerError on its way through the network, from whom it is about, or from
// who has found it or has heard it.
type reason struct {
	Node int       `json:"node"`
	Via  []int     `json:"via,omitempty"` // whom the sender has it from; see wire.PeerError
	Kind wire.Kind `json:"kind"`
	Text string    `json:"text"`
	Gone bool      `json:"gone,omitempty"` // see engine.ErrGone
}

func parseHello(p []byte) (*hello, error) {
	h := &hello{}
	if err := parse(p, h); err != nil {
		return nil, fmt.Errorf("not a greeting: %w", err)
	}
	if len(h.Instance) == 0 || len(h.Instance) > 64 {
		return nil, errors.New("not a greeting: no instance")
	}
	if h.Failed != nil {
		h.Failed.Text = shorten(h.Failed.Text)
	}
	return h, nil
}

func parseNote(p []byte) (*note, error) {
	n := &note{}
	if err := parse(p, n); err != nil {
		return nil, fmt.Errorf("not a frame and not a note: %w", err)
	}
	kinds := 0
	for _, is := range []bool{n.Ack, n.Bye, len(n.WaitsFor) > 0} {
		if is {
			kinds++
		}
	}
	if kinds != 1 || n.Reason != nil && !n.Bye {
		return nil, errors.New("a note of an unknown kind")
	}
	if n.Reason != nil {
		n.Reason.Text = shorten(n.Reason.Text)
	}
	return n, nil
}

func parse(p []byte, v any) error {
	if len(p) > maxHello {
		return fmt.Errorf("%d bytes, more than %d", len(p), maxHello)
	}
	return json.Unmarshal(p, v)
}

func shorten(s string) string {
	if len(s) > maxText {
		return s[:maxText] + "..."
	}
	return s
}

// A refusal says in what two nodes differ.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

// disagree returns a refusal by the name of the first thing that differs. Those that only ask
// who is there have not been told how to train: for them the cluster counts.
func disagree(c *cluster.Cluster, own, their *hello) error {
	who := c.Label(their.From)
	if own.From != their.To || own.To != their.From {
		return &refusal{fmt.Sprintf("%s says that it is node %d and talks to node %d", c.Label(own.To), their.From, their.To)}
	}
	here, there := own.compared(), their.compared()
	if own.Probe || their.Probe {
		n := len(own.protocol()) + len(c.Settings())
		here, there = here[:n], there[:min(n, len(there))]
	}
	if text := wire.Difference(there, "at "+who, here, "here"); text != "" {
		return &refusal{shorten(text)}
	}
	return nil
}

// protocol is what both ends must have alike before anything else.
func (h *hello) protocol() []wire.Setting {
	return []wire.Setting{
		{Name: "the version of the protocol", Value: strconv.Itoa(h.Version)},
		{Name: "the run", Value: strconv.Quote(h.Run)},
		{Name: "the epoch", Value: strconv.FormatUint(uint64(h.Epoch), 10)},
	}
}

// compared is all that both ends must have alike.
func (h *hello) compared() []wire.Setting { return append(h.protocol(), h.Settings...) }

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
