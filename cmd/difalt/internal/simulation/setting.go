package simulation

import (
	"context"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/synth"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// A Setting describes a simulation. Together with the number of a trial it determines every result but the
// measured times.
type Setting struct {
	Name  string `json:"name"`  // labels figures, and changes no number
	Nodes int    `json:"nodes"` // L
	Problem

	Graph     string   `json:"graph"`     // for topology.Parse
	Weights   string   `json:"weights"`   // for topology.ParseRule
	Methods   []string `json:"methods"`   // for ParseVariant
	Reference string   `json:"reference"` // the origin of distances: Truth, or Pooled

	Rounds          int `json:"rounds"`           // T_con
	InitRounds      int `json:"init_rounds"`      // T_con,init
	PowerIterations int `json:"power_iterations"` // T_pm; 0 stands for the default of each method
	Iterations      int `json:"iterations"`       // T_GD

	Seed uint64    `json:"seed"`
	Time TimeModel `json:"time_model"`
}

// A Problem describes the data of a simulation; see synth.Data.
type Problem struct {
	Features int     `json:"features"` // d
	Tasks    int     `json:"tasks"`    // T
	Samples  int     `json:"samples"`  // n
	Rank     int     `json:"rank"`     // r
	Noise    float64 `json:"noise"`
	Kappa    float64 `json:"kappa"`
}

// References of a setting: distances are measured from U*, or from the minimiser for the data of all nodes.
// These two differ where responses are noisy.
const (
	Truth  = "truth"
	Pooled = "pooled"
)

// Limits of a simulation. A graph of more nodes, or a problem of more entries, would not fit into memory.
const (
	MaxNodes   = 10_000
	maxEntries = 1 << 33
	entryBytes = 16 // of memory for each entry, beside GOMEMLIMIT
)

// A Variant is a method with the codec of its messages.
type Variant struct {
	Method difalt.Method
	Codec  consensus.Codec
}

// ParseVariant returns the variant of a text such as dif, accelerated or accelerated:int8.
func ParseVariant(text string) (v Variant, err error) {
	name, codec, coded := strings.Cut(text, ":")
	at := slices.IndexFunc(difalt.Methods(), func(m difalt.Method) bool { return m.String() == name })
	if at < 0 {
		var names []string
		for _, m := range difalt.Methods() {
			names = append(names, m.String())
		}
		return v, fmt.Errorf("must be one of %s", strings.Join(names, ", "))
	}
	v.Method = difalt.Methods()[at]
	if !coded {
		return v, nil
	}
	if v.Codec, err = consensus.ParseCodec(codec); err == nil && v.Method != difalt.Accelerated {
		err = fmt.Errorf("only %v has a codec", difalt.Accelerated)
	}
	return v, err
}

// data returns the description of the data for package synth.
func (s *Setting) data() synth.Data {
	return synth.Data{
		Features: s.Features, Tasks: s.Tasks, Samples: s.Samples, Rank: s.Rank, Noise: s.Noise, Kappa: s.Kappa,
	}
}

var nameSyntax = regexp.MustCompile(`^[a-z0-9./-]*$`)

// Validate returns a *difalt.ParameterError about the first wrong parameter. The caller checks the ranges of
// numbers.
func (s *Setting) Validate() error {
	if !nameSyntax.MatchString(s.Name) {
		return wrong("Name", fmt.Sprintf("%.60q", s.Name), "must consist of a to z, 0 to 9, dots, slashes and hyphens")
	}
	if err := s.data().Validate(s.Nodes); err != nil {
		return err
	}
	entries := float64(s.Tasks)*float64(s.Samples)*float64(s.Features) +
		float64(s.Nodes)*float64(s.Features)*float64(s.Rank)
	if most := min(maxEntries, float64(debug.SetMemoryLimit(-1))/entryBytes); entries > most {
		const format = "tasks x samples x features, and nodes x features x rank, have %.3g numbers: must be at " +
			"most %.3g to fit into memory"
		return wrong("Tasks", s.Tasks, fmt.Sprintf(format, entries, most))
	}
	if len(s.Methods) == 0 {
		return wrong("Method", "empty", "must list some methods")
	}
	for i, m := range s.Methods {
		v, err := ParseVariant(m)
		if err != nil {
			return wrong("Method", m, err.Error())
		}
		if slices.Contains(s.Methods[:i], m) {
			return wrong("Method", m, "it is listed twice")
		}
		o := s.options(v, 1)
		if err := o.Validate(s.Features, s.Tasks); err != nil {
			return wrong("Method", m, err.Error())
		}
	}
	if s.Reference != Truth && s.Reference != Pooled {
		return wrong("Reference", s.Reference, fmt.Sprintf("must be %s or %s", Truth, Pooled))
	}
	_, err := s.mixing(1)
	return err
}

// wrong describes a parameter that is wrong.
func wrong(name string, value any, why string) error {
	return &difalt.ParameterError{Name: name, Value: value, Why: why}
}

// mixing returns the graph of a trial with its weights.
func (s *Setting) mixing(trial int) (*topology.Weights, error) {
	rule, err := topology.ParseRule(s.Weights)
	if err != nil {
		return nil, wrong("Weights", s.Weights, err.Error())
	}
	graph, err := topology.Parse(s.Graph, s.Nodes, derive(s.Seed, trial, forGraph))
	if err != nil {
		return nil, wrong("Graph", s.Graph, err.Error())
	}
	weights, err := topology.NewWeights(graph, rule)
	if err != nil {
		return nil, wrong("Weights", s.Weights, err.Error())
	}
	return weights, nil
}

// draw returns the data of a trial, drawn by the given number of threads, with the Gaussian start of the
// power iteration, and the mixing weights.
func (s *Setting) draw(ctx context.Context, trial, workers int) (*difalt.Problem, *topology.Weights, error) {
	weights, err := s.mixing(trial)
	if err != nil {
		return nil, nil, err
	}
	p, err := s.data().Generate(ctx, s.Nodes, nil, derive(s.Seed, trial, forData), workers)
	if err != nil {
		return nil, nil, err
	}
	p.Start = synth.Gaussian(s.Features, s.Rank, synth.Stream(derive(s.Seed, trial, forStart), 0))
	return p, weights, nil
}

// Start returns the problem of a trial with the initial estimate of the paper's methods in U0, and the mixing
// weights.
func (s *Setting) Start(ctx context.Context, trial, workers int) (*difalt.Problem, *topology.Weights, error) {
	problem, weights, err := s.draw(ctx, trial, workers)
	if err != nil {
		return nil, nil, err
	}
	net, err := consensus.New(weights, nil)
	if err != nil {
		return nil, nil, err
	}
	initial, err := difalt.Initialize(ctx, problem, net, s.options(Variant{}, workers))
	if err != nil {
		return nil, nil, err
	}
	problem.U0 = initial.U
	return problem, weights, nil
}

// minimiser returns the minimiser for the data of all nodes, where the accelerated method ends with all data
// at one node.
func (s *Setting) minimiser(ctx context.Context, trial, workers int) (*kernel.Basis, error) {
	one := *s
	one.Nodes, one.Graph, one.Weights = 1, "complete", topology.Metropolis.String()
	p, weights, err := one.draw(ctx, trial, workers)
	if err != nil {
		return nil, err
	}
	net, err := consensus.New(weights, nil)
	if err != nil {
		return nil, err
	}
	o := one.options(Variant{difalt.Accelerated, consensus.Float64}, workers)
	o.Tolerance, o.EveryIteration, o.Iterations = 1e-13, false, 0
	res, err := difalt.Run(ctx, p, net, o)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the minimiser for the data of all nodes: %w", err)
	case !(res.Residual < 1e-11): // rounding may keep it above the tolerance
		return nil, fmt.Errorf("the minimiser for the data of all nodes has a residual of %.1e: must be "+
			"below 1e-11", res.Residual)
	}
	return res.U[0], nil
}
