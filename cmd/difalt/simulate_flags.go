package main

import (
	"path/filepath"
	"strings"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/options"
	"github.com/difalt/difalt/internal/paper"
	"github.com/difalt/difalt/internal/simulation"
	"github.com/difalt/difalt/kernel"
	"github.com/spf13/pflag"
)

// smallSetting is what simulate does without flags.
var smallSetting = simulation.Setting{
	Nodes: 20, Features: 120, Tasks: 120, Samples: 30, Rank: 4,
	Graph: options.DefaultGraph, Weights: "metropolis", Methods: names(difalt.PaperMethods()),
	Rounds: 10, Iterations: 500,
	Seed: 1, Time: simulation.PaperTime,
}

// simulateFlags are the flags of simulate, parsed but not checked.
type simulateFlags struct {
	set *pflag.FlagSet
	simulateRun
	preset string
	auto   bool
	time   *timeFlags
}

func newSimulateFlags() *simulateFlags {
	f := &simulateFlags{set: pflag.NewFlagSet("simulate", pflag.ContinueOnError), time: newTimeFlags()}
	s := &f.setting
	*s = smallSetting
	f.set.SortFlags = false
	f.set.StringVar(&f.preset, "preset", "", "settings with a `NAME`: fig1a, fig1b, fig1c, fig2a, fig2b, fig2c of the paper or all of these; one-round, frontier, noise, kappa beyond them; other flags override their values")
	f.set.IntVar(&s.Nodes, "nodes", s.Nodes, "number of nodes L")
	f.set.IntVar(&s.Features, "features", s.Features, "number of features d")
	f.set.IntVar(&s.Tasks, "tasks", s.Tasks, "number of tasks T, dealt evenly to the nodes")
	f.set.IntVar(&s.Samples, "samples", s.Samples, "samples n of each task")
	f.set.IntVar(&s.Rank, "rank", s.Rank, "rank r of the representation")
	f.set.StringVar(&s.Graph, "graph", s.Graph, "`KIND`: er:P (random, edge probability P), ring, path, star, grid, torus, complete, exponential")
	f.set.StringVar(&s.Weights, "weights", s.Weights, "mixing weights `KIND`: metropolis, equal (the paper's formula), lazy-metropolis, lazy-equal, best-constant")
	f.set.StringSliceVar(&s.Methods, "method", s.Methods, "`LIST` of "+strings.Join(methodNames(), ", ")+", "+simulation.Auto+" and "+simulation.Pooled+" (one node with all data)")
	f.set.BoolVar(&f.auto, "auto", false, "leave method, rounds, step and compression to the program: the same as --method auto")
	f.set.IntVar(&s.Rounds, "rounds", s.Rounds, "rounds of averaging in an iteration, T_con")
	f.set.IntVar(&s.InitRounds, "init-rounds", 0, "rounds of averaging in the initialisation (default as --rounds, at least 10)")
	f.set.IntVar(&s.PowerIterations, "power-iterations", s.PowerIterations, "power iterations of the initialisation, T_pm (default 30, of the accelerated methods fewer)")
	f.set.IntVar(&s.Iterations, "iterations", s.Iterations, "iterations, T_GD")
	f.set.Float64Var(&s.ScaledStep, "scaled-step", 0, "step of the methods that scale the gradient, 1 is that of Newton's method (default 0.7)")
	f.set.IntVar(&s.Memory, "memory", 0, "changes that the accelerated methods remember (default 10)")
	f.set.StringVar(&s.Preconditioner, "preconditioner", "", "`KIND` of step in the accelerated methods: scaled, none (no sums of b b' are sent) (default scaled)")
	f.set.StringVar(&s.Reference, "reference", "", "measure distances from the `KIND`: truth, or pooled, the minimiser for the data of all nodes (default truth)")
	f.set.BoolVar(&s.MixedPrecision, "mixed-precision", false, "iterate on a copy of the samples in 16 bits; the result has the digits of float64")
	f.set.StringVar(&s.Folder, "samples-on-disk", "", "keep the samples in files in `DIR`, for problems larger than memory; implies --mixed-precision, which takes a quarter of the memory")
	f.set.StringVar(&s.Agree, "agree", "", "`KIND` of averaging: plain, chebyshev (fewer rounds on poorly connected graphs), tree (sums along a tree, exact without --compress) (default plain)")
	f.set.StringVar(&s.Compress, "compress", "", "code messages as `KIND`: none, float32, int16, int8, int4 (default none)")
	f.set.Float64Var(&s.Sporadic, "sporadic", 0, "let nodes with little news stay silent, from 0 to 0.7; with scaled steps to 0.5 and from 10 rounds on (default 0, all speak)")
	f.set.Float64Var(&s.Loss, "loss", 0, "`PROBABILITY` that a message is lost and sent again: costs traffic, changes no result (default 0)")
	f.set.Float64Var(&s.Delay, "delay", 0, "`PROBABILITY` that a message comes too late and is sent again (default 0)")
	f.set.Float64Var(&s.Duplicate, "duplicate", 0, "`PROBABILITY` that a message comes twice (default 0)")
	f.set.IntVar(&f.trials, "trials", 4, "independent draws of graph and data (100 with a preset of the paper, 5 with the others)")
	f.set.Uint64Var(&s.Seed, "seed", s.Seed, "seed of everything random")
	f.set.IntVar(&f.workers, "workers", 0, "threads (default all processors)")
	f.set.Float64Var(&s.Noise, "noise", s.Noise, "standard deviation of the noise on y (default 0)")
	f.set.Float64Var(&s.Kappa, "kappa", s.Kappa, "condition number of the coefficients, at least 1 (default: Gaussian coefficients, as in the paper)")
	f.time.add(f.set)
	f.engine.add(f.set)
	f.set.StringVar(&f.out, "out", "difalt-out", "output folder `DIR` (a preset's default is difalt-out/NAME)")
	f.set.StringVar(&f.export, "export", "", "write the problem of trial 1 to `FILE`.npz as well")
	f.set.BoolVar(&f.resume, "resume", true, "go on from the trials of the same settings in the output folder")
	return f
}

// resolve checks the flags and returns the simulations that they ask for.
func (f *simulateFlags) resolve() ([]*simulateRun, error) {
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
	var err error
	f.set.VisitAll(func(flag *pflag.Flag) {
		if !flag.Changed {
			return
		}
		value := flag.Value.String()
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			value = strings.Join(list.GetSlice(), ",")
		}
		if e := g.set.Set(flag.Name, value); e != nil {
			err = e
		}
	})
	if err != nil {
		return nil, &options.UsageError{Err: err}
	}
	if len(preset.Settings) > 1 || !f.set.Changed("out") {
		g.out = filepath.Join(f.out, filepath.FromSlash(setting.Name))
	}
	return g.one()
}

// one checks the flags and returns the one simulation that they describe.
func (f *simulateFlags) one() (*simulateRun, error) {
	given := func(name string) bool { return f.set.Changed(name) }
	s := f.simulateRun
	for _, c := range []struct {
		name  string
		value int
		least int
	}{{"trials", s.trials, 1}, {"workers", s.workers, 0}} {
		if c.value < c.least {
			return nil, options.Usagef("--%s is %d: need at least %d", c.name, c.value, c.least)
		}
	}
	if s.workers > kernel.MaxWorkers {
		return nil, options.Usagef("--workers is %d: want at most %d", s.workers, kernel.MaxWorkers)
	}
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
	if s.setting.Time, err = f.time.model(f.set); err != nil {
		return nil, err
	}
	lanes, _ := simulation.Lanes(s.workers, s.trials)
	if err := s.setting.CheckMemory(s.trials, lanes); err != nil {
		return nil, err
	}
	if err := s.setting.Validate(); err != nil {
		return nil, flagError(f.set, err)
	}
	return &s, nil
}

func methodNames() []string { return names(difalt.Methods()) }

func names(methods []difalt.Method) []string {
	var all []string
	for _, m := range methods {
		all = append(all, m.String())
	}
	return all
}
