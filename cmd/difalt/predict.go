package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/tablefile"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/spf13/cobra"
)

type predictFlags struct {
	model, data, task, out string
	standardError, safe    bool
	known                  bool
	input                  *options.Flags
}

func newPredictCommand() *cobra.Command {
	f := &predictFlags{input: options.New(options.Predict)}
	cmd := newCommand("predict --model FILE --data FILE --out FILE", "Predict the target for rows of a table", nil, func(cmd *cobra.Command, _ []string) error {
		if err := needFlags(cmd, "model", "data", "out"); err != nil {
			return err
		}
		return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	})
	cmd.Flags().StringVar(&f.model, "model", "", "model `FILE`.npz that fit or adapt wrote (required)")
	cmd.Flags().StringVar(&f.data, "data", "", options.DataUsage)
	cmd.Flags().StringVar(&f.task, "task", "", "`COLUMN` of tasks (default as in training)")
	cmd.Flags().AddFlagSet(f.input.Set)
	cmd.Flags().StringVar(&f.out, "out", "", "write the predictions to `FILE`: .csv, .parquet, .jsonl or .npy (required)")
	cmd.Flags().BoolVar(&f.known, "known-only", false, "refuse tasks and levels that the model does not know")
	cmd.Flags().BoolVar(&f.standardError, "standard-errors", false, "add columns with standard errors")
	cmd.Flags().BoolVar(&f.safe, "spreadsheet-safe", false, "put an apostrophe before names of tasks that a spreadsheet would take for a formula")
	return cmd
}

// needFlags returns an error that names the first of the flags that is not given.
func needFlags(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if flag := cmd.Flags().Lookup(name); flag.Value.String() == "" {
			return options.Usagef("--%s is missing (see %q)", name, cmd.CommandPath()+" --help")
		}
	}
	return nil
}

func (f *predictFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	var paths files
	if err := errors.Join(paths.reads("model", f.model), paths.reads("data", f.data)); err != nil {
		return err
	}
	out, err := paths.create("out", f.out, tablefile.Extensions...)
	if err != nil {
		return err
	}
	defer out.Close()
	if f.safe && tablefile.CheckExtension(f.out, ".csv") != nil {
		return options.Usagef("--spreadsheet-safe is for CSV, and --out is %s", f.out)
	}
	stdout = paths.textOutput(stdout, stderr)
	m, err := loadModel(f.model)
	if err != nil {
		return err
	}
	f.input.Table.NewLevels = !f.known
	t, err := readTable(ctx, stderr, m, f.data, f.task, "", f.input)
	if err != nil {
		return err
	}
	if f.standardError && m.Noise() == 0 {
		return fmt.Errorf("%s: --standard-errors needs the noise, which too few training rows have left unknown", f.model)
	}
	seen, err := untilCanceled(ctx, func() (unusual, error) { return f.writePredictions(out, m, t) })
	if err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	report.WriteMissing(stdout, t)
	fmt.Fprintf(stdout, "%s: predictions for %s of %s\n", nameOf(f.out, "output"), text.Plural(t.Rows(), "row"), text.Plural(len(t.Tasks()), "task"))
	if seen.unknown > 0 {
		terminal.Sayf(stdout, "%s of tasks or levels that the model does not know: their predictions are by what all tasks share.", text.Plural(seen.unknown, "row"))
	}
	if seen.beyond > 0 {
		terminal.Sayf(stdout, "%s far beyond all training rows in column %s: predicted as at the farthest value that the model takes for possible there; standard errors are those of the value itself.",
			text.Plural(seen.beyond, "row"), text.Names(seen.columns))
	}
	return nil
}

// readTable reads a table with the model's features; target is the column of targets,
// or empty to read none.
func readTable(ctx context.Context, stderr io.Writer, m *model.Model, path, task, target string, flags *options.Flags) (*dataset.Table, error) {
	task = cmp.Or(task, m.Parameters().TaskColumn)
	if task == "" && !options.IsProblem(path) {
		return nil, options.Usagef("the model was trained on a problem file: say which column of the table names tasks with --task")
	}
	schema := m.Parameters().Schema
	flags.Table.Task, flags.Table.Target, flags.Table.Schema = task, target, &schema
	if err := flags.Resolve(); err != nil {
		return nil, err
	}
	in, err := readData(ctx, stderr, path, flags.Table)
	if err != nil {
		return nil, err
	}
	if got, want := in.Table.Features(), m.Features(); !slices.Equal(got, want) { // of a problem file; those of tables are looked for by name
		return nil, fmt.Errorf("%s has the features %s, the model %s", path, text.Names(got), text.Names(want))
	}
	return in.Table, nil
}

// An unusual is how many rows are of tasks or levels that the model does not know, and how many are beyond its training rows, in which columns.
type unusual struct {
	unknown, beyond int
	columns         []string
}

// writePredictions writes a line for every row, with standard errors if asked to.
func (f *predictFlags) writePredictions(out io.Writer, m *model.Model, t *dataset.Table) (seen unusual, err error) {
	if f.known {
		if _, err := m.PredictTable(t); err != nil {
			return seen, fmt.Errorf("%s: %w", f.data, err)
		}
	}
	var task string
	var p model.Prediction
	columns := []tablefile.Column{{Name: "task", Cell: &task}, {Name: "prediction", Cell: &p.Y}}
	for _, name := range t.Tasks() {
		columns[0].Runes = max(columns[0].Runes, utf8.RuneCountInString(name))
	}
	if f.standardError {
		columns = append(columns, tablefile.Column{Name: "stderr", Cell: &p.StandardError}, tablefile.Column{Name: "sample_stderr", Cell: &p.SampleError})
	}
	w := tablefile.New(out, f.out, append(columns, tablefile.Column{Name: "known", Cell: &p.Known}), t.Rows())
	x := make([]float64, len(t.Features()))
	for i := range t.Rows() {
		task = t.Tasks()[t.Task(i)]
		m.FillMissing(t.X(x, i))
		if f.standardError {
			p, err = m.PredictAnyError(task, x)
		} else {
			p.Y, p.Known, err = m.PredictAny(task, x)
		}
		if err != nil {
			return seen, fmt.Errorf("%s: row %d: %w", f.data, i, err)
		}
		if j := m.Beyond(x); j >= 0 {
			seen.beyond++
			if name := t.Features()[j]; !slices.Contains(seen.columns, name) {
				seen.columns = append(seen.columns, name)
			}
		}
		if f.safe {
			task = withoutFormula(task)
		}
		if w.Write(); !p.Known {
			seen.unknown++
		}
	}
	return seen, w.Close()
}

// withoutFormula returns a cell that no spreadsheet takes for a formula: those that begin
// like one, but are no numbers, get an apostrophe in front, which says text.
func withoutFormula(cell string) string {
	if cell == "" || !strings.ContainsRune("=+-@\t\r\n", rune(cell[0])) {
		return cell
	}
	if _, err := strconv.ParseFloat(cell, 64); err == nil {
		return cell
	}
	return "'" + cell
}
