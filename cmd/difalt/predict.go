package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/internal/atomicfile"
	"github.com/difalt/difalt/internal/options"
	"github.com/difalt/difalt/internal/report"
	"github.com/difalt/difalt/internal/text"
	"github.com/difalt/difalt/model"
	"github.com/spf13/cobra"
)

// predictFlags are the flags of predict.
type predictFlags struct {
	model, data, task, out string
	standardError, safe    bool
	input                  *options.Flags
}

func newPredictCommand() *cobra.Command {
	f := &predictFlags{input: options.New(options.Predict)}
	cmd := newCommand("predict --model FILE --data FILE --out FILE", "Predict the target for rows of known tasks", nil, func(cmd *cobra.Command, _ []string) error {
		if err := needFlags(cmd, "model", "data", "out"); err != nil {
			return err
		}
		return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	})
	cmd.Flags().StringVar(&f.model, "model", "", "model `FILE`.npz that fit or adapt wrote (required)")
	cmd.Flags().StringVar(&f.data, "data", "", options.DataUsage)
	cmd.Flags().StringVar(&f.task, "task", "", "`COLUMN` of tasks (default as in training)")
	cmd.Flags().AddFlagSet(f.input.Set)
	cmd.Flags().StringVar(&f.out, "out", "", "write the predictions to `FILE`.csv (required)")
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
	out, err := paths.create("out", f.out)
	if err != nil {
		return err
	}
	defer out.Close()
	stdout = paths.textOutput(stdout, stderr)
	m, err := loadModel(f.model)
	if err != nil {
		return err
	}
	t, err := readTable(ctx, stderr, m, f.data, f.task, "", f.input)
	if err != nil {
		return err
	}
	if f.standardError && m.Noise() == 0 {
		return fmt.Errorf("%s: --standard-errors needs the noise, which too few training rows have left unknown", f.model)
	}
	_, err = untilCanceled(ctx, func() (struct{}, error) {
		y, err := m.PredictTable(t)
		if err != nil {
			return struct{}{}, fmt.Errorf("%s: %w", f.data, err)
		}
		return struct{}{}, f.writePredictions(out, m, t, y)
	})
	if err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	report.WriteMissing(stdout, t)
	fmt.Fprintf(stdout, "%s: predictions for %s of %s\n", nameOf(f.out, "output"), text.Plural(t.Rows(), "row"), text.Plural(len(t.Tasks()), "task"))
	return nil
}

// readTable reads a table with the model's features; target is the column of targets,
// or empty to read none.
func readTable(ctx context.Context, stderr io.Writer, m *model.Model, path, task, target string, flags *options.Flags) (*dataset.Table, error) {
	if task == "" {
		task = m.Parameters().TaskColumn
	}
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
	return in.Table, nil
}

// writePredictions writes a line for every row, with standard errors if asked to.
func (f *predictFlags) writePredictions(out *atomicfile.File, m *model.Model, t *dataset.Table, y []float64) error {
	buf := bufio.NewWriterSize(out, 1<<16)
	w := csv.NewWriter(buf)
	record := []string{"task", "prediction"}
	if f.standardError {
		record = append(record, "stderr", "sample_stderr")
	}
	if err := w.Write(record); err != nil {
		return err
	}
	x := make([]float64, len(t.Features()))
	for i, v := range y {
		task := t.Tasks()[t.Task(i)]
		record = append(record[:0], task, text.Number(v))
		if f.safe {
			record[0] = withoutFormula(task)
		}
		if f.standardError {
			m.FillMissing(t.X(x, i))
			_, e, err := m.PredictError(task, x)
			if err != nil {
				return err
			}
			noise, err := m.TaskNoise(task)
			if err != nil {
				return err
			}
			record = append(record, text.Number(e), text.Number(math.Hypot(e, noise)))
		}
		if err := w.Write(record); err != nil {
			return err
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return err
	}
	return buf.Flush()
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
