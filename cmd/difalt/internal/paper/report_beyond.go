package paper

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/chart"
	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// group returns the runs whose names begin with a prefix and a slash, in the order of
// their preset.
func (r *report) group(prefix string) []*result {
	var runs []*result
	for _, p := range Presets() {
		for i := range p.Settings {
			s := &p.Settings[i]
			if run := r.find(s.Name, s.Weights); run != nil && strings.HasPrefix(s.Name, prefix+"/") {
				runs = append(runs, run)
			}
		}
	}
	return runs
}

// variantText describes how a run of one method differs from others.
func (r *result) variantText() string {
	s := &r.Setting
	name := simulation.LookOf(s.Methods[0]).Name
	if s.Methods[0] == simulation.Auto || s.Methods[0] == simulation.Pooled {
		return name
	}
	return fmt.Sprintf("%s, %d × %s", name, s.Rounds, s.AgreementText())
}

// frontier compares the variants of the preset frontier.
func (r *report) frontier() (section string) {
	t := text.Table{{"problem", "method, T_con × message", "arrive", "iterations", "rounds", "KB a node", "fewer rounds", "fewer bytes", "seconds"}}
	many := r.group("frontier/many")
	for _, kind := range []struct {
		title string
		runs  []*result
	}{{"many tasks a node", many}, {"one task a node", r.group("frontier/hard")}} {
		for _, run := range kind.runs {
			base, to := kind.runs[0].Methods[0].To(accurate), run.Methods[0].To(accurate)
			row := append([]string{kind.title, run.variantText()}, run.arrival(&run.Methods[0], 1e3)...)
			t = append(t, append(row, times(orInf(base.Rounds), orInf(to.Rounds)), times(orInf(base.Bytes), orInf(to.Bytes)), format(orInf(to.Seconds), 'f', 1)))
		}
	}
	if len(many) > 0 {
		bytes := chart.Panel{X: chart.Axis{Label: "KB a node, initialisation included", Log: true}}
		rounds := chart.Panel{X: chart.Axis{Label: "Rounds, initialisation included", Log: true}}
		for i, run := range many {
			kilobytes := 1e3 * float64(run.Setting.Nodes)
			bytes.Series = append(bytes.Series, run.variantSeries(i, func(b *simulation.BandRow) float64 { return b.Bytes / kilobytes }))
			rounds.Series = append(rounds.Series, run.variantSeries(i, func(b *simulation.BandRow) float64 { return b.Rounds }))
		}
		f := simulation.DistanceFigure(strings.TrimPrefix(many[0].TrialsText(), ";  "), bytes, rounds)
		section = r.picture("frontier", "distance against bytes and against rounds", f)
	}
	return section + t.Markdown()
}

// times says how often v goes into a reference.
func times(reference, v float64) string {
	if math.IsInf(v, 1) || math.IsInf(reference, 1) {
		return "-"
	}
	return strconv.FormatFloat(reference/v, 'g', 3, 64)
}

// variantColors tell the variants of a figure apart, the first of them the reference.
var variantColors = []chart.Style{
	chart.Line(chart.Blue, 2.2), chart.Line(chart.Red, 1.6), chart.Line(chart.Purple, 1.6), chart.Line(chart.Green, 1.6),
	chart.Line(chart.Orange, 1.6), chart.Line(chart.Pink, 2.2), chart.Line(chart.Sky, 1.6, 5, 3), chart.Line(chart.Black, 1.4, 2, 2),
}

// variantSeries returns the curve of a run of one method until it has arrived.
func (r *result) variantSeries(i int, x func(*simulation.BandRow) float64) chart.Series {
	curve := r.Methods[0].Curve
	if k := r.Methods[0].First(1e-12); k >= 0 {
		curve = curve[:k+1] // the rest is rounding
	}
	return simulation.Series(curve, simulation.Look{Name: r.variantText(), Style: variantColors[i%len(variantColors)]}, func(_ int, row *simulation.BandRow) float64 { return x(row) })
}

// A noiseSection is the setting of the preset noise, the statistical error, and the text
// below them.
type noiseSection struct {
	*simulation.Setting
	Error float64
	Body  string
}

// noise compares distances to the truth and to the minimiser of the pooled data; nil if
// there are no runs.
func (r *report) noise() *noiseSection {
	alone := r.find("noise/truth/"+simulation.Pooled, "metropolis")
	minimiser := r.group("noise/" + simulation.Pooled)
	if alone == nil || len(minimiser) == 0 {
		return nil
	}
	truth := slices.DeleteFunc(r.group("noise/truth"), func(run *result) bool { return run == alone })
	n := &noiseSection{Setting: &alone.Setting, Error: alone.Methods[0].Final.Median}
	figure := simulation.DistanceFigure(strings.TrimPrefix(alone.TrialsText(), ";  "),
		n.panel("To the truth", truth), n.panel("To the minimiser of the pooled data", minimiser))
	figure.Panels[0].Y.Min = 0.01 // nothing gets below the statistical error
	n.Body = r.picture("noise", "distance to the truth and to the minimiser of the pooled data", figure) + r.noiseTable(n, minimiser).Markdown()
	return n
}

// panel draws runs against rounds, and the statistical error.
func (n *noiseSection) panel(title string, runs []*result) chart.Panel {
	p := chart.Panel{Title: title, X: chart.Axis{Label: "Rounds, initialisation included", Log: true}}
	ends := []float64{math.Inf(1), 0}
	for k, run := range runs {
		line := run.variantSeries(k, func(b *simulation.BandRow) float64 { return b.Rounds })
		p.Series = append(p.Series, line)
		ends[0], ends[1] = min(ends[0], line.X[0]), max(ends[1], line.X[len(line.X)-1])
	}
	p.Series = append(p.Series, chart.Series{Name: "Statistical error", X: ends, Y: []float64{n.Error, n.Error}, Style: chart.Line(chart.Gray, 1.2, 2, 2)})
	return p
}

// noiseTable says where runs end, and when they come near to the minimiser.
func (r *report) noiseTable(n *noiseSection, minimiser []*result) text.Table {
	t := text.Table{{"method, T_con × message", "final distance to the truth", "to the minimiser", "rounds to a tenth of the statistical error", "KB a node", "rounds to 1e-10 of the minimiser", "KB a node"}}
	for _, run := range minimiser {
		m := &run.Methods[0]
		row := []string{run.variantText(), "-", distance(m.Final.Median)}
		if to := r.find(strings.Replace(run.Setting.Name, "/"+simulation.Pooled+"/", "/truth/", 1), n.Weights); to != nil {
			row[1] = strconv.FormatFloat(to.Methods[0].Final.Median, 'f', 4, 64)
		}
		for _, target := range []float64{n.Error / 10, accurate} {
			if k := m.First(target); k >= 0 {
				row = append(row, parts(m.InitRounds, m.Curve[k].Rounds, 1), parts(m.InitBytes, m.Curve[k].Bytes, 1e3*float64(n.Nodes)))
			} else {
				row = append(row, "-", "-")
			}
		}
		t = append(t, row)
	}
	return t
}

// baselines compares the runs of the preset baselines.
func (r *report) baselines() string {
	t := text.Table{{"κ", "method", "arrive", "iterations", "rounds", "KB a node"}}
	var panels []chart.Panel
	caption := ""
	for _, kappa := range []float64{1.5, 10} {
		panel := chart.Panel{Title: fmt.Sprintf("Condition number %g", kappa), X: chart.Axis{Label: "Rounds after the initialisation", Log: true}}
		for i, run := range r.group(fmt.Sprintf("baselines/%g", kappa)) {
			m, name := &run.Methods[0], simulation.LookOf(run.Setting.Methods[0]).Name
			t = append(t, append([]string{fmt.Sprint(kappa), name}, run.arrival(m, 1e3)...))
			line := run.variantSeries(i, func(b *simulation.BandRow) float64 { return max(b.Rounds-m.InitRounds, 1) })
			line.Name = name
			panel.Series = append(panel.Series, line)
			caption = strings.TrimPrefix(run.TrialsText(), ";  ")
		}
		if len(panel.Series) > 0 {
			panels = append(panels, panel)
		}
	}
	if len(panels) == 0 {
		return ""
	}
	return r.picture("baselines", "distance against rounds, beside other algorithms of decentralised optimisation", simulation.DistanceFigure(caption, panels...)) + t.Markdown()
}
