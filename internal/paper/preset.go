package paper

import (
	"fmt"
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
