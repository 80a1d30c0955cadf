package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/tablefile"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/spf13/cobra"
)

func newPredictCommand() *cobra.Command {
	f := &predictRun{applied{options.New(options.Predict)}}
	return newCommand("predict --model FILE --data FILE --out FILE",
		"Predict the target for rows of a table", f.Set, func(cmd *cobra.Command, _ []string) error {
			if err := needFlags(cmd, "model", "data", "out"); err != nil {
				return err
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		})
}

// needFlags returns an error that names the first of the flags that was not given.
func needFlags(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if !cmd.Flags().Changed(name) {
			return options.Usagef("--%s is missing (see %q)", name, cmd.CommandPath()+" --help")
		}
	}
	return nil
}

// An applied is a command that applies a model to a table.
type applied struct{ *options.Flags }

// read reads the model and the table with its features, and with targets if the command has --target. The
// columns of tasks and targets are those of the training unless they are given.
func (f *applied) read(ctx context.Context, stderr io.Writer) (*model.Model, *dataset.Table, error) {
	m, err := loadModel(f.Files.Model)
	if err != nil {
		return nil, nil, err
	}
	p := m.Parameters()
	f.Table.Schema, f.Table.Task = &p.Schema, cmp.Or(f.Table.Task, p.Tasks.Column)
	if f.Set.Lookup("target") != nil {
		f.Table.Target = cmp.Or(f.Table.Target, p.Target.Column)
	}
	if err := f.Resolve(); err != nil {
		return nil, nil, err
	}
	t, err := readTable(ctx, stderr, nil, f.Files.Data, f.Table)
	return m, t, err
}

// open opens the output and returns the writer of text for people.
func (f *applied) open(stdout, stderr io.Writer, extensions ...string) (*outputs, io.Writer, error) {
	out := &outputs{}
	if err := out.reads("model", f.Files.Model); err != nil {
		return nil, nil, err
	}
	if err := out.reads("data", f.Files.Data); err != nil {
		return nil, nil, err
	}
	var err error
	out.model, err = out.create("out", f.Files.Out, extensions...)
	return out, out.textOutput(stdout, stderr), err
}

// A predictRun writes predictions.
type predictRun struct{ applied }

func (f *predictRun) run(ctx context.Context, stdout, stderr io.Writer) error {
	if f.Output.SpreadsheetSafe && tablefile.CheckExtension(f.Files.Out, ".csv") != nil {
		return options.Usagef("--spreadsheet-safe is for CSV, and --out is %s", f.Files.Out)
	}
	out, stdout, err := f.open(stdout, stderr, tablefile.Extensions...)
	if err != nil {
		return err
	}
	defer out.model.Close()
	f.Table.NewLevels = !f.Output.KnownOnly
	m, t, err := f.read(ctx, stderr)
	if err != nil {
		return err
	}
	seen, err := untilCanceled(ctx, func() (unusual, error) { return f.write(out.model, m, t) })
	if err != nil {
		return fmt.Errorf("%s: %w", f.Files.Data, err)
	}
	if err := out.model.Commit(); err != nil {
		return err
	}
	for _, sentence := range report.Missing(t) {
		terminal.Sayf(stdout, "%s", sentence)
	}
	fmt.Fprintf(stdout, "%s: predictions for %s of %s\n", nameOf(f.Files.Out, "output"), text.Plural(t.Rows(), "row"),
		text.Plural(len(t.Tasks()), "task"))
	if seen.unknown > 0 {
		terminal.Sayf(stdout, "%s of tasks or levels that the model does not have: predicted from the mean of all tasks.",
			text.Plural(seen.unknown, "row"))
	}
	if seen.columns != nil {
		terminal.Sayf(stdout, "%s far from the training rows in column %s: curves are constant there, straight lines go on.",
			text.Plural(seen.far, "row"), text.Names(seen.columns))
	}
	return nil
}

// An unusual counts rows of tasks or levels that the model does not have, and rows far from the training
// rows, with the columns of these.
type unusual struct {
	unknown, far int
	columns      []string
}

// write writes a line for every row, with standard errors if asked to.
func (f *predictRun) write(out io.Writer, m *model.Model, t *dataset.Table) (seen unusual, err error) {
	if f.Output.KnownOnly {
		if unknown := slices.DeleteFunc(slices.Clone(t.Tasks()), m.Knows); len(unknown) > 0 {
			return seen, fmt.Errorf("the model does not have %s %s: add them with adapt", plural(len(unknown), "task"), text.Names(unknown))
		}
	}
	var task string
	var p model.Prediction
	columns := []tablefile.Column{{Name: "task", Cell: &task}, {Name: "prediction", Cell: &p.Value}}
	if f.Output.StandardErrors {
		columns = append(columns, tablefile.Column{Name: "stderr", Cell: &p.StandardError}, tablefile.Column{Name: "sample_stderr",
			Cell: &p.SampleError})
	}
	w := tablefile.New(out, f.Files.Out, append(columns, tablefile.Column{Name: "known", Cell: &p.Known}))
	x := make([]float64, len(t.Features()))
	for i := range t.Rows() {
		task = t.Tasks()[t.Task(i)]
		t.X(x, i)
		if f.Output.StandardErrors {
			p, err = m.PredictError(task, x)
		} else {
			p.Value, p.Known, err = m.Predict(task, x)
		}
		if err != nil {
			return seen, fmt.Errorf("row %d of task %q: %w", i+1, task, err)
		}
		seen.note(m, x, p.Known)
		if f.Output.SpreadsheetSafe {
			task = withoutFormula(task)
		}
		w.Write()
	}
	return seen, w.Close()
}

// farAway is the distance from the mean, in standard deviations, from which a value is far from the training
// rows.
const farAway = 6

// note counts a row if it is unusual.
func (u *unusual) note(m *model.Model, x []float64, known bool) {
	if !known {
		u.unknown++
	}
	d, far := m.Parameters().Design, false
	for j, v := range x {
		if s := d.Scale[j]; s > 0 && math.Abs(v-d.Center[j]) > farAway*s { // not NaN
			far = true
			if name := m.Features()[j]; !slices.Contains(u.columns, name) {
				u.columns = append(u.columns, name)
			}
		}
	}
	if far {
		u.far++
	}
}

// plural returns a noun, with an s unless there is one of it.
func plural(n int, noun string) string {
	_, words, _ := strings.Cut(text.Plural(n, noun), " ")
	return words
}

// withoutFormula returns a cell that no spreadsheet takes for a formula: cells that begin like one, and are
// not numbers, get an apostrophe in front, which marks text.
func withoutFormula(cell string) string {
	if cell == "" || !strings.ContainsRune("=+-@\t\r\n", rune(cell[0])) {
		return cell
	}
	if _, err := strconv.ParseFloat(cell, 64); err == nil {
		return cell
	}
	return "'" + cell
}
