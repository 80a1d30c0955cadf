package main

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/dataset/model"
	"github.com/difalt/difalt/internal/atomicfile"
	"github.com/spf13/cobra"
)

const predictHelp = `Predict the target for every row of a table, with a model that "difalt fit" wrote.

The table needs the column of tasks and the features that the model was trained
on, by name; other columns are ignored. Every task must be one that the model
knows; "difalt adapt" adds others. The output has one line a row, in the order of
the table: the task and the prediction.`

const predictExamples = `  # train on three quarters of the rows, predict all of them
  difalt fit --data examples/clinics.csv --task clinic --target score --drop patient \
      --model clinics-model.npz
  difalt predict --model clinics-model.npz --data examples/clinics.csv --out predictions.csv`

// predictFlags are the flags of predict.
type predictFlags struct{ model, data, task, out string }

func newPredictCommand() *cobra.Command {
	f := &predictFlags{}
	cmd := &cobra.Command{
		Use:     "predict --model FILE --data FILE --out FILE",
		Short:   "Predict the target for rows of known tasks",
		Long:    predictHelp,
		Example: predictExamples,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := needFlags(cmd, "model", "data", "out"); err != nil {
				return err
			}
			return f.run(cmd.OutOrStdout())
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&f.model, "model", "", "model `FILE`.npz that fit or adapt wrote (required)")
	cmd.Flags().StringVar(&f.data, "data", "", "table `FILE`.csv, or problem file .npz (required)")
	cmd.Flags().StringVar(&f.task, "task", "", "`COLUMN` of tasks (default as in training)")
	cmd.Flags().StringVar(&f.out, "out", "", "write the predictions to `FILE`.csv (required)")
	return cmd
}

// needFlags returns an error that names the first of the flags that is not given.
func needFlags(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if flag := cmd.Flags().Lookup(name); flag.Value.String() == "" {
			return usagef("--%s is missing (see %q)", name, cmd.CommandPath()+" --help")
		}
	}
	return nil
}

func (f *predictFlags) run(stdout io.Writer) error {
	out, err := atomicfile.Create(f.out)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	defer out.Close()
	m, t, err := readForModel(f.model, f.data, f.task, "")
	if err != nil {
		return err
	}
	y, err := m.PredictTable(t)
	if err != nil {
		return fmt.Errorf("%s: %w", f.data, err)
	}
	if err := writePredictions(out, t, y); err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: predictions for %d rows of %s\n", f.out, t.Rows(), count(len(t.Tasks()), "task"))
	return nil
}

// readForModel loads a model and a table with the model's features; target is the
// column of targets, or empty to read none.
func readForModel(modelPath, dataPath, task, target string) (*model.Model, *dataset.Table, error) {
	m, err := model.Load(modelPath)
	if err != nil {
		return nil, nil, named(modelPath, err)
	}
	t, err := readTable(m, dataPath, task, target)
	if err != nil {
		return nil, nil, named(dataPath, err)
	}
	return m, t, nil
}

func readTable(m *model.Model, path, task, target string) (*dataset.Table, error) {
	if task == "" {
		task = m.TaskColumn()
	}
	if task == "" && !isProblem(path) {
		return nil, usagef("the model was trained on a problem file: say which column of the table names tasks with --task")
	}
	in, err := readData(path, dataset.CSVOptions{Task: task, Target: target, Features: m.Features()})
	if err != nil {
		return nil, err
	}
	return in.Table, nil
}

// named prefixes an error by the file that it is about, unless it has it already.
func named(path string, err error) error {
	if strings.Contains(err.Error(), path) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

func writePredictions(out *atomicfile.File, t *dataset.Table, y []float64) error {
	buf := bufio.NewWriterSize(out, 1<<16)
	w := csv.NewWriter(buf)
	if err := w.Write([]string{"task", "prediction"}); err != nil {
		return err
	}
	for i, v := range y {
		if err := w.Write([]string{t.Tasks()[t.Task(i)], strconv.FormatFloat(v, 'g', -1, 64)}); err != nil {
			return err
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return err
	}
	return buf.Flush()
}
