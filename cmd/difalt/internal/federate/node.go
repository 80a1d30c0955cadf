// Package federate runs the life of a node that computes with others: it connects, runs a job once, reports
// its progress to a log and to an address for monitors, and leaves.
//
// An error has two texts. The local one has everything; the other nodes receive engine.PublicText of it, here
// or from the engine. Several nodes may run in one process.
package federate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/engine"
	"github.com/difalt/difalt/cmd/difalt/internal/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/fault"
	"github.com/difalt/difalt/topology"
)

// A Node is a node of a network, and its job.
type Node struct {
	Cluster *cluster.Cluster
	Number  int // of this node in Cluster
	// Connect starts the transport.
	Connect func(engine.Options) (engine.Transport, error)
	// Settings must be equal at all nodes, which compare them before the job, and see them if they differ.
	// Prepare may set them.
	Settings []consensus.Setting
	// MaxNumbers is the largest number of values in a sum of the job; longer frames are refused. 0 sets no
	// limit.
	MaxNumbers int
	// Prepare reads what the job needs, before the node connects. Nil does nothing.
	Prepare func() error
	// Job computes with the other nodes, once all neighbours are connected. Its error ends this node; all
	// other nodes end when this one leaves, and receive the public text of the error.
	Job func(ctx context.Context, net *consensus.Network) error
	// Log receives a line when something changes, and every LogEvery (positive) how far the node is.
	Log      *slog.Logger
	LogEvery time.Duration
	// Metrics is the address at which /healthz and /metrics are served; empty for none.
	Metrics string

	status status
}

// Progress is the point that a job has reached. Nothing in it may depend on own rows but by totals.
type Progress struct {
	Stage string
	// Done is the number of steps of the stage that are done, of at most Most; Most is 0 if it is unknown.
	Done, Most int
	// Sums is the number of sums over all nodes that are done.
	Sums int
}

// Progress records the point that the job has reached.
func (n *Node) Progress(p Progress) { n.status.set(nil, p) }

// An Interrupted is the end of a job by an interruption, here or at another node. It wraps context.Canceled.
//
// Field by names the other node and its source, and ends with "was "; it is empty for this node. Field after
// is the aftermath.
type Interrupted struct{ by, after string }

func (e *Interrupted) Error() string { return e.by + "interrupted: nothing was written" + e.after }

// Unwrap returns context.Canceled.
func (e *Interrupted) Unwrap() error { return context.Canceled }

// PublicText returns what other nodes receive.
func (e *Interrupted) PublicText() string { return interrupted }

const (
	interrupted = "it was interrupted"
	// contradicted is the public text of a node that has found wrong totals: the fault lies elsewhere.
	contradicted = "it reports wrong numbers of another node, and masks hide which"
	// excuseTime limits how long a node that fails before it connects waits for a neighbour to connect, and
	// then for the others; interruptedTime how long after an interruption.
	excuseTime      = 15 * time.Second
	interruptedTime = 2 * time.Second
	excuseTick      = 50 * time.Millisecond
	// Longer texts of other nodes are cut.
	longestText = 400
)

// A publicError replaces what other nodes receive about an error.
type publicError struct {
	error
	text string
}

func (e *publicError) PublicText() string { return e.text }
func (e *publicError) Unwrap() error      { return e.error }

// Run prepares the node, connects it, runs its job once, and leaves. It returns nil when the job is done at
// this node; an error that wraps context.Canceled when this or another node was interrupted; one that wraps
// a *transport.PeerError, consensus.ErrContradiction or consensus.ErrInconsistent when other nodes failed
// or contradict one another; otherwise the error of this node. When ctx ends the node leaves at the end of
// the current round.
func Run(ctx context.Context, n *Node) error {
	n.status.node = n
	n.Progress(Progress{Stage: "reading"})
	if n.Metrics != "" {
		stop, err := serve(n.Metrics, &n.status, n.Log)
		if err != nil {
			return n.excuse(ctx, fmt.Errorf("--metrics: %w", err), "it cannot serve its metrics")
		}
		defer stop()
	}
	stop := every(n.LogEvery, n.status.write)
	defer stop()
	if n.Prepare != nil {
		switch err := n.Prepare(); {
		case err != nil && ctx.Err() != nil:
			return n.excuse(ctx, &Interrupted{}, interrupted)
		case err != nil:
			return n.excuse(ctx, err, "it cannot use its data")
		}
	}
	o := n.options()
	if n.MaxNumbers > 0 {
		o.MaxFrame = transport.FrameOverhead + consensus.LongestMessage(n.MaxNumbers, len(n.Cluster.Nodes))
	}
	transport, err := n.Connect(o)
	if err != nil {
		return err
	}
	n.status.set(transport, Progress{Stage: "joining"})
	if err = n.work(ctx, transport); err == nil {
		err = transport.Close()
	} else {
		transport.Leave(accused(err))
	}
	return Explain(n.Cluster, err)
}

// accused returns an error with the public text contradicted if nodes contradict one another and the error
// has no public text.
func accused(err error) error {
	var public interface{ PublicText() string }
	wrong := errors.Is(err, consensus.ErrContradiction) || errors.Is(err, consensus.ErrInconsistent)
	if peer := new(transport.PeerError); !wrong || errors.As(err, &peer) || errors.As(err, &public) {
		return err
	}
	return &publicError{err, contradicted}
}

func (n *Node) options() engine.Options {
	return engine.Options{Report: func(said string) { n.Log.Info(said) }}
}

// excuse sends the public text to the neighbours that connect soon, each as soon as it is there, and returns
// err, which it logs before.
func (n *Node) excuse(ctx context.Context, err error, public string) error {
	n.Log.Error("cannot join: informs the neighbours that connect", "why", err)
	o := n.options()
	o.JoinTimeout = excuseTime
	if ctx.Err() != nil {
		o.JoinTimeout = interruptedTime
	}
	o.Linger = o.JoinTimeout
	t, failed := n.Connect(o)
	if failed != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := every(excuseTick, func() {
		if slices.ContainsFunc(t.Stats().Edges, func(e engine.EdgeStats) bool { return e.Connected }) {
			cancel() // Leave sends the text to neighbours that come later, too
		}
	})
	_ = t.Join(ctx)
	stop()
	t.Leave(&publicError{err, public})
	return err
}

// work joins the other nodes and runs the job. A panic, which another node may have caused, becomes an error.
func (n *Node) work(ctx context.Context, transport engine.Transport) (err error) {
	defer func() {
		if p := fault.Of(recover()); p != nil {
			err = p
		}
	}()
	if err := transport.Join(ctx); err != nil {
		if ctx.Err() != nil {
			return &Interrupted{}
		}
		return err
	}
	g, err := n.Cluster.Graph()
	if err != nil {
		return err
	}
	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		return err
	}
	net, err := consensus.New(w, transport)
	if err != nil {
		return err
	}
	if err := n.compare(ctx, net); err != nil {
		return err
	}
	if err = n.Job(ctx, net); err != nil && ctx.Err() != nil {
		return &Interrupted{after: aftermath(err)}
	}
	return err
}

// compare returns an error if a node and node 0 have different settings: it names this node if it differs, or
// else the first node that differs, node 0 and the setting. A node that cannot read its data
// has no settings, so the engine does not compare them when nodes connect. Nodes exchange hashes first.
func (n *Node) compare(ctx context.Context, net *consensus.Network) error {
	byName := func(a, b consensus.Setting) int { return strings.Compare(a.Name, b.Name) }
	own, _ := json.Marshal(slices.SortedStableFunc(slices.Values(n.Settings), byName)) // texts
	hash := sha256.Sum256(own)
	all, err := net.Gather(context.WithoutCancel(ctx), [][]byte{hash[:]})
	if err != nil {
		return err
	}
	hashes := all
	differs := func(b []byte) bool { return !bytes.Equal(b, hashes[0]) }
	other := slices.IndexFunc(hashes, differs)
	if other < 0 {
		return nil
	}
	if differs(hashes[n.Number]) {
		other = n.Number
	}
	if all, err = net.Gather(context.WithoutCancel(ctx), [][]byte{own}); err != nil {
		return err
	}
	for i, said := range all {
		if hash := sha256.Sum256(said); !bytes.Equal(hash[:], hashes[i]) {
			err := errors.New("its settings have another hash")
			return &transport.PeerError{Peer: i, Kind: transport.Refused, Err: err}
		}
	}
	var first, theirs []consensus.Setting
	if json.Unmarshal(all[0], &first) != nil || json.Unmarshal(all[other], &theirs) != nil {
		return fmt.Errorf("settings of a node cannot be read: %w", consensus.ErrContradiction)
	}
	at := func(i int) string { return fmt.Sprintf("at node %q", n.Cluster.Nodes[i].Name) }
	words := clean(consensus.Difference(theirs, at(other), first, at(0)))
	peer := &transport.PeerError{Peer: other, Kind: transport.Refused, Err: difference(words)}
	if n.Number == other {
		peer.Peer = 0
	}
	return peer
}

// clean returns the beginning of a text of another node for one line.
func clean(said string) string {
	said = text.Line(said)
	return strings.ToValidUTF8(said[:min(len(said), longestText)], "")
}

// every calls f again and again until stop is called.
func every(interval time.Duration, f func()) (stop func()) {
	quit := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				f()
			case <-quit:
				return
			}
		}
	})
	return func() { close(quit); done.Wait() }
}
