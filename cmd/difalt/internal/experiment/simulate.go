// Package experiment has the commands for the paper's experiments on synthetic data: simulate and results.
package experiment

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/paper"
	"github.com/difalt/difalt/cmd/difalt/internal/problemfile"
	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	simulateHelp = `Recover a known representation from synthetic data with Dif-AltGDmin and other
methods, and plot the distance to it.

Each trial draws a graph and a problem as in the paper: U* from the orthonormal
factor of a Gaussian matrix, b_t and X_t Gaussian, y_t = X_t U* b_t + noise. The
output folder gets

  trace.csv              every method, trial and iteration
  summary.json           settings, and costs to reach 1e-3, 1e-6 and 1e-10
  figure.svg             distance against iterations and against time

in place of those of an earlier run, and a preset with several panels NAME.svg
with all of them. The bands of figures are the range over the trials; from 20
trials on, 10 to 90 %.

Rounds, messages and bytes count all traffic, including the initialisation
(iteration 0). Time is modelled: the measured computing time of the slowest node
plus the communication by a formula; the table shows the two parts. Except for
times, the same seed gives the same numbers with any number of workers and
trials. Ctrl-C writes the finished trials, unless the folder holds results.`
	simulateExamples = `  # a small experiment with a picture, in seconds
  difalt simulate

  # a single round of averaging: enough for Dif-AltGDmin, not for Dec-AltGDmin
  difalt simulate --rounds 1

  # beyond the paper: the accelerated method with messages of 8 bits an entry
  difalt simulate --method dif,accelerated:int8 --kappa 1.5

  # a ring of 12 nodes, noisy data, only the method and its centralised form
  difalt simulate --nodes 12 --graph ring --rounds 40 --noise 1e-3 \
      --method dif,altgdmin

  # figure 1 of the paper with 5 trials; then one panel with other weights
  difalt simulate --preset fig1 --trials 5
  difalt simulate --preset fig1a --weights metropolis --out fig1a-metropolis

  # noisy data: the distance from the minimiser for the data of all nodes
  difalt simulate --noise 0.05 --reference pooled --method dif,accelerated:int8

  # write the problem of trial 1, with its network and start, for difalt run
  difalt simulate --trials 1 --export problem.npz`
)

// smallSetting is the setting of simulate without flags.
var smallSetting = simulation.Setting{
	Nodes: 20, Problem: simulation.Problem{Features: 120, Tasks: 120, Samples: 30, Rank: 4},
	Graph: "er:0.5", Weights: "metropolis", Reference: simulation.Truth,
	Methods: []string{"dif", "altgdmin", "dec", "dgd", "accelerated:int8"},
	Rounds:  10, Iterations: 500, Seed: 1, Time: simulation.PaperTime,
}

// defaultFolder is the folder of runs.
const defaultFolder = "difalt-out"

// simulateOptions are the options of simulate.
type simulateOptions struct {
	preset      string
	setting     simulation.Setting
	trials      int
	workers     int
	out, export string

	flags   *pflag.FlagSet // that set these values; the flags of all commands are not among them
	program string         // with the command simulate
}

// NewSimulate returns the command simulate of a program.
func NewSimulate(std *cli.Streams, program string) *cobra.Command {
	o := newSimulateOptions(program)
	cmd := &cobra.Command{
		Use:     "simulate",
		Short:   "Run the methods on synthetic data and plot their convergence",
		Long:    simulateHelp,
		Example: simulateExamples,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runSimulate(cmd.Context(), std, o) },
	}
	cmd.Flags().AddFlagSet(o.flags)
	return cmd
}

// newSimulateOptions returns the options of simulate without flags.
func newSimulateOptions(program string) *simulateOptions {
	o := &simulateOptions{setting: smallSetting, trials: 4, out: defaultFolder, program: program}
	o.addFlags()
	return o
}

// addFlags makes the flags that set the options.
func (o *simulateOptions) addFlags() {
	flags := pflag.NewFlagSet("simulate", pflag.ContinueOnError)
	flags.SortFlags = false
	o.flags = flags
	flags.StringVar(&o.preset, "preset", "", "run the settings `NAME`: fig1 or fig2 of the paper, or a panel such "+
		"as fig1a; one-round; frontier, noise, kappa beyond the paper. Other flags override their values")
	s := &o.setting
	flags.Var(cli.Count(&s.Nodes, 1, simulation.MaxNodes), "nodes", "number of nodes `L`")
	flags.Var(cli.Count(&s.Features, 1, cli.Many), "features", "number of features `d`")
	flags.Var(cli.Count(&s.Tasks, 1, cli.Many), "tasks", "number of tasks `T`, dealt evenly to the nodes")
	flags.Var(cli.Count(&s.Samples, 1, cli.Many), "samples", "samples `n` of each task")
	flags.Var(cli.Count(&s.Rank, 1, cli.Many), "rank", "rank `r` of the representation")
	flags.Var(cli.Number(&s.Noise, cli.Range{Most: cli.Huge}), "noise",
		"standard deviation `SD` of the noise on y (default 0)")
	flags.Var(cli.Number(&s.Kappa, cli.Range{Least: 1, Most: difalt.MaxKappa}), "kappa",
		"condition number `K` of the coefficients, at least 1 (default: Gaussian coefficients, as in the paper)")
	flags.Var(Graph(&s.Graph), "graph", "`KIND` of graph: "+topology.Specs()+"; P is the probability "+
		"of an edge")
	flags.Var(cli.OneOf(&s.Weights, Rules...), "weights",
		"`KIND` of mixing weights: metropolis, equal (the paper's formula), lazy-metropolis")
	flags.Var(cli.List(&s.Methods), "method",
		"`LIST` of dif, altgdmin, dec, dgd, and accelerated:CODEC with messages in float64, int16 or int8")
	flags.Var(cli.OneOf(&s.Reference, simulation.Truth, simulation.Pooled), "reference",
		"measure distances from the `KIND` of U: truth, or pooled, the minimiser for the data of all nodes")
	flags.Var(cli.Count(&o.trials, 1, cli.Many), "trials",
		"independent draws `N` of graph and data (100 with a preset of the paper, 5 with the others)")
	flags.Var(cli.Parsed(&s.Time, "paper", simulation.ParseTimeModel, "paper", "paper-text"), "time-model",
		"communication time by `NAME`: paper (50 ms + 8 d r/1e9 s a round), paper-text (5 ms and 1 Gbit/s)")
	flags.StringVar(&o.out, "out", o.out, "write to the folder `DIR`, the runs of a preset to folders in it")
	flags.StringVar(&o.export, "export", "", "write the problem of trial 1 to `FILE`.npz as well")
	AddIterationFlags(flags, Iterations{
		Rounds: &s.Rounds, StartRounds: &s.InitRounds, PowerIterations: &s.PowerIterations, Iterations: &s.Iterations,
		Seed: &s.Seed, Workers: &o.workers,
	})
}

// runSimulate runs the settings of the options, and writes a figure of all of them if there are several.
func runSimulate(ctx context.Context, std *cli.Streams, o *simulateOptions) error {
	runs, preset, err := o.runs()
	if err != nil {
		return err
	}
	if err := checkOutputs(runs, o.out, preset); err != nil {
		return cli.OfFlag("out", err)
	}
	text, report := *std, &simulateReport{Header: cli.NewHeader("simulate")}
	if std.JSON {
		text.Out = io.Discard
	}
	var all []*simulation.Summary
	for i, s := range runs {
		if i > 0 {
			fmt.Fprintln(text.Out)
		}
		sum, err := s.run(ctx, &text)
		if err != nil {
			return err
		}
		all = append(all, sum)
		report.Runs = append(report.Runs, runReport{s.out, sum})
	}
	if len(runs) > 1 {
		report.Figure = filepath.Join(o.out, figureOf(preset))
		if err := atomicfile.WriteFile(report.Figure, preset.Figure(all).SVG()); err != nil {
			return err
		}
	}
	return std.Report(report, func(w io.Writer) {
		if report.Figure != "" {
			fmt.Fprintf(w, "\nfigure   %s\n", report.Figure)
		}
	})
}

// A simulateReport is the report of simulate in JSON.
type simulateReport struct {
	cli.Header
	Runs   []runReport `json:"runs"`
	Figure string      `json:"figure,omitempty"` // of all panels
}

// A runReport is a run of simulate, with the folder of its files.
type runReport struct {
	Folder  string              `json:"folder"`
	Summary *simulation.Summary `json:"summary"` // as in summary.json
}

// command returns the command line that was given, with its flags in the order of the help.
func (o *simulateOptions) command() string {
	line := o.program + " simulate"
	o.flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			line += " " + text.ShellWord("--"+f.Name+"="+f.Value.String())
		}
	})
	return line
}

// runs checks the options. It returns the runs that they describe, and their preset if they name one.
func (o *simulateOptions) runs() ([]*simulateRun, *paper.Preset, error) {
	if o.export != "" && !problemfile.IsName(o.export) {
		return nil, nil, cli.WrongValue("export", o.export, "the name must end in .npz")
	}
	if o.preset == "" {
		s, err := o.one()
		return []*simulateRun{s}, nil, err
	}
	preset, err := paper.PresetByName(o.preset)
	if err != nil {
		return nil, nil, cli.WrongValue("preset", o.preset, "%w", err)
	}
	if o.export != "" && len(preset.Panels) > 1 {
		return nil, nil, cli.WrongFlag("export", "it writes one problem: --preset must be a panel, such as %s",
			preset.Panels[0].Setting.Name)
	}
	var all []*simulateRun
	for _, panel := range preset.Panels {
		s, err := o.panel(preset, panel.Setting)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, s)
	}
	return all, preset, nil
}

// panel returns the run of a panel of a preset: its setting, where given values replace those of the preset.
func (o *simulateOptions) panel(preset *paper.Preset, setting simulation.Setting) (*simulateRun, error) {
	over := &simulateOptions{setting: setting, trials: preset.Trials, out: o.out, program: o.program}
	over.addFlags()
	var err error
	o.flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed && err == nil {
			err = over.flags.Set(f.Name, f.Value.String())
		}
	})
	if err != nil {
		return nil, err
	}
	over.setting.Name = setting.Name
	if len(preset.Panels) > 1 || !o.flags.Changed("out") {
		over.out = filepath.Join(o.out, filepath.FromSlash(strings.ReplaceAll(setting.Name, "/", "-")))
	}
	s, err := over.one()
	if err != nil {
		return nil, err
	}
	s.origin.Command = o.command()
	return s, nil
}

// maxRows is a number of rows of a trace that fits into memory.
const maxRows = 2e7

// one checks the options and returns the run that they describe.
func (o *simulateOptions) one() (*simulateRun, error) {
	s := &simulateRun{
		setting: o.setting, trials: o.trials, workers: o.workers,
		out: o.out, export: o.export, progress: func(float64) {},
	}
	if !o.flags.Changed("init-rounds") && (s.setting.Name == "" || o.flags.Changed("rounds")) {
		s.setting.InitRounds = max(s.setting.Rounds, 10)
	}
	if err := s.setting.Validate(); err != nil {
		return nil, cli.OfParameter(o.flags, err)
	}
	rows := float64(s.trials) * float64(len(s.setting.Methods)) * float64(s.setting.Iterations)
	if rows > maxRows {
		return nil, cli.Usagef("--trials x methods x --iterations is %.3g: must be at most %.3g rows of a trace",
			rows, maxRows)
	}
	machine := fmt.Sprintf("%s, %s", cli.Machine(), time.Now().UTC().Format(time.DateOnly))
	s.origin = simulation.Origin{Command: o.command(), Machine: machine}
	return s, nil
}
