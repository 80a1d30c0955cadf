package grpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/difalt/difalt/cmd/difalt/internal/engine/cluster"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
)

const (
	protocolVersion = 8
	maxText         = 400 // bytes of a reason
)

// A handshake is the first message in each direction of a stream. gRPC limits messages to a chunk.
type handshake struct {
	Version  int    `json:"version"`
	Run      string `json:"run"`
	From     int    `json:"from"`
	To       int    `json:"to"`
	Instance string `json:"instance"` // random, chosen when the process starts
	Next     uint64 `json:"next"`     // sequence number of the next frame that the sender needs
	// PeerInstance is the instance that the sender was connected with, and FrameCame whether it sent a frame.
	PeerInstance string              `json:"peer_instance,omitempty"`
	FrameCame    bool                `json:"frame_came,omitempty"`
	Settings     []consensus.Setting `json:"settings"`
}

// A note is a message between frames, of one of three kinds.
type note struct {
	// Ack: everything up to the other end's Bye has arrived.
	Ack bool `json:"ack,omitempty"`
	// WaitsFor: the sender is alive and waits for these nodes.
	WaitsFor []int `json:"waits_for,omitempty"`
	// Bye: no frame will follow; Reason is set if the sender has failed.
	Bye    bool    `json:"bye,omitempty"`
	Reason *reason `json:"reason,omitempty"`
}

// A reason is a transport.PeerError that travels from node to node.
type reason struct {
	Node int            `json:"node"`
	Via  []int          `json:"via,omitempty"` // see transport.PeerError
	Kind transport.Kind `json:"kind"`
	Text string         `json:"text"`
}

func parseHandshake(p []byte) (*handshake, error) {
	h := &handshake{}
	if err := json.Unmarshal(p, h); err != nil {
		return nil, fmt.Errorf("not a ownHandshake: %w", err)
	}
	if len(h.Instance) == 0 || len(h.Instance) > 64 {
		return nil, errors.New("not a ownHandshake: no instance")
	}
	return h, nil
}

func parseNote(p []byte) (*note, error) {
	n := &note{}
	if err := json.Unmarshal(p, n); err != nil {
		return nil, fmt.Errorf("neither a frame nor a note: %w", err)
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

// shorten returns at most maxText bytes of s, cut between characters.
func shorten(s string) string {
	if len(s) <= maxText {
		return s
	}
	n := maxText
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// A refusal is a difference between two nodes, for which trying again does not help.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

// disagree returns a refusal that names the first difference between two handshakes.
func disagree(c *cluster.Cluster, own, their *handshake) error {
	who := c.Label(their.From)
	if own.From != their.To || own.To != their.From {
		return &refusal{fmt.Sprintf("%s claims to be node %d, connected with node %d", c.Label(own.To), their.From,
			their.To)}
	}
	if text := consensus.Difference(their.compared(), "at "+who, own.compared(), "at "+c.Label(own.From)); text != "" {
		return &refusal{shorten(text)}
	}
	return nil
}

// compared returns the settings that both ends compare.
func (h *handshake) compared() []consensus.Setting {
	return append([]consensus.Setting{
		{Name: "the version of the protocol", Value: strconv.Itoa(h.Version)},
		{Name: "the run", Value: strconv.Quote(h.Run)},
	}, h.Settings...)
}

var (
	// errRestarted is for a process that comes after another process of its node has started the run.
	errRestarted = errors.New("the process was started again and has lost its state")
	// errStale is for a process that does not see yet that the other end was started again.
	errStale = errors.New("it is still in a run with another process of this node")
)

// compare returns an error if this process, instance, and the sender of their cannot continue together. A run
// begins with the first frame: from then on the process at the other end must not change. Transport.mu is
// held.
func (e *edge) compare(instance string, their *handshake) error {
	switch {
	case e.frameCame() && e.peerInstance != their.Instance:
		return errRestarted
	case their.FrameCame && their.PeerInstance != instance:
		return errStale
	}
	return nil
}

func (e *edge) frameCame() bool { return e.in.next > 0 }

// admit ends a session that is still there, so that a new one can begin with the process of the handshake, or
// returns the reason against one. If that process was restarted and no other process of its node is
// connected, the edge has failed.
func (t *Transport) admit(e *edge, their *handshake) error {
	t.mu.Lock()
	err := e.compare(t.instance, their)
	busy := e.session != nil
	t.mu.Unlock()
	switch {
	case err == nil:
		t.endSession(e)
	case err == errRestarted && !busy:
		t.fail(e, transport.Closed, err)
	case err == errRestarted:
		t.refused(fmt.Sprintf("%s: another process of this node is in the run", t.cluster.Label(e.peer)))
	}
	return err
}
