package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/internal/options"
	"github.com/difalt/difalt/internal/report"
	"github.com/difalt/difalt/internal/text"
	"github.com/difalt/difalt/model"
	"github.com/spf13/cobra"
)

const adaptHelp = `Add new tasks to a model, which stays as it is: their coefficients are what their rows and
what the model knows about tasks say together. That takes far fewer samples than a
model of their own.

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
  difalt adapt --model clinics-model.npz --data examples/new-clinics.csv \
      --out clinics-model-2.npz
  difalt predict --model clinics-model-2.npz --data examples/new-clinics.csv \
      --out predictions.csv

  # how many patients does a new clinic need?
  difalt adapt --model clinics-model.npz --data examples/new-clinics.csv \
      --learning-curve curve`

// adaptFlags are the flags of adapt.
type adaptFlags struct {
	model, data, task, target, out, curve string
	input                                 *options.Flags
}

func newAdaptCommand() *cobra.Command {
	f := &adaptFlags{input: options.New(options.Adapt)}
	cmd := &cobra.Command{
		Use: "adapt --model FILE --data FILE (--out FILE | --learning-curve DIR)", DisableFlagsInUseLine: true,
		Short:   "Add new tasks to a model from few samples",
		Long:    adaptHelp,
		Example: adaptExamples,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := needFlags(cmd, "model", "data"); err != nil {
				return err
			}
			if (f.out == "") == (f.curve == "") {
				return options.Usagef("need one of --out FILE and --learning-curve DIR")
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&f.model, "model", "", "model `FILE`.npz that fit or adapt wrote (required)")
	cmd.Flags().StringVar(&f.data, "data", "", options.DataUsage)
	cmd.Flags().StringVar(&f.task, "task", "", "`COLUMN` of tasks (default as in training)")
	cmd.Flags().StringVar(&f.target, "target", "", "`COLUMN` of targets (default as in training)")
	cmd.Flags().AddFlagSet(f.input.Set)
	cmd.Flags().StringVar(&f.out, "out", "", "write the new model to `FILE`.npz")
	cmd.Flags().StringVar(&f.curve, "learning-curve", "", "instead, measure how many rows new tasks need, into the folder `DIR`")
	return cmd
}

func (f *adaptFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	var paths files
	if err := errors.Join(paths.reads("model", f.model), paths.reads("data", f.data)); err != nil {
		return err
	}
	if f.curve != "" {
		return f.learningCurve(ctx, stdout, stderr, &paths)
	}
	out, err := paths.create("out", f.out)
	if err != nil {
		return err
	}
	defer out.Close()
	stdout = paths.textOutput(stdout, stderr)
	m, t, err := f.read(ctx, stderr)
	if err != nil {
		return err
	}
	adapted, err := m.Adapt(t)
	if err != nil {
		return fmt.Errorf("%s: %w", f.data, err)
	}
	if err := adapted.Write(out); err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %s added from %s; the model knows %d tasks now\n", nameOf(f.out, "output"), text.Plural(len(t.Tasks()), "task"), text.Plural(t.Rows(), "row"), len(adapted.Tasks()))
	report.WriteMissing(stdout, t)
	return nil
}

// read reads the model and the new tasks.
func (f *adaptFlags) read(ctx context.Context, stderr io.Writer) (m *model.Model, t *dataset.Table, err error) {
	if m, err = loadModel(f.model); err != nil {
		return nil, nil, err
	}
	target := f.target
	if target == "" {
		target = m.Parameters().TargetColumn
	}
	if target == "" && !options.IsProblem(f.data) {
		return nil, nil, options.Usagef("the model was trained on a problem file: say which column of the table to fit with --target")
	}
	t, err = readTable(ctx, stderr, m, f.data, f.task, target, f.input)
	return m, t, err
}
