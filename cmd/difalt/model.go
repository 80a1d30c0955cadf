package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/tablefile"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/spf13/cobra"
)

const (
	modelHelp = `Look into model files that "difalt fit", "adapt", "node" or "up" wrote. They are
.npz files: NumPy can read their arrays too.`
	modelExamples = `  difalt model show clinics-model.npz

  # the same arrays in Python
  python3 -c 'import numpy; print(dict(numpy.load("clinics-model.npz")))'`
)

// newModel returns the command model, with model show below it.
func newModel(std *cli.Streams) *cobra.Command {
	cmd := &cobra.Command{Use: "model", Short: "Look into a model file", Long: modelHelp, Example: modelExamples}
	cmd.AddCommand(newShow(std))
	return cmd
}

const (
	showHelp = `Print the content of a model file: tasks, training rows, features, the axes
along which tasks differ together, and the effects of a linear mixed model in
the units of the table: estimates with standard errors and 95 % intervals, and
the standard deviations of the tasks' deviations.

--out writes the effects to a file instead, in the columns of broom: effect,
term, reference, estimate, std_error, conf_low, conf_high, and sd_of_tasks.`
	showExamples = `  difalt model show clinics-model.npz
  difalt model show clinics-model.npz --out effects.csv`
)

// showOptions are the options of model show.
type showOptions struct{ model, out string }

// newShow returns the command model show.
func newShow(std *cli.Streams) *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:     "show FILE",
		Short:   "Print the content of a model file, or write its effects",
		Long:    showHelp,
		Example: showExamples,
		Args:    oneModel,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.model = args[0]
			return runShow(cmd.Context(), std, o)
		},
	}
	cmd.Flags().StringVar(&o.out, "out", "", "write the effects to `FILE`, .csv or .parquet, and print nothing else")
	return cmd
}

// oneModel is the Args of a command whose only argument is a model file.
func oneModel(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		got := "none"
		if len(args) > 0 {
			got = text.Plural(len(args), "argument")
		}
		name := strings.TrimPrefix(cmd.CommandPath(), program+" ")
		return cli.Usagef("%s takes one model file, but got %s", name, got)
	}
	return nil
}

// runShow prints a model, or writes its effects to a file.
func runShow(ctx context.Context, std *cli.Streams, o showOptions) error {
	var used files
	defer used.close()
	if o.out != "" {
		err := errors.Join(used.reads("", o.model), used.create("out", o.out, tablefile.Extensions...))
		if err != nil {
			return err
		}
	}
	m, err := loadModel("", o.model)
	if err != nil {
		return err
	}
	if o.out == "" {
		r := report.NewModelReport(m, nameOf(o.model, "input"), cli.NewHeader("model show"))
		return std.Report(r, r.Text)
	}
	if err := cli.UntilCanceled(ctx, func() error { return report.EffectsFile(used.out, o.out, m) }); err != nil {
		return err
	}
	if err := used.commit(); err != nil {
		return err
	}
	r := &showReport{cli.NewHeader("model show"), nameOf(o.out, "output"), len(m.Effects())}
	return used.streams(std).Report(r, func(w io.Writer) { fmt.Fprintf(w, "effects %s\n", r.File) })
}

// A showReport is the report of model show with --out.
type showReport struct {
	cli.Header
	File    string `json:"file"`
	Effects int    `json:"effects"`
}
