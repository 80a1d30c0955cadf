// Package paper holds what the Dif-AltGDmin paper says and how it is judged: its
// experiments and those beyond it as presets of package simulation, its statements with
// what counts as confirmed, and the page of results.
package paper

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/simulation"
)

// A Preset is a named group of settings to run together, each named after its
// panel or variant.
type Preset struct {
	Name     string
	Trials   int // unless asked otherwise
	Settings []simulation.Setting
}

// Presets returns the presets, in the order in which help texts list them: the
// panels of the paper's figures, then those beyond it.
func Presets() []Preset {
	var all []Preset
	for _, s := range paperSettings() {
		all = append(all, Preset{s.Name, 100, []simulation.Setting{s}})
	}
	return append(all, oneRound(), frontier(), noise(), conditionNumbers(), baselines())
}

// PresetByName returns the preset of a name; "all" groups the paper's figures.
func PresetByName(name string) (*Preset, error) {
	presets := Presets()
	if name == "all" {
		return &Preset{name, presets[0].Trials, paperSettings()}, nil
	}
	names := []string{}
	for i := range presets {
		if presets[i].Name == name {
			return &presets[i], nil
		}
		names = append(names, presets[i].Name)
	}
	return nil, fmt.Errorf("unknown preset %q: want one of %s, all", name, strings.Join(names, ", "))
}

// presetSetting returns the setting of a name in any preset.
func presetSetting(name string) (*simulation.Setting, bool) {
	for _, p := range Presets() {
		for i := range p.Settings {
			if p.Settings[i].Name == name {
				return &p.Settings[i], true
			}
		}
	}
	return nil, false
}

// paperSettings returns the settings of the paper's figures. Figure 1 varies the
// rounds of averaging and figure 2 the connectivity of the graph, with one task a
// node. The mixing weights are those of the paper's formula, 1/deg: with them all its
// statements hold.
func paperSettings() []simulation.Setting {
	first := simulation.Setting{
		Nodes: 20, Features: 600, Tasks: 600, Samples: 30, Rank: 4,
		Graph: "er:0.5", Weights: "equal", Iterations: 500,
		Seed: 1, Time: simulation.PaperTime,
	}
	second := first
	second.Nodes, second.Features, second.Tasks, second.Samples, second.Rank = 100, 100, 100, 50, 10
	second.Iterations = 1500

	var all []simulation.Setting
	add := func(base simulation.Setting, name, graph string, rounds int) {
		base.Name, base.Graph = name, graph
		base.Rounds, base.InitRounds = rounds, rounds
		for _, m := range difalt.PaperMethods() {
			base.Methods = append(base.Methods, m.String())
		}
		all = append(all, base)
	}
	add(first, "fig1a", "er:0.5", 10)
	add(first, "fig1b", "er:0.5", 20)
	add(first, "fig1c", "er:0.5", 30)
	add(second, "fig2a", "er:0.05", 10)
	add(second, "fig2b", "er:0.1", 10)
	add(second, "fig2c", "er:0.15", 10)
	return all
}

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
