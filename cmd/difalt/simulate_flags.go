package main

import (
	"strings"
	"time"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/experiment"
	"github.com/spf13/pflag"
)

// smallSetting is what simulate does without flags.
var smallSetting = experiment.Setting{
	Nodes: 20, Features: 120, Tasks: 120, Samples: 30, Rank: 4,
	Graph: "er:0.5", Weights: "metropolis", Methods: methodNames(),
	Rounds: 10, PowerIterations: 30, Iterations: 500,
	Seed: 1, Time: experiment.PaperTime,
}

// simulateFlags are the flags of simulate, parsed but not checked.
type simulateFlags struct {
	set *pflag.FlagSet
	simulation
	timeModel          string
	latency, jitter    time.Duration
	bandwidth          float64
	jitterDistribution string
}

func newSimulateFlags() *simulateFlags {
	f := &simulateFlags{set: pflag.NewFlagSet("simulate", pflag.ContinueOnError)}
	s := &f.setting
	*s = smallSetting
	f.set.SortFlags = false
	f.set.IntVar(&s.Nodes, "nodes", s.Nodes, "number of nodes L")
	f.set.IntVar(&s.Features, "features", s.Features, "number of features d")
	f.set.IntVar(&s.Tasks, "tasks", s.Tasks, "number of tasks T, dealt evenly to the nodes")
	f.set.IntVar(&s.Samples, "samples", s.Samples, "samples n of each task")
	f.set.IntVar(&s.Rank, "rank", s.Rank, "rank r of the representation")
	f.set.StringVar(&s.Graph, "graph", s.Graph, "`KIND`: er:P (random, edge probability P), ring, path, star, grid, torus, complete, exponential")
	f.set.StringVar(&s.Weights, "weights", s.Weights, "mixing weights `KIND`: metropolis, equal (the paper's formula), lazy-metropolis, lazy-equal, best-constant")
	f.set.StringSliceVar(&s.Methods, "methods", s.Methods, "`LIST` of "+strings.Join(methodNames(), ", "))
	f.set.IntVar(&s.Rounds, "rounds", s.Rounds, "rounds of averaging in an iteration, T_con")
	f.set.IntVar(&s.InitRounds, "init-rounds", 0, "rounds of averaging in the initialisation (default as --rounds, at least 10)")
	f.set.IntVar(&s.PowerIterations, "power-iterations", s.PowerIterations, "power iterations of the initialisation, T_pm")
	f.set.IntVar(&s.Iterations, "iterations", s.Iterations, "iterations, T_GD")
	f.set.IntVar(&f.trials, "trials", 4, "independent draws of graph and data")
	f.set.Uint64Var(&s.Seed, "seed", s.Seed, "seed of everything random")
	f.set.IntVar(&f.workers, "workers", 0, "threads (default all processors)")
	f.set.Float64Var(&s.Noise, "noise", s.Noise, "standard deviation of the noise on y (default 0)")
	f.set.Float64Var(&s.Kappa, "kappa", s.Kappa, "condition number of the coefficients, at least 1 (default: Gaussian coefficients, as in the paper)")
	f.set.StringVar(&f.timeModel, "time-model", experiment.TimeModels[0].Name, "communication time, `NAME`: paper (50 ms + 8 d r/1e9 s a round, its formula), paper-text (5 ms and 1 Gbit/s)")
	f.set.DurationVar(&f.latency, "latency", 0, "latency of a message, as 20ms (default that of the model)")
	f.set.Float64Var(&f.bandwidth, "bandwidth", 0, "bandwidth of a link in `BITS` per second (default that of the model)")
	f.set.DurationVar(&f.jitter, "jitter", 0, "scale of the random part of a message's time (default none)")
	f.set.StringVar(&f.jitterDistribution, "jitter-distribution", "uniform", "`NAME`: uniform (from 0 to --jitter), exponential (of mean --jitter)")
	f.set.StringVar(&f.out, "out", "difalt-out", "output folder `DIR`")
	f.set.StringVar(&f.export, "export", "", "write the problem of trial 1 to `FILE`.npz as well")
	f.set.BoolVar(&f.resume, "resume", true, "go on from the trials of the same settings in the output folder")
	return f
}

// resolve checks the flags and returns what they say.
func (f *simulateFlags) resolve() (*simulation, error) {
	given := func(name string) bool { return f.set.Changed(name) }
	s := f.simulation
	for _, c := range []struct {
		name  string
		value int
		least int
	}{{"trials", s.trials, 1}, {"workers", s.workers, 0}} {
		if c.value < c.least {
			return nil, usagef("--%s is %d: need at least %d", c.name, c.value, c.least)
		}
	}
	if s.out == "" {
		return nil, usagef("--out is empty: need a folder")
	}
	if !given("init-rounds") {
		s.setting.InitRounds = max(s.setting.Rounds, 10)
	}
	var err error
	if s.setting.Time, err = experiment.ParseTimeModel(f.timeModel); err != nil {
		return nil, usagef("--time-model: %w", err)
	}
	if given("latency") {
		s.setting.Time.Latency = f.latency
	}
	if given("bandwidth") {
		s.setting.Time.Bandwidth = f.bandwidth
	}
	s.setting.Time.Jitter = f.jitter
	if s.setting.Time.Distribution, err = experiment.ParseDistribution(f.jitterDistribution); err != nil {
		return nil, usagef("--jitter-distribution: %w", err)
	}
	if err := s.setting.Validate(); err != nil {
		return nil, f.flagError(err)
	}
	return &s, nil
}

// flagError turns an error about a parameter into one about the flag of the same
// name.
func (f *simulateFlags) flagError(err error) error {
	name := strings.TrimSuffix(strings.Fields(err.Error())[0], ":")
	if f.set.Lookup(name) != nil {
		return usagef("--%w", err)
	}
	return &usageError{err}
}

func methodNames() []string {
	var names []string
	for _, m := range difalt.Methods() {
		names = append(names, m.String())
	}
	return names
}
