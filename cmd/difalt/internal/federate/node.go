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

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/internal/checkpoint"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/collective"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
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
	stop := every(r.LogEvery, r.status.write)
	err := r.train(ctx)
	if stop(); err != nil || !n.Stay {
		return err
	}
	debug.FreeOSMemory() // what the fit took; it may be long until the end
	n.Log.Info("done, waits to be ended")
	<-ctx.Done()
	return nil
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

// idlePause is how long a node waits before it joins anew for the second time in turn, and twice as long after every other time.
const idlePause = 50 * time.Millisecond

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
		if idle > 1 { // what others say of the last attempt is to be over before the next one
			select {
			case <-time.After(idlePause << (idle - 2)):
			case <-ctx.Done():
			}
		}
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

// The stages of an attempt before those of fit.
const (
	reading = "reading"
	joining = "joining"
)

// attempt reads the data, joins the others and trains with them. The transport says what
// came of it to the others before attempt returns.
func (r *run) attempt(ctx context.Context) error {
	t, c, err := r.prepare()
	if err != nil {
		return r.Excuse(err)
	}
	if r.keeper.complete() {
		r.Log.Info("the training is complete: nobody waits for this node", "checkpoint", r.Checkpoints.Folder)
		return r.deliver(r.keeper.outcome)
	}
	transport, err := r.Connect(engine.Options{
		Settings: r.Settings, MaxFrame: longestFrame(len(t.Features())+fit.MostBends*len(c.Curves), c.Rank, len(r.Cluster.Nodes)), Report: func(s string) { r.Log.Info(s) },
	})
	if err != nil {
		return r.Excuse(err)
	}
	r.status.begin(transport)
	err = r.join(ctx, transport, t, c)
	if ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		err = Interrupted("interrupted, and the others cannot be told in time, since one of them is silent or gone: nothing was written")
	}
	if err == nil {
		err = transport.Close()
	} else {
		transport.Leave(r.farewell(ctx, err))
	}
	if r.keeper != nil && ctx.Err() != nil && err != nil {
		return Interrupted("interrupted: the same command goes on from the checkpoints in " + r.Checkpoints.Folder)
	}
	return Explain(r.Cluster, err)
}

// farewell is what the others are told about the error of an attempt.
func (r *run) farewell(ctx context.Context, err error) error {
	switch {
	case r.keeper != nil && (ctx.Err() != nil || errors.Is(err, fit.ErrLeft)):
		return fmt.Errorf("interrupted: %w", engine.ErrGone)
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	}
	return err
}

// longestFrame bounds the memory that a neighbour can make this node set aside.
func longestFrame(features, rank, nodes int) int {
	const reduction = 1 << 10 // in the header
	return wire.MaxHeader + reduction + collective.LongestMessage(fit.LargestMessage(features, rank), nodes)
}

func (r *run) prepare() (*dataset.Table, *fit.Config, error) {
	t, c, err := r.Training.Read()
	if err != nil {
		return nil, nil, err
	}
	observer := c.Options.Observer
	c.Options.Observer = func(rec *difalt.Record) error {
		r.status.observe(rec)
		if observer == nil {
			return nil
		}
		return observer(rec)
	}
	c.Progress = r.status.progress
	if r.keeper != nil {
		if err := r.keeper.open(r.Node); err != nil {
			return nil, nil, err
		}
		c.Drive = r.keeper.drive
	}
	if !r.introduced {
		for _, a := range t.Assumptions() {
			r.Log.Info("read", "file", a.File, "assumed", a.Text)
		}
	}
	return t, c, nil
}

// join joins the others, fits, and writes the results.
func (r *run) join(ctx context.Context, transport engine.Transport, t *dataset.Table, c *fit.Config) error {
	own := r.keeper.unsure()
	if own != nil {
		r.Log.Info("the training is complete here; waits in case that others have lost their part", "join-timeout", r.JoinTimeout.String())
	}
	if err := transport.Join(ctx); err != nil {
		switch {
		case own != nil && nobodyCame(err):
			return r.deliver(own)
		case errors.Is(err, context.Canceled):
			return Interrupted("interrupted while waiting for the neighbours: nothing was written")
		}
		return err
	}
	w, err := r.Cluster.Weights()
	if err != nil {
		return err
	}
	if c.Network, err = consensus.New(w, transport); err != nil {
		return err
	}
	if !r.introduced {
		if r.heading, err = r.Training.Introduce(t, c, w); err != nil {
			return err
		}
		r.introduced = true
	}
	result, err := r.fit(ctx, t, c)
	if err != nil {
		return err
	}
	if result != nil && result.Status == difalt.Canceled {
		// The others know, and have what they need: there is nothing to tell them.
		_ = transport.Close()
		return Interrupted(fmt.Sprintf("interrupted after %d of %d iterations: the results are as far as they got", result.Iterations, c.Options.Iterations))
	}
	return nil
}

// fit trains with the others, and keeps and writes what comes of it. The result is nil where
// there was nothing to iterate.
func (r *run) fit(ctx context.Context, t *dataset.Table, c *fit.Config) (*difalt.Result, error) {
	if r.keeper != nil {
		r.keeper.net = c.Network
	}
	c.Owners = true
	m, report, err := fit.Fit(ctx, t, *c)
	if errors.Is(err, context.Canceled) {
		return nil, Interrupted("interrupted before the iterations of the model began: nothing was written")
	}
	if err != nil {
		return nil, err
	}
	o, err := r.Training.Outcome(t, c, m, report)
	if err != nil {
		return nil, err
	}
	o.Heading = r.heading
	if r.keeper != nil {
		if err := r.keeper.finish(ctx, o); err != nil {
			return nil, err
		}
	}
	return report.Result, r.deliver(o)
}

// nobodyCame reports whether joining has failed because a neighbour is not there.
func nobodyCame(err error) bool {
	var peer *wire.PeerError
	return errors.As(err, &peer) && peer.Kind != wire.Refused
}

// deliver writes the files of an outcome, and prints its report, under its heading if that has
// not been printed.
func (r *run) deliver(o *checkpoint.Outcome) error {
	var heading []byte
	if !r.introduced {
		heading, r.introduced = o.Heading, true
	}
	return r.Training.Deliver(o, heading)
}
