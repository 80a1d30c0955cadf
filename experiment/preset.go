package experiment

import (
	"fmt"
	"strings"

	"github.com/difalt/difalt/difalt"
)

// PresetTrials is the number of trials of the paper's figures.
const PresetTrials = 100

// Presets returns the settings of the paper's figures, each named after its panel.
// Figure 1 varies the rounds of averaging and figure 2 the connectivity of the
// graph, with one task a node. The mixing weights are those of the paper's formula,
// 1/deg: with them all its statements hold.
func Presets() []Setting {
	first := Setting{
		Nodes: 20, Features: 600, Tasks: 600, Samples: 30, Rank: 4,
		Graph: "er:0.5", Weights: "equal", PowerIterations: 30, Iterations: 500,
		Seed: 1, Time: PaperTime,
	}
	second := first
	second.Nodes, second.Features, second.Tasks, second.Samples, second.Rank = 100, 100, 100, 50, 10
	second.Iterations = 1500

	var all []Setting
	add := func(base Setting, name, graph string, rounds int) {
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

// PresetsByName returns the preset of a name, or all of them for "all".
func PresetsByName(name string) ([]Setting, error) {
	presets := Presets()
	if name == "all" {
		return presets, nil
	}
	names := []string{}
	for _, p := range presets {
		if p.Name == name {
			return []Setting{p}, nil
		}
		names = append(names, p.Name)
	}
	return nil, fmt.Errorf("unknown preset %q: want one of %s, all", name, strings.Join(names, ", "))
}
