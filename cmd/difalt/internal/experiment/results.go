package experiment

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/paper"
	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/spf13/cobra"
)

const (
	resultsHelp = `Write a page about the runs of simulate in a folder and its sub-folders:
figures, tables, and the commands and machines that made them. Runs of a preset
share a figure; every other run has its own.

The page is results.md, in Markdown, with its figures in the sub-folder figures.`
	resultsExamples = `  # the page of a single run
  difalt simulate
  difalt results

  # the paper's figure 1, shortened to 5 trials, with both kinds of weights
  difalt simulate --preset fig1 --trials 5 --out runs/equal
  difalt simulate --preset fig1 --trials 5 --weights metropolis \
      --out runs/metropolis
  difalt results --from runs --out page`
)

// resultsOptions are the options of results.
type resultsOptions struct{ from, out string }

// NewResults returns the command results.
func NewResults(std *cli.Streams) *cobra.Command {
	var o resultsOptions
	cmd := &cobra.Command{
		Use:     "results",
		Short:   "Write a page about runs of simulate",
		Long:    resultsHelp,
		Example: resultsExamples,
		RunE:    func(*cobra.Command, []string) error { return runResults(std, o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.from, "from", defaultFolder, "read the runs of simulate in the folder `DIR`")
	flags.StringVar(&o.out, "out", "", "write the page to the folder `DIR` (default: that of --from)")
	return cmd
}

// runResults writes the page.
func runResults(std *cli.Streams, o resultsOptions) error {
	if err := cli.NamesFile("from", o.from); err != nil {
		return err
	}
	all, err := simulation.LoadResults(o.from)
	if err != nil {
		return cli.OfFlag("from", err)
	}
	folder := cmp.Or(o.out, o.from)
	if err := paper.WriteReport(folder, all); err != nil {
		return cli.OfFlag("out", err)
	}
	report := &resultsReport{cli.NewHeader("results"), filepath.Join(folder, paper.ReportFile), len(all)}
	return std.Report(report, func(w io.Writer) {
		fmt.Fprintf(w, "%s about %s\n", report.File, text.Plural(report.Runs, "run"))
	})
}

// A resultsReport is the report of results in JSON.
type resultsReport struct {
	cli.Header
	File string `json:"file"`
	Runs int    `json:"runs"`
}
