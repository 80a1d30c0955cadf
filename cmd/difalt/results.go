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

func newResultsCommand() *cobra.Command {
	var from, out string
	cmd := newCommand("results", "Write a page with figures and tables about runs of simulate", nil, func(cmd *cobra.Command, _ []string) error {
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
	})
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "folder `DIR` with runs of simulate")
	f.StringVar(&out, "out", "", "output folder `DIR` (default that of --from)")
	return cmd
}
