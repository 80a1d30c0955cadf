package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/fit"
	"github.com/difalt/difalt/internal/checkpoint"
	"github.com/difalt/difalt/internal/options"
	"github.com/difalt/difalt/internal/report"
	"github.com/difalt/difalt/internal/terminal"
	"github.com/difalt/difalt/model"
	"github.com/difalt/difalt/topology"
)

// A nodeTraining is what a node trains on, and what becomes of the result: a federate.Training.
type nodeTraining struct {
	*options.Flags
	node   string
	out    *outputs
	stdout io.Writer
	trace  *report.Trace // of this attempt
	done   bool          // all that the others need has been sent
}

func (r *nodeTraining) Read() (*dataset.Table, *fit.Config, error) {
	t, err := readFiles(r.Files.Data, r.Table)
	if err != nil {
		return nil, nil, err
	}
	if err := t.AssignNode(r.node); err != nil {
		return nil, nil, err
	}
	c, err := r.ConfigOf(t)
	if err != nil {
		return nil, nil, err
	}
	r.trace = &report.Trace{}
	if r.out.trace != nil {
		c.Options.Observer = r.trace.Observe
	}
	return t, c, nil
}

func (r *nodeTraining) Introduce(t *dataset.Table, c *fit.Config, w *topology.Weights) (heading []byte, err error) {
	if r.Files.JSON { // says it in its own words
		return []byte{}, nil
	}
	var b bytes.Buffer
	report.WriteMissing(&b, t)
	for _, words := range report.HeldOut(&r.Table, t, c.Train) {
		terminal.Sayf(&b, "%s", words)
	}
	fmt.Fprintf(&b, "%s: %d tasks, %d features, %d rows\nnode %q of %d, graph %v\n%s\n\n",
		r.Files.Data, len(t.Tasks()), len(t.Features()), t.Rows(), r.node, w.Len(), w, how(c))
	_, err = r.stdout.Write(b.Bytes())
	return b.Bytes(), err
}

func (r *nodeTraining) Outcome(t *dataset.Table, c *fit.Config, m *model.Model, fitted *fit.Report) (*checkpoint.Outcome, error) {
	r.done = true
	o := &checkpoint.Outcome{}
	if r.stdout != io.Discard {
		var b bytes.Buffer
		about := report.New(&report.Inputs{Data: r.Files.Data, Version: version(), Columns: &r.Table, Table: t, Config: c, Model: m, Fit: fitted, Owners: true})
		if err := about.Write(&b, r.Files.JSON); err != nil {
			return nil, err
		}
		o.Report = b.Bytes()
	}
	if r.out.trace != nil {
		o.Trace = r.trace.CSV(m.Parameters().Method)
	}
	var err error
	o.Model, err = m.MarshalBinary()
	return o, err
}

func (r *nodeTraining) Deliver(o *checkpoint.Outcome, heading []byte) error {
	if r.out.trace != nil && o.Trace == nil {
		return fmt.Errorf("--trace: the training is complete, and has kept no trace")
	}
	if err := r.out.write(o.Trace, o.Model); err != nil {
		return err
	}
	if err := r.out.commit(); err != nil {
		return err
	}
	for _, text := range [][]byte{heading, o.Report} {
		if _, err := r.stdout.Write(text); err != nil {
			return err
		}
	}
	if !r.Files.JSON {
		printFiles(r.stdout, &r.Files)
	}
	return nil
}
