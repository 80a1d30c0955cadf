package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

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

func newPredict() *cobra.Command {
	return newTableCommand(flagtable.Predict, "predict --model FILE FILE...", "Predict the target of rows of a table", runPredict)
}

// runPredict writes a row for every row of the tables, which it reads one at a time.
func runPredict(ctx context.Context, f *flagtable.Flags, std cli.Streams) error {
	var used files
	defer used.close()
	out := cmp.Or(f.Files.Out, stdio)
	if err := errors.Join(used.reads("model", f.Files.Model), used.tables(f.Files.Data)); err != nil {
		return err
	}
	if err := used.create("out", out, tablefile.Extensions...); err != nil {
		return err
	}
	std = used.streams(std)
	m, err := loadModel(f.Files.Model)
	if err != nil {
		return err
	}
	p := m.Parameters()
	o := f.Table
	o.Schema, o.Task = &p.Schema, cmp.Or(o.Task, p.Tasks.Column)
	w, err := newPredictionWriter(used.out, out, m, o.Keep, f.StandardErrors)
	if err != nil {
		return err
	}
	read, err := w.addTables(ctx, std, f.Files.Data, o)
	if err != nil {
		return err
	}
	if err := used.commit(); err != nil {
		return err
	}
	r := &predictReport{
		Header: cli.NewHeader("predict"), File: nameOf(out, "output"), Rows: read.Rows, Empty: read.Incomplete, Unknown: w.unknown,
		Filled: map[string]int{}, Alike: append([]string{}, w.alike...), read: read,
	}
	for _, c := range read.Filled {
		r.Filled[c.Column] = c.Rows
	}
	return std.Report(r, r.text)
}

// A predictionWriter writes a row with a prediction for every row of a table.
type predictionWriter struct {
	model   *mixed.Model
	out     *tablefile.Writer
	errors  bool // with standard errors and limits
	task    string
	kept    []string
	numbers []keptNumber // columns of numbers to keep, where the output has types
	p       mixed.Prediction
	unknown int // rows of tasks or levels that the model does not have

	spelling dataset.Spelling // of the tasks of the model
	alike    []string         // the first tasks that it has in another spelling
}

// A keptNumber is the value of a feature that is kept.
type keptNumber struct {
	feature int
	value   float64
}

// newPredictionWriter starts the table with its columns: those that are kept, the task unless it is among
// them, and the prediction.
func newPredictionWriter(to io.Writer, path string, m *mixed.Model, keep []string, standardErrors bool) (*predictionWriter, error) {
	w := &predictionWriter{
		model: m, errors: standardErrors, kept: make([]string, len(keep)), numbers: make([]keptNumber, 0, len(keep)),
		spelling: dataset.NewSpelling(m.Tasks()),
	}
	var columns []tablefile.Column
	names := map[string]bool{}
	add := func(name string, cell any) { columns = append(columns, tablefile.Column{Name: name, Cell: cell}) }
	for i, name := range keep {
		if names[name] {
			return nil, cli.WrongFlag("keep", "column %q is named twice", name)
		}
		names[name] = true
		if at := slices.Index(m.Features(), name); at >= 0 && tablefile.HasTypes(path) && slices.Contains(m.Parameters().Schema.Columns, name) {
			w.numbers = append(w.numbers, keptNumber{feature: at})
			add(name, &w.numbers[len(w.numbers)-1].value)
			continue
		}
		add(name, &w.kept[i])
	}
	first := len(columns)
	add("task", &w.task)
	add("prediction", &w.p.Value)
	if standardErrors {
		add("stderr", &w.p.StandardError)
		add("sample_stderr", &w.p.SampleError)
		add("low", &w.p.Low)
		add("high", &w.p.High)
	}
	add("known", &w.p.Known)
	for _, c := range columns[first:] {
		if names[c.Name] {
			return nil, cli.WrongFlag("keep", "column %q has the name of a column of the output", c.Name)
		}
	}
	w.out = tablefile.New(to, path, columns)
	return w, nil
}

// addTables writes the rows of tables and completes the output. Errors name the file and the flag that helps.
func (w *predictionWriter) addTables(ctx context.Context, std cli.Streams, patterns []string, o dataset.TableOptions) (*dataset.Summary, error) {
	bar := terminal.NewProgress(std.Progress(), reading)
	defer bar.Close()
	bar.Stage(reading, -1)
	o.Progress = func(done, total int64) {
		if total > 0 {
			bar.Stage(reading, float64(done)/float64(total))
		}
	}
	var read *dataset.Summary
	err := cli.UntilCanceled(ctx, func() (err error) {
		if read, err = dataset.Scan(patterns, o, w.add); err != nil {
			return flagtable.WithHint(err)
		}
		return w.out.Close()
	})
	if err != nil {
		return nil, err // read may still change after an interruption
	}
	return read, nil
}

// add writes the row for a row of the table. Its numbers are empty if it lacks a value.
func (w *predictionWriter) add(row *dataset.Row) (err error) {
	w.task = row.Task
	copy(w.kept, row.Kept)
	for i := range w.numbers {
		w.numbers[i].value = row.Features[w.numbers[i].feature]
	}
	switch {
	case !row.Complete:
		nan := math.NaN()
		w.p = mixed.Prediction{Value: nan, StandardError: nan, SampleError: nan, Low: nan, High: nan}
	case w.errors:
		w.p, err = w.model.PredictError(row.Task, row.Features)
	default:
		w.p.Value, w.p.Known, err = w.model.Predict(row.Task, row.Features)
	}
	if err != nil {
		return fmt.Errorf("task %q: %w", row.Task, err)
	}
	if row.Complete && !w.p.Known {
		w.unknown++
		w.alike = addAlike(w.alike, w.spelling, row.Task)
	}
	return w.out.Write()
}

// addAlike adds to a list the name of a task and its other spelling, if there is one and the list is short.
func addAlike(list []string, s dataset.Spelling, task string) []string {
	other, ok := s.Other(task)
	pair := fmt.Sprintf("%q is %q", text.Visible(task), text.Visible(other))
	if !ok || len(list) >= alikeNamed || slices.Contains(list, pair) {
		return list
	}
	return append(list, pair)
}

// sayAlike writes the tasks of a table that the model has in another spelling, if there are some.
func sayAlike(w io.Writer, list []string) {
	if len(list) > 0 {
		terminal.Sayf(w, "The model has some of these tasks in another spelling: %s.", text.List(list))
	}
}

// alikeNamed is the number of tasks in another spelling that are named.
const alikeNamed = 3

// A predictReport counts the rows that were predicted.
type predictReport struct {
	cli.Header
	File    string         `json:"file"`
	Rows    int            `json:"rows"`
	Empty   int            `json:"empty"`             // rows without a prediction, for missing values
	Unknown int            `json:"unknown"`           // rows of tasks or levels that the model does not have
	Filled  map[string]int `json:"filled"`            // rows with a mean in place of a missing value, by column
	Alike   []string       `json:"spelled_otherwise"` // tasks that the model has in another spelling: "1.0" is "1"
	read    *dataset.Summary
}

func (r *predictReport) text(w io.Writer) {
	for _, sentence := range report.Filled(r.read.Filled) {
		terminal.Sayf(w, "%s", sentence)
	}
	fmt.Fprintf(w, "%s: %s\n", r.File, text.Plural(r.Rows, "row"))
	if r.Empty > 0 {
		terminal.Sayf(w, "%s without a prediction, for missing values; the first is %s. --missing mean fills in means.",
			text.Plural(r.Empty, "row"), r.read.First)
	}
	if r.Unknown > 0 {
		terminal.Sayf(w, "%s of tasks or levels that the model does not have: predicted from the means of those that it has.",
			text.Plural(r.Unknown, "row"))
	}
	sayAlike(w, r.Alike)
}
