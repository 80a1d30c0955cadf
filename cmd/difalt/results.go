package main

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/difalt/difalt/internal/options"
	"github.com/difalt/difalt/internal/paper"
	"github.com/difalt/difalt/internal/simulation"
	"github.com/difalt/difalt/internal/text"
	"github.com/spf13/cobra"
)

const resultsHelp = `Write a page about the runs of simulate's presets in a folder and its sub-folders:
the figures of the paper with tables, what the methods beyond the paper save, and on
what machine and in what time the runs were made. Of every run it reads summary.json
and curves.csv; the traces are not needed.

The page is results.md, in Markdown, with figures in the sub-folder figures.`

const resultsExamples = `  # the paper's figures, shortened to 5 trials, with both kinds of weights
  difalt simulate --preset all --trials 5 --out runs/equal
  difalt simulate --preset all --trials 5 --weights metropolis \
      --out runs/metropolis
  difalt results --from runs --out docs`

func newResultsCommand() *cobra.Command {
	var from, out string
	cmd := &cobra.Command{
		Use:     "results",
		Short:   "Write a page with figures and tables about runs of simulate",
		Long:    resultsHelp,
		Example: resultsExamples,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" {
				return options.Usagef("--from is missing: need a folder with runs of simulate")
			}
			out = cmp.Or(out, from)
			all, err := simulation.LoadResults(from)
			if err != nil {
				return err
			}
			if err := paper.WriteReport(out, all); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s about %s\n", filepath.Join(out, paper.ReportFile), text.Plural(len(all), "run"))
			return err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&from, "from", "", "folder `DIR` with runs of simulate")
	f.StringVar(&out, "out", "", "output folder `DIR` (default that of --from)")
	return cmd
}
