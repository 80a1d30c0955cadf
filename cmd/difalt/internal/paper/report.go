package paper

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/chart"
	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// ReportFile is the page of WriteReport, with its figures in the sub-folder figuresDir.
const (
	ReportFile = "results.md"
	figuresDir = "figures"
)

// accurate is the target distance of tables.
const accurate = 1e-10

const introduction = `# Results

Subspace distances are those of node 0, the paper's node 1, and lines in figures are medians over the trials. A cell of
a table is the median of iterations / rounds / KB a node until the distance is 1e-10, the initialisation included;
or, if at most half of the trials get there, the median of the distance at the end. In parentheses: the number of trials
that get there, unless all or none do. The summary.json of a run contains all numbers, and seconds: measured computation
at the slowest node plus communication by a model, at %v.

The paper describes its mixing weights in two ways that agree on regular graphs only: its formula 1/deg, here "equal",
and doubly stochastic weights, here "metropolis".
`

// A report is the page under construction.
type report struct {
	page  strings.Builder
	files map[string]atomicfile.Content // by path
	rest  []*simulation.Summary
}

// WriteReport writes the page ReportFile about runs into a folder. Runs of a preset share a figure; every
// other run has its own.
func WriteReport(folder string, all []*simulation.Summary) error {
	r := &report{files: map[string]atomicfile.Content{}, rest: slices.Clone(all)}
	fmt.Fprintf(&r.page, introduction, all[0].Setting.Time)
	for _, p := range Presets() {
		r.preset(&p)
	}
	for i, run := range r.rest {
		name := fmt.Sprintf("run-%d", i+1)
		fmt.Fprintf(&r.page, "\n## Run %d\n\nThe graph is %s.\n", i+1, run.Setting.Graph)
		r.figure(name, run.Figure())
		r.table([]*simulation.Summary{run}, []string{run.Setting.Weights + " weights"})
	}
	r.origin(all)
	r.files[ReportFile] = atomicfile.Bytes([]byte(r.page.String()))
	return atomicfile.WriteFolder(folder, r.files)
}

// preset writes the section of a preset, with a figure for each rule of weights.
func (r *report) preset(p *Preset) {
	heading := fmt.Sprintf("\n## %s\n\n%s\n", p.Title, p.Text)
	for _, weights := range []string{"equal", "metropolis"} {
		var runs []*simulation.Summary
		var titles []string
		for _, panel := range p.Panels {
			if run := r.take(panel.Setting.Name, weights); run != nil {
				runs, titles = append(runs, run), append(titles, panel.Title)
			}
		}
		if runs == nil {
			continue
		}
		r.page.WriteString(heading)
		heading = ""
		titles[0] += ", " + weights + " weights"
		r.figure(p.Name+"-"+weights, p.Figure(runs))
		r.table(runs, titles)
	}
}

// take removes and returns the run of a name with the given weights. It returns nil without such a run.
func (r *report) take(name, weights string) *simulation.Summary {
	i := slices.IndexFunc(r.rest, func(s *simulation.Summary) bool {
		return s.Setting.Name == name && s.Setting.Weights == weights
	})
	if i < 0 {
		return nil
	}
	run := r.rest[i]
	r.rest = slices.Delete(r.rest, i, i+1)
	return run
}

// figure writes a figure to a file, and a reference to it.
func (r *report) figure(name string, f *chart.Figure) {
	r.files[filepath.Join(figuresDir, name+".svg")] = atomicfile.Bytes(f.SVG())
	fmt.Fprintf(&r.page, "\n![%s: %s](%s/%s.svg)\n\n", f.Title, f.Caption, figuresDir, name)
}

// table writes a row for every method, and a column for every run.
func (r *report) table(runs []*simulation.Summary, titles []string) {
	t := text.Table{append([]string{"method"}, titles...)}
	for i, run := range runs {
		for k := range run.Methods {
			m := &run.Methods[k]
			name := simulation.AppearanceOf(m.Method).Name
			row := slices.IndexFunc(t, func(row []string) bool { return row[0] == name })
			if row < 0 {
				row = len(t)
				t = append(t, append([]string{name}, slices.Repeat([]string{""}, len(runs))...))
			}
			t[row][i+1] = cell(run, m)
		}
	}
	r.page.WriteString(t.Markdown() + "\n")
}

// cell returns the costs of a method until its distance is accurate, or its distance at the end.
func cell(run *simulation.Summary, m *simulation.MethodSummary) string {
	to := m.To(accurate)
	words := fmt.Sprintf("ends at %.1e", m.Final.Median)
	if to.Iterations != nil {
		words = fmt.Sprintf("%.0f / %.0f / %.0f", *to.Iterations, *to.Rounds, *to.Bytes/1e3/float64(run.Setting.Nodes))
	}
	if to.Trials > 0 && to.Trials < run.Trials {
		words += fmt.Sprintf(" (%d of %d)", to.Trials, run.Trials)
	}
	return words
}

// origin lists the commands that made the runs, and the machines.
func (r *report) origin(all []*simulation.Summary) {
	var commands, machines []string
	for _, run := range all {
		if !slices.Contains(commands, run.Command) {
			commands = append(commands, run.Command)
		}
		if !slices.Contains(machines, run.Machine) {
			machines = append(machines, run.Machine)
		}
	}
	fmt.Fprintf(&r.page, "\n## Runs\n\nCommands:\n\n    %s\n\nMachines:\n\n* %s\n",
		strings.Join(commands, "\n    "), strings.Join(machines, "\n* "))
}
