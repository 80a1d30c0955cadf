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

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/flagtable"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/mixed"
	"github.com/difalt/difalt/topology"
)

// fitTable fits a model to one table.
func fitTable(ctx context.Context, f *flagtable.Flags, std cli.Streams) error {
	t := &training{Flags: f, Streams: std, command: "fit"}
	defer t.files.close()
	stages := append([]string{reading}, mixed.Stages...)
	if err := t.prepare(ctx, std.Progress(), [][]string{f.Files.Data}, stages...); err != nil {
		return err
	}
	list, o := t.inputs()
	again := !f.NoRefit && slices.Contains(list[0].HeldOut, true)
	if again {
		stages = append(stages, refitting)
	}
	return trainOn(ctx, t, stages, func(progress func(string, float64)) (*mixed.Model, *mixed.Report, error) {
		o.Progress = progress
		m, r, err := mixed.Fit(ctx, list[0], o)
		if err != nil || !again {
			return m, r, err
		}
		t.judged = m
		return refit(ctx, list[0], o, m, r)
	})
}

// refitting is the stage after those of training.
const refitting = "all rows"

// refit fits a model to all rows of a table, in the form of the model that the held-out rows have judged: of
// its rank, and without curves if that has none. The report keeps the errors of the judged model, and its
// forms.
func refit(ctx context.Context, in mixed.Input, o mixed.Options, judged *mixed.Model, r *mixed.Report) (*mixed.Model, *mixed.Report, error) {
	p := judged.Parameters()
	o.Rank, o.NoCurves = &p.Prior.Rank, len(p.Design.Curves) == 0
	held := in.HeldOut
	in.HeldOut = make([]bool, len(held))
	for i := range held { // rows that cannot be learned remain held out
		in.HeldOut[i] = held[i] && o.LogTarget && !(in.Table.Y(i) > 0)
	}
	progress := o.Progress
	o.Progress = func(stage string, share float64) {
		progress(refitting, (float64(slices.Index(mixed.Stages, stage))+max(share, 0))/float64(len(mixed.Stages)))
	}
	m, all, err := mixed.Fit(ctx, in, o)
	if err != nil {
		return nil, nil, err
	}
	r.Notes, r.Outliers, r.Converged = all.Notes, all.Outliers, r.Converged && all.Converged
	return m, r, nil
}

// A training fits a model to a table, or to those of several owners. The report goes to the standard output.
type training struct {
	*flagtable.Flags
	cli.Streams
	command     string // that trains
	files       files
	sources     []report.Source
	judged      *mixed.Model // by the held-out rows; nil if that is the model itself
	written     bool         // the files
	unconverged error        // nil if the result has converged
}

// trainOn describes the tables, does the work, and writes the files and the report.
func trainOn(ctx context.Context, t *training, stages []string,
	work func(progress func(stage string, share float64)) (*mixed.Model, *mixed.Report, error)) error {
	t.heading()
	var m *mixed.Model
	var r *mixed.Report
	bar := terminal.NewProgress(t.Progress(), stages...)
	err := cli.UntilCanceled(ctx, func() (err error) { m, r, err = work(bar.Stage); return err })
	bar.Close()
	switch {
	case errors.Is(err, context.Canceled):
		return cli.Interrupted("interrupted: nothing was written")
	case err != nil:
		return t.explain(err)
	}
	result := report.Of(r)
	result.Judged = t.judged
	if err := t.finish(ctx, m, result); err != nil {
		return err
	}
	return t.unconverged
}

// explain returns an error about the rank with the name of its flag, and other ones with that of the data.
func (t *training) explain(err error) error {
	if rank, ok := errors.AsType[*mixed.RankError](err); ok {
		return cli.WrongValue("rank", rank.Rank, "it %s", rank.Range())
	}
	name, message := nameOf(text.List(t.Files.Data), "input"), err.Error()
	for _, s := range t.sources { // of several, an error about one table names it
		if rest, ok := strings.CutPrefix(message, s.Name+": "); ok && len(t.sources) > 1 {
			name, message = s.Name, rest
		}
	}
	if strings.HasPrefix(err.Error(), name+": ") {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// prepare opens the outputs before long work, reads the tables with the first of the stages as its progress,
// and chooses the training rows.
func (t *training) prepare(ctx context.Context, progress io.Writer, tables [][]string, stages ...string) error {
	f := &t.Files
	for _, patterns := range tables {
		if err := t.files.tables(patterns); err != nil {
			return err
		}
	}
	if f.Report != "" {
		if err := t.files.claimFolder("report", f.Report, report.FileNames); err != nil {
			return err
		}
	}
	if f.Model != "" {
		if err := t.files.createResult("model", f.Model, ".npz"); err != nil {
			return err
		}
	}
	t.Streams = t.files.streams(t.Streams)
	for _, patterns := range tables {
		name := nameOf(text.List(patterns), "input")
		table, err := readTable(ctx, progress, stages, patterns, t.Table)
		if err != nil {
			return err
		}
		train, err := table.Split(t.Split)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
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
	f := &t.Files
	if len(t.sources) > 1 || result.Owners != nil { // the levels of one table were compared before
		schema := m.Parameters().Schema
		result.Notes = append(slices.Clip(result.Notes), dataset.AlikeLevels(&schema)...)
	}
	r := report.New(t.sources, m, result, cli.NewHeader(t.command))
	if f.Model != "" {
		if err := cli.UntilCanceled(ctx, func() error { return m.Save(t.files.out) }); err != nil {
			return err
		}
		if !r.Converged {
			t.files.keepBetter(unfinished)
		}
		if err := t.files.out.Finish(); err != nil {
			return err
		}
	}
	if f.Report != "" {
		pages, err := r.Files()
		if err != nil {
			return err
		}
		if err := atomicfile.WriteFolder(f.Report, pages); err != nil {
			return cli.OfFlag("report", err)
		}
	}
	if err := t.files.out.Commit(); err != nil {
		return err
	}
	t.written = true
	if err := r.Write(t.Out, t.JSON); err != nil {
		return err
	}
	if !t.JSON && f.Model != "" {
		fmt.Fprintf(t.Out, "model  %s\n", nameOf(cmp.Or(t.files.redirected, f.Model), "output"))
	}
	if !t.JSON && f.Report != "" {
		fmt.Fprintf(t.Out, "report %s\n", filepath.Join(f.Report, report.PageFile))
	}
	if !r.Converged {
		elsewhere := ""
		if path := t.files.redirected; path != "" {
			elsewhere = fmt.Sprintf("; the model is in %s, since %s may have a better one", path, f.Model)
		}
		t.unconverged = cli.Unconverged("the fit has not converged: the files and the report are of its last iteration%s", elsewhere)
	}
	return nil
}

// trainTogether trains on the tables of several owners in this process. The model has the tasks of all
// tables.
func trainTogether(ctx context.Context, f *flagtable.Flags, std cli.Streams) error {
	paths, err := dataset.Matching(f.Files.Data)
	if err != nil {
		return err
	}
	if len(paths) < 2 {
		return cli.Usagef("%s: up needs a file for each of at least two owners", text.Plural(len(paths), "file"))
	}
	var tables [][]string
	for _, path := range paths {
		tables = append(tables, []string{path})
	}
	t := &training{Flags: f, Streams: std, command: "up"}
	defer t.files.close()
	stages := append([]string{reading}, mixed.Stages...)
	if err := t.prepare(ctx, std.Progress(), tables, stages...); err != nil {
		return err
	}
	if err := t.sameSettings(); err != nil {
		return err
	}
	graph, err := topology.Parse(flagtable.DefaultGraph, len(paths), 0)
	if err != nil {
		return err
	}
	weights, err := topology.NewWeights(graph, topology.Metropolis)
	if err != nil {
		return err
	}
	net, err := consensus.New(weights, nil)
	if err != nil {
		return err
	}
	return trainOn(ctx, t, stages, func(progress func(string, float64)) (*mixed.Model, *mixed.Report, error) {
		return t.together(ctx, net, progress)
	})
}

// together trains with the other nodes of a network.
func (t *training) together(ctx context.Context, net *consensus.Network, progress func(string, float64)) (*mixed.Model, *mixed.Report, error) {
	list, o := t.inputs()
	o.Progress = progress
	if t.Private.Epsilon > 0 {
		return mixed.Privately(ctx, list, net, o, t.Private)
	}
	return mixed.Together(ctx, list, net, o)
}

// sameSettings returns an error if nodes would refuse each other, or if two tables have a task of one name.
func (t *training) sameSettings() error {
	first, seen := t.sources[0], map[string]string{}
	for _, s := range t.sources {
		if text := consensus.Difference(t.settings(&s), "in "+s.Name, t.settings(&first), "in "+first.Name); text != "" {
			return fmt.Errorf("--data: %s", text)
		}
		for _, task := range s.Table.Tasks() {
			if other, twice := seen[task]; twice {
				return fmt.Errorf("--data: task %q is in %s and in %s: in one model its name must be unique", task, other, s.Name)
			}
			seen[task] = s.Name
		}
	}
	return nil
}

// settings lists everything that all owners must have alike.
func (t *training) settings(s *report.Source) []consensus.Setting {
	_, o := t.inputs()
	if t.Private.Epsilon > 0 {
		return mixed.Settings(s.Table, &o, &t.Private)
	}
	return mixed.Settings(s.Table, &o, nil)
}

// inputs returns the tables and the choices of a training, after prepare.
func (t *training) inputs() (list []mixed.Input, o mixed.Options) {
	o = t.Model
	o.TaskColumn, o.TargetColumn = t.Table.Task, t.Table.Target
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
