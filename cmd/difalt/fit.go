package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

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
	f := &fitRun{Flags: options.New(options.Fit)}
	return newCommand("fit --data FILE --task COLUMN --target COLUMN",
		"Fit a mixed model to one table of many small tasks", f.Set, func(cmd *cobra.Command, _ []string) error {
			if err := f.Resolve(); err != nil {
				return err
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		})
}

// A fitRun is a fit with the options of the command.
type fitRun struct{ *options.Flags }

// run fits: the report goes to stdout, progress to stderr.
func (f *fitRun) run(ctx context.Context, stdout, stderr io.Writer) error {
	out, err := openOutputs(&f.Files)
	if err != nil {
		return err
	}
	defer out.model.Close()
	stdout = out.textOutput(stdout, stderr)
	stages := append([]string{reading}, fit.Stages...)
	t, err := readTable(ctx, stderr, stages, f.Files.Data, f.Table)
	if err != nil {
		return err
	}
	train, err := t.Split(f.Split)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Files.Data, err)
	}
	if !f.Files.JSON {
		writeHeading(stdout, f.Files.Data, t, train)
	}
	bar := terminal.NewProgress(stderr, stages...)
	m, fitted, err := f.train(ctx, t, train, bar)
	bar.Close()
	if err != nil {
		return err
	}
	r := report.New(&report.Inputs{Data: f.Files.Data, Version: version(), Table: t, Train: train, Model: m, Result: report.OfFit(fitted)})
	if err := out.write(&f.Files, m, r); err != nil {
		return err
	}
	if err := r.Write(stdout, f.Files.JSON); err != nil {
		return err
	}
	if !f.Files.JSON {
		writeFiles(stdout, &f.Files)
	}
	return notConverged(r)
}

// notConverged returns the error of a result that has not converged, which has been written.
func notConverged(r *report.Report) error {
	if r.Converged {
		return nil
	}
	return unconvergedError("the fit has not converged: the files and the report are of its last iteration")
}

// train fits the model, and returns soon after an interrupt.
func (f *fitRun) train(ctx context.Context, t *dataset.Table, train []bool, bar *terminal.Progress) (*model.Model, *fit.Report, error) {
	c := fit.Config{
		Train: train, Rank: f.Model.Rank, NoCurves: f.Model.NoCurves, LogTarget: f.Model.LogTarget, CommonNoise: f.Model.CommonNoise,
		Workers: f.Workers, Progress: bar.Stage, TaskColumn: f.Table.Task, TargetColumn: f.Table.Target,
	}
	type fitted struct {
		model  *model.Model
		report *fit.Report
	}
	done, err := untilCanceled(ctx, func() (out fitted, err error) {
		out.model, out.report, err = fit.Fit(ctx, t, c)
		return out, err
	})
	switch {
	case errors.Is(err, context.Canceled):
		return nil, nil, interrupted("interrupted: nothing was written")
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", f.Files.Data, err)
	}
	return done.model, done.report, nil
}

// writeHeading describes the table of a training: its size, and how its columns were read.
func writeHeading(w io.Writer, data string, t *dataset.Table, train []bool) {
	count := 0
	for _, on := range train {
		if on {
			count++
		}
	}
	terminal.Sayf(w, "%s: %s, %s, %s for training, %d held out.", nameOf(data, "input"),
		text.Plural(len(t.Tasks()), "task"), text.Plural(len(t.Features()), "feature"), text.Plural(count, "row"), t.Rows()-count)
	for _, sentence := range report.Columns(t) {
		terminal.Sayf(w, "%s", sentence)
	}
	fmt.Fprintln(w)
}

// outputs are the files that a training writes; the model is nil where none is asked for.
type outputs struct {
	files
	model *atomicfile.File
}

// openOutputs opens the files before the work begins.
func openOutputs(f *options.Files) (out *outputs, err error) {
	out = &outputs{}
	if err := out.reads("data", f.Data); err != nil {
		return nil, err
	}
	if f.Report != "" {
		if err := out.claimFolder("report", f.Report, report.FileNames); err != nil {
			return nil, err
		}
	}
	if f.Model != "" {
		out.model, err = out.create("model", f.Model, ".npz")
	}
	return out, err
}

// write writes all files, or none.
func (o *outputs) write(f *options.Files, m *model.Model, r *report.Report) error {
	if o.model != nil {
		if err := m.Write(o.model); err != nil {
			return err
		}
		if err := o.model.Finish(); err != nil {
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
	return o.model.Commit()
}

// writeFiles lists the files of a training.
func writeFiles(w io.Writer, f *options.Files) {
	var list []string
	if f.Model != "" {
		list = append(list, "model  "+f.Model)
	}
	if f.Report != "" {
		list = append(list, "report "+filepath.Join(f.Report, report.PageFile))
	}
	if list != nil {
		fmt.Fprintf(w, "\n%s\n", strings.Join(list, "\n"))
	}
}
