// Package engine defines the interface between a node and a network engine: the options of a transport, the
// transport itself, and its statistics. Packages engine/grpc and engine/mpi implement it.
package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/difalt/difalt/consensus/transport"
)

// ErrAbsent is wrapped by the error of Join about a neighbour that has not connected in JoinTimeout.
var ErrAbsent = errors.New("has not connected")

// ErrBeyond is wrapped by the error of an Exchange, of kind transport.Waiting, where a neighbour may have
// failed or may itself be waiting.
var ErrBeyond = errors.New("nothing has come from it")

// Options configure a transport. The zero value of a number stands for its default.
type Options struct {
	// JoinTimeout limits how long Join waits for the neighbours; ten minutes by default.
	JoinTimeout time.Duration
	// RoundTimeout limits how long a neighbour may be silent in a round, its computing included, before it
	// has failed; two minutes by default. Over gRPC a neighbour that itself waits reports so, and has five
	// times as long. In the first rounds JoinTimeout is added, since other nodes may still join.
	RoundTimeout time.Duration
	// RejoinTimeout limits how long a neighbour may be unreachable while its frame is due, however short
	// RoundTimeout is; 30 seconds by default. MPI does not use it.
	RejoinTimeout time.Duration
	// Linger limits how long Leave waits until the neighbours have received everything; 5 seconds by default.
	// MPI does not use it.
	Linger time.Duration
	// MaxFrame is the largest length of a frame in bytes; 1 GiB by default.
	MaxFrame int
	// Report receives messages for an operator, from several goroutines: a neighbour came, was lost, or
	// cannot be reached. Nil is silent.
	Report func(text string)
}

// WithDefaults returns o with zero values replaced by their defaults.
func (o Options) WithDefaults() Options {
	o.JoinTimeout = cmp.Or(o.JoinTimeout, 10*time.Minute)
	o.RoundTimeout = cmp.Or(o.RoundTimeout, 2*time.Minute)
	o.RejoinTimeout = cmp.Or(o.RejoinTimeout, 30*time.Second)
	o.Linger = cmp.Or(o.Linger, 5*time.Second)
	o.MaxFrame = cmp.Or(o.MaxFrame, 1<<30)
	if o.Report == nil {
		o.Report = func(string) {}
	}
	return o
}

// A Transport carries the frames of one node to its neighbours. Join, Exchange and Close serve one goroutine
// at a time; the other methods may be called at any time.
type Transport interface {
	transport.Transport
	// Join waits until all neighbours are connected. It returns ctx.Err() if ctx ends, and a
	// *transport.PeerError if a neighbour refuses this node or is not there in time.
	Join(ctx context.Context) error
	// Waiting returns the neighbours that Join or Exchange waits for, and since when; nil if it does not
	// wait.
	Waiting() (peers []int, since time.Time)
	// Beyond returns the nodes that a neighbour itself waits for, as it reports; nil without a report.
	Beyond(peer int) []int
	// Stats returns the statistics so far.
	Stats() Stats
	// Leave closes the transport and informs the neighbours: nil means that this node has finished; otherwise
	// they receive PublicText(why). Only the first call counts.
	Leave(why error)
}

// Stats are the statistics of a transport.
type Stats struct {
	Rounds uint64 // started or finished
	Edges  []EdgeStats
}

// EdgeStats are the statistics of one edge.
type EdgeStats struct {
	Peer      int
	Connected bool
	Sent      int64         // bytes of frames, repeated ones included
	Waited    time.Duration // for this neighbour, alone or with others
}

// ErrClosed is returned by Exchange after Close.
var ErrClosed = errors.New("the transport is closed")

// PublicKind returns the kind of failure that other nodes receive for an error of this one.
func PublicKind(err error) transport.Kind {
	if errors.Is(err, context.Canceled) {
		return transport.Interrupted
	}
	return transport.Closed
}

// PublicText returns the part of an error that other nodes receive. An error may contain cells, names of
// tasks and paths of the node's owner, so nothing of it is public by default: PublicText returns the text of
// a *transport.PeerError, which is about the network. For other errors it returns the result of the first one
// in the tree with a method PublicText() string, and otherwise "it has failed".
func PublicText(err error) string {
	var public interface{ PublicText() string }
	var peer *transport.PeerError
	switch {
	case errors.As(err, &public):
		return public.PublicText()
	case errors.As(err, &peer) && peer.Err != nil:
		return peer.Err.Error()
	}
	return "it has failed"
}
