package paper

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/difalt/difalt/internal/simulation"
)

// beyondTrials is the number of trials of the presets beyond the paper.
const beyondTrials = 5

// A variant is a way to run a method beyond the paper.
type variant struct {
	method          string
	rounds          int
	agree, compress string
	iterations      int // 0: those of the setting
}

// of returns the variant of a setting, named after both.
func (v *variant) of(s simulation.Setting, group string) simulation.Setting {
	parts := []string{v.method, fmt.Sprint(v.rounds), v.agree, v.compress}
	if v.method == simulation.Auto || v.method == simulation.Pooled {
		parts = parts[:1]
	}
	s.Name = group + "/" + strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "-")
	s.Methods, s.Rounds, s.Agree, s.Compress = []string{v.method}, v.rounds, v.agree, v.compress
	s.Iterations = cmp.Or(v.iterations, s.Iterations)
	return s
}

// The settings beyond the paper. On the paper's first experiment and on the sparsest
// graph of its second, with coefficients of a known condition number, one thing changes
// at a time: the method with its ten rounds of float64, then the rounds, then the bits.
var (
	smallSetting = simulation.Setting{
		Nodes: 10, Features: 100, Tasks: 200, Samples: 30, Rank: 4, Kappa: 1.5,
		Graph: "er:0.5", Weights: "metropolis", InitRounds: 10, Iterations: 100, Seed: 1, Time: simulation.PaperTime,
	}
	manySetting = simulation.Setting{
		Nodes: 20, Features: 600, Tasks: 600, Samples: 30, Rank: 4, Kappa: 1.5,
		Graph: "er:0.5", Weights: "equal", InitRounds: 10, Iterations: 120, Seed: 1, Time: simulation.PaperTime,
	}
	hardSetting = simulation.Setting{
		Nodes: 100, Features: 100, Tasks: 100, Samples: 50, Rank: 10, Kappa: 1.5,
		Graph: "er:0.05", Weights: "equal", InitRounds: 10, Iterations: 300, Seed: 1, Time: simulation.PaperTime,
	}
	manyVariants = []variant{
		{method: "dif", rounds: 10, iterations: 450},
		{method: "scaled", rounds: 10},
		{method: "accelerated", rounds: 10},
		{method: "accelerated", rounds: 3},
		{method: "accelerated", rounds: 3, compress: "int8"},
		{method: "accelerated", rounds: 3, compress: "int4"},
		{method: "dif", rounds: 3, compress: "int4", iterations: 450},
		{method: simulation.Auto, rounds: 10},
	}
	hardVariants = []variant{
		{method: "dif", rounds: 10, iterations: 900},
		{method: "dif", rounds: 10, agree: "chebyshev", iterations: 900},
		{method: "scaled", rounds: 10, agree: "chebyshev"},
		{method: "accelerated", rounds: 10, agree: "chebyshev"},
		{method: "accelerated", rounds: 10, agree: "chebyshev", compress: "int4"},
		{method: "dif", rounds: 10, agree: "chebyshev", compress: "int4", iterations: 900},
		{method: simulation.Auto, rounds: 10},
	}
	noiseVariants = []variant{
		{method: "dif", rounds: 10, iterations: 300},
		{method: "accelerated", rounds: 3, compress: "int8"},
		{method: "accelerated", rounds: 10, compress: "int8"},
		{method: "tracking", rounds: 3, compress: "int8"},
		{method: "accelerated-tracking", rounds: 3, compress: "int8"},
	}
)

// frontier compares the paper's algorithms with those beyond it by what they send.
func frontier() Preset {
	p := Preset{Name: "frontier", Trials: beyondTrials}
	for _, v := range manyVariants {
		p.Settings = append(p.Settings, v.of(manySetting, "frontier/many"))
	}
	for _, v := range hardVariants {
		p.Settings = append(p.Settings, v.of(hardSetting, "frontier/hard"))
	}
	return p
}

// noise shows how far from the truth and from the minimiser of the pooled data methods
// get, where noise makes the two differ.
func noise() Preset {
	base := smallSetting
	base.Kappa, base.Noise = 3, 0.05
	p := Preset{Name: "noise", Trials: beyondTrials}
	for _, base.Reference = range []string{"truth", simulation.Pooled} {
		for _, v := range noiseVariants {
			p.Settings = append(p.Settings, v.of(base, "noise/"+base.Reference))
		}
	}
	base.Reference = "truth"
	alone := variant{method: simulation.Pooled, rounds: 1}
	p.Settings = append(p.Settings, alone.of(base, "noise/truth"))
	return p
}

// conditionNumbers shows how many iterations a condition number takes.
func conditionNumbers() Preset {
	p := Preset{Name: "kappa", Trials: beyondTrials}
	for _, kappa := range []float64{1.5, 3, 10, 30, 100} {
		s := smallSetting
		s.Name = fmt.Sprintf("%s/%g", p.Name, kappa)
		s.Kappa, s.Methods, s.Rounds, s.Iterations = kappa, []string{"dif", "scaled", "accelerated"}, 10, 1000
		p.Settings = append(p.Settings, s)
	}
	return p
}

// baselineKappas are the condition numbers of the preset baselines.
var baselineKappas = []float64{1.5, 10}

// baselines compares with other people's algorithms of decentralised optimisation.
func baselines() Preset {
	p := Preset{Name: "baselines", Trials: beyondTrials}
	for _, kappa := range baselineKappas {
		base := smallSetting
		base.Kappa, base.Iterations = kappa, 600
		for _, method := range []string{"accelerated", "tracking", "scaled-exact", "dif", "exact", "diging", "extra"} {
			v := variant{method: method, rounds: 3}
			p.Settings = append(p.Settings, v.of(base, fmt.Sprintf("%s/%g", p.Name, kappa)))
		}
	}
	return p
}

// oneRound is the paper's method with a single round of averaging an iteration.
func oneRound() Preset {
	p := Preset{Name: "one-round", Trials: beyondTrials}
	for _, s := range paperSettings() {
		if s.Name == "fig1a" || strings.HasPrefix(s.Name, "fig2") {
			s.Name, s.Rounds, s.Methods = "one-round/"+s.Name, 1, []string{"dif"}
			p.Settings = append(p.Settings, s)
		}
	}
	return p
}
