package federate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/engine"
	"github.com/difalt/difalt/cmd/difalt/internal/engine/cluster"
	"github.com/difalt/difalt/consensus/transport"
)

// Explain replaces the numbers of nodes in an error by their names. An interruption of another node becomes
// an *Interrupted.
func Explain(c *cluster.Cluster, err error) error {
	var peer *transport.PeerError
	if !errors.As(err, &peer) || peer.Peer < 0 || peer.Peer >= len(c.Nodes) {
		return err
	}
	e := &peerFailure{c, peer, aftermath(err)}
	if peer.Kind == transport.Interrupted {
		return &Interrupted{e.hearsay() + "node " + e.name(peer.Peer) + " was ", e.after}
	}
	return e
}

// aftermath returns the text of an error behind its cause, after a semicolon: an error in its tree may have a
// method Aftermath() string.
func aftermath(err error) string {
	var with interface{ Aftermath() string }
	if errors.As(err, &with) {
		return "; " + with.Aftermath()
	}
	return ""
}

// A peerFailure is a *transport.PeerError with names.
type peerFailure struct {
	cluster *cluster.Cluster
	*transport.PeerError
	after string // the aftermath
}

func (e *peerFailure) Unwrap() error { return e.PeerError }

// PublicText returns the text, which is about the network.
func (e *peerFailure) PublicText() string { return e.text() }

func (e *peerFailure) name(i int) string {
	if i < 0 || i >= len(e.cluster.Nodes) {
		return "?"
	}
	return strconv.Quote(e.cluster.Nodes[i].Name)
}

// A difference names a setting and two nodes whose values differ. All nodes report it in equal words.
type difference string

func (d difference) Error() string { return "the nodes refuse each other: " + string(d) }

func (e *peerFailure) Error() string { return e.text() + e.after }

// text returns the cause.
func (e *peerFailure) text() string {
	s, details := e.hearsay(), ""
	switch d := e.Err.(type) {
	case nil:
	case difference:
		return s + d.Error()
	default:
		details = ": " + e.Err.Error()
	}
	switch {
	case e.Err != nil && e.Err.Error() == contradicted:
		return s + "node " + e.name(e.Peer) + strings.TrimPrefix(contradicted, "it")
	case e.Kind == transport.Waiting && errors.Is(e.Err, engine.ErrBeyond):
		return s + fmt.Sprintf("node %s, or one that it waits for, has failed (round %d)%s", e.name(e.Peer), e.Round,
			details)
	case e.Kind == transport.Waiting:
		return s + fmt.Sprintf("node %s reports that it waits%s", e.name(e.Peer), details)
	case e.Kind == transport.Refused:
		by := "this one"
		if last := len(e.Via) - 1; last >= 0 {
			by = "node " + e.name(e.Via[last])
		}
		return s + fmt.Sprintf("node %s and %s refuse each other%s", e.name(e.Peer), by, details)
	case errors.Is(e.Err, engine.ErrAbsent):
		return s + fmt.Sprintf("node %s %v", e.name(e.Peer), e.Err)
	}
	return s + fmt.Sprintf("node %s has failed (%v, round %d)%s", e.name(e.Peer), e.Kind, e.Round, details)
}

// hearsay lists the nodes that relayed the report, the nearest first.
func (e *peerFailure) hearsay() (s string) {
	for _, i := range e.Via {
		s += fmt.Sprintf("node %s reports that ", e.name(i))
	}
	return s
}
