package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

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
	Methods []string `json:"methods"` // as difalt.ParseMethod reads them, and Auto

	Rounds          int `json:"rounds"`           // T_con
	InitRounds      int `json:"init_rounds"`      // T_con,init
	PowerIterations int `json:"power_iterations"` // T_pm
	Iterations      int `json:"iterations"`       // T_GD

	ScaledStep     float64 `json:"scaled_step"`     // as in difalt.Options; 0 is its default
	MixedPrecision bool    `json:"mixed_precision"` // as in difalt.Options

	// How nodes agree in the iterations; the zero values are the paper's AGREE.
	Agree     string  `json:"agree"`     // as topology.ParsePolynomial reads it, or "" for plain
	Compress  string  `json:"compress"`  // as topology.ParseCompressor reads it, or "" for none
	Sporadic  float64 `json:"sporadic"`  // as in topology.Agreement
	Loss      float64 `json:"loss"`      // as in topology.Links, like the next two
	Delay     float64 `json:"delay"`     //
	Duplicate float64 `json:"duplicate"` //

	Seed uint64    `json:"seed"`
	Time TimeModel `json:"time_model"`
}

// Auto is the method of a setting that leaves the choice of method, rounds, step and
// agreement to difalt.Auto.
const Auto = "auto"

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
		return fmt.Errorf("method: none is listed; want some of %v", difalt.Methods())
	}
	for i, m := range s.Methods {
		if _, err := difalt.ParseMethod(m); err != nil && m != Auto {
			return fmt.Errorf("method: %w; or %s", err, Auto)
		}
		if slices.Contains(s.Methods[:i], m) {
			return fmt.Errorf("method: %s is listed twice", m)
		}
	}
	if !(s.ScaledStep >= 0) || math.IsInf(s.ScaledStep, 0) {
		return fmt.Errorf("scaled-step is %v: must be positive, or 0 for the default", s.ScaledStep)
	}
	if err := s.Time.Validate(); err != nil {
		return err
	}
	weights, err := s.Network(1)
	if err != nil {
		return err
	}
	agreement, err := s.Agreement(1)
	if err != nil {
		return err
	}
	if _, err := topology.NewMixer(weights, nil, agreement); err != nil {
		return fmt.Errorf("agree: %w", err)
	}
	return nil
}

// Agreement returns how the nodes agree in the iterations of a trial.
func (s *Setting) Agreement(trial int) (a topology.Agreement, err error) {
	if s.Agree != "" {
		if a.Polynomial, err = topology.ParsePolynomial(s.Agree); err != nil {
			return a, fmt.Errorf("agree: %w", err)
		}
	}
	if s.Compress != "" {
		if a.Compressor, err = topology.ParseCompressor(s.Compress); err != nil {
			return a, fmt.Errorf("compress: %w", err)
		}
	}
	for _, f := range []struct {
		name  string
		value float64
		field *float64
	}{
		{"sporadic", s.Sporadic, &a.Sporadic}, {"loss", s.Loss, &a.Links.Loss},
		{"delay", s.Delay, &a.Links.Delay}, {"duplicate", s.Duplicate, &a.Links.Duplicate},
	} {
		*f.field = f.value
		if err := a.Validate(); err != nil {
			return a, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	a.Seed = derive(s.Seed, trial, forAgreement)
	return a, nil
}

// AgreementText describes how the nodes agree in a few words.
func (s *Setting) AgreementText() string {
	parts := []string{"float64"}
	if s.Compress != "" && s.Compress != "none" {
		parts[0] = s.Compress
	}
	if s.Agree != "" && s.Agree != topology.Plain.String() {
		parts = append(parts, s.Agree)
	}
	for _, f := range []struct {
		name  string
		value float64
	}{{"sporadic", s.Sporadic}, {"loss", s.Loss}, {"delay", s.Delay}, {"duplicate", s.Duplicate}} {
		if f.value > 0 {
			parts = append(parts, fmt.Sprintf("%s %g", f.name, f.value))
		}
	}
	return strings.Join(parts, " ")
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
		ScaledStep: s.ScaledStep, MixedPrecision: s.MixedPrecision, Workers: workers,
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
