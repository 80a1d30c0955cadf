package experiment

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Names of what WriteReport writes.
const (
	ReportFile = "results.md"
	figuresDir = "figures"
)

// reportIntro begins the page.
const reportIntro = `# Results

The experiments of the paper, run by difalt and judged. This page and its figures
were written by

    difalt results --from DIR

from the folders of the runs that are listed at the end. All of them are made by

    difalt simulate --preset all --out DIR/equal
    difalt simulate --preset all --weights metropolis --out DIR/metropolis
    difalt simulate --preset frontier --out DIR
    difalt simulate --preset kappa --out DIR

The same seed gives the same numbers, measured times apart.

The paper describes its mixing weights in two ways that agree on regular graphs
only: its formula 1/deg, here “equal”, and doubly stochastic weights, here
“metropolis”. Both are below.

Distance is the subspace distance of node 1 from the truth. Curves are means over
the trials on a band from the 10th to the 90th percentile. Time is the measured
computation of the slowest node plus modelled communication; the time axis ends where
the methods have arrived.
`

// A report is the page that is being written.
type report struct {
	out  string // folder
	all  []*Result
	text strings.Builder
}

// WriteReport writes the page ReportFile about results into a folder, with figures
// in its sub-folder "figures". It leaves out the figures and statements of which a
// run is missing.
func WriteReport(out string, all []*Result) error {
	if err := os.MkdirAll(filepath.Join(out, figuresDir), 0o777); err != nil {
		return fmt.Errorf("cannot make the output folder: %w", err)
	}
	r := &report{out: out, all: all}
	r.text.WriteString(reportIntro)
	for _, section := range []func() error{r.paperFigures, r.statements, r.frontier, r.kappa, r.runs} {
		if err := section(); err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(out, ReportFile), func(w io.Writer) error {
		_, err := io.WriteString(w, r.text.String())
		return err
	})
}

func (r *report) printf(format string, args ...any) { fmt.Fprintf(&r.text, format, args...) }

// picture writes a figure to a file and shows it on the page.
func (r *report) picture(name, alt string, f interface{ WriteSVG(io.Writer) error }) error {
	file := filepath.Join(r.out, figuresDir, name+".svg")
	if err := writeFile(file, f.WriteSVG); err != nil {
		return err
	}
	r.printf("\n![%s](%s/%s.svg)\n", alt, figuresDir, name)
	return nil
}

// paperFigure is what a figure of the paper is about.
type paperFigure struct {
	number        int
	title, varied string
	panels        [3]string
	vary          func(s *Setting) string
}

var paperWeights = []string{"equal", "metropolis"}

var paperFigures = []paperFigure{
	{1, "rounds of averaging", "T_con", [3]string{"fig1a", "fig1b", "fig1c"}, func(s *Setting) string { return strconv.Itoa(s.Rounds) }},
	{2, "connectivity of the graph", "p", [3]string{"fig2a", "fig2b", "fig2c"}, func(s *Setting) string { return strings.TrimPrefix(s.Graph, "er:") }},
}

// panels returns the panels of a figure that have run, nil where not.
func (r *report) panels(f *paperFigure, weights string) (p panelSet, any, complete bool) {
	complete = true
	for i, name := range f.panels {
		p[i] = find(r.all, name, weights)
		any = any || p[i] != nil
		complete = complete && p[i] != nil
	}
	return p, any, complete
}

func (r *report) paperFigures() error {
	for i := range paperFigures {
		f := &paperFigures[i]
		headed := false
		for _, weights := range paperWeights {
			p, any, _ := r.panels(f, weights)
			if !any {
				continue
			}
			if !headed {
				r.printf("\n## Figure %d: %s\n", f.number, f.title)
				headed = true
			}
			r.printf("\n### %s weights\n", strings.ToUpper(weights[:1])+weights[1:])
			if err := r.paperPanels(f, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// paperPanels shows the panels of a figure and their numbers.
func (r *report) paperPanels(f *paperFigure, p panelSet) error {
	var rows [][]string
	for _, run := range p {
		if run == nil {
			continue
		}
		s := &run.Summary.Setting
		figure, err := NewFigure(s, run.Bands)
		if err != nil {
			return fmt.Errorf("%s: %w", run.Dir, err)
		}
		if err := r.picture(s.Name+"-"+s.Weights, s.Name+", "+s.Weights+" weights", figure); err != nil {
			return err
		}
		for _, m := range run.Summary.Methods {
			to := m.reached(accurate)
			rows = append(rows, []string{
				f.vary(s), lookOf(m.Method).name, distance(m.Final.Mean), distance(m.Final.Median), distance(m.Final.Min) + " to " + distance(m.Final.Max),
				whole(orInf(m.reached(1e-6).Iterations)), whole(orInf(to.Iterations)), fmt.Sprintf("%d of %d", to.Trials, run.Summary.Trials),
				megabytes(orInf(to.Bytes) / float64(s.Nodes)), whole(orInf(to.Seconds)),
			})
		}
	}
	r.printf("\n")
	r.table([]string{f.varied, "method", "final distance, mean", "median", "range", "iterations to 1e-6", "to 1e-10", "trials there", "MB a node to 1e-10", "seconds to 1e-10"}, rows)
	return nil
}

// statements judges the paper's statements.
func (r *report) statements() error {
	headed := false
	for _, s := range statements {
		var verdicts []string
		failed := false
		for _, number := range s.figures {
			for _, weights := range paperWeights {
				p, _, complete := r.panels(&paperFigures[number-1], weights)
				if !complete || !comparable(p) {
					continue
				}
				f := s.check(p)
				verdict := "confirmed"
				if !f.holds {
					verdict, failed = "**not confirmed**", true
				}
				verdicts = append(verdicts, fmt.Sprintf("* figure %d, %s weights: %s; %s", number, weights, verdict, f.numbers))
			}
		}
		if len(verdicts) == 0 {
			continue
		}
		if !headed {
			r.printf("\n## The paper's statements\n\nNumbers are for the three panels in their order; a dash is for what was not reached.\n")
			headed = true
		}
		r.printf("\n### “%s”\n\nConfirmed if %s.\n\n%s\n", s.text, s.criterion, strings.Join(verdicts, "\n"))
		if failed {
			r.printf("\nWhy not: %s.\n", s.why)
		}
	}
	return nil
}

// comparable reports whether all panels have the four methods of the paper.
func comparable(p panelSet) bool {
	for _, r := range p {
		for _, m := range []string{"dif", "altgdmin", "dec", "dgd"} {
			if r.method(m) == nil {
				return false
			}
		}
	}
	return true
}

// runs lists the runs with machine and time. Those of a group of settings, whose names
// begin alike up to a slash, share a row where they agree.
func (r *report) runs() error {
	r.printf("\n## Runs\n\n")
	type group struct {
		preset, weights string
		trials          int
		seed            uint64
		machine         string
		deviation       string
	}
	var groups []group
	minutes := map[group]float64{}
	for _, run := range r.all {
		s := &run.Summary
		preset, _, _ := strings.Cut(s.Setting.Name, "/")
		g := group{preset, s.Setting.Weights, s.Trials, s.Setting.Seed, machineText(s.Machine), deviation(&s.Setting)}
		if !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
		minutes[g] += s.WallSeconds / 60
	}
	var rows [][]string
	var machines []string
	for _, g := range groups {
		if !slices.Contains(machines, g.machine) {
			machines = append(machines, g.machine)
		}
		rows = append(rows, []string{
			g.preset, g.weights, strconv.Itoa(g.trials), strconv.FormatUint(g.seed, 10), format(minutes[g], 'f', 1),
			strconv.Itoa(slices.Index(machines, g.machine) + 1), g.deviation,
		})
	}
	r.table([]string{"preset", "weights", "trials", "seed", "minutes", "machine", "differs from the preset"}, rows)
	r.printf("\n")
	for i, m := range machines {
		r.printf("%d. %s\n", i+1, m)
	}
	return nil
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

// table writes a table in Markdown.
func (r *report) table(header []string, rows [][]string) {
	line := func(cells []string) { r.printf("| %s |\n", strings.Join(cells, " | ")) }
	line(header)
	line(slices.Repeat([]string{"---"}, len(header)))
	for _, row := range rows {
		line(row)
	}
}

// distance formats a subspace distance, or a dash for one that was not reached.
func distance(v float64) string { return format(v, 'e', 1) }

// ratio formats a factor.
func ratio(v float64) string { return format(v, 'f', 2) }

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
