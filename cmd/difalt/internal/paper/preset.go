// Package paper holds what the Dif-AltGDmin paper says and how it is judged: its
// experiments and those beyond it as presets of package simulation, its statements with
// what counts as confirmed, and the page of results.
package paper

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
)

// A Preset is a named group of settings to run together, each named after its
// panel or variant.
type Preset struct {
	Name     string
	Trials   int // unless asked otherwise
	Settings []simulation.Setting
}

// presetText has the settings in groups: each is the base with what it says itself. Those of a group without the
// name of a preset are presets of their own.
//
// Figure 1 of the paper varies the rounds of averaging and figure 2 the connectivity of the graph, with one task a
// node. The mixing weights are those of the paper's formula, 1/deg: with them all its statements hold.
//
// Beyond the paper, one-round is its method with a single round an iteration, and frontier compares what methods send: on
// the paper's first experiment and on the sparsest graph of its second, with coefficients of a known condition number, one
// thing changes at a time: the method with its ten rounds of float64, then the rounds, then the bits. noise shows how far
// from the truth and from the minimiser of the pooled data methods get, where noise makes the two differ; kappa how many
// iterations a condition number takes; and baselines other people's algorithms of decentralised optimisation.
//
//go:embed presets.json
var presetText []byte

type presetGroup struct {
	Preset   string
	Trials   int
	Base     json.RawMessage
	Settings []json.RawMessage
}

// Presets returns the presets, in the order in which help texts list them: the
// panels of the paper's figures, then those beyond it.
func Presets() (all []Preset) {
	var groups []presetGroup
	decode(presetText, &groups)
	for _, g := range groups {
		for _, own := range g.Settings {
			s := simulation.Setting{Time: simulation.PaperTime}
			decode(g.Base, &s)
			decode(own, &s)
			name := cmp.Or(g.Preset, s.Name)
			if len(all) == 0 || all[len(all)-1].Name != name {
				all = append(all, Preset{Name: name, Trials: g.Trials})
			}
			p := &all[len(all)-1]
			p.Settings = append(p.Settings, s)
		}
	}
	return all
}

// decode sets what a text of presetText says, over what is there.
func decode(text []byte, v any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		panic(err) // no test passes
	}
}

// PresetByName returns the preset of a name; "all" groups the paper's figures.
func PresetByName(name string) (*Preset, error) {
	figures, names := Preset{Name: "all"}, []string{}
	for _, p := range Presets() {
		if p.Name == name {
			return &p, nil
		}
		if strings.HasPrefix(p.Name, "fig") {
			figures.Trials, figures.Settings = p.Trials, append(figures.Settings, p.Settings...)
		}
		names = append(names, p.Name)
	}
	if name == figures.Name {
		return &figures, nil
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
