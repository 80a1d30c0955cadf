package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/fit"
	"github.com/difalt/difalt/internal/checkpoint"
	"github.com/difalt/difalt/internal/report"
	"github.com/difalt/difalt/model"
)

// outcome returns what a training has come to.
func (r *nodeRun) outcome(t *dataset.Table, c *fit.Config, m *model.Model, fitted *fit.Report, trace *report.Trace) (*checkpoint.Outcome, error) {
	o := &checkpoint.Outcome{Heading: r.heading}
	var b bytes.Buffer
	about := report.New(&report.Inputs{Data: r.Files.Data, Version: version(), Columns: &r.Table, Table: t, Config: c, Model: m, Fit: fitted})
	if err := about.Write(&b, r.Files.JSON); err != nil {
		return nil, err
	}
	o.Report = b.Bytes()
	if r.out.trace != nil {
		o.Trace = trace.CSV(m.Parameters().Method)
	}
	var err error
	o.Model, err = m.MarshalBinary()
	return o, err
}

// deliver writes the files of an outcome, and prints its report.
func (r *nodeRun) deliver(o *checkpoint.Outcome) error {
	if r.out.trace != nil && o.Trace == nil {
		return fmt.Errorf("--trace: the training is complete, and has kept no trace")
	}
	if err := r.out.write(o.Trace, o.Model); err != nil {
		return err
	}
	if err := r.out.commit(); err != nil {
		return err
	}
	if r.heading == nil {
		r.heading = o.Heading
		if _, err := r.stdout.Write(o.Heading); err != nil {
			return err
		}
	}
	_, err := r.stdout.Write(o.Report)
	if !r.Files.JSON {
		printFiles(r.stdout, &r.Files)
	}
	return err
}

// finish keeps an outcome, and returns when all nodes have: nobody can then be in need of
// this one, and whoever is started again has all that it was about to write.
func (k *keeper) finish(ctx context.Context, o *checkpoint.Outcome) error {
	if k.once {
		return nil
	}
	if err := k.folder.Finish(o); err != nil {
		return fmt.Errorf("--checkpoint: %w", err)
	}
	if err := k.net.Max(context.WithoutCancel(ctx), [][]float64{{1}}); err != nil {
		return err
	}
	k.net.Commit()
	o.Everybody = true
	if err := k.folder.Finish(o); err != nil { // nobody else is told any more, and the results are there
		k.log.Warn("cannot note that all nodes have kept their results: started again, this one would wait for them", "why", err.Error())
	}
	return nil
}

// complete reports whether nobody is in need of this node any more.
func (k *keeper) complete() bool { return k != nil && k.outcome != nil && k.outcome.Everybody }

// unsure returns the outcome of a node that does not know whether others have theirs.
func (k *keeper) unsure() *checkpoint.Outcome {
	if k == nil || k.complete() {
		return nil
	}
	return k.outcome
}

// nobodyCame reports whether joining has failed because a neighbour is not there.
func nobodyCame(err error) bool {
	var peer *wire.PeerError
	return errors.As(err, &peer) && peer.Kind != wire.Refused
}
