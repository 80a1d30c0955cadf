// Package engine says what an engine offers to a node: a transport between processes, the
// options with which it starts, and what it says of itself while it works. engine/grpc and
// engine/mpi are the engines.
package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/difalt/difalt/consensus/wire"
)

// Options of a transport. The zero value of a number is its default.
type Options struct {
	// JoinTimeout is how long Join waits for the neighbours, ten minutes by default.
	JoinTimeout time.Duration
	// RoundTimeout is how long a neighbour may take for a round before it has failed; two
	// minutes by default. What a node computes between two rounds must fit in. Over gRPC
	// the time for which it waits itself does not count, since it says so; but after five
	// times as long, and a second for each node of those that wait one for the other, it has
	// failed all the same, or a node could keep all others waiting for ever. In the first
	// rounds JoinTimeout is added, as others may still join.
	RoundTimeout time.Duration
	// RejoinTimeout is how long a neighbour may be out of reach while its frame is
	// waited for before it has failed; 30 seconds by default. MPI has no use for it.
	RejoinTimeout time.Duration
	// Linger is how long Close waits for the neighbours to say that they have
	// everything, 5 seconds by default; two at most after a failure. MPI has no use for it.
	Linger time.Duration
	// MaxFrame is the length in bytes beyond which a frame is refused; 1 GiB by default.
	MaxFrame int
	// Settings are what all nodes must have alike.
	Settings []wire.Setting
	// Probe only asks the neighbours whether they can be reached and agree on the
	// cluster. Join returns when all have answered; there is nothing to exchange.
	Probe bool
	// Failed is why this node cannot take part, which those that wait for it are told. Over
	// gRPC it needs Probe.
	Failed error
	// Report is called, from several goroutines, with what an operator should know:
	// a neighbour came or was lost, or why it cannot be reached. Nil is silent.
	Report func(text string)
}

// WithDefaults returns o with the default of everything that is zero.
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

// A Transport carries the frames of one node to its neighbours. All but Join, Exchange and
// Close may be called at any time.
type Transport interface {
	wire.Transport
	// Join waits until all neighbours are connected. It returns ctx.Err() if ctx ends, and
	// a *wire.PeerError if a neighbour refuses this node or does not come in time.
	Join(ctx context.Context) error
	// Waiting returns the neighbours for which Join or Exchange has been waiting, and since
	// when; none if it does not wait.
	Waiting() (peers []int, since time.Time)
	// Beyond returns for whom a neighbour says that it waits itself; nothing if it does not say.
	Beyond(peer int) []int
	// Stats returns what has been done so far.
	Stats() Stats
	// Leave tells the neighbours that this node has done its part (nil), or that it has
	// failed and why, and closes the transport. What counts is the first call.
	Leave(why error)
}

// Stats is what a transport has done so far.
type Stats struct {
	Rounds uint64 // begun, or done
	Edges  []EdgeStats
}

// EdgeStats is what a transport has done on an edge.
type EdgeStats struct {
	Peer           int
	Connected      bool
	Connections    int           // made; all but the first because one broke
	Sent, Received int64         // bytes of frames, with those that were sent again
	Waited         time.Duration // for this neighbour, alone or with others
}

// ErrClosed is returned by Exchange after Close.
var ErrClosed = errors.New("the transport is closed")

// ErrGone is what an error of Join or Exchange wraps, at all nodes, when a node is gone
// but may come back: it is out of reach or silent, it has been started again, or it left
// with an error that wraps ErrGone. Whoever has kept the state of the run can close the
// transport and join with a new one.
var ErrGone = errors.New("it may come back")
