package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/faults"
	"github.com/difalt/difalt/internal/synth"
	"github.com/difalt/difalt/kernel"
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
	Noise    float64 `json:"noise"`    // see synth.Data
	Kappa    float64 `json:"kappa"`    // see synth.Data

	Graph   string   `json:"graph"`   // as topology.Parse reads it
	Weights string   `json:"weights"` // as topology.ParseRule reads it
	Methods []string `json:"methods"` // as ParseMethod reads them, Auto and Pooled

	// Reference is where distances are measured from: "truth" or "" for U*, or "pooled"
	// for the minimiser of the data of all nodes, which noise keeps away from U*.
	Reference string `json:"reference"`

	Rounds          int `json:"rounds"`           // T_con
	InitRounds      int `json:"init_rounds"`      // T_con,init
	PowerIterations int `json:"power_iterations"` // T_pm; 0 is each method's default
	Iterations      int `json:"iterations"`       // T_GD

	AsPrinted bool `json:"as_printed"` // InitializationOptions.AsPrinted, for the methods without sums

	ScaledStep     float64 `json:"scaled_step"`     // as in difalt.Options; 0 is its default
	Memory         int     `json:"memory"`          // likewise
	Preconditioner string  `json:"preconditioner"`  // as difalt.ParsePreconditioner reads it, or "" for scaled
	MixedPrecision bool    `json:"mixed_precision"` // as in difalt.Options
	// Folder keeps samples in files there, and needs MixedPrecision; it changes no result.
	Folder string `json:"-"`

	// How nodes agree in the iterations; the zero values are the paper's AGREE.
	Agree    string  `json:"agree"`    // as consensus.ParsePolynomial reads it, or "" for plain
	Compress string  `json:"compress"` // as consensus.ParseCodec reads it, or "" for none
	Sporadic float64 `json:"sporadic"` // Trigger of consensus.Agreement

	// How links fail; see faults.Links. Results do not change, but what is sent does.
	Loss      float64 `json:"loss"`
	Delay     float64 `json:"delay"`
	Duplicate float64 `json:"duplicate"`

	Seed uint64    `json:"seed"`
	Time TimeModel `json:"time_model"`
}

// Methods of a setting beside those of package difalt: Auto leaves the choice of method,
// rounds, step and agreement to difalt.Auto, and Pooled is one node with all data, which
// sends nothing and ends at the minimiser that noise leaves to be found.
const (
	Auto   = "auto"
	Pooled = "pooled"
)

// Methods returns the methods and the baselines of package difalt.
func Methods() []difalt.Method { return append(difalt.Methods(), difalt.Baselines()...) }

// ParseMethod returns the method or baseline of a short name.
func ParseMethod(name string) (difalt.Method, error) {
	if m, err := difalt.ParseBaseline(name); err == nil {
		return m, nil
	}
	return difalt.ParseMethod(name)
}

// Data returns the part that describes the data.
func (s *Setting) Data() synth.Data {
	return synth.Data{
		Features: s.Features, Tasks: s.Tasks, Samples: s.Samples, Rank: s.Rank,
		Noise: s.Noise, Kappa: s.Kappa, Folder: s.Folder,
	}
}

// Validate returns an error that names the first parameter that is none or does not go with the others, or says
// what is wrong with the graph and the weights of the first trial. The ranges of numbers are the caller's to check.
func (s *Setting) Validate() error {
	for _, check := range []func() error{func() error { return s.Data().Validate(s.Nodes) }, s.validateMethods, s.validateNetwork} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Setting) validateMethods() error {
	if len(s.Methods) == 0 {
		return fmt.Errorf("method: none is listed; want some of %v", Methods())
	}
	for i, m := range s.Methods {
		if _, err := ParseMethod(m); err != nil && m != Auto && m != Pooled {
			return fmt.Errorf("method: %w; or %s or %s", err, Auto, Pooled)
		}
		if slices.Contains(s.Methods[:i], m) {
			return fmt.Errorf("method: %s is listed twice", m)
		}
	}
	if _, err := s.preconditioner(); err != nil {
		return fmt.Errorf("preconditioner: %w", err)
	}
	if s.Reference != "" && s.Reference != "truth" && s.Reference != Pooled {
		return fmt.Errorf("reference is %q: want truth or %s", s.Reference, Pooled)
	}
	return nil
}

// validateNetwork makes the network of the first trial and a mixer on it, and asks every
// method whether it runs with them.
func (s *Setting) validateNetwork() error {
	weights, err := s.Mixing(1)
	if err != nil {
		return err
	}
	net, err := s.Network(weights, 1)
	if err != nil {
		return err
	}
	o := s.Options(1)
	if o.Agreement, err = s.Agreement(); err != nil {
		return err
	}
	if _, err := net.NewMixer(o.Agreement, nil); err != nil {
		return fmt.Errorf("agree: %w", err)
	}
	for _, m := range s.Methods {
		if o.Method, err = ParseMethod(m); err == nil {
			if err := o.Validate(); err != nil {
				return fmt.Errorf("method: %w", err)
			}
		}
	}
	return nil
}

// Agreement returns how the nodes agree in the iterations.
func (s *Setting) Agreement() (a consensus.Agreement, err error) {
	if s.Agree != "" {
		if a.Polynomial, err = consensus.ParsePolynomial(s.Agree); err != nil {
			return a, fmt.Errorf("agree: %w", err)
		}
	}
	if s.Compress != "" {
		if a.Codec, err = consensus.ParseCodec(s.Compress); err != nil {
			return a, fmt.Errorf("compress: %w", err)
		}
	}
	a.Trigger = s.Sporadic
	if err := a.Validate(); err != nil {
		return a, fmt.Errorf("agree: %w", err)
	}
	return a, nil
}

// AgreementText describes how the nodes agree in a few words.
func (s *Setting) AgreementText() string {
	parts := []string{"float64"}
	if s.Compress != "" && s.Compress != "none" {
		parts[0] = s.Compress
	}
	if s.Agree != "" && s.Agree != consensus.Plain.String() {
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

// Mixing returns the graph of a trial with its weights.
func (s *Setting) Mixing(trial int) (*topology.Weights, error) {
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

// Network returns the network of a trial with its weights, all nodes in this process.
// Where links fail, it counts what is sent again.
func (s *Setting) Network(weights *topology.Weights, trial int) (*consensus.Network, error) {
	links := faults.Links{Loss: s.Loss, Delay: s.Delay, Duplicate: s.Duplicate}
	if links == (faults.Links{}) {
		return consensus.New(weights, nil)
	}
	meter, err := faults.NewMeter(weights.Graph().Len(), links, derive(s.Seed, trial, forLinks))
	if err != nil {
		return nil, err
	}
	return consensus.New(weights, meter)
}

// Problem returns the data of a trial at some of the nodes, nil for all of them, drawn by the
// given number of threads, with the Gaussian start of the power iteration.
func (s *Setting) Problem(ctx context.Context, trial int, hosted []int, workers int) (*difalt.Problem, error) {
	p, err := s.Data().Generate(ctx, s.Nodes, hosted, derive(s.Seed, trial, forData), workers)
	if err != nil {
		return nil, err
	}
	p.Start = synth.Gaussian(s.Features, s.Rank, synth.Stream(derive(s.Seed, trial, forStart), 0))
	return p, nil
}

// Options returns the options of a trial, without a method, a step and an agreement.
// Curves show all iterations, so nothing ends a run early.
func (s *Setting) Options(workers int) difalt.Options {
	p, _ := s.preconditioner()
	return difalt.Options{
		Rank: s.Rank, Iterations: s.Iterations, Rounds: s.Rounds,
		Initialization: difalt.InitializationOptions{Rounds: s.InitRounds, PowerIterations: s.PowerIterations, AsPrinted: s.AsPrinted},
		Scaled:         difalt.ScaledOptions{Step: s.ScaledStep},
		Accelerated:    difalt.AcceleratedOptions{Memory: s.Memory, Preconditioner: p},
		MixedPrecision: s.MixedPrecision,
		Workers:        workers, EveryIteration: true,
	}
}

// methodOptions returns the options of a trial with a method and the agreement.
func (s *Setting) methodOptions(method string, workers int) (o difalt.Options, err error) {
	o = s.Options(workers)
	if o.Method, err = ParseMethod(method); err != nil {
		return o, err
	}
	o.Agreement, err = s.Agreement()
	return o, err
}

func (s *Setting) preconditioner() (difalt.Preconditioner, error) {
	if s.Preconditioner == "" {
		return difalt.PreconditionerScaled, nil
	}
	return difalt.ParsePreconditioner(s.Preconditioner)
}

func (s *Setting) draw(ctx context.Context, trial, workers int) (*difalt.Problem, *topology.Weights, error) {
	weights, err := s.Mixing(trial)
	if err != nil {
		return nil, nil, err
	}
	problem, err := s.Problem(ctx, trial, nil, workers)
	return problem, weights, err
}

// Start returns the problem of a trial with the initial estimate of the paper's methods
// in U0, and the mixing weights.
func (s *Setting) Start(ctx context.Context, trial, workers int) (*difalt.Problem, *topology.Weights, error) {
	problem, weights, err := s.draw(ctx, trial, workers)
	if err != nil {
		return nil, nil, err
	}
	net, err := consensus.New(weights, nil)
	if err != nil {
		return nil, nil, err
	}
	initial, err := difalt.Initialize(ctx, problem, net, s.Options(workers))
	if err != nil {
		return nil, nil, err
	}
	problem.U0 = initial.U
	return problem, weights, nil
}

// pooled returns the setting with all data at one node.
func (s *Setting) pooled() *Setting {
	one := *s
	one.Nodes, one.Graph, one.Weights = 1, "complete", topology.Metropolis.String()
	one.Agree, one.Compress, one.Sporadic, one.Loss, one.Delay, one.Duplicate = "", "", 0, 0, 0, 0
	return &one
}

// minimiser returns where the accelerated method ends with all data of a trial at one
// node: the minimiser of the pooled data.
func (s *Setting) minimiser(ctx context.Context, trial, workers int) (*kernel.Basis, error) {
	one := s.pooled()
	p, weights, err := one.draw(ctx, trial, workers)
	if err != nil {
		return nil, err
	}
	net, err := one.Network(weights, trial)
	if err != nil {
		return nil, err
	}
	o := one.Options(workers)
	o.Method, o.Tolerance, o.EveryIteration, o.Iterations = difalt.Accelerated, 1e-13, false, 0
	res, err := difalt.Run(ctx, p, net, o)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the minimiser of the pooled data: %w", err)
	case res.Status == difalt.Canceled:
		return nil, ctx.Err()
	case !(res.Residual < 1e-11): // it may end at rounding, above the tolerance
		return nil, fmt.Errorf("the minimiser of the pooled data is known to %.1e only", res.Residual)
	}
	return res.U[0], nil
}
