package paper

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/difalt/difalt/internal/chart"
	"github.com/difalt/difalt/internal/simulation"
	"github.com/difalt/difalt/internal/text"
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
	s := &r.Summary.Setting
	name := simulation.LookOf(s.Methods[0]).Name
	if s.Methods[0] == simulation.Auto || s.Methods[0] == simulation.Pooled {
		return name
	}
	return fmt.Sprintf("%s, %d × %s", name, s.Rounds, s.AgreementText())
}

// frontier compares the variants of the preset frontier.
func (r *report) frontier() error {
	if len(r.group("frontier")) == 0 {
		return nil
	}
	r.printf(`
## Beyond the paper: rounds and bytes to 1e-10

The condition number is 1.5 and weights are equal. “Many tasks a node”, which the figure
shows, is the paper's first experiment, L = 20, d = T = 600, n = 30, r = 4, p = 0.5; “one task
a node” is the sparsest graph of its second, L = d = T = 100, n = 50, r = 10, p = 0.05. From
row to row one thing changes: the method, then the rounds or their polynomial, then the
bits; all is compared with the first row.
`)
	t := text.Table{{"problem", "method, T_con × message", "arrive", "iterations", "rounds", "KB a node", "fewer rounds", "fewer bytes", "seconds"}}
	var panels [2]chart.Panel
	for _, kind := range []string{"many", "hard"} {
		title := map[string]string{"many": "many tasks a node", "hard": "one task a node"}[kind]
		for i, run := range r.group("frontier/" + kind) {
			m, kilobytes := &run.Summary.Methods[0], 1e3*float64(run.Summary.Setting.Nodes)
			base, to := r.group("frontier/" + kind)[0].Summary.Methods[0].To(accurate), m.To(accurate)
			t = append(t, []string{
				title, run.variantText(), fmt.Sprintf("%d of %d", to.Trials, run.Summary.Trials), whole(orInf(to.Iterations)),
				parts(m.InitRounds, orInf(to.Rounds), 1), parts(m.InitBytes, orInf(to.Bytes), kilobytes),
				times(orInf(base.Rounds), orInf(to.Rounds)), times(orInf(base.Bytes), orInf(to.Bytes)), format(orInf(to.Seconds), 'f', 1),
			})
			if kind == "many" {
				panels[0].Series = append(panels[0].Series, run.variantSeries(i, func(b *simulation.BandRow) float64 { return b.Bytes / kilobytes }))
				panels[1].Series = append(panels[1].Series, run.variantSeries(i, func(b *simulation.BandRow) float64 { return b.Rounds }))
			}
		}
	}
	if len(panels[0].Series) > 0 {
		panels[0].X = chart.Axis{Label: "KB a node, initialisation included", Log: true}
		panels[1].X = chart.Axis{Label: "Rounds, initialisation included", Log: true}
		f := simulation.DistanceFigure(strings.TrimPrefix(simulation.TrialsText(r.group("frontier/many")[0].Bands), ";  "), panels[:]...)
		if err := r.picture("frontier", "distance against bytes and against rounds", f); err != nil {
			return err
		}
	}
	r.table(t)
	return nil
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
	band := r.Bands[0]
	if k := band.First(1e-12); k >= 0 {
		band.Rows = band.Rows[:k+1] // the rest is rounding
	}
	return band.Series(simulation.Look{Name: r.variantText(), Style: variantColors[i%len(variantColors)]}, func(_ int, row *simulation.BandRow) float64 { return x(row) })
}

// noise compares distances to the truth and to the minimiser of the pooled data.
func (r *report) noise() error {
	alone := r.find("noise/truth/"+simulation.Pooled, smallSetting.Weights)
	truth, minimiser := r.group("noise/truth"), r.group("noise/"+simulation.Pooled)
	if alone == nil || len(minimiser) == 0 {
		return nil
	}
	statistical := alone.Summary.Methods[0].Final.Median
	s := &alone.Summary.Setting
	r.printf(`
## Beyond the paper: noise

L = %d, d = %d, T = %d, n = %d, r = %d, graph %s, condition number %g, noise %g. One node with all
data ends %.2g from the truth: the statistical error. Diffusion with few rounds ends
elsewhere; with tracking it ends at the minimiser of the pooled data.
`, s.Nodes, s.Features, s.Tasks, s.Samples, s.Rank, s.Graph, s.Kappa, s.Noise, statistical)
	t := text.Table{{"method, T_con × message", "final distance to the truth", "to the minimiser", "rounds to a tenth of the statistical error", "KB a node", "rounds to 1e-10 of the minimiser", "KB a node"}}
	var panels [2]chart.Panel
	for i, runs := range [][]*result{truth, minimiser} {
		panels[i] = chart.Panel{
			Title: []string{"To the truth", "To the minimiser of the pooled data"}[i],
			X:     chart.Axis{Label: "Rounds, initialisation included", Log: true},
		}
		for k, run := range runs {
			if run != alone {
				panels[i].Series = append(panels[i].Series, run.variantSeries(k, func(b *simulation.BandRow) float64 { return b.Rounds }))
			}
		}
		ends := []float64{math.Inf(1), 0}
		for _, line := range panels[i].Series {
			ends[0], ends[1] = min(ends[0], line.X[0]), max(ends[1], line.X[len(line.X)-1])
		}
		panels[i].Series = append(panels[i].Series, chart.Series{Name: "Statistical error", X: ends, Y: []float64{statistical, statistical}, Style: chart.Line(chart.Gray, 1.2, 2, 2)})
	}
	for _, run := range minimiser {
		name := strings.Replace(run.Summary.Setting.Name, "/"+simulation.Pooled+"/", "/truth/", 1)
		to, nodes := r.find(name, s.Weights), float64(s.Nodes)
		row := []string{run.variantText(), "-", distance(run.Summary.Methods[0].Final.Median)}
		if to != nil {
			row[1] = strconv.FormatFloat(to.Summary.Methods[0].Final.Median, 'f', 4, 64)
		}
		start := &run.Bands[0].Rows[0]
		for _, target := range []float64{statistical / 10, accurate} {
			if k := run.Bands[0].First(target); k >= 0 {
				at := &run.Bands[0].Rows[k]
				row = append(row, parts(start.Rounds, at.Rounds, 1), parts(start.Bytes, at.Bytes, 1e3*nodes))
			} else {
				row = append(row, "-", "-")
			}
		}
		t = append(t, row)
	}
	figure := simulation.DistanceFigure(strings.TrimPrefix(simulation.TrialsText(alone.Bands), ";  "), panels[:]...)
	figure.Panels[0].Y.Min = 0.01 // nothing gets below the statistical error
	if err := r.picture("noise", "distance to the truth and to the minimiser of the pooled data", figure); err != nil {
		return err
	}
	r.table(t)
	return nil
}
