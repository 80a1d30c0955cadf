package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/spf13/cobra"
)

func newFitCommand() *cobra.Command {
	return newTableCommand(options.Fit, "fit --data FILE --task COLUMN --target COLUMN",
		"Fit a mixed model to one table of many small tasks", fitTable)
}

// fitTable fits a model to one table.
func fitTable(ctx context.Context, f *options.Flags, std streams) error {
	t := &training{Flags: f, streams: std}
	defer t.files.close()
	stages := append([]string{reading}, fit.Stages...)
	if err := t.prepare(ctx, std.err, stages...); err != nil {
		return err
	}
	t.heading()
	bar := terminal.NewProgress(std.err, stages...)
	defer bar.Close()
	c := f.Model
	c.Train, c.Progress, c.TaskColumn, c.TargetColumn = t.train, bar.Stage, f.Table.Task, f.Table.Target
	var m *model.Model
	var r *fit.Report
	err := untilCanceled(ctx, func() (err error) {
		m, r, err = fit.Fit(ctx, t.table, c)
		return err
	})
	bar.Close()
	switch {
	case errors.Is(err, context.Canceled):
		return interrupted("interrupted: nothing was written")
	case err != nil:
		return fmt.Errorf("%s: %w", f.Files.Data, err)
	}
	if err := t.finish(ctx, m, report.OfFit(r)); err != nil {
		return err
	}
	return notConverged(r.Converged)
}

// notConverged returns the error of a result, which has been written, unless it has converged.
func notConverged(converged bool) error {
	if converged {
		return nil
	}
	return unconverged("the fit has not converged: the files and the report are of its last iteration")
}

// A training fits a model to a table, alone or with other owners. The report goes to the standard output.
type training struct {
	*options.Flags
	streams
	files  files
	bar    *terminal.Progress // of a training with others in this process; nil where the log shows the progress
	table  *dataset.Table
	train  []bool
	report *report.Report // nil until the files are written
}

// prepare opens the outputs before long work, reads the table with the first of the stages as its progress,
// and chooses the training rows, once.
func (t *training) prepare(ctx context.Context, progress io.Writer, stages ...string) (err error) {
	if t.table != nil {
		return nil
	}
	f := &t.Files
	if err := t.files.reads("data", f.Data); err != nil {
		return err
	}
	if f.Report != "" {
		if err := t.files.claimFolder("report", f.Report, report.FileNames); err != nil {
			return err
		}
	}
	if f.Model != "" {
		if err := t.files.create("model", f.Model, ".npz"); err != nil {
			return err
		}
	}
	t.streams = t.files.streams(t.streams)
	if t.table, err = readTable(ctx, progress, stages, f.Data, t.Table); err != nil {
		return err
	}
	if t.train, err = t.table.Split(t.Split); err != nil {
		return fmt.Errorf("%s: %w", f.Data, err)
	}
	return nil
}

// heading describes the table: its size, and how its columns were read.
func (t *training) heading() {
	if t.Files.JSON {
		return
	}
	count := 0
	for _, on := range t.train {
		if on {
			count++
		}
	}
	terminal.Sayf(t.out, "%s: %s, %s, %s for training, %d held out.", nameOf(t.Files.Data, "input"),
		text.Plural(len(t.table.Tasks()), "task"), text.Plural(len(t.table.Features()), "feature"), text.Plural(count, "row"),
		t.table.Rows()-count)
	for _, sentence := range report.Columns(t.table) {
		terminal.Sayf(t.out, "%s", sentence)
	}
	fmt.Fprintln(t.out)
}

// finish writes all files, or none, and the report.
func (t *training) finish(ctx context.Context, m *model.Model, result *report.Result) error {
	f := &t.Files
	r := report.New(&report.Inputs{Data: f.Data, Version: version(), Table: t.table, Train: t.train, Model: m, Result: result})
	if f.Model != "" {
		if err := untilCanceled(ctx, func() error { return m.Write(t.files.out) }); err != nil {
			return err
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
		if err := atomicfile.WriteFolder(f.Report, pages, nil); err != nil {
			return fmt.Errorf("--report: %w", err)
		}
	}
	if err := t.files.out.Commit(); err != nil {
		return err
	}
	t.report = r
	if err := r.Write(t.out, f.JSON); err != nil || f.JSON {
		return err
	}
	before := "\n"
	if f.Model != "" {
		fmt.Fprintf(t.out, "%smodel  %s\n", before, f.Model)
		before = ""
	}
	if f.Report != "" {
		fmt.Fprintf(t.out, "%sreport %s\n", before, filepath.Join(f.Report, report.PageFile))
	}
	return nil
}
