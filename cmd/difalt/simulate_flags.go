package main

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/paper"
	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/difalt/difalt/cmd/difalt/internal/tablefile"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// smallSetting is what simulate does without flags.
var smallSetting = simulation.Setting{
	Nodes: 20, Features: 120, Tasks: 120, Samples: 30, Rank: 4,
	Graph: "er:0.5", Weights: "metropolis", Methods: names(difalt.PaperMethods()),
	Rounds: 10, Iterations: 500,
	Seed: 1, Time: simulation.PaperTime,
}

// simulateFlags are the flags of simulate, parsed but not checked.
type simulateFlags struct {
	*options.Group
	simulateRun
	preset string
	auto   bool
	time   *timeFlags
}

func newSimulateFlags() *simulateFlags {
	f := &simulateFlags{time: &timeFlags{}}
	f.setting = smallSetting
	f.Group = options.NewGroup(slices.Concat(f.problem(), f.algorithm(), f.faults(), f.run(), f.time.options(), f.engine.options(), f.files()))
	return f
}

// many is the end of ranges that have none by themselves: what nobody lives to see.
const many = 1_000_000_000

// huge is the largest number of which the square is one.
const huge = 1e150

func (f *simulateFlags) problem() []options.Option {
	s := &f.setting
	return []options.Option{
		{Name: "preset", Value: options.Text(&f.preset, ""), Usage: "settings with a `NAME`: fig1a, fig1b, fig1c, fig2a, fig2b, fig2c of the paper or all of these; one-round, frontier, noise, kappa, baselines beyond them; other flags override their values"},
		{Name: "nodes", Value: options.Count(&s.Nodes, s.Nodes, 1, many), Usage: "number of nodes L"},
		{Name: "features", Value: options.Count(&s.Features, s.Features, 1, many), Usage: "number of features d"},
		{Name: "tasks", Value: options.Count(&s.Tasks, s.Tasks, 1, many), Usage: "number of tasks T, dealt evenly to the nodes"},
		{Name: "samples", Value: options.Count(&s.Samples, s.Samples, 1, many), Usage: "samples n of each task"},
		{Name: "rank", Value: options.Count(&s.Rank, s.Rank, 1, many), Usage: "rank r of the representation"},
		{Name: "graph", Value: options.Text(&s.Graph, s.Graph), Usage: "`KIND`: " + topology.Specs() + "; P is the probability of an edge"},
		{Name: "weights", Value: options.Text(&s.Weights, s.Weights), Usage: "mixing weights `KIND`: metropolis, equal (the paper's formula), lazy-metropolis, lazy-equal, best-constant"},
	}
}

func (f *simulateFlags) algorithm() []options.Option {
	s := &f.setting
	return []options.Option{
		{Name: "method", Value: options.List(&s.Methods, s.Methods), Usage: "`LIST` of " + strings.Join(names(simulation.Methods()), ", ") + ", " + simulation.Auto + " and " + simulation.Pooled + " (one node with all data)"},
		{Name: "auto", Value: options.Yes(&f.auto), Usage: "leave method, rounds, step and compression to the program: the same as --method auto"},
		{Name: "rounds", Value: options.Count(&s.Rounds, s.Rounds, 1, difalt.MaxRounds), Usage: "rounds of averaging in an iteration, T_con"},
		{Name: "init-rounds", Value: options.Count(&s.InitRounds, 0, 1, difalt.MaxRounds), Usage: "rounds of averaging in the initialisation (default as --rounds, at least 10)"},
		{Name: "power-iterations", Value: options.Count(&s.PowerIterations, s.PowerIterations, 0, difalt.MaxIterations), Usage: "power iterations of the initialisation, T_pm (default 30, of the accelerated methods fewer)"},
		{Name: "as-printed", Value: options.Yes(&s.AsPrinted), Usage: "run all of the paper's initialisation by AGREE, also lines 4 and 15 of Alg. 2: thresholds differ from node to node, and rounds are twice as many (default: an exact threshold, and a broadcast along a tree)"},
		{Name: "iterations", Value: options.Count(&s.Iterations, s.Iterations, 1, difalt.MaxIterations), Usage: "iterations, T_GD"},
		{Name: "scaled-step", Value: options.Number(&s.ScaledStep, 0, 0, difalt.MaxStep, "must be positive, or 0 for the default"), Usage: "step of the methods that scale the gradient, 1 is that of Newton's method (default 0.7)"},
		{Name: "memory", Value: options.Count(&s.Memory, 0, 0, difalt.MaxMemory), Usage: "changes that the accelerated methods remember (default 10)"},
		{Name: "preconditioner", Value: options.Text(&s.Preconditioner, ""), Usage: "`KIND` of step in the accelerated methods: scaled, none (no sums of b b' are sent) (default scaled)"},
		{Name: "reference", Value: options.Text(&s.Reference, ""), Usage: "measure distances from the `KIND`: truth, or pooled, the minimiser for the data of all nodes (default truth)"},
		{Name: "mixed-precision", Value: options.Yes(&s.MixedPrecision), Usage: "iterate on a copy of the samples in 16 bits; the result has the digits of float64"},
		{Name: "samples-on-disk", Value: options.Text(&s.Folder, ""), Usage: "keep the samples in files in `DIR`, for problems larger than memory; implies --mixed-precision, which takes a quarter of the memory"},
		{Name: "agree", Value: options.Text(&s.Agree, ""), Usage: "`KIND` of averaging: plain, chebyshev (fewer rounds on poorly connected graphs), tree (sums along a tree, exact without --compress) (default plain)"},
		{Name: "compress", Value: options.Text(&s.Compress, ""), Usage: "code messages as `KIND`: " + strings.Join(consensus.CodecNames(), ", ") + " (default none)"},
		{Name: "sporadic", Value: options.Number(&s.Sporadic, 0, 0, 0.7, "want 0 to 0.7"), Usage: "let nodes with little news stay silent, from 0 to 0.7; with scaled steps to 0.5 and from 10 rounds on (default 0, all speak)"},
	}
}

func (f *simulateFlags) faults() []options.Option {
	s, almost := &f.setting, math.Nextafter(1, 0)
	probability := func(p *float64) options.Value {
		return options.Number(p, 0, 0, almost, "want a probability, at least 0 and less than 1")
	}
	return []options.Option{
		{Name: "loss", Value: probability(&s.Loss), Usage: "`PROBABILITY` that a message is lost and sent again: costs traffic, changes no result (default 0)"},
		{Name: "delay", Value: probability(&s.Delay), Usage: "`PROBABILITY` that a message comes too late and is sent again (default 0)"},
		{Name: "duplicate", Value: probability(&s.Duplicate), Usage: "`PROBABILITY` that a message comes twice (default 0)"},
	}
}

func (f *simulateFlags) run() []options.Option {
	s := &f.setting
	return []options.Option{
		{Name: "trials", Value: options.Count(&f.trials, 4, 1, many), Usage: "independent draws of graph and data (100 with a preset of the paper, 5 with the others)"},
		{Name: "seed", Value: options.Seed(&s.Seed, s.Seed), Usage: "seed of everything random"},
		{Name: "workers", Value: options.Count(&f.workers, 0, 0, kernel.MaxWorkers), Usage: "threads (default all processors)"},
		{Name: "noise", Value: options.Number(&s.Noise, s.Noise, 0, huge, "must be finite and not negative"), Usage: "standard deviation of the noise on y (default 0)"},
		{Name: "kappa", Value: options.Number(&s.Kappa, s.Kappa, 0, difalt.MaxKappa, "must be at least 1, or 0 for Gaussian coefficients"), Usage: "condition number of the coefficients, at least 1 (default: Gaussian coefficients, as in the paper)"},
	}
}

func (f *simulateFlags) files() []options.Option {
	f.resume = true
	return []options.Option{
		{Name: "out", Value: options.Text(&f.out, "difalt-out"), Usage: "output folder `DIR` (a preset's default is difalt-out/NAME)"},
		{Name: "export", Value: options.Text(&f.export, ""), Usage: "write the problem of trial 1 to `FILE`.npz as well"},
		{Name: "resume", Value: options.Yes(&f.resume), Usage: "go on from the trials of the same settings in the output folder"},
	}
}

// resolve checks the flags and returns the simulations that they ask for.
func (f *simulateFlags) resolve() ([]*simulateRun, error) {
	if err := tablefile.CheckExtension(f.export, ".npz"); err != nil {
		return nil, options.Usagef("--export: %w", err)
	}
	if f.preset == "" {
		s, err := f.one()
		return []*simulateRun{s}, err
	}
	preset, err := paper.PresetByName(f.preset)
	if err != nil {
		return nil, options.Usagef("--preset: %w", err)
	}
	var all []*simulateRun
	for _, setting := range preset.Settings {
		s, err := f.over(preset, setting)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// over returns a setting of a preset with the flags that were given.
func (f *simulateFlags) over(preset *paper.Preset, setting simulation.Setting) (*simulateRun, error) {
	g := newSimulateFlags()
	g.setting, g.trials = setting, preset.Trials
	if err := g.Set.Parse(f.Given(func(options.Option) bool { return true })); err != nil {
		return nil, &options.UsageError{Err: err}
	}
	if len(preset.Settings) > 1 || !f.Changed("out") {
		g.out = filepath.Join(f.out, filepath.FromSlash(setting.Name))
	}
	return g.one()
}

// one checks the flags and returns the one simulation that they describe.
func (f *simulateFlags) one() (*simulateRun, error) {
	given := f.Changed
	if err := f.CheckRanges(); err != nil {
		return nil, err
	}
	s := f.simulateRun
	if s.out == "" {
		return nil, options.Usagef("--out is empty: need a folder")
	}
	if f.auto {
		if given("method") {
			return nil, options.Usagef("--auto chooses the method: drop it or --method (which knows %q too)", simulation.Auto)
		}
		s.setting.Methods = []string{simulation.Auto}
	}
	if s.setting.Folder != "" {
		if s.engine.name != "" || given("mixed-precision") && !s.setting.MixedPrecision {
			return nil, options.Usagef("--samples-on-disk takes --mixed-precision and one process: drop --mixed-precision=false and --engine")
		}
		s.setting.MixedPrecision = true
	}
	if err := s.engine.check(given, &s.setting); err != nil {
		return nil, err
	}
	// With so few rounds as the iteration can do with, the start would be a poor one.
	if !given("init-rounds") && (s.setting.Name == "" || given("rounds")) {
		s.setting.InitRounds = max(s.setting.Rounds, 10)
	}
	var err error
	if s.setting.Time, err = f.time.model(f.Group); err != nil {
		return nil, err
	}
	if err := s.setting.CheckMemory(s.trials, s.workers); err != nil {
		return nil, err
	}
	if err := s.setting.Validate(); err != nil {
		return nil, flagError(f.Set, err)
	}
	return &s, nil
}

func names(methods []difalt.Method) []string {
	var all []string
	for _, m := range methods {
		all = append(all, m.String())
	}
	return all
}

type timeFlags struct {
	name            string
	latency, jitter time.Duration
	bandwidth       float64
}

func (t *timeFlags) options() []options.Option {
	return []options.Option{
		{Name: "time-model", Value: options.Text(&t.name, "paper"), Usage: "communication time, `NAME`: paper (50 ms + 8 d r/1e9 s a round, its formula), paper-text (5 ms and 1 Gbit/s)"},
		{Name: "latency", Value: options.Span(&t.latency, 0, 0), Usage: "latency of a message, as 20ms (default that of the model)"},
		{Name: "bandwidth", Value: options.Number(&t.bandwidth, 0, math.SmallestNonzeroFloat64, huge, "must be positive"), Usage: "bandwidth of a link in `BITS` per second (default that of the model)"},
		{Name: "jitter", Value: options.Span(&t.jitter, 0, 0), Usage: "largest random part of a message's time (default none)"},
	}
}

// model returns the model that the flags of a parsed set describe. Its values are
// not checked.
func (t *timeFlags) model(f *options.Group) (simulation.TimeModel, error) {
	m, err := simulation.ParseTimeModel(t.name)
	if err != nil {
		return m, options.Usagef("--time-model: %w", err)
	}
	if f.Changed("latency") {
		m.Latency = t.latency.Seconds()
	}
	if f.Changed("bandwidth") {
		m.Bandwidth = t.bandwidth
	}
	m.Jitter = t.jitter.Seconds()
	return m, nil
}
