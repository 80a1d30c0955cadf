package grpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/engine/cluster"
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

// parseHello returns what p says.
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

// parseNote returns what p says.
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
