package experiment

import (
	"path/filepath"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/paper"
	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"github.com/spf13/pflag"
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

// simulateFlags are the flags of simulate, parsed but not checked against each other.
type simulateFlags struct {
	Set *pflag.FlagSet
	simulateRun
	program string // with the command simulate
	preset  string
}

func newSimulateFlags(program string) *simulateFlags {
	f := &simulateFlags{program: program}
	f.setting, f.trials, f.out, f.progress = smallSetting, 4, defaultFolder, func(float64) {}
	f.Set = options.FlagSet(f.rows())
	return f
}

// maxRows is a number of rows of a trace that fits into memory.
const maxRows = 2e7

// rows are the options of simulate.
func (f *simulateFlags) rows() []options.Option {
	s := &f.setting
	return append([]options.Option{
		options.Row("preset", options.Text(&f.preset),
			"run the settings `NAME`: fig1 or fig2 of the paper, or a panel such as fig1a; one-round; frontier, "+
				"noise, kappa beyond the paper. Other flags override their values"),
		options.Row("nodes", options.Count(&s.Nodes, 1, simulation.MaxNodes), "number of nodes `L`"),
		options.Row("features", options.Count(&s.Features, 1, options.Many), "number of features `d`"),
		options.Row("tasks", options.Count(&s.Tasks, 1, options.Many), "number of tasks `T`, dealt evenly to the nodes"),
		options.Row("samples", options.Count(&s.Samples, 1, options.Many), "samples `n` of each task"),
		options.Row("rank", options.Count(&s.Rank, 1, options.Many), "rank `r` of the representation"),
		options.Row("noise", options.Number(&s.Noise, options.Range{Most: options.Huge}),
			"standard deviation `SD` of the noise on y (default 0)"),
		options.Row("kappa", options.Number(&s.Kappa, options.Range{Least: 1, Most: difalt.MaxKappa}),
			"condition number `K` of the coefficients, at least 1 (default: Gaussian coefficients, as in the paper)"),
		options.Row("graph", options.Text(&s.Graph),
			"`KIND` of graph: "+topology.Specs()+"; P is the probability of an edge"),
		options.Row("weights", options.Text(&s.Weights),
			"`KIND` of mixing weights: metropolis, equal (the paper's formula), lazy-metropolis"),
		options.Row("method", options.List(&s.Methods),
			"`LIST` of dif, altgdmin, dec, dgd, and accelerated:CODEC with messages in float64, int16 or int8"),
		options.Row("reference", options.Text(&s.Reference),
			"measure distances from the `KIND` of U: truth, or pooled, the minimiser for the data of all nodes"),
		options.Row("trials", options.Count(&f.trials, 1, options.Many),
			"independent draws `N` of graph and data (100 with a preset of the paper, 5 with the others)"),
		options.Row("time-model", options.Word(&f.setting.Time, "paper", simulation.ParseTimeModel),
			"communication time by `NAME`: paper (50 ms + 8 d r/1e9 s a round), paper-text (5 ms and 1 Gbit/s)"),
		options.Row("out", options.Text(&f.out), "write to the folder `DIR`, the runs of a preset to folders in it"),
		options.Row("export", options.Text(&f.export), "write the problem of trial 1 to `FILE`.npz as well"),
	}, IterationRows(&s.Rounds, &s.InitRounds, &s.PowerIterations, &s.Iterations, &s.Seed, &f.workers)...)
}

// IterationRows are the options that simulate and run share.
func IterationRows(rounds, start, power, iterations *int, seed *uint64, workers *int) []options.Option {
	return []options.Option{
		options.Row("rounds", options.Count(rounds, 1, difalt.MaxRounds),
			"average in `N` rounds in an iteration, T_con"),
		options.Row("init-rounds", options.Count(start, 1, difalt.MaxRounds),
			"average in `N` rounds in the initialisation (default: as --rounds, at least 10)"),
		options.Row("power-iterations", options.Count(power, 1, difalt.MaxIterations),
			"initialise by `N` power iterations, T_pm (default: 30, of accelerated 2 to 4)"),
		options.Row("iterations", options.Count(iterations, 1, difalt.MaxIterations), "end after `N` iterations, T_GD"),
		options.Row("seed", options.Seed(seed), "seed `N` of all random numbers"),
		options.Row("workers", options.Count(workers, 0, kernel.MaxWorkers),
			"use `N` threads (default: all processors)"),
	}
}

// command returns the command line that was given.
func (f *simulateFlags) command() string {
	line := f.program + " simulate"
	for _, arg := range options.Given(f.Set) {
		line += " " + text.ShellWord(arg)
	}
	return line
}

// resolve checks the flags. It returns the runs that they describe, and their preset if they name one.
func (f *simulateFlags) resolve() ([]*simulateRun, *paper.Preset, error) {
	if f.export != "" && !options.IsProblem(f.export) {
		return nil, nil, cli.WrongValue("export", f.export, "the name must end in .npz")
	}
	if f.preset == "" {
		s, err := f.one()
		return []*simulateRun{s}, nil, err
	}
	preset, err := paper.PresetByName(f.preset)
	if err != nil {
		return nil, nil, cli.WrongFlag("preset", "%w", err)
	}
	if f.export != "" && len(preset.Panels) > 1 {
		return nil, nil, cli.WrongFlag("export", "it writes one problem: --preset must be a panel, such as %s", preset.Panels[0].Setting.Name)
	}
	var all []*simulateRun
	for _, panel := range preset.Panels {
		g := newSimulateFlags(f.program) // the panel's values, and on top of them those that were given
		g.setting, g.trials = panel.Setting, preset.Trials
		if err := g.Set.Parse(options.Given(f.Set)); err != nil {
			return nil, nil, cli.Usagef("%w", err)
		}
		g.setting.Name = panel.Setting.Name
		if len(preset.Panels) > 1 || !f.Set.Changed("out") {
			g.out = filepath.Join(f.out, filepath.FromSlash(strings.ReplaceAll(panel.Setting.Name, "/", "-")))
		}
		s, err := g.one()
		if err != nil {
			return nil, nil, err
		}
		s.session.Command = f.command()
		all = append(all, s)
	}
	return all, preset, nil
}

// one checks the flags and returns the run that they describe.
func (f *simulateFlags) one() (*simulateRun, error) {
	s := f.simulateRun
	if !f.Set.Changed("init-rounds") && (s.setting.Name == "" || f.Set.Changed("rounds")) {
		s.setting.InitRounds = max(s.setting.Rounds, 10)
	}
	if err := s.setting.Validate(); err != nil {
		return nil, cli.OfParameter(f.Set, err)
	}
	if rows := float64(s.trials) * float64(len(s.setting.Methods)) * float64(s.setting.Iterations); rows > maxRows {
		return nil, cli.Usagef("--trials x methods x --iterations is %.3g: must be at most %.3g rows of a trace", rows, maxRows)
	}
	s.session = simulation.Session{Command: f.command(), Machine: cli.Machine()}
	return &s, nil
}
