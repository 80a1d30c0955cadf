package experiment

import (
	"context"
	"fmt"
	"slices"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
)

// A Setting says what a simulation computes. Together with a trial's number it
// determines every result but the measured times.
type Setting struct {
	// Name labels figures; it has no influence on the numbers.
	Name string `json:"name"`

	Nodes    int     `json:"nodes"`    // L
	Features int     `json:"features"` // d
	Tasks    int     `json:"tasks"`    // T
	Samples  int     `json:"samples"`  // n
	Rank     int     `json:"rank"`     // r
	Noise    float64 `json:"noise"`    // see Synthetic
	Kappa    float64 `json:"kappa"`    // see Synthetic

	Graph   string   `json:"graph"`   // as topology.Parse reads it
	Weights string   `json:"weights"` // as topology.ParseRule reads it
	Methods []string `json:"methods"` // as difalt.ParseMethod reads them

	Rounds          int `json:"rounds"`           // T_con
	InitRounds      int `json:"init_rounds"`      // T_con,init
	PowerIterations int `json:"power_iterations"` // T_pm
	Iterations      int `json:"iterations"`       // T_GD

	Seed uint64    `json:"seed"`
	Time TimeModel `json:"time_model"`
}

// Synthetic returns the part that describes the data.
func (s *Setting) Synthetic() Synthetic {
	return Synthetic{
		Features: s.Features, Tasks: s.Tasks, Samples: s.Samples, Rank: s.Rank,
		Noise: s.Noise, Kappa: s.Kappa,
	}
}

// Validate returns an error that names the first parameter out of range, or says
// what is wrong with the graph and the weights of the first trial.
func (s *Setting) Validate() error {
	for _, f := range []struct {
		name  string
		value int
	}{
		{"nodes", s.Nodes}, {"rounds", s.Rounds}, {"init-rounds", s.InitRounds},
		{"power-iterations", s.PowerIterations}, {"iterations", s.Iterations},
	} {
		if f.value < 1 {
			return fmt.Errorf("%s is %d: need at least 1", f.name, f.value)
		}
	}
	if err := s.Synthetic().Validate(); err != nil {
		return err
	}
	if s.Nodes > s.Tasks {
		return fmt.Errorf("nodes is %d, more than tasks = %d: every node needs a task", s.Nodes, s.Tasks)
	}
	if len(s.Methods) == 0 {
		return fmt.Errorf("methods: none is listed; want some of %v", difalt.Methods())
	}
	for i, m := range s.Methods {
		if _, err := difalt.ParseMethod(m); err != nil {
			return fmt.Errorf("methods: %w", err)
		}
		if slices.Contains(s.Methods[:i], m) {
			return fmt.Errorf("methods: %s is listed twice", m)
		}
	}
	if err := s.Time.Validate(); err != nil {
		return err
	}
	_, err := s.Network(1)
	return err
}

// Network returns the graph of a trial with its weights.
func (s *Setting) Network(trial int) (*topology.Weights, error) {
	rule, err := topology.ParseRule(s.Weights)
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	graph, err := topology.Parse(s.Graph, s.Nodes, derive(s.Seed, trial, forGraph))
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	weights, err := topology.NewWeights(graph, rule)
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	return weights, nil
}

// Problem returns the data of a trial, drawn by the given number of threads, with
// the Gaussian start of the power iteration.
func (s *Setting) Problem(trial, workers int) (*difalt.Problem, error) {
	p, err := s.Synthetic().Generate(s.Nodes, derive(s.Seed, trial, forData), workers)
	if err != nil {
		return nil, err
	}
	p.Start = gaussian(s.Features, s.Rank, stream(derive(s.Seed, trial, forStart), 0))
	return p, nil
}

// Options returns the options of a trial, without a method and a step.
func (s *Setting) Options(workers int) difalt.Options {
	return difalt.Options{
		Rank: s.Rank, Iterations: s.Iterations, Rounds: s.Rounds,
		InitRounds: s.InitRounds, PowerIterations: s.PowerIterations,
		Workers: workers,
	}
}

// Start returns the problem of a trial with the initial estimate from which all
// methods start in U0, the network, and the step size.
func (s *Setting) Start(ctx context.Context, trial, workers int) (*difalt.Problem, *topology.Weights, float64, error) {
	weights, err := s.Network(trial)
	if err != nil {
		return nil, nil, 0, fmt.Errorf("trial %d: %w", trial, err)
	}
	problem, err := s.Problem(trial, workers)
	if err != nil {
		return nil, nil, 0, fmt.Errorf("trial %d: %w", trial, err)
	}
	initial, err := difalt.Initialize(ctx, problem, &difalt.Network{Weights: weights}, s.Options(workers))
	if err != nil {
		return nil, nil, 0, fmt.Errorf("trial %d: %w", trial, err)
	}
	problem.U0 = initial.U
	return problem, weights, initial.Step, nil
}
