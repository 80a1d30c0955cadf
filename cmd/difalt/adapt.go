package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/spf13/cobra"
)

type adaptFlags struct {
	model, data, task, target, out, curve string
	input                                 *options.Flags
}

func newAdaptCommand() *cobra.Command {
	f := &adaptFlags{input: options.New(options.Adapt)}
	cmd := newCommand("adapt --model FILE --data FILE (--out FILE | --learning-curve DIR)", "Add new tasks to a model from few samples", nil, func(cmd *cobra.Command, _ []string) error {
		if err := needFlags(cmd, "model", "data"); err != nil {
			return err
		}
		if (f.out == "") == (f.curve == "") {
			return options.Usagef("need one of --out FILE and --learning-curve DIR")
		}
		return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	})
	cmd.DisableFlagsInUseLine = true
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
	out, err := paths.create("out", f.out, ".npz")
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
	target := cmp.Or(f.target, m.Parameters().TargetColumn)
	if target == "" && !options.IsProblem(f.data) {
		return nil, nil, options.Usagef("the model was trained on a problem file: say which column of the table to fit with --target")
	}
	t, err = readTable(ctx, stderr, m, f.data, f.task, target, f.input)
	return m, t, err
}

// learningCurve measures and writes the curve.
func (f *adaptFlags) learningCurve(ctx context.Context, stdout, stderr io.Writer, files *files) error {
	if err := files.checkFolder("learning-curve", f.curve); err != nil {
		return err
	}
	m, t, err := f.read(ctx, stderr)
	if err != nil {
		return err
	}
	points, leftOut, err := fit.LearningCurve(m, t, fit.CurveConfig{Seed: 1})
	if err != nil {
		return fmt.Errorf("%s: %w", f.data, err)
	}
	if err := files.writeFolder("learning-curve", f.curve, report.CurveFiles("learning-curve", points)); err != nil {
		return err
	}
	rows := text.Table{{"rows of a task", "ours RMSE", "pooled RMSE", "single RMSE", "mean RMSE", "ours EV", "pooled EV", "single EV"}}
	for _, p := range points {
		row := []string{strconv.Itoa(p.Samples)}
		for _, v := range []float64{p.Ours.RMSE, p.Pooled.RMSE, p.Single.RMSE, p.Mean.RMSE, p.Ours.ExplainedVariance, p.Pooled.ExplainedVariance, p.Single.ExplainedVariance} {
			row = append(row, text.Decimal(v))
		}
		rows = append(rows, row)
	}
	rows.Write(stdout)
	fmt.Fprintf(stdout, `
Errors on held-out rows of %s that the model has not seen, after training on
so many rows of each. pooled: the model's shared mean; single: one ridge a task;
mean: of its training rows.
`, text.Plural(len(t.Tasks())-len(leftOut), "task"))
	report.WriteMissing(stdout, t)
	if len(leftOut) > 0 {
		fmt.Fprintf(stdout, "Left out, with too few rows to hold some out: %s.\n", text.List(leftOut))
	}
	fmt.Fprintf(stdout, "\npicture  %s (and .svg)\ncurve    %s\n",
		filepath.Join(f.curve, "learning-curve.png"), filepath.Join(f.curve, "learning-curve.csv"))
	return nil
}
