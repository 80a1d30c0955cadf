// Package federate is the life of a node that trains with others: it joins them, trains, keeps
// checkpoints, says how far it is, joins anew when somebody has been away, and writes what it
// has come to; and the processes of several nodes on one machine with the board on which they
// are shown. It knows nothing of flags: the command says what is asked for, and renders.
package federate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/engine"
	"github.com/difalt/difalt/engine/cluster"
	"github.com/difalt/difalt/fit"
	"github.com/difalt/difalt/internal/checkpoint"
	"github.com/difalt/difalt/model"
	"github.com/difalt/difalt/topology"
)

// A Training is what a node trains on, and what becomes of the result.
type Training interface {
	// Read returns the table of the node, and how to train on it. It is called in every attempt.
	Read() (*dataset.Table, *fit.Config, error)
	// Introduce prints what is about to be done, once all have joined for the first time, and
	// returns what it has printed.
	Introduce(t *dataset.Table, c *fit.Config, w *topology.Weights) (heading []byte, err error)
	// Outcome returns the report and the files that a training has come to.
	Outcome(t *dataset.Table, c *fit.Config, m *model.Model, report *fit.Report) (*checkpoint.Outcome, error)
	// Deliver writes the files of an outcome, and prints a heading and the report.
	Deliver(o *checkpoint.Outcome, heading []byte) error
}

// A Node is a process that trains with others: once, or with checkpoints again and again,
// whenever one of them has been away.
type Node struct {
	Cluster  *cluster.Cluster
	Number   int // of the node in Cluster
	Training Training
	// Connect begins to connect to the others.
	Connect func(engine.Options) (engine.Transport, error)
	// Settings are what all nodes must have alike, beyond what the tables say.
	Settings []wire.Setting
	// Checkpoints says where the node keeps its state; nil where it keeps none.
	Checkpoints *Checkpoints
	// Once is for an engine over which a process that has been away cannot come back.
	Once bool
	// JoinTimeout is that of the engine, for messages.
	JoinTimeout time.Duration
	// Log says every so often how far the node is.
	Log      *slog.Logger
	LogEvery time.Duration
	// Metrics is the address at which figures are served; empty for none.
	Metrics string
	// Stay makes Run wait for the end of ctx when all is done.
	Stay bool
}

// Run trains until it is done, has failed, or is told to stop by ctx.
func (n *Node) Run(ctx context.Context) error {
	r := &run{Node: n, status: &status{log: n.Log, cluster: n.Cluster, name: n.name()}}
	if n.Metrics != "" {
		stop, err := serveMetrics(n.Metrics, r.status)
		if err != nil {
			return n.Excuse(fmt.Errorf("--metrics: %w", err))
		}
		defer stop()
	}
	if n.Checkpoints != nil {
		r.keeper = &keeper{every: n.Checkpoints.Every, log: n.Log, once: n.Once}
	}
	if err := r.logged(ctx); err != nil || !n.Stay {
		return err
	}
	debug.FreeOSMemory() // what the fit took; it may be long until the end
	n.Log.Info("done, waits to be ended")
	<-ctx.Done()
	return nil
}

// logged trains, and logs every now and then how far it is.
func (r *run) logged(ctx context.Context) error {
	defer r.status.repeat(r.LogEvery)()
	return r.train(ctx)
}

// Excuse tells the others that this node cannot take part because of err, which it returns.
func (n *Node) Excuse(err error) error {
	if t, failed := n.Connect(engine.Options{Probe: true, Failed: err}); failed == nil {
		t.Leave(err)
	}
	return err
}

func (n *Node) name() string { return n.Cluster.Nodes[n.Number].Name }

// A run is a node at work.
type run struct {
	*Node
	status     *status
	keeper     *keeper // nil without checkpoints
	introduced bool    // heading has been printed
	heading    []byte
}

// idleAttempts is how often in turn a node may join anew without a checkpoint having been
// written: a neighbour that always fails at the same place would keep all waiting for ever.
const idleAttempts = 10

// train makes attempts until one is the last.
func (r *run) train(ctx context.Context) error {
	for idle := 0; ; {
		before := r.keeper.count()
		err := r.attempt(ctx)
		if r.Once || r.keeper == nil || ctx.Err() != nil || !mayComeBack(err) {
			return err
		}
		if idle++; r.keeper.count() > before {
			idle = 0
		}
		if idle == idleAttempts {
			return fmt.Errorf("joined %d times in turn without coming to a checkpoint: %w", idle, err)
		}
		r.Log.Info("joins anew", "why", err.Error())
	}
}

// mayComeBack reports whether all others find the same as err, and can join anew.
func mayComeBack(err error) bool {
	return errors.Is(err, engine.ErrGone) || errors.Is(err, fit.ErrLeft)
}

// An Interrupted says what was left when work was interrupted, here or elsewhere.
type Interrupted string

func (e Interrupted) Error() string { return string(e) }

func (e Interrupted) Unwrap() error { return context.Canceled }

// Explain puts the failure of another node into words with its name.
func Explain(c *cluster.Cluster, err error) error {
	var peer *wire.PeerError
	if !errors.As(err, &peer) || peer.Peer < 0 || peer.Peer >= len(c.Nodes) {
		return err
	}
	return &peerFailure{c, peer}
}

// A peerFailure says which node has failed, by its name, and who says so.
type peerFailure struct {
	cluster *cluster.Cluster
	*wire.PeerError
}

func (e *peerFailure) Unwrap() error { return e.PeerError }

func (e *peerFailure) Error() string {
	name := func(i int) string { return strconv.Quote(e.cluster.Nodes[i].Name) }
	s := e.hearsay(name)
	switch {
	case e.Kind != wire.Refused:
		s += fmt.Sprintf("node %s has failed (%v, round %d)", name(e.Peer), e.Kind, e.Round)
	case s == "":
		s = fmt.Sprintf("node %s and this one refuse each other", name(e.Peer))
	default:
		s += fmt.Sprintf("it and node %s refuse each other", name(e.Peer))
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// hearsay says who says what follows, and who says that; of many the nearest and the last.
func (e *peerFailure) hearsay(name func(int) string) (s string) {
	const near = 2
	for k, i := range e.Via {
		switch between := len(e.Via) - near - 1; {
		case between <= 1 || k < near-1 || k == len(e.Via)-1:
			s += fmt.Sprintf("node %s says that ", name(i))
		case k == near-1:
			s += fmt.Sprintf("node %s says (and so on, %d more) that ", name(i), between)
		}
	}
	return s
}
