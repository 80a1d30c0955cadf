package federate

import (
	"context"
	"errors"
	"fmt"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/collective"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/engine"
	"github.com/difalt/difalt/fit"
	"github.com/difalt/difalt/internal/checkpoint"
)

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

// prepare reads what this node has.
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
