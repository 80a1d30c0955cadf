package experiment

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
)

// A Sweep measures, on small synthetic problems, the numbers that Theorem 1 bounds
// while one of kappa, gamma and epsilon varies.
type Sweep struct {
	// Trials is the number of independent draws of graph and data.
	Trials int
	// Seed of everything random.
	Seed uint64
	// Workers is the number of threads; 0 stands for GOMAXPROCS. Results do not
	// depend on it.
	Workers int
	// Progress is called after each of the Problems, by several goroutines. It may be
	// nil.
	Progress func()
}

// The quantities that a Sweep measures.
const (
	QuantityPower      = "T_pm"       // power iterations
	QuantityInitRounds = "T_con,init" // rounds in the initialisation
	QuantityIterations = "T_GD"       // iterations
	QuantityRounds     = "T_con,GD"   // rounds in an iteration
	QuantitySamples    = "n"          // samples of a task
)

// A Measurement is one number that a Sweep found, beside that of the theory.
type Measurement struct {
	Quantity string
	Method   string // as difalt.ParseMethod reads it
	Graph    string // as topology.Parse reads it
	Trial    int
	Kappa    float64
	Gamma    float64
	Epsilon  float64
	Features int
	Tasks    int
	Samples  int     // n that was given
	Measured float64 // NaN if there is no such number within the limits of the sweep
	Theory   float64 // the formula with C = 1, not rounded
}

// The grids of a Sweep.
var (
	sweepKappas  = []float64{1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6}
	sweepSamples = []int{10, 12, 15, 20, 30, 40, 60, 100, 200}
	roundsKappas = []float64{1, 1.25, 1.5, 2, 2.5, 3}
	sweepGraphs  = []string{"er:0.7", "er:0.5", "er:0.3", "exponential", "torus", "grid", "ring", "path"}
	sweepEpsilon = []float64{1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12}
)

// Problems returns the number of problems that Run measures on.
func (s *Sweep) Problems() int { return len(s.probes()) }

// Run makes all measurements. Their order does not depend on the workers.
func (s *Sweep) Run(ctx context.Context) ([]Measurement, error) {
	if s.Trials < 1 {
		return nil, fmt.Errorf("trials is %d: need at least 1", s.Trials)
	}
	return s.measure(ctx, s.probes())
}

// probes returns what to measure.
func (s *Sweep) probes() []*probe {
	var probes []*probe
	for trial := 1; trial <= s.Trials; trial++ {
		for _, kappa := range slices.Backward(sweepKappas) { // the longest first
			probes = append(probes, newProbe(richSetting, s.Seed, trial, kappa, (*probe).iterations))
		}
		for _, graph := range slices.Backward(sweepGraphs) {
			scarce := scarceSetting
			scarce.Graph = graph
			probes = append(probes, newProbe(scarce, s.Seed, trial, 1.5, (*probe).rounds))
			probes = append(probes, newProbe(scarce, s.Seed, trial, 1.5, (*probe).initRounds))
		}
		for _, n := range sweepSamples {
			scarce := scarceSetting
			scarce.Samples = n
			probes = append(probes, newProbe(scarce, s.Seed, trial, 1.5, (*probe).iterations))
		}
		for _, kappa := range slices.Backward(roundsKappas) {
			if kappa != 1.5 { // among the graphs
				probes = append(probes, newProbe(scarceSetting, s.Seed, trial, kappa, (*probe).rounds))
			}
			probes = append(probes, newProbe(richSetting, s.Seed, trial, kappa, (*probe).power))
			probes = append(probes, newProbe(richSetting, s.Seed, trial, kappa, (*probe).samples))
		}
	}
	return probes
}

// measure runs the probes, several at a time.
func (s *Sweep) measure(ctx context.Context, probes []*probe) ([]Measurement, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := s.Workers
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, len(probes)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(probes) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := probes[i].run(ctx); err != nil {
					cancel(err)
				}
				if s.Progress != nil {
					s.Progress()
				}
			}
		})
	}
	wg.Wait()
	var all []Measurement
	for _, p := range probes {
		all = append(all, p.found...)
	}
	return all, context.Cause(ctx)
}

// A probe makes the measurements on one problem.
type probe struct {
	setting Setting
	trial   int
	measure func(*probe, context.Context) error

	weights *topology.Weights
	problem *difalt.Problem
	step    float64
	found   []Measurement
}

func newProbe(s Setting, seed uint64, trial int, kappa float64, measure func(*probe, context.Context) error) *probe {
	s.Seed, s.Kappa = seed, kappa
	return &probe{setting: s, trial: trial, measure: measure}
}

func (p *probe) run(ctx context.Context) (err error) {
	if p.problem, p.weights, p.step, err = p.setting.Start(ctx, p.trial, 1); err != nil {
		return err
	}
	if err := p.measure(p, ctx); err != nil {
		return err
	}
	p.problem = nil // its data are large, and others wait
	return nil
}

// input is the probe's problem as a plan sees it.
func (p *probe) input(epsilon float64) *PlanInput {
	s := &p.setting
	in := &PlanInput{
		Features: s.Features, Tasks: s.Tasks, Rank: s.Rank, Samples: s.Samples,
		Kappa: s.Kappa, Mu: 1, Epsilon: epsilon, Constants: UnitConstants,
	}
	in.SetNetwork(p.weights)
	return in
}

// add notes a measurement and its formula.
func (p *probe) add(quantity string, method difalt.Method, epsilon, measured float64) {
	in := p.input(epsilon)
	t := in.terms()
	m := Measurement{
		Quantity: quantity, Method: method.String(), Graph: p.setting.Graph, Trial: p.trial,
		Kappa: in.Kappa, Gamma: in.Gamma, Epsilon: epsilon, Measured: measured,
		Features: in.Features, Tasks: in.Tasks, Samples: in.Samples,
	}
	switch quantity {
	case QuantityPower:
		m.Theory = t.power
	case QuantityInitRounds:
		m.Theory = in.rounds(t.initAgree)
	case QuantityIterations:
		m.Theory = t.iterations
	case QuantitySamples:
		m.Theory = t.samples / float64(in.Tasks)
	case QuantityRounds:
		m.Theory = in.rounds(t.agree)
		if method == difalt.DecAltGDmin {
			m.Theory = in.rounds(t.decAgree)
		}
	}
	p.found = append(p.found, m)
}
