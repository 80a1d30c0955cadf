package main

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/internal/atomicfile"
	"github.com/difalt/difalt/internal/text"
	"github.com/difalt/difalt/model"
	"github.com/spf13/cobra"
)

const adaptHelp = `Add new tasks to a model: fit their few coefficients on the shared representation,
which stays as it is. That takes far fewer samples than a model of their own.

The table needs the columns of tasks and targets and the features that the model
was trained on, by name; other columns are ignored. All rows are used. With --missing mean,
missing features are the means of the rows that the model was trained on. The output
is a model that knows the old tasks and the new ones.

With --learning-curve DIR the question is another one: how many rows does a new task
need? The tasks of the table are learned from 1, 2, 3, 5, 8, ... of their rows,
chosen at random several times, and the errors on rows held out are compared with
those of the model's shared mean (pooled ridge regression) and of one ridge
regression for each new task. DIR gets learning-curve.csv, .svg and .png.`

const adaptExamples = `  # two clinics that were not there at training time, with a few patients each
  difalt adapt --model clinics-model.npz --data examples/new-clinics.csv --out clinics-model-2.npz
  difalt predict --model clinics-model-2.npz --data examples/new-clinics.csv --out predictions.csv

  # how many patients does a new clinic need?
  difalt adapt --model clinics-model.npz --data examples/new-clinics.csv --learning-curve curve`

// adaptFlags are the flags of adapt.
type adaptFlags struct {
	model, data, task, target, node, ridge, out, curve string
	input                                              inputFlags
}

func newAdaptCommand() *cobra.Command {
	f := &adaptFlags{}
	cmd := &cobra.Command{
		Use:     "adapt --model FILE --data FILE (--out FILE | --learning-curve DIR)",
		Short:   "Add new tasks to a model from few samples",
		Long:    adaptHelp,
		Example: adaptExamples,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := needFlags(cmd, "model", "data"); err != nil {
				return err
			}
			if (f.out == "") == (f.curve == "") {
				return usagef("need one of --out FILE and --learning-curve DIR")
			}
			return f.run(cmd.OutOrStdout())
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&f.model, "model", "", "model `FILE`.npz that fit or adapt wrote (required)")
	cmd.Flags().StringVar(&f.data, "data", "", dataUsage)
	cmd.Flags().StringVar(&f.task, "task", "", "`COLUMN` of tasks (default as in training)")
	cmd.Flags().StringVar(&f.target, "target", "", "`COLUMN` of targets (default as in training)")
	f.input.add(cmd.Flags())
	cmd.Flags().StringVar(&f.node, "node", "", "`NAME` of the node whose basis the new tasks use (default the first)")
	cmd.Flags().StringVar(&f.ridge, "ridge", "", "ridge on the coefficients, `NUMBER` (default as in training)")
	cmd.Flags().StringVar(&f.out, "out", "", "write the new model to `FILE`.npz")
	cmd.Flags().StringVar(&f.curve, "learning-curve", "", "instead, measure how many rows new tasks need, into the folder `DIR`")
	return cmd
}

func (f *adaptFlags) run(stdout io.Writer) error {
	ridge, err := strconv.ParseFloat(f.ridge, 64)
	if f.ridge != "" && (err != nil || !(ridge >= 0) || math.IsInf(ridge, 0)) {
		return usagef("--ridge is %q: want a number that is not negative", f.ridge)
	}
	if f.curve != "" {
		return f.learningCurve(stdout, ridge)
	}
	out, err := atomicfile.Create(f.out)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	defer out.Close()
	m, t, node, err := f.read()
	if err != nil {
		return err
	}
	if f.ridge == "" {
		ridge = m.Parameters().Ridge
	}
	adapted, singular, err := m.Adapt(t, node, ridge)
	if err != nil {
		return fmt.Errorf("%s: %w", f.data, err)
	}
	if err := adapted.Write(out); err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %s added from %d rows; the model knows %d tasks now\n", f.out, text.Plural(len(t.Tasks()), "task"), t.Rows(), len(adapted.Tasks()))
	reportMissing(stdout, t)
	if len(singular) > 0 {
		fmt.Fprintf(stdout, "No unique least squares, so b of minimum norm (a --ridge avoids that): %s.\n", text.List(singular))
	}
	return nil
}

// read reads the model and the new tasks, and finds the node.
func (f *adaptFlags) read() (m *model.Model, t *dataset.Table, node int, err error) {
	if m, err = model.Load(f.model); err != nil {
		return nil, nil, 0, err
	}
	target := f.target
	if target == "" {
		target = m.Parameters().TargetColumn
	}
	if target == "" && !isProblem(f.data) {
		return nil, nil, 0, usagef("the model was trained on a problem file: say which column of the table to fit with --target")
	}
	if t, err = readTable(m, f.data, f.task, target, f.input); err != nil {
		return nil, nil, 0, err
	}
	if node, err = m.NodeIndex(f.node); err != nil {
		return nil, nil, 0, usagef("--node: %w", err)
	}
	return m, t, node, nil
}
