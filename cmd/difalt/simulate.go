package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/difalt/difalt/dataset/problemfile"
	"github.com/difalt/difalt/internal/simulation"
	"github.com/difalt/difalt/internal/terminal"
	"github.com/difalt/difalt/internal/text"
	"github.com/difalt/difalt/kernel"
	"github.com/spf13/cobra"
)

const simulateHelp = `Recover a known representation from synthetic data, with Dif-AltGDmin and its
baselines side by side, and draw how the distance to it falls.

Each trial draws a graph and a problem as in the paper: U* from the orthonormal
factor of a Gaussian matrix, b_t and X_t Gaussian, y_t = X_t U* b_t + noise. The
output folder gets

  trace.csv              every method, trial and iteration
  curves.csv             the same, condensed over the trials
  summary.json           what it took to reach 1e-3, 1e-6 and 1e-10
  figure.png figure.svg  distance against iterations and against execution time
  settings.json          by which the same command knows its trials again

Rounds, messages and bytes are all that was sent, the initialisation included (that
is iteration 0). Execution time is the measured computing of the slowest node in the
iterations, plus the modelled time of all that is sent; the table tells them apart. The same seed gives the same numbers, times apart, with any
number of workers and trials. Ctrl-C keeps the finished trials, and the same
command goes on from there.`

const simulateExamples = `  # a small experiment with a picture, in seconds
  difalt simulate

  # a single round of averaging: Dif-AltGDmin needs no more, Dec-AltGDmin does
  difalt simulate --rounds 1

  # a ring of 12 nodes, noisy data, only the method and its centralised ideal
  difalt simulate --nodes 12 --graph ring --rounds 40 --noise 1e-3 \
      --method dif,altgdmin

  # a slow network: 100 ms and 10 Mbit/s, with random delays up to 20 ms
  difalt simulate --latency 100ms --bandwidth 1e7 --jitter 20ms

  # figure 1a of the paper, 100 trials; then the same with other weights
  difalt simulate --preset fig1a
  difalt simulate --preset fig1a --weights metropolis --out fig1a-metropolis

  # all figures of the paper, shortened to 5 trials, in sub-folders of runs
  difalt simulate --preset all --trials 5 --out runs

  # beyond the paper: three rounds of eight bits an entry, a tenth of them lost
  difalt simulate --method dif,accelerated --rounds 3 --compress int8 --loss 0.1

  # noisy data: how far from the minimiser of the pooled data the methods end
  difalt simulate --noise 0.05 --reference pooled --rounds 3 \
      --method dif,accelerated,accelerated-tracking

  # Chebyshev averaging on a ring, nodes with few news silent on a random graph
  difalt simulate --graph ring --agree chebyshev --compress int4
  difalt simulate --rounds 3 --compress int8 --sporadic 0.5

  # how long it takes for real: 20 processes on this machine; 4, 25 ms apart
  difalt simulate --trials 1 --engine grpc
  difalt simulate --trials 1 --engine grpc --processes 4 --link-delay 25ms \
      --method accelerated --iterations 60

  # write the problem of trial 1, with its network and start, for other programs
  difalt simulate --trials 1 --export problem.npz`

// simulateRun is what the flags of simulate say.
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
	cmd := &cobra.Command{
		Use:     "simulate",
		Short:   "Run the methods on synthetic data and draw how they converge",
		Long:    simulateHelp,
		Example: simulateExamples,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
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
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(flags.Set)
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
	defer func() { _ = folder.Close(false) }() // where nothing else has
	if folder.Differs != "" {
		fmt.Fprintf(stderr, "%s holds a run with %s: the first trial of this one will move it to %s\n", s.out, folder.Differs, folder.Path("previous"))
	}
	if s.export != "" {
		if err := s.exportProblem(ctx); err != nil {
			return err
		}
	}
	describe(stdout, &s.setting)
	runErr := s.compute(ctx, folder, stderr)
	interrupted := errors.Is(runErr, context.Canceled)
	if runErr == nil || interrupted {
		if err := s.results(folder, stdout); err != nil {
			runErr, interrupted = err, false
		}
	}
	switch done := len(folder.Done); {
	case interrupted && done == 0:
		return &interruptedError{"interrupted before the first trial was done: nothing was written"}
	case interrupted:
		return s.interrupted(done)
	case runErr != nil && done == 0:
		return runErr
	case runErr != nil:
		return fmt.Errorf("%w; %s holds %d of %d trials: the same command goes on from there", runErr, s.out, done, s.trials)
	}
	if s.engine.name == "" {
		return nil
	}
	err = s.measure(ctx, folder, folder.Done, stdout)
	if errors.Is(err, context.Canceled) {
		return s.interrupted(len(folder.Done))
	}
	return err
}

func (s *simulateRun) interrupted(done int) error {
	return &interruptedError{fmt.Sprintf("interrupted: %s holds %d of %d trials; the same command goes on from there", s.out, done, s.trials)}
}

// results writes and reports what the trials of a folder amount to.
func (s *simulateRun) results(folder *simulation.Folder, stdout io.Writer) error {
	if len(folder.Done) == 0 {
		return nil
	}
	sum := simulation.Summarize(&s.setting, folder.Done, machine())
	if err := folder.WriteResults(&s.setting, sum, folder.Done); err != nil {
		return err
	}
	if err := folder.Close(true); err != nil {
		return err
	}
	return printSummary(stdout, sum, folder)
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
	iterations := int64(s.trials-done) * int64(len(s.setting.Methods)) * int64(s.setting.Iterations)
	bar := terminal.NewProgress(stderr, cmp.Or(s.setting.Name, "simulating"), "it", iterations)
	defer bar.Close()
	run := simulation.Run{
		Setting: s.setting, First: done + 1, Last: s.trials, Workers: s.workers,
		Deliver:  folder.Add,
		Progress: func(n, anchors int) { bar.Anchors(anchors); bar.Add(int64(n)) },
	}
	return run.Do(ctx)
}

// exportProblem writes the problem of trial 1 with its network and start.
func (s *simulateRun) exportProblem(ctx context.Context) error {
	problem, weights, err := s.setting.Start(ctx, 1, s.workers)
	if err != nil {
		return err
	}
	return problemfile.Write(s.export, problem, weights)
}
