package experiment

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
	"github.com/difalt/difalt/internal/text"
)

// Names of what WriteReport writes.
const (
	ReportFile = "results.md"
	figuresDir = "figures"
)

// accurate is the distance to which tables count iterations, bytes and seconds.
const accurate = 1e-10

// reportIntro begins the page.
const reportIntro = `# Results

The experiments of the paper and beyond it. This page and its figures were written by
"difalt results --from DIR" from the runs that are listed at the end. All of them are
made by

    difalt simulate --preset all --out DIR/equal
    difalt simulate --preset all --weights metropolis --out DIR/metropolis
    difalt simulate --preset frontier --out DIR
    difalt simulate --preset kappa --out DIR

The paper describes its mixing weights in two ways that agree on regular graphs only:
its formula 1/deg, here “equal”, and doubly stochastic weights, here “metropolis”.

Distance is the subspace distance of node 0, which is the paper's node 1, from the
truth: means over the trials on a band from the 10th to the 90th percentile. Time is
the measured computation of the slowest node plus modelled communication. A dash is
for what was not reached.
`

// A report is the page that is being written.
type report struct {
	out  string // folder
	all  []*Result
	text strings.Builder
}

// WriteReport writes the page ReportFile about results into a folder, with figures
// in its sub-folder "figures". It leaves out the figures of which all runs are missing.
func WriteReport(out string, all []*Result) error {
	if err := os.MkdirAll(filepath.Join(out, figuresDir), 0o777); err != nil {
		return fmt.Errorf("cannot make the output folder: %w", err)
	}
	r := &report{out: out, all: all}
	r.text.WriteString(reportIntro)
	for _, section := range []func() error{r.paper, r.frontier, r.kappa} {
		if err := section(); err != nil {
			return err
		}
	}
	r.runs()
	return atomicfile.WriteFile(filepath.Join(out, ReportFile), []byte(r.text.String()))
}

func (r *report) printf(format string, args ...any) { fmt.Fprintf(&r.text, format, args...) }

func (r *report) table(t text.Table) { r.printf("\n%s\n", t.Markdown()) }

// picture writes a figure to a file and shows it on the page.
func (r *report) picture(name, alt string, f *chart.Figure) error {
	r.printf("\n![%s](%s/%s.svg)\n", alt, figuresDir, name)
	return writeImage(filepath.Join(r.out, figuresDir, name+".svg"), f.SVG)
}

var paperWeights = []string{"equal", "metropolis"}

// paperFigures are those of the paper, with what varies from panel to panel.
var paperFigures = []struct {
	name, title, varied string
	vary                func(s *Setting) string
}{
	{"fig1", "Figure 1: rounds of averaging", "T_con", func(s *Setting) string { return strconv.Itoa(s.Rounds) }},
	{"fig2", "Figure 2: connectivity of the graph", "p", func(s *Setting) string { return strings.TrimPrefix(s.Graph, "er:") }},
}

// paper shows the figures of the paper, and their numbers.
func (r *report) paper() error {
	for _, f := range paperFigures {
		title := "\n## " + f.title + "\n"
		for _, weights := range paperWeights {
			t := text.Table{{f.varied, "method", "final distance, mean", "median", "range", "iterations to 1e-6", "to 1e-10", "trials there", "MB a node to 1e-10", "seconds to 1e-10"}}
			for _, panel := range []string{"a", "b", "c"} {
				run := find(r.all, f.name+panel, weights)
				if run == nil {
					continue
				}
				if len(t) == 1 {
					r.printf("%s\n### %s weights\n", title, capital(weights))
					title = ""
				}
				figure, err := NewFigure(&run.Summary.Setting, run.Bands)
				if err != nil {
					return fmt.Errorf("%s: %w", run.Dir, err)
				}
				name := f.name + panel
				if err := r.picture(name+"-"+weights, name+", "+weights+" weights", figure); err != nil {
					return err
				}
				for i := range run.Summary.Methods {
					t = append(t, append([]string{f.vary(&run.Summary.Setting)}, run.numbers(&run.Summary.Methods[i])...))
				}
			}
			if len(t) > 1 {
				r.table(t)
			}
		}
	}
	return nil
}

// numbers lists how a method did, as the tables of the paper's figures show it.
func (r *Result) numbers(m *MethodSummary) []string {
	to := m.reached(accurate)
	return []string{
		lookOf(m.Method).name, distance(m.Final.Mean), distance(m.Final.Median), distance(m.Final.Min) + " to " + distance(m.Final.Max),
		whole(orInf(m.reached(1e-6).Iterations)), whole(orInf(to.Iterations)), fmt.Sprintf("%d of %d", to.Trials, r.Summary.Trials),
		megabytes(orInf(to.Bytes) / float64(r.Summary.Setting.Nodes)), whole(orInf(to.Seconds)),
	}
}

// runs lists the runs with machine and time. Those of a group of settings, whose names
// begin alike up to a slash, share a row where they agree.
func (r *report) runs() {
	type group struct {
		preset, weights    string
		trials             int
		seed               uint64
		machine, deviation string
	}
	var groups []group
	minutes := map[group]float64{}
	var machines []string
	for _, run := range r.all {
		s := &run.Summary
		preset, _, _ := strings.Cut(s.Setting.Name, "/")
		g := group{preset, s.Setting.Weights, s.Trials, s.Setting.Seed, machineText(s.Machine), deviation(&s.Setting)}
		if !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
		if !slices.Contains(machines, g.machine) {
			machines = append(machines, g.machine)
		}
		minutes[g] += s.WallSeconds / 60
	}
	t := text.Table{{"preset", "weights", "trials", "seed", "minutes", "machine", "differs from the preset"}}
	for _, g := range groups {
		t = append(t, []string{
			g.preset, g.weights, strconv.Itoa(g.trials), strconv.FormatUint(g.seed, 10), format(minutes[g], 'f', 1),
			strconv.Itoa(slices.Index(machines, g.machine) + 1), g.deviation,
		})
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
	return fmt.Sprintf("%s, %s workers, kernel %s, %s, difalt %s", m["cpu"], m["workers"], m["kernel"], m["go"], m["difalt"])
}

// deviation says in what a setting differs from its preset, weights and seed apart.
func deviation(s *Setting) string {
	p, ok := presetSetting(s.Name)
	if !ok {
		return "no preset"
	}
	p.Weights, p.Seed = s.Weights, s.Seed
	return differences(s, p)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// distance formats a subspace distance, or a dash for one that was not reached.
func distance(v float64) string { return format(v, 'e', 1) }

// whole formats what has no fractions worth showing.
func whole(v float64) string { return format(v, 'f', 0) }

// megabytes formats a number of bytes.
func megabytes(v float64) string {
	digits := 0
	for x := v; x < 1e8 && digits < 4; x *= 10 {
		digits++
	}
	return format(v/1e6, 'f', digits)
}

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
