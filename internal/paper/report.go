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

	"github.com/difalt/difalt/internal/atomicfile"
	"github.com/difalt/difalt/internal/chart"
	"github.com/difalt/difalt/internal/simulation"
	"github.com/difalt/difalt/internal/text"
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
type result struct{ *simulation.Result }

// find returns the result of a preset's name with the given weights, or nil.
func (r *report) find(name, weights string) *result {
	for _, run := range r.all {
		if run.Summary.Setting.Name == name && run.Summary.Setting.Weights == weights {
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
func WriteReport(folder string, all []*simulation.Result) error {
	if err := os.MkdirAll(filepath.Join(folder, figuresDir), 0o777); err != nil {
		return fmt.Errorf("cannot make the output folder: %w", err)
	}
	r := &report{files: map[string][]byte{}}
	for _, run := range all {
		r.all = append(r.all, &result{run})
	}
	page := map[string]any{"Time": all[0].Summary.Setting.Time, "Statements": r.statements(), "Runs": r.runs()}
	for i, f := range paperFigures {
		page[fmt.Sprint("Figure", i+1)] = r.paper(&f)
	}
	page["Frontier"], page["Noise"], page["Baselines"] = r.frontier(), r.noise(), r.baselines()
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, page); err != nil {
		return err
	}
	r.files[ReportFile], r.files[ResultsFile] = b.Bytes(), r.csv()
	return atomicfile.WriteFolder(folder, r.files)
}

// csv lists every method of every run.
func (r *report) csv() []byte {
	b := []byte("run,weights,method,trials,final_distance,arrive,iterations,init_rounds,rounds,init_bytes,bytes,seconds\n")
	for _, run := range r.all {
		s := &run.Summary
		for i := range s.Methods {
			m := &s.Methods[i]
			to := m.To(accurate)
			b = fmt.Appendf(b, "%s,%s,%s,%d,%.3g,%d,%s,%g,%s,%s,%s,%s\n", s.Setting.Name, s.Setting.Weights, m.Method, s.Trials, m.Final.Median, to.Trials,
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
			s := &run.Summary.Setting
			p := chart.Panel{Title: strings.Replace(f.varied, "_con", "_{con}", 1) + " = " + f.vary(s), X: chart.Axis{Label: "Iteration", Zero: true}}
			for i := range run.Bands {
				p.Series = append(p.Series, run.Bands[i].Series(simulation.LookOf(run.Bands[i].Method), simulation.Iterations))
			}
			panels = append(panels, p)
			for i := range run.Summary.Methods {
				t = append(t, append([]string{f.vary(s), weights}, run.numbers(&run.Summary.Methods[i])...))
			}
		}
		s := &runs[0].Summary.Setting
		drawn := simulation.DistanceFigure(fmt.Sprintf("L = %d,  d = %d,  T = %d,  n = %d,  r = %d,  %s weights%s",
			s.Nodes, s.Features, s.Tasks, s.Samples, s.Rank, weights, simulation.TrialsText(runs[0].Bands)), panels...)
		section += r.picture(f.name+"-"+weights, f.title+", "+weights+" weights", drawn)
	}
	return section + t.Markdown()
}

func (r *result) numbers(m *simulation.MethodSummary) []string {
	to, nodes := m.To(accurate), float64(r.Summary.Setting.Nodes)
	return []string{
		simulation.LookOf(m.Method).Name, distance(m.Final.Median), distance(m.Final.Min) + " to " + distance(m.Final.Max),
		fmt.Sprintf("%d of %d", to.Trials, r.Summary.Trials), whole(orInf(to.Iterations)),
		parts(m.InitRounds, orInf(to.Rounds), 1), parts(m.InitBytes, orInf(to.Bytes), nodes*1e6), whole(orInf(to.Seconds)),
	}
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
		s := &run.Summary
		preset, _, _ := strings.Cut(s.Setting.Name, "/")
		trials := strconv.Itoa(s.Trials)
		if n := run.Bands[0].Rows[0].Trials; n != s.Trials {
			trials += fmt.Sprintf(", curves of %d", n)
		}
		machine := machineText(s.Machine)
		if !slices.Contains(machines, machine) {
			machines = append(machines, machine)
		}
		row := []string{preset, s.Setting.Weights, trials, strconv.FormatUint(s.Setting.Seed, 10), deviation(&s.Setting), strconv.Itoa(slices.Index(machines, machine) + 1)}
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

// machineText describes a machine from the facts of its summary.
func machineText(m map[string]string) string {
	return fmt.Sprintf("%s, kernel %s, %s, difalt %s", m["cpu"], m["kernel"], m["go"], m["difalt"])
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
