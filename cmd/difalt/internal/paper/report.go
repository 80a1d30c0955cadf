package paper

import (
	"bytes"
	_ "embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/chart"
	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// Names of what WriteReport writes.
const (
	ReportFile  = "results.md"
	ResultsFile = "results.csv"
	figuresDir  = "figures"
)

// accurate is the distance to which tables count iterations, bytes and seconds.
const accurate = 1e-10

// pageTemplate is the page without its numbers and figures.
//
//go:embed results.md.tmpl
var pageText string

var pageTemplate = template.Must(template.New(ReportFile).Parse(pageText))

// A result is what the folder of a run holds, as the page reads it.
type result struct{ *simulation.Summary }

// find returns the result of a preset's name with the given weights, or nil.
func (r *report) find(name, weights string) *result {
	for _, run := range r.all {
		if run.Setting.Name == name && run.Setting.Weights == weights {
			return run
		}
	}
	return nil
}

// A report is the page that is being written into a folder.
type report struct {
	all   []*result
	files map[string][]byte
}

// WriteReport writes the page ReportFile about results into a folder, with figures in
// its sub-folder "figures", and the numbers of all runs in ResultsFile. It leaves out the
// figures of which all runs are missing.
func WriteReport(folder string, all []*simulation.Summary) error {
	if err := os.MkdirAll(filepath.Join(folder, figuresDir), 0o777); err != nil {
		return fmt.Errorf("cannot make the output folder: %w", err)
	}
	r := &report{files: map[string][]byte{}}
	for _, run := range all {
		r.all = append(r.all, &result{run})
	}
	page := map[string]any{"Time": all[0].Setting.Time, "Statements": r.statements(), "Runs": r.runs()}
	for i, f := range paperFigures {
		page[fmt.Sprint("Figure", i+1)] = r.paper(&f)
	}
	page["Frontier"], page["Noise"], page["Baselines"] = r.frontier(), r.noise(), r.baselines()
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, page); err != nil {
		return err
	}
	r.files[ReportFile], r.files[ResultsFile] = b.Bytes(), r.csv()
	return atomicfile.WriteFolder(folder, r.files, nil)
}

// csv lists every method of every run.
func (r *report) csv() []byte {
	b := []byte("run,weights,method,trials,final_distance,arrive,iterations,init_rounds,rounds,init_bytes,bytes,seconds\n")
	for _, run := range r.all {
		for i := range run.Methods {
			m := &run.Methods[i]
			to := m.To(accurate)
			b = fmt.Appendf(b, "%s,%s,%s,%d,%.3g,%d,%s,%g,%s,%s,%s,%s\n", run.Setting.Name, run.Setting.Weights, m.Method, run.Trials, m.Final.Median, to.Trials,
				whole(orInf(to.Iterations)), m.InitRounds, whole(orInf(to.Rounds)), whole(m.InitBytes), whole(orInf(to.Bytes)), format(orInf(to.Seconds), 'f', 2))
		}
	}
	return b
}

// picture writes a figure to a file and returns how the page shows it, and an empty line.
func (r *report) picture(name, alt string, f *chart.Figure) string {
	f.Title = alt
	r.files[filepath.Join(figuresDir, name+".svg")] = f.SVG()
	return fmt.Sprintf("![%s](%s/%s.svg)\n\n", alt, figuresDir, name)
}

var paperWeights = []string{"equal", "metropolis"}

// A figure of the paper, with what varies from panel to panel.
type figure struct {
	name, title, varied string
	vary                func(s *simulation.Setting) string
}

var paperFigures = []figure{
	{"fig1", "Figure 1: rounds of averaging", "T_con", func(s *simulation.Setting) string { return strconv.Itoa(s.Rounds) }},
	{"fig2", "Figure 2: connectivity of the graph", "p", func(s *simulation.Setting) string { return strings.TrimPrefix(s.Graph, "er:") }},
}

// panels returns the runs of the panels of a figure.
func (r *report) panels(figure, weights string) []*result {
	var runs []*result
	for _, panel := range []string{"a", "b", "c"} {
		if run := r.find(figure+panel, weights); run != nil {
			runs = append(runs, run)
		}
	}
	return runs
}

// paper returns a figure of the paper for every rule of weights, and its numbers; nothing
// if there are none.
func (r *report) paper(f *figure) (section string) {
	t := text.Table{{f.varied, "weights", "method", "final distance", "range", "arrive", "iterations", "rounds", "MB a node", "seconds"}}
	for _, weights := range paperWeights {
		runs := r.panels(f.name, weights)
		if len(runs) < 3 {
			continue
		}
		var panels []chart.Panel
		for _, run := range runs {
			s := &run.Setting
			p := chart.Panel{Title: strings.Replace(f.varied, "_con", "_{con}", 1) + " = " + f.vary(s), X: chart.Axis{Label: "Iteration", Zero: true}}
			for i := range run.Methods {
				m, look := &run.Methods[i], simulation.LookOf(run.Methods[i].Method)
				p.Series = append(p.Series, simulation.Series(m.Curve, look, simulation.Iterations))
				row := []string{f.vary(s), weights, look.Name, distance(m.Final.Median), distance(m.Final.Min) + " to " + distance(m.Final.Max)}
				t = append(t, append(append(row, run.arrival(m, 1e6)...), whole(orInf(m.To(accurate).Seconds))))
			}
			panels = append(panels, p)
		}
		s := &runs[0].Setting
		drawn := simulation.DistanceFigure(fmt.Sprintf("L = %d,  d = %d,  T = %d,  n = %d,  r = %d,  %s weights%s",
			s.Nodes, s.Features, s.Tasks, s.Samples, s.Rank, weights, runs[0].TrialsText()), panels...)
		section += r.picture(f.name+"-"+weights, f.title+", "+weights+" weights", drawn)
	}
	return section + t.Markdown()
}

// arrival says in how many trials a method arrives, after how many iterations, and what
// the initialisation and the iterations take until then: rounds, and bytes a node in the given unit.
func (r *result) arrival(m *simulation.MethodSummary, unit float64) []string {
	to := m.To(accurate)
	return []string{fmt.Sprintf("%d of %d", to.Trials, r.Trials), whole(orInf(to.Iterations)),
		parts(m.InitRounds, orInf(to.Rounds), 1), parts(m.InitBytes, orInf(to.Bytes), unit*float64(r.Setting.Nodes))}
}

// parts writes what the initialisation and the iterations took, in the given unit.
func parts(start, total, unit float64) string {
	if math.IsInf(total, 1) {
		return "-"
	}
	return short(start/unit) + " + " + short((total-start)/unit)
}

// short writes whole numbers, and smaller ones with two digits.
func short(v float64) string {
	if v < 10 {
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return whole(v)
}

// runs returns a list of the runs with their machines. Those of a group of settings, whose names
// begin alike up to a slash, share a row where they agree.
func (r *report) runs() string {
	t := text.Table{{"preset", "weights", "trials", "seed", "differs from the preset", "machine"}}
	var machines []string
	for _, run := range r.all {
		s := &run.Setting
		preset, _, _ := strings.Cut(s.Name, "/")
		trials := strconv.Itoa(run.Trials)
		if n := run.Methods[0].Curve[0].Trials; n != run.Trials {
			trials += fmt.Sprintf(", curves of %d", n)
		}
		machine := fmt.Sprintf("%s, kernel %s, %s, difalt %s", run.Machine["cpu"], run.Machine["kernel"], run.Machine["go"], run.Machine["difalt"])
		if !slices.Contains(machines, machine) {
			machines = append(machines, machine)
		}
		row := []string{preset, s.Weights, trials, strconv.FormatUint(s.Seed, 10), deviation(s), strconv.Itoa(slices.Index(machines, machine) + 1)}
		if !slices.ContainsFunc(t, func(other []string) bool { return slices.Equal(row, other) }) {
			t = append(t, row)
		}
	}
	words := t.Markdown() + "\n"
	for i, m := range machines {
		words += fmt.Sprintf("\n%d. %s", i+1, m)
	}
	return words
}

// deviation says in what a setting differs from its preset, weights and seed apart.
func deviation(s *simulation.Setting) string {
	p, ok := presetSetting(s.Name)
	if !ok {
		return "no preset"
	}
	p.Weights, p.Seed = s.Weights, s.Seed
	return s.Differences(p)
}

// distance formats a subspace distance, or a dash for one that was not reached.
func distance(v float64) string { return format(v, 'e', 1) }

// whole formats what has no fractions worth showing.
func whole(v float64) string { return format(v, 'f', 0) }

func format(v float64, verb byte, digits int) string {
	if math.IsInf(v, 0) {
		return "-"
	}
	return strconv.FormatFloat(v, verb, digits, 64)
}

// orInf returns what was not reached as +Inf.
func orInf(v *float64) float64 {
	if v == nil {
		return math.Inf(1)
	}
	return *v
}
