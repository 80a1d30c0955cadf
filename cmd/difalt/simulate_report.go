package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/options"
	"github.com/difalt/difalt/internal/paper"
	"github.com/difalt/difalt/internal/simulation"
	"github.com/difalt/difalt/internal/text"
	"github.com/spf13/cobra"
)

// describe says in words what is going to be computed.
func describe(w io.Writer, s *simulation.Setting) {
	if s.Name != "" {
		fmt.Fprintf(w, "%s: ", s.Name)
	}
	how := fmt.Sprintf("%s of averaging an iteration, %s", text.Plural(s.Rounds, "round"), s.AgreementText())
	switch {
	case slices.Equal(s.Methods, []string{simulation.Auto}):
		how = "rounds and messages as Auto chooses"
	case s.Agree == consensus.Tree.String():
		how = "exact sums along a tree"
	}
	graph := graphWords(s.Graph)
	if _, of, ok := strings.Cut(s.Graph, ":"); ok {
		if strings.HasPrefix(s.Graph, "er:") {
			of = "edge probability " + of
		}
		graph += fmt.Sprintf(" (%s)", of)
	}
	fmt.Fprintf(w, "%s on %s, %s weights,\n%s\n", text.Plural(s.Nodes, "node"), graph, s.Weights, how)
	data := "no noise"
	if s.Noise > 0 {
		data = fmt.Sprintf("noise of %g", s.Noise)
	}
	if s.Kappa > 0 {
		data += fmt.Sprintf(", condition number %g", s.Kappa)
	}
	fmt.Fprintf(w, "%s of %s with %s, rank %d, %s, seed %d\n\n", text.Plural(s.Tasks, "task"), text.Plural(s.Samples, "sample"), text.Plural(s.Features, "feature"), s.Rank, data, s.Seed)
}

// graphWords says what kind of graph a specification such as er:0.5 is.
func graphWords(spec string) string {
	kind, _, _ := strings.Cut(spec, ":")
	switch kind {
	case "er":
		return "a random graph"
	case "complete":
		return "a complete graph"
	case "exponential":
		return "an exponential graph"
	}
	return "a " + kind
}

// printSummary prints what it took each method, and where the files are.
func printSummary(w io.Writer, sum *simulation.Summary, folder *simulation.Folder) error {
	t := text.Table{{"method", "distance", "to 1e-6", "to 1e-10", "MB sent", "network", "computing"}}
	for _, m := range sum.Methods {
		row := []string{m.Method, strconv.FormatFloat(m.Final.Median, 'e', 1, 64)}
		for _, target := range []float64{1e-6, 1e-10} {
			iterations := "-"
			if v := m.To(target).Iterations; v != nil {
				iterations = strconv.FormatFloat(*v, 'f', -1, 64)
			}
			row = append(row, iterations)
		}
		row = append(row, fmt.Sprintf("%.1f", m.Bytes/1e6), fmt.Sprintf("%.1f s", m.Communication), fmt.Sprintf("%.2f s", m.Computation))
		t = append(t, row)
	}
	t.Write(w)
	fmt.Fprintf(w, `
%s. distance: subspace distance of node 0 after %s;
to 1e-6, 1e-10: iterations until it is that small; network: modelled, at
%s; computing: measured, of the slowest node.

`, medians(sum.Trials), text.Plural(sum.Setting.Iterations, "iteration"), sum.Setting.Time)
	_, err := fmt.Fprintf(w, "picture  %s (and .svg)\ncurves   %s\nsummary  %s\n",
		filepath.Clean(folder.Path(simulation.FigureFile+".png")), filepath.Clean(folder.Path(simulation.TraceFile)), filepath.Clean(folder.Path(simulation.SummaryFile)))
	return err
}

// medians says of how many trials the table shows the medians.
func medians(trials int) string {
	if trials == 1 {
		return "One trial"
	}
	return fmt.Sprintf("Medians of %d trials", trials)
}

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
