package paper

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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

// reportIntro begins the page.
const reportIntro = `# Results

The experiments of the paper and beyond it. This page, its figures and results.csv, which
has every run, were written by "difalt results --from DIR" from the runs listed at the
end, made by

    difalt simulate --preset all --out DIR/equal
    difalt simulate --preset all --weights metropolis --out DIR/metropolis
    difalt simulate --preset one-round --out DIR/equal
    difalt simulate --preset one-round --weights metropolis --out DIR/metropolis
    difalt simulate --preset frontier --out DIR
    difalt simulate --preset noise --out DIR
    difalt simulate --preset kappa --out DIR

The paper describes its mixing weights in two ways that agree on regular graphs only:
its formula 1/deg, here “equal”, and doubly stochastic weights, here “metropolis”.

Distance is the subspace distance of node 0, the paper's node 1. Numbers are medians over
the trials; figures show medians on a band from the 10th to the 90th percentile. Rounds
and bytes are all that was sent, with headers, given as initialisation + iterations.
“Arrive” counts the trials that reach 1e-10, and a dash is for what half of them do not
reach. Seconds are the measured computation at the slowest node and the modelled
communication, at %v, those of the initialisation included.
`

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

// A report is the page that is being written.
type report struct {
	out  string // folder
	all  []*result
	text strings.Builder
}

// WriteReport writes the page ReportFile about results into a folder, with figures in
// its sub-folder "figures", and the numbers of all runs in ResultsFile. It leaves out the
// figures of which all runs are missing.
func WriteReport(out string, all []*simulation.Result) error {
	if err := os.MkdirAll(filepath.Join(out, figuresDir), 0o777); err != nil {
		return fmt.Errorf("cannot make the output folder: %w", err)
	}
	r := &report{out: out}
	for _, run := range all {
		r.all = append(r.all, &result{run})
	}
	r.printf(reportIntro, all[0].Summary.Setting.Time)
	for _, section := range []func() error{r.paper, r.statements, r.frontier, r.noise} {
		if err := section(); err != nil {
			return err
		}
	}
	r.runs()
	if err := atomicfile.WriteFile(filepath.Join(out, ReportFile), []byte(r.text.String())); err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(out, ResultsFile), r.csv())
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

func (r *report) printf(format string, args ...any) { fmt.Fprintf(&r.text, format, args...) }

func (r *report) table(t text.Table) { r.printf("\n%s\n", t.Markdown()) }

// picture writes a figure to a file and shows it on the page.
func (r *report) picture(name, alt string, f *chart.Figure) error {
	r.printf("\n![%s](%s/%s.svg)\n", alt, figuresDir, name)
	f.Title = alt
	return writeImage(filepath.Join(r.out, figuresDir, name+".svg"), f.SVG)
}

var paperWeights = []string{"equal", "metropolis"}

// paperFigures are those of the paper, with what varies from panel to panel.
var paperFigures = []struct {
	name, title, varied string
	vary                func(s *simulation.Setting) string
}{
	{"fig1", "Figure 1: rounds of averaging", "T_con", func(s *simulation.Setting) string { return strconv.Itoa(s.Rounds) }},
	{"fig2", "Figure 2: connectivity of the graph", "p", func(s *simulation.Setting) string { return strings.TrimPrefix(s.Graph, "er:") }},
}

// panels returns the runs of a figure of the paper, or nil where one is missing.
func (r *report) panels(figure, weights string) []*result {
	var runs []*result
	for _, panel := range []string{"a", "b", "c"} {
		if run := r.find(figure+panel, weights); run != nil {
			runs = append(runs, run)
		}
	}
	if len(runs) < 3 {
		return nil
	}
	return runs
}

// paper shows the figures of the paper, and their numbers.
func (r *report) paper() error {
	for _, f := range paperFigures {
		t := text.Table{{f.varied, "weights", "method", "final distance", "range", "arrive", "iterations", "rounds", "MB a node", "seconds"}}
		for _, weights := range paperWeights {
			runs := r.panels(f.name, weights)
			if runs == nil {
				continue
			}
			if len(t) == 1 {
				r.printf("\n## %s\n", f.title)
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
			figure := simulation.DistanceFigure(fmt.Sprintf("L = %d,  d = %d,  T = %d,  n = %d,  r = %d,  %s weights%s",
				s.Nodes, s.Features, s.Tasks, s.Samples, s.Rank, weights, simulation.TrialsText(runs[0].Bands)), panels...)
			if err := r.picture(f.name+"-"+weights, f.title+", "+weights+" weights", figure); err != nil {
				return err
			}
		}
		if len(t) > 1 {
			r.table(t)
		}
	}
	return nil
}

// numbers lists how a method did.
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

// runs lists the runs with their machines. Those of a group of settings, whose names
// begin alike up to a slash, share a row where they agree.
func (r *report) runs() {
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
	r.printf("\n## Runs\n")
	r.table(t)
	r.printf("\n")
	for i, m := range machines {
		r.printf("%d. %s\n", i+1, m)
	}
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

// writeImage writes an image that a function draws.
func writeImage(path string, draw func() ([]byte, error)) error {
	image, err := draw()
	if err != nil {
		return fmt.Errorf("cannot draw %s: %w", path, err)
	}
	return atomicfile.WriteFile(path, image)
}
