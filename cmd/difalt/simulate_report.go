package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/experiment"
	"github.com/difalt/difalt/internal/text"
)

// describe says in words what is going to be computed.
func describe(w io.Writer, s *experiment.Setting) {
	if s.Name != "" {
		fmt.Fprintf(w, "%s: ", s.Name)
	}
	how := fmt.Sprintf("%d rounds an iteration, %s", s.Rounds, s.AgreementText())
	switch {
	case slices.Equal(s.Methods, []string{experiment.Auto}):
		how = "rounds and messages as Auto chooses"
	case s.Agree == consensus.Tree.String():
		how = "sums along a tree"
	}
	fmt.Fprintf(w, "%d nodes, graph %s, %s weights, %s\n", s.Nodes, s.Graph, s.Weights, how)
	data := "noiseless"
	if s.Noise > 0 {
		data = fmt.Sprintf("noise %g", s.Noise)
	}
	if s.Kappa > 0 {
		data += fmt.Sprintf(", condition number %g", s.Kappa)
	}
	fmt.Fprintf(w, "%d tasks of %d samples, %d features, rank %d, %s, seed %d\n\n", s.Tasks, s.Samples, s.Features, s.Rank, data, s.Seed)
}

// report prints what it took each method, and where the files are.
func report(w io.Writer, sum *experiment.Summary, folder *experiment.Folder) error {
	t := text.Table{{"method", "distance", "to 1e-6", "to 1e-10", "MB sent", "seconds"}}
	for _, m := range sum.Methods {
		row := []string{m.Method, strconv.FormatFloat(m.Final.Median, 'e', 1, 64)}
		for _, target := range []float64{1e-6, 1e-10} {
			row = append(row, iterationsTo(&m, target))
		}
		row = append(row, fmt.Sprintf("%.1f", m.Bytes/1e6), fmt.Sprintf("%.1f", m.Seconds))
		t = append(t, row)
	}
	t.Write(w)
	fmt.Fprintf(w, `
%s. distance: subspace distance of node 0 after %d iterations; to 1e-6,
1e-10: iterations until it is that small; seconds: of computation and of
communication at %s.

`, medians(sum.Trials), sum.Setting.Iterations, sum.Setting.Time)
	_, err := fmt.Fprintf(w, "picture  %s (and .svg)\ncurves   %s\nsummary  %s\n",
		filepath.Clean(folder.Path(experiment.FigureFile+".png")), filepath.Clean(folder.Path(experiment.TraceFile)), filepath.Clean(folder.Path(experiment.SummaryFile)))
	return err
}

// iterationsTo returns the iterations to a target, or a dash.
func iterationsTo(m *experiment.MethodSummary, target float64) string {
	for _, r := range m.Reached {
		if r.Distance == target && r.Iterations != nil {
			return strconv.FormatFloat(*r.Iterations, 'f', -1, 64)
		}
	}
	return "-"
}

// medians says of how many trials the table shows the medians.
func medians(trials int) string {
	if trials == 1 {
		return "One trial"
	}
	return fmt.Sprintf("Medians of %d trials", trials)
}
