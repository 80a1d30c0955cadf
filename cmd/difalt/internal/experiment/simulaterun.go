package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/paper"
	"github.com/difalt/difalt/cmd/difalt/internal/problemfile"
	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// A simulateRun is one setting to simulate, with its output.
type simulateRun struct {
	setting simulation.Setting
	origin  simulation.Origin
	trials  int
	workers int
	out     string
	export  string

	progress func(share float64) // is called with the share of the work that is done
}

// checkOutputs fails if the files of some runs, and the figure of a preset with several, cannot be written.
func checkOutputs(runs []*simulateRun, folder string, preset *paper.Preset) error {
	if len(runs) > 1 {
		if err := atomicfile.CheckFolder(folder, figureOf(preset)); err != nil {
			return err
		}
	}
	for _, s := range runs {
		if err := atomicfile.CheckFolder(s.out, simulation.FileNames...); err != nil {
			return err
		}
	}
	return nil
}

// figureOf returns the name of the figure of a preset.
func figureOf(preset *paper.Preset) string { return preset.Name + ".svg" }

// run does the simulation. Results go to the folder and to stdout, progress to stderr. An interrupted run
// writes its finished trials, unless the folder holds results already.
func (s *simulateRun) run(ctx context.Context, std *cli.Streams) (*simulation.Summary, error) {
	if s.export != "" {
		problem, weights, err := s.setting.Start(ctx, 1, s.workers)
		if err == nil {
			err = problemfile.Write(s.export, problem, weights)
		}
		if err != nil {
			return nil, cli.OfFlag("export", err)
		}
	}
	printSetting(std.Out, &s.setting)
	trials, err := s.compute(ctx, std.Progress())
	stopped := errors.Is(err, context.Canceled)
	if err != nil && !stopped {
		return nil, err
	}
	if stopped {
		_, old := os.Stat(filepath.Join(s.out, simulation.SummaryFile))
		if len(trials) == 0 || old == nil {
			return nil, cli.Interrupted("interrupted after %d of %d trials: nothing was written", len(trials), s.trials)
		}
	}
	sum := simulation.Summarize(&s.setting, trials, s.origin)
	if err := sum.Write(s.out, trials); err != nil {
		return nil, cli.OfFlag("out", err)
	}
	printSummary(std.Out, sum, s.out)
	if s.export != "" {
		fmt.Fprintln(std.Out, s.export)
	}
	if stopped {
		return nil, cli.Interrupted("interrupted: %s holds %d of %d trials", s.out, len(trials), s.trials)
	}
	return sum, nil
}

// compute runs the trials. It returns the finished ones, also with an error.
func (s *simulateRun) compute(ctx context.Context, stderr io.Writer) ([]simulation.Trial, error) {
	bar := terminal.NewProgress(stderr)
	defer bar.Close()
	run := simulation.Run{Setting: s.setting, Trials: s.trials, Workers: s.workers, Progress: func(share float64) {
		bar.Stage(cmp.Or(s.setting.Name, "simulating"), share)
		s.progress(share)
	}}
	return run.Do(ctx)
}

// printSetting prints the parameters of a setting.
func printSetting(w io.Writer, s *simulation.Setting) {
	words := fmt.Sprintf("%s, graph %s, %s weights,\n%s of averaging an iteration, noise %g, seed %d",
		s.Sizes(), s.Graph, s.Weights, text.Plural(s.Rounds, "round"), s.Noise, s.Seed)
	if s.Name != "" {
		words = s.Name + ": " + words
	}
	if s.Kappa > 0 {
		words += fmt.Sprintf(", condition number %g", s.Kappa)
	}
	fmt.Fprintf(w, "%s\n\n", words)
}

// printSummary prints the costs of every method, and the names of the files.
func printSummary(w io.Writer, sum *simulation.Summary, folder string) {
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
		t = append(t, append(row, fmt.Sprintf("%.1f", m.Bytes/1e6), fmt.Sprintf("%.1f s", m.Communication),
			fmt.Sprintf("%.2g s", m.Computation)))
	}
	t.Write(w)
	fmt.Fprintf(w, `
Medians of %s. distance: subspace distance of node 0 after %s;
to 1e-6, 1e-10: iterations until it is that small; network: modelled, at
%s; computing: measured, of the slowest node.

`, text.Plural(sum.Trials, "trial"), text.Plural(sum.Setting.Iterations, "iteration"), sum.Setting.Time)
	for _, name := range []string{simulation.FigureFile, simulation.TraceFile, simulation.SummaryFile} {
		fmt.Fprintln(w, filepath.Join(folder, name))
	}
}
