// Package paper contains the experiments of the Dif-AltGDmin paper, and some beyond it, as presets of package
// simulation. It writes the page with their figures and tables.
package paper

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/chart"
	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
)

// A Preset is a figure: settings to run together, each in a panel.
type Preset struct {
	Name, Title, Text string
	Trials            int  // by default
	Bytes             bool // draw distances against bytes a node, not against iterations
	Panels            []Panel
}

// A Panel is a setting with the title of its panel. Its name is unique among all presets.
type Panel struct {
	Title   string
	Setting simulation.Setting
}

// presetText contains the presets. A setting is its base with its own values on top.
//
// Figure 1 of the paper varies the rounds of averaging, and figure 2 the connectivity of the graph, with one
// task a node. The weights follow the paper's formula, 1/deg. Three are beyond the paper. frontier compares
// bytes. noise shows the distance from the truth and from the minimiser for the data of all nodes. kappa
// varies the condition number.
//
//go:embed presets.json
var presetText []byte

// Presets returns all presets. The figures of the paper come first.
func Presets() (all []Preset) {
	var texts []struct {
		Preset
		Base   json.RawMessage
		Panels []struct {
			Title   string
			Setting json.RawMessage
		}
	}
	decode(presetText, &texts)
	for _, t := range texts {
		p := t.Preset
		for _, panel := range t.Panels {
			s := simulation.Setting{Reference: simulation.Truth, Time: simulation.PaperTime}
			decode(t.Base, &s)
			decode(panel.Setting, &s)
			p.Panels = append(p.Panels, Panel{panel.Title, s})
		}
		all = append(all, p)
	}
	return all
}

// decode sets the values of a text. It panics on an error: presetText is part of the program.
func decode(text []byte, v any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		panic(err)
	}
}

// PresetByName returns the preset of a name, or of the name of one of its panels, with that panel alone.
func PresetByName(name string) (*Preset, error) {
	var names []string
	for _, p := range Presets() {
		if p.Name == name {
			return &p, nil
		}
		for _, panel := range p.Panels {
			if panel.Setting.Name == name {
				p.Panels = []Panel{panel}
				return &p, nil
			}
		}
		names = append(names, p.Name)
	}
	return nil, fmt.Errorf("must be one of %s, or the name of a panel such as fig1a", strings.Join(names, ", "))
}

// Figure returns the figure of a preset, with a panel for every run, in the order of the preset's panels.
func (p *Preset) Figure(runs []*simulation.Summary) *chart.Figure {
	var panels []chart.Panel
	for _, run := range runs {
		panel := run.Panel("Iteration", simulation.Iterations)
		if p.Bytes {
			kilobytes := 1e3 * float64(run.Setting.Nodes)
			panel = run.Panel("KB a node, initialisation included",
				func(_ int, row *simulation.BandRow) float64 { return row.Bytes / kilobytes })
			panel.X.Log, panel.X.Zero = true, false
		}
		panel.Title = p.panelTitle(run.Setting.Name)
		panels = append(panels, panel)
	}
	sizes, caption := runs[0].Setting.Sizes(), runs[0].Setting.Weights+" weights; "
	if !slices.ContainsFunc(runs, func(r *simulation.Summary) bool { return r.Setting.Sizes() != sizes }) {
		caption = sizes + ", " + caption
	}
	trials := runs[0].TrialsText()
	if slices.ContainsFunc(runs, func(r *simulation.Summary) bool { return r.TrialsText() != trials }) {
		trials = "median and band of several trials"
	}
	return simulation.DistanceFigure(p.Title, caption+trials, panels...)
}

// panelTitle returns the title of the panel of a setting's name, or nothing.
func (p *Preset) panelTitle(name string) string {
	for _, panel := range p.Panels {
		if panel.Setting.Name == name {
			return panel.Title
		}
	}
	return ""
}
