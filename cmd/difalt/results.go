package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/paper"
	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/spf13/cobra"
)

func newResultsCommand() *cobra.Command {
	from, out := defaultFolder, ""
	flags := options.FlagSet([]options.Option{
		{Name: "from", Value: options.Text(&from), Usage: "read the runs of simulate in the folder `DIR`"},
		{Name: "out", Value: options.Text(&out), Usage: "write the page to the folder `DIR` (default: that of --from)"},
	})
	return newCommand("results", "Write a page about runs of simulate", flags, func(_ context.Context, std streams) error {
		all, err := simulation.LoadResults(from)
		if err != nil {
			return fmt.Errorf("--from: %w", err)
		}
		folder := cmp.Or(out, from)
		if err := paper.WriteReport(folder, all); err != nil {
			return err
		}
		_, err = fmt.Fprintf(std.out, "%s about %s\n", filepath.Join(folder, paper.ReportFile), text.Plural(len(all), "run"))
		return err
	})
}
