package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/flagtable"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/tablefile"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/mixed"
	"github.com/spf13/cobra"
)

// An applied is a command that applies a model to a table.
type applied struct {
	*flagtable.Flags
	cli.Streams
	files files
	model *mixed.Model
	table *dataset.Table
}

// open opens the output and reads the model and the table with its features, and with targets if the command
// has --target. The columns of tasks and targets are those of the training unless they are given.
func (a *applied) open(ctx context.Context, extensions ...string) (err error) {
	f := &a.Files
	if err := errors.Join(a.files.reads("model", f.Model), a.files.tables(f.Data)); err != nil {
		return err
	}
	if err := a.files.create("out", f.Out, extensions...); err != nil {
		return err
	}
	a.Streams = a.files.streams(a.Streams)
	if a.model, err = loadModel(f.Model); err != nil {
		return err
	}
	p := a.model.Parameters()
	a.Table.Schema, a.Table.Task = &p.Schema, cmp.Or(a.Table.Task, p.Tasks.Column)
	if a.Set.Lookup("target") != nil {
		a.Table.Target = cmp.Or(a.Table.Target, p.Target.Column)
	}
	a.table, err = readTable(ctx, a.Progress(), nil, f.Data, a.Table)
	return err
}

// write writes the output.
func (a *applied) write(ctx context.Context, work func() error) error {
	if err := cli.UntilCanceled(ctx, work); err != nil {
		return err
	}
	return a.files.out.Commit()
}

// adapt writes a model with more tasks.
func adapt(ctx context.Context, f *flagtable.Flags, std cli.Streams) error {
	a := &applied{Flags: f, Streams: std}
	defer a.files.close()
	if err := a.open(ctx, ".npz"); err != nil {
		return err
	}
	adapted, err := a.model.Adapt(ctx, a.table)
	if err != nil {
		return fmt.Errorf("%s: %w", nameOf(text.List(f.Files.Data), "input"), err)
	}
	if err := a.write(ctx, func() error { return adapted.Save(a.files.out) }); err != nil {
		return err
	}
	if again := a.model.Repeats(a.table); again != nil {
		terminal.Sayf(a.Err, "The rows of %s are those that the model has learned already, and count twice now: %s.", text.Plural(len(again), "task"),
			text.Names(again))
	}
	added := len(adapted.Tasks()) - len(a.model.Tasks())
	r := &adaptReport{
		Header: cli.NewHeader("adapt"), File: nameOf(f.Files.Out, "output"), Rows: a.table.Rows(), Dropped: a.table.Dropped(),
		Added: added, Updated: len(a.table.Tasks()) - added, Tasks: len(adapted.Tasks()), Filled: map[string]int{},
		Alike: []string{}, read: a.table,
	}
	for _, c := range a.table.Missing() {
		r.Filled[c.Column] = c.Rows
	}
	known, spelling := map[string]bool{}, dataset.NewSpelling(a.model.Tasks())
	for _, task := range a.model.Tasks() {
		known[task] = true
	}
	for _, task := range a.table.Tasks() {
		if !known[task] {
			r.Alike = addAlike(r.Alike, spelling, task)
		}
	}
	return a.Report(r, r.text)
}

// An adaptReport counts the rows that were learned, and the tasks.
type adaptReport struct {
	cli.Header
	File    string         `json:"file"`
	Rows    int            `json:"rows"`
	Dropped int            `json:"dropped_rows"`      // for missing values
	Added   int            `json:"added"`             // tasks
	Updated int            `json:"updated"`           // tasks
	Tasks   int            `json:"tasks"`             // of the model now
	Filled  map[string]int `json:"filled"`            // rows with a mean in place of a missing value, by column
	Alike   []string       `json:"spelled_otherwise"` // added tasks that the model has in another spelling: "1.0" is "1"
	read    *dataset.Table
}

func (r *adaptReport) text(w io.Writer) {
	for _, sentence := range report.Missing(r.read) {
		terminal.Sayf(w, "%s", sentence)
	}
	fmt.Fprintf(w, "%s: %s added and %d updated from %s; the model has %s now\n", r.File, text.Plural(r.Added, "task"), r.Updated,
		text.Plural(r.Rows, "row"), text.Plural(r.Tasks, "task"))
	sayAlike(w, r.Alike)
}

func newModelCommand() *cobra.Command {
	var path string
	show := newTableCommand(flagtable.Show, "show FILE", "Print the content of a model file, or write its effects",
		func(ctx context.Context, f *flagtable.Flags, std cli.Streams) error { return show(ctx, path, f, std) })
	show.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return cli.Usagef("%s takes one model file, but got %d arguments", cmd.CommandPath(), len(args))
		}
		path = args[0]
		return nil
	}
	cmd := cli.Command("model", "Look into a model file", nil, nil)
	cmd.AddCommand(show)
	return cmd
}

// show prints a model, or writes its effects to a file.
func show(ctx context.Context, path string, f *flagtable.Flags, std cli.Streams) error {
	var used files
	defer used.close()
	if to := f.Files.Out; to != "" {
		if err := errors.Join(used.reads("model", path), used.create("out", to, tablefile.Extensions...)); err != nil {
			return err
		}
	}
	m, err := loadModel(path)
	if err != nil {
		return err
	}
	if used.out == nil {
		return report.WriteModel(std.Out, m, nameOf(path, "input"), cli.NewHeader("model show"), std.JSON)
	}
	if err := cli.UntilCanceled(ctx, func() error { return report.EffectsFile(used.out, f.Files.Out, m) }); err != nil {
		return err
	}
	to := nameOf(f.Files.Out, "output")
	if err := used.out.Commit(); err != nil {
		return err
	}
	r := &showReport{cli.NewHeader("model show"), to, len(m.Effects())}
	return used.streams(std).Report(r, func(w io.Writer) { fmt.Fprintf(w, "effects %s\n", to) })
}

// A showReport is the report of model show with --out.
type showReport struct {
	cli.Header
	File    string `json:"file"`
	Effects int    `json:"effects"`
}
