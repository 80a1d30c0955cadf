package experiment

import (
	"fmt"
	"strings"
)

// beyondTrials is the number of trials of the presets beyond the paper.
const beyondTrials = 5

// A variant is a way to run a method in the frontier.
type variant struct {
	method          string
	rounds          int
	agree, compress string
	scaledStep      float64
}

// name describes a variant, as part of the name of its setting.
func (v *variant) name() string {
	if v.method == Auto {
		return Auto
	}
	parts := []string{v.method, fmt.Sprint(v.rounds)}
	if v.scaledStep > 0 {
		parts = append(parts, fmt.Sprintf("step%g", v.scaledStep))
	}
	for _, s := range []string{v.agree, v.compress} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "-")
}

// The settings of the frontier: few nodes with much data each, well connected; and
// one task a node on a sparse graph.
var (
	easySetting = Setting{
		Nodes: 10, Features: 100, Tasks: 200, Samples: 30, Rank: 4, Kappa: 1.5,
		Graph: "er:0.5", InitRounds: 10, PowerIterations: 30, Iterations: 500,
		Seed: 1, Time: PaperTime,
	}
	hardSetting = Setting{
		Nodes: 100, Features: 100, Tasks: 100, Samples: 50, Rank: 10, Kappa: 1.5,
		Graph: "er:0.05", InitRounds: 10, PowerIterations: 30, Iterations: 1000,
		Seed: 1, Time: PaperTime,
	}
	// reference is the paper's algorithm, to which the others are compared.
	reference = variant{method: "dif", rounds: 10}

	commonVariants = []variant{
		reference,
		{method: Auto, rounds: 10},
		{method: "altgdmin", rounds: 10},
		{method: "dec", rounds: 10},
		{method: "dif", rounds: 1, compress: "int4"},
		{method: "dif", rounds: 10, agree: "chebyshev"},
		{method: "dif", rounds: 10, agree: "chebyshev", compress: "int4"},
		{method: "scaled", rounds: 10},
		{method: "scaled", rounds: 10, compress: "int4"},
		{method: "scaled", rounds: 1, compress: "int4"},
		{method: "scaled", rounds: 2, compress: "int4"},
		{method: "scaled", rounds: 3, compress: "int4"},
		{method: "scaled", rounds: 3, agree: "chebyshev", compress: "int4"},
		{method: "tracking", rounds: 2, compress: "int4"},
	}
	easyVariants = append([]variant{
		{method: "scaled", rounds: 10, scaledStep: 1},
		{method: "scaled", rounds: 1, compress: "int4", scaledStep: 1},
		{method: "scaled", rounds: 3, agree: "chebyshev", compress: "int4", scaledStep: 1},
		{method: "tracking", rounds: 1, compress: "int4"},
	}, commonVariants...)
	hardVariants = append([]variant{
		{method: "scaled", rounds: 6, agree: "chebyshev", compress: "int4"},
		{method: "scaled", rounds: 6, agree: "chebyshev", compress: "int4", scaledStep: 1},
		{method: "scaled", rounds: 11, agree: "chebyshev", compress: "int4", scaledStep: 1},
		{method: "scaled", rounds: 10, agree: "chebyshev", compress: "int4"},
		{method: "tracking", rounds: 6, agree: "chebyshev", compress: "int4"},
	}, commonVariants...)
)

// frontier compares the paper's algorithms with those beyond it by what they send
// and how long they take.
func frontier() Preset {
	p := Preset{Name: "frontier", Trials: beyondTrials}
	for _, c := range []struct {
		name     string
		base     Setting
		variants []variant
	}{{"easy", easySetting, easyVariants}, {"hard", hardSetting, hardVariants}} {
		for _, v := range c.variants {
			for _, weights := range paperWeights {
				s := c.base
				s.Name = strings.Join([]string{p.Name, c.name, weights, v.name()}, "/")
				s.Weights, s.Methods, s.Rounds = weights, []string{v.method}, v.rounds
				s.Agree, s.Compress, s.ScaledStep = v.agree, v.compress, v.scaledStep
				p.Settings = append(p.Settings, s)
			}
		}
	}
	return p
}

// conditionNumbers shows how many iterations a condition number takes.
func conditionNumbers() Preset {
	p := Preset{Name: "kappa", Trials: beyondTrials}
	for _, kappa := range []float64{1, 1.5, 2, 3, 5, 10, 20, 50, 100} {
		s := easySetting
		s.Name = fmt.Sprintf("%s/%g", p.Name, kappa)
		s.Kappa, s.Weights, s.Methods, s.Rounds, s.Iterations = kappa, "equal", []string{"dif", "scaled"}, 10, 2000
		p.Settings = append(p.Settings, s)
	}
	return p
}
