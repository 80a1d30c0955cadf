package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/place"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/mixed"
)

// A training fits a model to a table, or to the tables of several owners. The report goes to the standard
// output.
type training struct {
	trainingOptions
	*cli.Streams
	privacy     mixed.Privacy // Epsilon 0 stands for no privacy
	report      string        // folder of the web page; empty for no page
	command     string        // that trains
	used        files
	sources     []report.Source
	notes       []string // of this process, for the report
	trained     bool     // the last total has come: other owners may be writing
	unconverged error    // nil if the result has converged
}

// train describes the tables, does the work, and writes the files and the report.
func (t *training) train(ctx context.Context, stages []string,
	work func(progress func(mixed.Progress)) (*mixed.Model, *mixed.Report, error)) error {
	t.heading()
	var m *mixed.Model
	var result *report.Result
	bar := terminal.NewProgress(t.Progress(), stages...)
	err := cli.UntilCanceled(ctx, func() error {
		model, r, err := work(showOn(bar))
		if err != nil {
			return err
		}
		m = model
		bar.Detail(mixed.OwnFits, "")
		result, err = report.Of(ctx, r)
		return err
	})
	bar.Close()
	switch {
	case errors.Is(err, context.Canceled):
		return cli.Interrupted("interrupted: nothing was written")
	case err != nil:
		return t.explain(err)
	}
	if err := t.finish(ctx, m, result); err != nil {
		return err
	}
	return t.unconverged
}

// showOn shows the progress of a training on a bar: the steps of the stage and the sums. A stage
// may end before its last step.
func showOn(bar *terminal.Progress) func(mixed.Progress) {
	return func(p mixed.Progress) {
		detail := text.Plural(p.Sums, "sum")
		if p.Most > 0 {
			detail = fmt.Sprintf("%d of at most %d, %s", p.Done, p.Most, detail)
		}
		bar.Detail(p.Stage, detail)
	}
}

// explain adds the name of its flag to an error about the rank, and the name of the data to any other error.
func (t *training) explain(err error) error {
	if rank, ok := errors.AsType[*mixed.RankError](err); ok {
		return cli.WrongValue("rank", rank.Rank, "it %s", rank.Range())
	}
	names := dataset.NamesOf(t.files)
	for _, s := range t.sources { // of several, an error about one table names it
		if strings.HasPrefix(err.Error(), s.Name+": ") && len(t.sources) > 1 {
			return place.In(s.Name, ofTable(nil, err))
		}
	}
	if strings.HasPrefix(err.Error(), t.name()+": ") {
		return ofTable(nil, err)
	}
	return ofTable(names, err)
}

// open finds the files of the tables, and opens the outputs: before long work.
func (t *training) open() error {
	if err := t.used.tables(t.files); err != nil {
		return err
	}
	if t.report != "" {
		if err := t.used.claimFolder("report", t.report, report.FileNames); err != nil {
			return err
		}
	}
	if t.out != "" {
		if err := t.used.createResult("model", t.out, ".npz"); err != nil {
			return err
		}
	}
	t.Streams = t.used.streams(t.Streams)
	return t.used.exist()
}

// read reads the tables with the first of the stages as its progress, and chooses the training rows.
func (t *training) read(ctx context.Context, progress io.Writer, tables [][]string, stages ...string) error {
	for _, patterns := range tables {
		name := nameOf(text.List(patterns), "input")
		table, err := readTable(ctx, progress, stages, patterns, t.table)
		if err != nil {
			return err
		}
		train, err := table.Split(t.split)
		if err != nil {
			return place.NamedAll(dataset.NamesOf(patterns), err)
		}
		t.sources = append(t.sources, report.Source{Name: name, Table: table, Train: train})
	}
	return nil
}

// heading describes the tables: their sizes, and how their columns were read.
func (t *training) heading() {
	for i := range t.sources {
		if t.JSON {
			return
		}
		for _, sentence := range report.Heading(&t.sources[i]) {
			terminal.Sayf(t.Out, "%s", sentence)
		}
		fmt.Fprintln(t.Out)
	}
}

// finish writes all files, or none, and the report. It sets unconverged, which other nodes need not know.
func (t *training) finish(ctx context.Context, m *mixed.Model, result *report.Result) error {
	if len(t.sources) > 1 || result.Owners != nil { // the levels of one table were compared before
		schema := m.Parameters().Schema
		result.Notes = append(slices.Clip(result.Notes), dataset.AlikeLevels(&schema)...)
	}
	result.Notes = append(slices.Clip(result.Notes), t.notes...)
	r := report.New(t.sources, m, result, cli.NewHeader(t.command))
	if t.out != "" {
		if err := cli.UntilCanceled(ctx, func() error { return m.Save(t.used.out) }); err != nil {
			return err
		}
		if !r.Converged {
			t.used.keepBetter(unfinished)
		}
		if err := t.used.out.Finish(); err != nil {
			return err
		}
	}
	if t.report != "" {
		if err := atomicfile.WriteFolder(t.report, r.Files()); err != nil {
			return cli.OfFlag("report", err)
		}
	}
	if err := t.used.out.Commit(); err != nil {
		return err
	}
	if err := t.Report(r, r.Text); err != nil {
		return err
	}
	if !t.JSON && t.out != "" {
		fmt.Fprintf(t.Out, "model  %s\n", nameOf(cmp.Or(t.used.redirected, t.out), "output"))
	}
	if !t.JSON && t.report != "" {
		fmt.Fprintf(t.Out, "report %s\n", filepath.Join(t.report, report.PageFile))
	}
	if !r.Converged {
		elsewhere := ""
		if path := t.used.redirected; path != "" {
			elsewhere = fmt.Sprintf("; the model is in %s, since %s may have a better one", path, t.out)
		}
		t.unconverged = cli.Unconverged("the fit has not converged: the files and the report are of its last "+
			"iteration%s", elsewhere)
	}
	return nil
}

// together trains with the other nodes of a network.
func (t *training) together(ctx context.Context, net *consensus.Network,
	progress func(mixed.Progress)) (*mixed.Model, *mixed.Report, error) {
	list, o := t.inputs()
	o.Progress = progress
	if p := t.budget(); p != nil {
		return mixed.Privately(ctx, list, net, o, *p)
	}
	return mixed.Together(ctx, list, net, o)
}

// settings lists everything that all owners must have alike.
func (t *training) settings(s *report.Source) []consensus.Setting {
	_, o := t.inputs()
	return mixed.Settings(s.Table, &o, t.budget())
}

// budget returns the budget of a private training, nil for another one.
func (t *training) budget() *mixed.Privacy {
	if t.privacy.Epsilon > 0 {
		return &t.privacy
	}
	return nil
}

// otherRows returns a sentence about a model that this training would replace, of a training with other
// owners and other rows of this one; it is empty where there is none. Another kind of file has no such rows.
func (t *training) otherRows() string {
	if t.out == "" || t.budget() != nil {
		return ""
	}
	before, err := mixed.OwnRowsOf(t.out)
	if err != nil || before == nil {
		return ""
	}
	list, o := t.inputs()
	unlike := mixed.NewOwnRows(list, o).Unlike(before)
	if unlike == "" {
		return ""
	}
	const format = "The model in %s, which this training replaces, is of a training with %s. Members of both " +
		"trainings can subtract their totals, and read rows that were added, left out or changed, unless these " +
		"are many."
	return fmt.Sprintf(format, t.out, unlike)
}

// inputs returns the tables and the choices of a training, after prepare.
func (t *training) inputs() (list []mixed.Input, o mixed.Options) {
	o = t.model
	o.TaskColumn, o.TargetColumn = t.table.Task, t.table.Target
	for _, s := range t.sources {
		held := make([]bool, len(s.Train))
		for i, train := range s.Train {
			held[i] = !train
		}
		in := mixed.Input{Table: s.Table, HeldOut: held}
		if len(t.sources) > 1 {
			in.Name = s.Name
		}
		list = append(list, in)
	}
	return list, o
}
