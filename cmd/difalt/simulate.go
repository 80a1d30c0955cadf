package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/difalt/difalt/cmd/difalt/dataset/problemfile"
	"github.com/difalt/difalt/cmd/difalt/internal/federate"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/paper"
	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"github.com/spf13/cobra"
)

type simulateRun struct {
	setting simulation.Setting
	trials  int
	workers int
	out     string
	export  string
	resume  bool
	engine  engineFlags
}

func newSimulateCommand() *cobra.Command {
	flags := newSimulateFlags()
	cmd := newCommand("simulate", "Run the methods on synthetic data and plot how they converge", flags.Set, func(cmd *cobra.Command, _ []string) error {
		runs, err := untilCanceled(cmd.Context(), flags.resolve)
		if err != nil {
			return err
		}
		for i, s := range runs {
			if i > 0 {
				fmt.Fprintln(cmd.OutOrStdout())
			}
			if err := s.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
				return err
			}
		}
		return nil
	})
	return cmd
}

// run does the simulation: results go to the folder and to stdout, progress to
// stderr.
func (s *simulateRun) run(ctx context.Context, stdout, stderr io.Writer) error {
	if err := kernel.Err(); err != nil {
		return err
	}
	folder, err := simulation.OpenFolder(s.out, &s.setting, !s.resume)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }() // where nothing else has
	if folder.Differs != "" {
		fmt.Fprintf(stderr, "%s holds a run with %s: the first trial of this one will move it to %s\n", s.out, folder.Differs, folder.Path("previous"))
	}
	if s.export != "" {
		problem, weights, err := s.setting.Start(ctx, 1, s.workers)
		if err == nil {
			err = problemfile.Write(s.export, problem, weights)
		}
		if err != nil {
			return err
		}
	}
	describe(stdout, &s.setting)
	err = s.compute(ctx, folder, stderr)
	if err == nil || errors.Is(err, context.Canceled) {
		if failed := s.results(folder, stdout); failed != nil {
			err = failed
		}
	}
	measured := err == nil && s.engine.name != ""
	if measured {
		err = s.measure(ctx, folder, folder.Done, stdout)
	}
	switch done := len(folder.Done); {
	case errors.Is(err, context.Canceled) && done == 0:
		return federate.Interrupted("interrupted before the first trial was done: nothing was written")
	case errors.Is(err, context.Canceled):
		return federate.Interrupted(fmt.Sprintf("interrupted: %s holds %d of %d trials; the same command goes on from there", s.out, done, s.trials))
	case err == nil || done == 0 || measured:
		return err
	default:
		return fmt.Errorf("%w; %s holds %d of %d trials: the same command goes on from there", err, s.out, done, s.trials)
	}
}

// results writes and reports what the trials of a folder amount to.
func (s *simulateRun) results(folder *simulation.Folder, stdout io.Writer) error {
	if len(folder.Done) == 0 {
		return nil
	}
	sum := simulation.Summarize(&s.setting, folder.Done, machine())
	if err := folder.WriteResults(sum); err != nil {
		return err
	}
	if err := folder.Close(); err != nil {
		return err
	}
	printSummary(stdout, sum, folder)
	return nil
}

// compute runs the trials that the folder does not hold.
func (s *simulateRun) compute(ctx context.Context, folder *simulation.Folder, stderr io.Writer) error {
	done := len(folder.Done)
	if done > 0 {
		fmt.Fprintf(stderr, "%s holds %s of these settings already\n", s.out, text.Plural(done, "trial"))
	}
	if done >= s.trials {
		return nil
	}
	all, iterations := int64(s.trials-done)*int64(len(s.setting.Methods))*int64(s.setting.Iterations), atomic.Int64{}
	bar := terminal.NewProgress(stderr)
	defer bar.Close()
	progress := func(n int) {
		bar.Stage(cmp.Or(s.setting.Name, "simulating"), "it", iterations.Add(int64(n)), all)
	}
	progress(0)
	run := simulation.Run{
		Setting: s.setting, First: done + 1, Last: s.trials, Workers: s.workers,
		Deliver: folder.Add, Progress: progress,
	}
	return run.Do(ctx)
}

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
func printSummary(w io.Writer, sum *simulation.Summary, folder *simulation.Folder) {
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
	fmt.Fprintf(w, "picture  %s (and .svg)\ncurves   %s\nsummary  %s\n",
		filepath.Clean(folder.Path(simulation.FigureFile+".png")), filepath.Clean(folder.Path(simulation.TraceFile)), filepath.Clean(folder.Path(simulation.SummaryFile)))
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
			return fmt.Errorf("--from: %w", err)
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
