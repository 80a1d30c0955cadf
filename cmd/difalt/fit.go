package main

import (
	"context"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/mixed"
	"github.com/spf13/cobra"
)

const (
	fitHelp = `Fit a linear mixed model to one table of many small regression tasks. Column
--task names the task of a row, --target is the column to predict, all others
are features. Several files are one table.

  target = features' (shared mean + deviation of the task) + noise

Tasks differ in their intercepts, in every slope, and along a few directions
together (the rank). Columns of five or more distinct numbers may be curves. The
evidence of the training rows chooses all strengths, the rank and curves.
Held-out rows compare the model with simpler methods. Then the same form is
fitted again to all rows, and that model is kept.

Ctrl-C ends the fit without a result. The exit code is 5 if the fit has not
converged; its files are written then, and JSON has "converged": false. Its
model does not replace a file: it goes to m.unfinished.npz in place of m.npz.`
	fitExamples = `  difalt fit --task clinic --target score --drop patient \
      --model clinics-model.npz --report report examples/clinics.csv
  difalt fit --task store --target revenue --missing mean site-*.csv`
)

// fitOptions are the options of fit.
type fitOptions struct {
	trainingOptions
	report  string // folder of the web page
	noRefit bool   // keeps the model that the held-out rows judge
}

// newFit returns the command fit.
func newFit(std *cli.Streams) *cobra.Command {
	o := fitOptions{trainingOptions: newTrainingOptions()}
	cmd := &cobra.Command{
		Use:     "fit --task COLUMN --target COLUMN FILE...",
		Short:   "Fit a mixed model to one table of many small tasks",
		Long:    fitHelp,
		Example: fitExamples,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := o.take(cmd.Flags(), files); err != nil {
				return err
			}
			return runFit(cmd.Context(), std, o)
		},
	}
	flags := cmd.Flags()
	o.addData(flags, dataUsage)
	o.addOut(flags)
	flags.StringVar(&o.report, "report", "", "write a web page with figures and tables to the folder `DIR`")
	o.addTableFlags(flags)
	flags.BoolVar(&o.noRefit, "no-refit", false,
		"keep the model of the training rows (default: it is fitted again to all rows)")
	o.addModelFlags(flags)
	o.addSeed(flags)
	cli.Require(cmd, "task", "target")
	return cmd
}

// runFit fits a model to one table.
func runFit(ctx context.Context, std *cli.Streams, o fitOptions) error {
	t := &training{trainingOptions: o.trainingOptions, Streams: std, command: "fit", report: o.report}
	defer t.used.close()
	if err := t.open(); err != nil {
		return err
	}
	stages := append([]string{readingStage}, mixed.Stages...)
	if err := t.read(ctx, std.Progress(), [][]string{o.files}, stages...); err != nil {
		return err
	}
	list, how := t.inputs()
	how.Refit = !o.noRefit && slices.Contains(list[0].HeldOut, true)
	if how.Refit {
		stages = append(stages, mixed.AllRows)
	}
	return t.train(ctx, stages, func(progress func(mixed.Progress)) (*mixed.Model, *mixed.Report, error) {
		how.Progress = progress
		return mixed.Fit(ctx, list[0], how)
	})
}
