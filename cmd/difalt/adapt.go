package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/mixed"
	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/floats"
)

const (
	adaptHelp = `Add new tasks to a model without changing it otherwise. Their coefficients
follow from their rows and the model's distribution of tasks, so that they need
far fewer samples than models of their own.

The table needs the columns of tasks and targets (--task and --target, as in
training) and the features of the training, by name; other columns are ignored.
All rows are used; those of tasks that the model has update them, and must be
new ones: rows of whole tasks that the model has learned are named, as they
count twice. With --missing mean, missing features are replaced by the means of
the training rows. The output is a model with the old and the new tasks.

--sample-weights are relative, as in training: a row of the mean weight counts
as one row, and a row of weight 0 as absent, also for the mean.`
	adaptExamples = `  # clinics that were not there at training time, with a few patients each
  difalt adapt --model clinics-model.npz --out clinics-model-2.npz \
      examples/new-clinics.csv
  difalt predict --model clinics-model-2.npz --out predictions.csv \
      examples/new-clinics.csv`
)

// adaptOptions are the options of adapt.
type adaptOptions struct {
	tableOptions
	model, out string
}

// newAdapt returns the command adapt.
func newAdapt(std *cli.Streams) *cobra.Command {
	var o adaptOptions
	cmd := &cobra.Command{
		Use:     "adapt --model FILE --out FILE FILE...",
		Short:   "Add new tasks to a model from few samples",
		Long:    adaptHelp,
		Example: adaptExamples,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := o.take(files); err != nil {
				return err
			}
			return runAdapt(cmd.Context(), std, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.model, "model", "", "read the model from `FILE`.npz")
	o.addData(flags, dataUsage)
	flags.StringVar(&o.out, "out", "", "write the model with the new tasks to `FILE`.npz")
	flags.StringVar(&o.table.Task, "task", "", taskUsage)
	flags.StringVar(&o.table.Target, "target", "", "`COLUMN` with the target (default: as in training)")
	o.addWeights(flags)
	o.addFlags(flags)
	o.addMissing(flags, missingUsage, "refuse", "drop", "mean")
	cli.Require(cmd, "model", "out")
	return cmd
}

// runAdapt writes a model with more tasks. Without --task and --target it reads the columns that the training
// read.
func runAdapt(ctx context.Context, std *cli.Streams, o adaptOptions) error {
	var used files
	defer used.close()
	if err := errors.Join(used.reads("model", o.model), used.tables(o.files)); err != nil {
		return err
	}
	if err := used.create("out", o.out, ".npz"); err != nil {
		return err
	}
	std = used.streams(std)
	before, err := loadModel("model", o.model)
	if err != nil {
		return err
	}
	p := before.Parameters()
	o.table.Schema = &p.Schema
	o.table.Task = cmp.Or(o.table.Task, p.Tasks.Column)
	o.table.Target = cmp.Or(o.table.Target, p.Target.Column)
	table, err := readTable(ctx, std.Progress(), nil, o.files, o.table)
	if err != nil {
		return err
	}
	adapted, err := before.Adapt(ctx, &reweighted{table, relative(table.Weights())})
	switch {
	case errors.Is(err, context.Canceled):
		return cli.Interrupted("interrupted: nothing was written")
	case err != nil:
		return ofTable(dataset.NamesOf(o.files), err)
	}
	if err := cli.UntilCanceled(ctx, func() error { return adapted.Save(used.out) }); err != nil {
		return err
	}
	if err := used.commit(); err != nil {
		return err
	}
	r := newAdaptReport(before, adapted, table)
	if r.Repeated != nil {
		terminal.Sayf(std.Err, "The rows of %s are those that the model has learned already, and count twice now: %s.",
			text.Plural(len(r.Repeated), "task"), text.Names(r.Repeated))
	}
	r.File = nameOf(o.out, "output")
	return std.Report(r, r.text)
}

// A reweighted table has other weights than its column of weights.
type reweighted struct {
	*dataset.Table
	weights []float64
}

// Weights returns the weight of every row, or nil.
func (w *reweighted) Weights() []float64 { return w.weights }

// relative returns weights divided by their mean, which makes their unit irrelevant; nil for nil.
func relative(weights []float64) []float64 {
	if weights == nil {
		return nil
	}
	out := make([]float64, len(weights))
	floats.ScaleTo(out, float64(len(weights))/floats.Sum(weights), weights)
	return out
}

// An adaptReport counts the rows that were learned, and the tasks.
type adaptReport struct {
	cli.Header
	File    string         `json:"file"`
	Rows    int            `json:"rows"`
	Dropped int            `json:"dropped_rows"`      // rows left out, as they lack values
	Added   int            `json:"added"`             // tasks that are new
	Updated int            `json:"updated"`           // tasks that the model had
	Tasks   int            `json:"tasks"`             // tasks of the new model
	Filled  map[string]int `json:"filled"`            // rows with means for missing values, by column
	Alike   []string       `json:"spelled_otherwise"` // added tasks that the model spells otherwise
	// Tasks whose rows the model had learned before: they count twice.
	Repeated []string `json:"repeated"`
	Notes    []string `json:"notes"`   // on how the table was read
	Remarks  []string `json:"remarks"` // about what looks wrong
	read     *dataset.Table
}

// newAdaptReport compares a model before and after it has learned from a table.
func newAdaptReport(before, after *mixed.Model, table *dataset.Table) *adaptReport {
	added := len(after.Tasks()) - len(before.Tasks())
	r := &adaptReport{
		Header:   cli.NewHeader("adapt"),
		Rows:     table.Rows(),
		Dropped:  table.Dropped(),
		Added:    added,
		Updated:  len(table.Tasks()) - added,
		Tasks:    len(after.Tasks()),
		Filled:   map[string]int{},
		Repeated: before.Repeats(table),
		Notes:    table.Notes(),
		Remarks:  table.Remarks(),
		read:     table,
	}
	for _, c := range table.Missing() {
		r.Filled[c.Column] = c.Rows
	}
	far, x := newFarCounter(before), make([]float64, len(table.Features()))
	for row := range table.Rows() {
		place := func() string { return table.Place(row) }
		far.add(table.X(x, row), place)
		far.target.add(table.Y(row), place)
	}
	r.Remarks = append(r.Remarks, far.sentences()...)
	known, spelling := map[string]bool{}, dataset.NewSpelling(before.Tasks())
	for _, task := range before.Tasks() {
		known[task] = true
	}
	for _, task := range after.Tasks() {
		if !known[task] {
			r.Alike = addAlike(r.Alike, spelling, task)
		}
	}
	return r
}

// text writes the report in words.
func (r *adaptReport) text(w io.Writer) {
	for _, sentence := range slices.Concat(r.Notes, report.Missing(r.read), r.Remarks) {
		terminal.Sayf(w, "%s", sentence)
	}
	terminal.Sayf(w, "%s: %s added and %d updated from %s; the model has %s now.", r.File, text.Plural(r.Added, "task"),
		r.Updated, text.Plural(r.Rows, "row"), text.Plural(r.Tasks, "task"))
	sayAlike(w, r.Alike)
}
