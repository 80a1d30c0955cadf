package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

const frontierIntro = `
## Beyond the paper: bytes and seconds

Medians of %s to a distance of %g, against the paper's algorithm with its ten rounds
of float64. KB are what a node sends on average, with all headers; seconds are
measured computation and communication at %v, or with 5 ms a round. A dash is for
what was not reached, and for Auto at 5 ms, since its trials take different rounds.
The aims are measured by the best variant that arrives in every trial.
`

// shortLatency is the second latency of the frontier's tables, in seconds; the first
// is that of the runs.
const shortLatency = 5e-3

// A point is where a variant is on the frontier.
type point struct {
	run                            *Result
	iterations, bytes, slow, quick float64 // to accurate; +Inf if not reached
	there                          int     // trials that reached it
}

// always reports whether all trials arrived.
func (p *point) always() bool { return p.there == p.run.Summary.Trials }

func newPoint(run *Result) point {
	m := run.Summary.Methods[0]
	p := point{run, run.iterations(m.Method), run.bytes(m.Method) / float64(run.Summary.Setting.Nodes), run.seconds(m.Method), math.Inf(1), run.method(m.Method).reached(accurate).Trials}
	// Auto takes other numbers of rounds in other trials: there is no common one.
	if !math.IsInf(p.iterations, 1) && m.Method != Auto {
		rounds := run.band(m.Method).Rows[int(p.iterations)].Rounds
		p.quick = p.slow - rounds*(run.Summary.Setting.Time.Latency.Seconds()-shortLatency)
	}
	return p
}

// frontier compares the variants of the preset frontier.
func (r *report) frontier() error {
	for _, kind := range []struct{ name, title string }{
		{"easy", "much data a node, well connected"}, {"hard", "one task a node, sparse graph"},
	} {
		prefix := "frontier/" + kind.name + "/"
		var points []point
		for _, run := range r.all {
			if strings.HasPrefix(run.Summary.Setting.Name, prefix) {
				points = append(points, newPoint(run))
			}
		}
		base := find(r.all, prefix+"equal/"+reference.name(), "equal")
		if base == nil {
			continue
		}
		s := &base.Summary.Setting
		if kind.name == "easy" {
			r.printf(frontierIntro, plural(base.Summary.Trials, "trial"), accurate, s.Time)
		}
		r.printf("\n### %s\n\nL = %d, d = %d, T = %d, n = %d, r = %d, graph %s, condition number %g.\n",
			strings.ToUpper(kind.title[:1])+kind.title[1:], s.Nodes, s.Features, s.Tasks, s.Samples, s.Rank, s.Graph, s.Kappa)
		if err := r.picture("frontier-"+kind.name, "distance against bytes and seconds", frontierFigure(s, points)); err != nil {
			return err
		}
		r.bars(kind.name, points, newPoint(base))
		r.frontierTable(points, newPoint(base))
	}
	return nil
}

// byBytes orders points by the bytes that they need, those that do not arrive by
// where they end.
func byBytes(a, b point) int {
	return cmp.Or(cmp.Compare(a.bytes, b.bytes),
		cmp.Compare(a.run.Summary.Methods[0].Final.Median, b.run.Summary.Methods[0].Final.Median))
}

// frontierTable lists points by the bytes that they need, beside the reference.
func (r *report) frontierTable(points []point, base point) {
	slices.SortStableFunc(points, byBytes)
	fewer := func(v, reference float64) string {
		if math.IsInf(v, 1) {
			return "-"
		}
		return format(reference/v, 'f', 1) + "x"
	}
	var rows [][]string
	for _, p := range points {
		s := &p.run.Summary.Setting
		rounds, agreement := strconv.Itoa(s.Rounds), s.AgreementText()
		if s.Methods[0] == Auto {
			rounds, agreement = "chosen", "chosen"
		}
		rows = append(rows, []string{
			variantName(s), rounds, s.Weights, agreement,
			distance(p.run.Summary.Methods[0].Final.Median), whole(p.iterations), strconv.Itoa(p.there), format(p.bytes/1e3, 'f', 0), fewer(p.bytes, base.bytes),
			format(p.slow, 'f', 1), fewer(p.slow, base.slow), format(p.quick, 'f', 2), fewer(p.quick, base.quick),
		})
	}
	r.printf("\n")
	r.table([]string{"method", "T_con", "weights", "agreement", "final distance", "iterations", "trials there", "KB a node", "fewer", "seconds", "fewer", "at 5 ms", "fewer"}, rows)
}

// variantName returns the name of a setting's only method, with its step.
func variantName(s *Setting) string {
	name := lookOf(s.Methods[0]).name
	if s.ScaledStep > 0 {
		name += fmt.Sprintf(", step %g", s.ScaledStep)
	}
	return name
}

// frontierColors are those of Okabe and Ito.
var frontierColors = []draw.LineStyle{
	stroke(0x00, 0x00, 0x00, 1.8), stroke(0x00, 0x9e, 0x73, 1.5, 7, 2.5, 1.5, 2.5), stroke(0xe6, 0x9f, 0x00, 1.8, 5, 3),
	stroke(0x00, 0x72, 0xb2, 1.8), stroke(0xd5, 0x5e, 0x00, 1.8), stroke(0xcc, 0x79, 0xa7, 1.8, 3, 2),
}

// frontierFigure shows the paper's decentralised algorithms and the scaled one in
// their plain form, and of each method the variant that needs the fewest bytes of
// those that always arrive.
func frontierFigure(s *Setting, points []point) *Figure {
	points = slices.Clone(points)
	slices.SortStableFunc(points, byBytes)
	shown := make([]*Result, 6)
	show := func(i int, p point) {
		if shown[i] == nil {
			shown[i] = p.run
		}
	}
	for _, p := range points {
		own := &p.run.Summary.Setting
		plain := own.Agree == "" && own.Compress == "" && own.ScaledStep == 0 && own.Weights == "equal"
		if i := slices.Index([]string{"dif", "dec", "scaled"}, own.Methods[0]); i >= 0 && plain {
			show(i, p)
		}
		if i := slices.Index([]string{"dif", "scaled", "tracking"}, own.Methods[0]); i >= 0 && own.Compress != "" && p.always() {
			show(3+i, p)
		}
	}
	f := &Figure{caption: fmt.Sprintf("L = %d,  d = %d,  T = %d,  n = %d,  r = %d,  κ = %g,  graph %s;  mean of %s",
		s.Nodes, s.Features, s.Tasks, s.Samples, s.Rank, s.Kappa, s.Graph, plural(points[0].run.Summary.Trials, "trial"))}
	f.panels[0] = panel{label: "KB sent by a node", logX: true}
	f.panels[1] = panel{label: fmt.Sprintf("Execution time at %v a round (s)", s.Time.Latency), logX: true}
	for i, run := range shown {
		if run == nil {
			continue
		}
		own := &run.Summary.Setting
		l := look{fmt.Sprintf("%s, %d × %s", own.Methods[0], own.Rounds, own.AgreementText()), frontierColors[i]}
		f.looks = append(f.looks, l)
		band := run.Bands[0]
		if k, ok := band.arrival(); ok && band.Rows[k].Mean < accurate {
			band.Rows = band.Rows[:k+1] // the rest is rounding
		}
		f.panels[0].add(&band, l, func(k int) float64 { return max(1, band.Rows[k].Bytes/1e3/float64(own.Nodes)) })
		f.panels[1].add(&band, l, func(k int) float64 { return max(own.Time.Latency.Seconds(), band.Rows[k].Seconds) })
	}
	return f
}

// kappa shows iterations against the condition number.
func (r *report) kappa() error {
	var runs []*Result
	for _, run := range r.all {
		if strings.HasPrefix(run.Summary.Setting.Name, "kappa/") {
			runs = append(runs, run)
		}
	}
	if len(runs) == 0 {
		return nil
	}
	slices.SortFunc(runs, func(a, b *Result) int { return cmp.Compare(a.Summary.Setting.Kappa, b.Summary.Setting.Kappa) })
	s := &runs[0].Summary.Setting
	r.printf("\n## Beyond the paper: the condition number\n\nMedians of %s with L = %d, d = %d, T = %d, n = %d, r = %d, graph %s, %s weights and T_con = %d. A dash is for what was not reached in %d iterations. The aim of the scaled step is at most 65 iterations to 1e-10 for κ = 1.5, 5 and 10.\n",
		plural(runs[0].Summary.Trials, "trial"), s.Nodes, s.Features, s.Tasks, s.Samples, s.Rank, s.Graph, s.Weights, s.Rounds, s.Iterations)
	figure := &SweepFigure{Name: "kappa"}
	header := []string{"κ", "start"}
	for i, target := range []float64{1e-6, accurate} {
		p := &figure.panels[i]
		*p = sweepPanel{title: fmt.Sprintf("Iterations to 10^{−%.0f}", -math.Log10(target)), x: "condition number κ", logX: true, logY: true, lowest: 10, most: 20000}
		for _, m := range s.Methods {
			g := sweepGroup{name: lookOf(m).name, line: lookOf(m).line}
			for _, run := range runs {
				if n := run.method(m).reached(target).Iterations; n != nil {
					g.points = append(g.points, plotter.XY{X: run.Summary.Setting.Kappa, Y: *n})
				}
			}
			if len(g.points) > 0 {
				p.groups = append(p.groups, g)
			}
			header = append(header, fmt.Sprintf("%s to %g", m, target))
		}
	}
	if err := r.picture("kappa", "iterations against the condition number", figure); err != nil {
		return err
	}
	var rows [][]string
	for _, run := range runs {
		row := []string{fmt.Sprint(run.Summary.Setting.Kappa), format(run.Bands[0].Rows[0].Median, 'f', 2)}
		for _, target := range []float64{1e-6, accurate} {
			for _, m := range s.Methods {
				row = append(row, whole(orInf(run.method(m).reached(target).Iterations)))
			}
		}
		rows = append(rows, row)
	}
	r.printf("\n")
	r.table(header, rows)
	return nil
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
