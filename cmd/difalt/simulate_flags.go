package main

import (
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/paper"
	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// smallSetting is the setting of simulate without flags.
var smallSetting = simulation.Setting{
	Nodes: 20, Problem: simulation.Problem{Features: 120, Tasks: 120, Samples: 30, Rank: 4},
	Graph: "er:0.5", Weights: "metropolis", Methods: []string{"dif", "altgdmin", "dec", "dgd"}, Reference: simulation.Truth,
	Rounds: 10, Iterations: 500, Seed: 1, Time: simulation.PaperTime,
}

// simulateFlags are the flags of simulate, parsed but not checked.
type simulateFlags struct {
	*options.Group
	simulateRun
	preset          string
	timeModel       string
	latency, jitter time.Duration
	bandwidth       float64
}

func newSimulateFlags() *simulateFlags {
	f := &simulateFlags{}
	f.setting = smallSetting
	f.Group = options.NewGroup(append(append(f.problemRows(), f.algorithmRows()...), f.runRows()...))
	return f
}

// Ends of ranges that have none by themselves: counts, and numbers with a finite square.
const (
	many = 1_000_000_000
	huge = 1e150
)

// maxRows is a number of rows of a trace that fits into memory.
const maxRows = 2e7

func (f *simulateFlags) problemRows() []options.Option {
	s := &f.setting
	return []options.Option{
		{Name: "preset", Value: options.Text(&f.preset, ""), Usage: "settings with a `NAME`: fig1 or fig2 of the paper, or a panel such as fig1a; one-round; frontier, noise, kappa beyond the paper. Other flags override their values"},
		{Name: "nodes", Value: options.Count(&s.Nodes, s.Nodes, 1, simulation.MaxNodes), Usage: "number of nodes L"},
		{Name: "features", Value: options.Count(&s.Features, s.Features, 1, many), Usage: "number of features d"},
		{Name: "tasks", Value: options.Count(&s.Tasks, s.Tasks, 1, many), Usage: "number of tasks T, dealt evenly to the nodes"},
		{Name: "samples", Value: options.Count(&s.Samples, s.Samples, 1, many), Usage: "samples n of each task"},
		{Name: "rank", Value: options.Count(&s.Rank, s.Rank, 1, many), Usage: "rank r of the representation"},
		{Name: "noise", Value: options.Number(&s.Noise, s.Noise, 0, huge, "must be finite and not negative"), Usage: "standard deviation of the noise on y (default 0)"},
		{Name: "kappa", Value: options.Number(&s.Kappa, s.Kappa, 0, difalt.MaxKappa, "must be at least 1, or 0 for Gaussian coefficients"), Usage: "condition number of the coefficients, at least 1 (default: Gaussian coefficients, as in the paper)"},
		{Name: "graph", Value: options.Text(&s.Graph, s.Graph), Usage: "`KIND` of graph: " + topology.Specs() + "; P is the probability of an edge"},
		{Name: "weights", Value: options.Text(&s.Weights, s.Weights), Usage: "`KIND` of mixing weights: metropolis, equal (the paper's formula), lazy-metropolis"},
	}
}

func (f *simulateFlags) algorithmRows() []options.Option {
	s := &f.setting
	return []options.Option{
		{Name: "method", Value: options.List(&s.Methods, s.Methods), Usage: "`LIST` of dif, altgdmin, dec, dgd, and accelerated:CODEC with messages in float64, int16 or int8"},
		{Name: "rounds", Value: options.Count(&s.Rounds, s.Rounds, 1, difalt.MaxRounds), Usage: "rounds of averaging in an iteration, T_con"},
		{Name: "init-rounds", Value: options.Count(&s.InitRounds, 0, 1, difalt.MaxRounds), Usage: "rounds of averaging in the initialisation (default as --rounds, at least 10)"},
		{Name: "power-iterations", Value: options.Count(&s.PowerIterations, s.PowerIterations, 0, difalt.MaxIterations), Usage: "power iterations of the initialisation, T_pm (default 30, of accelerated fewer)"},
		{Name: "iterations", Value: options.Count(&s.Iterations, s.Iterations, 1, difalt.MaxIterations), Usage: "iterations, T_GD"},
		{Name: "reference", Value: options.Text(&s.Reference, s.Reference), Usage: "measure distances from the `KIND` of U: truth, or pooled, the minimiser for the data of all nodes"},
	}
}

func (f *simulateFlags) runRows() []options.Option {
	f.resume = true
	return []options.Option{
		{Name: "trials", Value: options.Count(&f.trials, 4, 1, many), Usage: "independent draws of graph and data (100 with a preset of the paper, 5 with the others)"},
		{Name: "seed", Value: options.Seed(&f.setting.Seed, f.setting.Seed), Usage: "seed of all random numbers"},
		{Name: "workers", Value: options.Count(&f.workers, 0, 0, kernel.MaxWorkers), Usage: "threads (default all processors)"},
		{Name: "time-model", Value: options.Text(&f.timeModel, "paper"), Usage: "communication time by `NAME`: paper (50 ms + 8 d r/1e9 s a round, its formula), paper-text (5 ms and 1 Gbit/s)"},
		{Name: "latency", Value: options.Span(&f.latency, 0, 0), Usage: "latency of a message, as 20ms (default that of the model)"},
		{Name: "bandwidth", Value: options.Number(&f.bandwidth, 0, math.SmallestNonzeroFloat64, huge, "must be positive"), Usage: "bandwidth of a link in `BITS` per second (default that of the model)"},
		{Name: "jitter", Value: options.Span(&f.jitter, 0, 0), Usage: "largest random part of a message's time (default none)"},
		{Name: "out", Value: options.Text(&f.out, "difalt-out"), Usage: "output folder `DIR` (a preset's runs are in sub-folders)"},
		{Name: "export", Value: options.Text(&f.export, ""), Usage: "write the problem of trial 1 to `FILE`.npz as well"},
		{Name: "resume", Value: options.Yes(&f.resume), Usage: "continue from the trials of the same settings in the output folder"},
	}
}

// command returns the command line that was given.
func (f *simulateFlags) command() string {
	line := "difalt simulate"
	for _, arg := range f.Given(func(options.Option) bool { return true }) {
		line += " " + text.ShellWord(arg)
	}
	return line
}

// resolve checks the flags. It returns the runs that they describe, and their preset if they name one.
func (f *simulateFlags) resolve() ([]*simulateRun, *paper.Preset, error) {
	if f.export != "" && !options.IsProblem(f.export) {
		return nil, nil, options.Usagef("--export is %q: the name must end in .npz", f.export)
	}
	if f.preset == "" {
		s, err := f.one()
		return []*simulateRun{s}, nil, err
	}
	preset, err := paper.PresetByName(f.preset)
	if err != nil {
		return nil, nil, options.Usagef("--preset: %w", err)
	}
	if f.export != "" && len(preset.Panels) > 1 {
		return nil, nil, options.Usagef("--export writes one problem: --preset must be a panel, such as %s", preset.Panels[0].Setting.Name)
	}
	var all []*simulateRun
	for _, panel := range preset.Panels {
		g := newSimulateFlags() // the panel's values, and on top of them those that were given
		g.setting, g.trials = panel.Setting, preset.Trials
		if err := g.Set.Parse(f.Given(func(options.Option) bool { return true })); err != nil {
			return nil, nil, &options.UsageError{Err: err}
		}
		g.setting.Name = panel.Setting.Name
		if len(preset.Panels) > 1 || !f.Changed("out") {
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
	if err := f.CheckRanges(); err != nil {
		return nil, err
	}
	s := f.simulateRun
	if !f.Changed("init-rounds") && (s.setting.Name == "" || f.Changed("rounds")) {
		s.setting.InitRounds = max(s.setting.Rounds, 10)
	}
	model, err := simulation.ParseTimeModel(f.timeModel)
	if err != nil {
		return nil, options.Usagef("--time-model is %w", err)
	}
	if f.Changed("latency") {
		model.Latency = f.latency.Seconds()
	}
	if f.Changed("bandwidth") {
		model.Bandwidth = f.bandwidth
	}
	model.Jitter = f.jitter.Seconds()
	s.setting.Time = model
	if err := s.setting.Validate(); err != nil {
		return nil, flagError(f.Set, err)
	}
	if rows := float64(s.trials) * float64(len(s.setting.Methods)) * float64(s.setting.Iterations); rows > maxRows {
		return nil, options.Usagef("--trials x methods x --iterations is %.3g: must be at most %.3g rows of a trace", rows, maxRows)
	}
	s.session = simulation.Session{Command: f.command(), Machine: machine()}
	return &s, nil
}
