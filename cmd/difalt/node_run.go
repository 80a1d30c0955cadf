package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/engine"
	"github.com/difalt/difalt/engine/cluster"
	"github.com/difalt/difalt/fit"
	"github.com/difalt/difalt/internal/options"
	"github.com/difalt/difalt/internal/report"
	"github.com/difalt/difalt/internal/terminal"
	"github.com/difalt/difalt/topology"
)

// A nodeRun is a process that trains with others: once, or with checkpoints again and
// again, whenever one of them has been away.
type nodeRun struct {
	*nodeFlags
	cluster *cluster.Cluster
	node    int
	start   func(engine.Options) (*member, error) // begins to connect to the others
	once    bool                                  // who has been away cannot come back
	out     *outputs
	stdout  io.Writer
	stderr  io.Writer
	log     *slog.Logger
	status  *nodeStatus
	keeper  *keeper // nil without checkpoints
	heading []byte  // what was printed about what is about to be done, nil before
}

// idleAttempts is how often in turn a node may join anew without a checkpoint having been
// written: a neighbour that always fails at the same place would keep all waiting for ever.
const idleAttempts = 10

// train trains until it is done, has failed, or is told to stop.
func (r *nodeRun) train(ctx context.Context) error {
	if r.Checkpoints.Folder != "" {
		r.keeper = &keeper{log: r.log, once: r.once}
	}
	for idle := 0; ; {
		before := 0
		if r.keeper != nil {
			before = r.keeper.saved
		}
		err := r.attempt(ctx)
		if r.once || r.keeper == nil || ctx.Err() != nil || !mayComeBack(err) {
			return err
		}
		if idle++; r.keeper.saved > before {
			idle = 0
		}
		if idle == idleAttempts {
			return fmt.Errorf("joined %d times in turn without coming to a checkpoint: %w", idle, err)
		}
		r.log.Info("joins anew", "why", err.Error())
	}
}

// attempt reads the data, joins the others and trains with them. The transport says what
// came of it to the others before attempt returns.
func (r *nodeRun) attempt(ctx context.Context) error {
	t, c, err := r.prepare()
	if err != nil {
		return r.excuse(err)
	}
	if r.keeper.complete() {
		r.log.Info("the training is complete: nobody waits for this node", "checkpoint", r.Checkpoints.Folder)
		return r.deliver(r.keeper.outcome)
	}
	m, err := r.start(engine.Options{Terms: r.Settings(options.AllNodes), MaxFrame: longestFrame(len(t.Features()), c.Rank), Report: func(s string) { r.log.Info(s) }})
	if err != nil {
		return err
	}
	trace := &report.Trace{}
	c.Options.Observer = func(rec *difalt.Record) error {
		r.status.observe(rec)
		if r.out.trace != nil {
			return trace.Observe(rec)
		}
		return nil
	}
	c.Progress = r.status.progress
	r.status.begin(m)
	err = r.join(ctx, m, t, c, trace)
	if ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		err = &interruptedError{"interrupted, and the others cannot be told in time, since one of them is silent or gone: nothing was written"}
	}
	switch {
	case err == nil:
		err = m.transport.Close()
	case r.keeper != nil && (ctx.Err() != nil || errors.Is(err, fit.ErrLeft)):
		m.transport.Leave(fmt.Errorf("interrupted: %w", engine.ErrGone))
	case errors.Is(err, context.Canceled):
		m.transport.Leave(errors.New("interrupted"))
	default:
		m.transport.Leave(err)
	}
	if r.keeper != nil && ctx.Err() != nil && err != nil {
		return &interruptedError{"interrupted: the same command goes on from the checkpoints in " + r.Checkpoints.Folder}
	}
	return m.explain(err)
}

// longestFrame bounds the memory that a neighbour can make this node set aside.
func longestFrame(features, rank int) int {
	return wire.HeaderLen + 8*(1+fit.LargestMessage(features, rank)) // and how they are coded
}

// excuse tells the others that this node cannot take part.
func (r *nodeRun) excuse(err error) error {
	if m, failed := r.start(engine.Options{Probe: true, Failed: err}); failed == nil {
		m.transport.Leave(err)
	}
	return err
}

// prepare reads what this node has.
func (r *nodeRun) prepare() (*dataset.Table, *fit.Config, error) {
	t, err := readFiles(r.Files.Data, r.Table)
	if err != nil {
		return nil, nil, err
	}
	if err := t.AssignNode(r.cluster.Nodes[r.node].Name); err != nil {
		return nil, nil, err
	}
	c, err := r.ConfigOf(t)
	if err != nil {
		return nil, nil, err
	}
	if r.keeper != nil {
		if err := r.keeper.open(r.nodeFlags, r.cluster, r.node, r.Settings(options.AllNodes)); err != nil {
			return nil, nil, err
		}
		c.Drive = r.keeper.drive
	}
	if r.heading == nil {
		for _, a := range t.Assumptions() {
			r.log.Info("read", "file", a.File, "assumed", a.Text)
		}
	}
	return t, c, nil
}

// join joins the others, fits, and writes the results.
func (r *nodeRun) join(ctx context.Context, m *member, t *dataset.Table, c *fit.Config, trace *report.Trace) error {
	own := r.keeper.unsure()
	if own != nil {
		r.log.Info("the training is complete here; waits in case that others have lost their part", "join-timeout", r.Member.JoinTimeout.String())
	}
	if err := m.transport.Join(ctx); err != nil {
		if own != nil && nobodyCame(err) {
			return r.deliver(own)
		}
		if errors.Is(err, context.Canceled) {
			return &interruptedError{"interrupted while waiting for the neighbours: nothing was written"}
		}
		return err
	}
	w, err := m.cluster.Weights()
	if err != nil {
		return err
	}
	if c.Network, err = consensus.New(w, m.transport); err != nil {
		return err
	}
	if r.keeper != nil {
		r.keeper.net = c.Network
	}
	if err := r.introduce(m, t, c, w); err != nil {
		return err
	}
	trained, fitted, err := fit.Fit(ctx, t, *c)
	if errors.Is(err, context.Canceled) {
		return &interruptedError{"interrupted before the iterations of the model began: nothing was written"}
	}
	if err != nil {
		return err
	}
	m.trained = true
	o, err := r.outcome(t, c, trained, fitted, trace)
	if err == nil && r.keeper != nil {
		err = r.keeper.finish(ctx, o)
	}
	if err == nil {
		err = r.deliver(o)
	}
	if err != nil {
		return err
	}
	if res := fitted.Result; res != nil && res.Status == difalt.Canceled {
		// The others know, and have what they need: there is nothing to tell them.
		_ = m.transport.Close()
		return &interruptedError{fmt.Sprintf("interrupted after %d of %d iterations: the results are as far as they got", res.Iterations, r.Config.Options.Iterations)}
	}
	return nil
}

// introduce prints, once, what is about to be done.
func (r *nodeRun) introduce(m *member, t *dataset.Table, c *fit.Config, w *topology.Weights) error {
	if r.heading != nil {
		return nil
	}
	if r.Files.JSON { // says it in its own words
		r.heading = []byte{}
		return nil
	}
	var b bytes.Buffer
	report.WriteMissing(&b, t)
	for _, words := range report.HeldOut(&r.Table, t, c.Train) {
		terminal.Sayf(&b, "%s", words)
	}
	fmt.Fprintf(&b, "%s: %d tasks, %d features, %d rows\nnode %q of %d, graph %v\n\n",
		r.Files.Data, len(t.Tasks()), len(t.Features()), t.Rows(), m.name(), w.Len(), w)
	r.heading = b.Bytes()
	_, err := r.stdout.Write(r.heading)
	return err
}
