package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	return newTableCommand(options.Predict, "predict --model FILE --data FILE --out FILE", "Predict the target of rows of a table", predict)
}

// An applied is a command that applies a model to a table.
type applied struct {
	*options.Flags
	streams
	files files
	model *model.Model
	table *dataset.Table
}

// open opens the output and reads the model and the table with its features, and with targets if the command
// has --target. The columns of tasks and targets are those of the training unless they are given.
func (a *applied) open(ctx context.Context, extensions ...string) (err error) {
	f := &a.Files
	if err := errors.Join(a.files.reads("model", f.Model), a.files.reads("data", f.Data)); err != nil {
		return err
	}
	if err := a.files.create("out", f.Out, extensions...); err != nil {
		return err
	}
	a.streams = a.files.streams(a.streams)
	if a.model, err = loadModel(f.Model); err != nil {
		return err
	}
	p := a.model.Parameters()
	a.Table.Schema, a.Table.Task = &p.Schema, cmp.Or(a.Table.Task, p.Tasks.Column)
	if a.Set.Lookup("target") != nil {
		a.Table.Target = cmp.Or(a.Table.Target, p.Target.Column)
	}
	a.table, err = readTable(ctx, a.err, nil, f.Data, a.Table)
	return err
}

// write writes the output, and then describes missing values.
func (a *applied) write(ctx context.Context, work func() error) error {
	if err := untilCanceled(ctx, work); err != nil {
		return err
	}
	if err := a.files.out.Commit(); err != nil {
		return err
	}
	for _, sentence := range report.Missing(a.table) {
		terminal.Sayf(a.out, "%s", sentence)
	}
	return nil
}

// predict writes predictions.
func predict(ctx context.Context, f *options.Flags, std streams) error {
	a := &applied{Flags: f, streams: std}
	if f.Output.SpreadsheetSafe && tablefile.CheckExtension(f.Files.Out, ".csv") != nil {
		return options.Usagef("--spreadsheet-safe is for CSV, and --out is %s", f.Files.Out)
	}
	defer a.files.close()
	f.Table.NewLevels = !f.Output.KnownOnly
	if err := a.open(ctx, tablefile.Extensions...); err != nil {
		return err
	}
	var seen unusual
	err := a.write(ctx, func() (err error) {
		if seen, err = a.predictions(); err != nil {
			err = fmt.Errorf("%s: %w", f.Files.Data, err)
		}
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s: predictions for %s of %s\n", nameOf(f.Files.Out, "output"), text.Plural(a.table.Rows(), "row"),
		text.Plural(len(a.table.Tasks()), "task"))
	if seen.unknown > 0 {
		terminal.Sayf(a.out, "%s of tasks or levels that the model does not have: predicted from the mean of all tasks.",
			text.Plural(seen.unknown, "row"))
	}
	if seen.columns != nil {
		terminal.Sayf(a.out, "%s far from the training rows in column %s: curves are constant there, straight lines go on.",
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

// predictions writes a line for every row, with standard errors if asked to.
func (a *applied) predictions() (seen unusual, err error) {
	m, t, o := a.model, a.table, a.Output
	if o.KnownOnly {
		if unknown := slices.DeleteFunc(slices.Clone(t.Tasks()), m.Knows); len(unknown) > 0 {
			return seen, fmt.Errorf("tasks that the model does not have: %s; add them with adapt", text.Names(unknown))
		}
	}
	var task string
	var p model.Prediction
	columns := []tablefile.Column{{Name: "task", Cell: &task}, {Name: "prediction", Cell: &p.Value}}
	if o.StandardErrors {
		columns = append(columns, tablefile.Column{Name: "stderr", Cell: &p.StandardError}, tablefile.Column{Name: "sample_stderr",
			Cell: &p.SampleError})
	}
	w := tablefile.New(a.files.out, a.Files.Out, append(columns, tablefile.Column{Name: "known", Cell: &p.Known}))
	x := make([]float64, len(t.Features()))
	for i := range t.Rows() {
		task = t.Tasks()[t.Task(i)]
		t.X(x, i)
		if o.StandardErrors {
			p, err = m.PredictError(task, x)
		} else {
			p.Value, p.Known, err = m.Predict(task, x)
		}
		if err != nil {
			return seen, fmt.Errorf("row %d of task %q: %w", i+1, task, err)
		}
		seen.note(m, x, p.Known)
		if o.SpreadsheetSafe {
			task = withoutFormula(task)
		}
		w.Write()
	}
	return seen, w.Close()
}

// farAway is a distance from the mean in standard deviations. Values beyond it are far from the training
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
