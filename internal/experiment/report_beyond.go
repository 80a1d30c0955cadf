package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/internal/chart"
	"github.com/difalt/difalt/internal/text"
)

const frontierIntro = `
## Beyond the paper: bytes and seconds

Medians of %s to a distance of %g, against the paper's algorithm with its ten rounds
of float64. KB are what a node sends on average, with all headers; seconds are
measured computation and communication at %v, or with 5 ms a round. Auto has no number
at 5 ms, since its trials take different rounds.
`

// shortLatency is the second latency of the frontier's tables, in seconds; the first
// is that of the runs.
const shortLatency = 5e-3

// A point is where a variant is on the frontier.
type point struct {
	run                            *Result
	iterations, bytes, slow, quick float64 // to accurate, bytes a node; +Inf if not reached
	there                          int     // trials that reached it
}

func newPoint(run *Result) point {
	m, s := &run.Summary.Methods[0], &run.Summary.Setting
	to := m.reached(accurate)
	p := point{run, orInf(to.Iterations), orInf(to.Bytes) / float64(s.Nodes), orInf(to.Seconds), math.Inf(1), to.Trials}
	// Auto takes other numbers of rounds in other trials: there is no common one.
	if to.Iterations != nil && m.Method != Auto {
		rounds := run.band(m.Method).Rows[int(p.iterations)].Rounds
		p.quick = p.slow - rounds*(s.Time.Latency.Seconds()-shortLatency)
	}
	return p
}

// frontier compares the variants of the preset frontier.
func (r *report) frontier() error {
	for _, kind := range []struct{ name, title string }{
		{"easy", "Much data a node, well connected"}, {"hard", "One task a node, sparse graph"},
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
		slices.SortStableFunc(points, byBytes)
		s := &base.Summary.Setting
		if kind.name == "easy" {
			r.printf(frontierIntro, text.Plural(base.Summary.Trials, "trial"), accurate, s.Time)
		}
		r.printf("\n### %s\n\nL = %d, d = %d, T = %d, n = %d, r = %d, graph %s, condition number %g.\n",
			kind.title, s.Nodes, s.Features, s.Tasks, s.Samples, s.Rank, s.Graph, s.Kappa)
		if err := r.picture("frontier-"+kind.name, "distance against bytes and seconds", frontierFigure(s, points)); err != nil {
			return err
		}
		r.table(frontierTable(points, newPoint(base)))
	}
	return nil
}

// byBytes orders points by the bytes that they need, those that do not arrive by
// where they end.
func byBytes(a, b point) int {
	return cmp.Or(cmp.Compare(a.bytes, b.bytes),
		cmp.Compare(a.run.Summary.Methods[0].Final.Median, b.run.Summary.Methods[0].Final.Median))
}

// frontierTable compares points with the reference.
func frontierTable(points []point, base point) text.Table {
	fewer := func(v, reference float64) string {
		if math.IsInf(v, 1) {
			return "-"
		}
		return format(reference/v, 'f', 1) + "x"
	}
	t := text.Table{{"method", "T_con", "weights", "agreement", "final distance", "iterations", "trials there", "KB a node", "fewer", "seconds", "fewer", "at 5 ms", "fewer"}}
	for _, p := range points {
		s := &p.run.Summary.Setting
		name, rounds, agreement := lookOf(s.Methods[0]).name, strconv.Itoa(s.Rounds), s.AgreementText()
		if s.ScaledStep > 0 {
			name += fmt.Sprintf(", step %g", s.ScaledStep)
		}
		if s.Methods[0] == Auto {
			rounds, agreement = "chosen", "chosen"
		}
		t = append(t, []string{
			name, rounds, s.Weights, agreement,
			distance(p.run.Summary.Methods[0].Final.Median), whole(p.iterations), strconv.Itoa(p.there), format(p.bytes/1e3, 'f', 0), fewer(p.bytes, base.bytes),
			format(p.slow, 'f', 1), fewer(p.slow, base.slow), format(p.quick, 'f', 2), fewer(p.quick, base.quick),
		})
	}
	return t
}

// frontierStyles are those of the paper's algorithms and the scaled one in their
// plain form, and of the variants of three methods that send the fewest bytes.
var frontierStyles = []chart.Style{
	chart.Line(chart.Black, 1.8), chart.Line(chart.Green, 1.5, 7, 2.5, 1.5, 2.5), chart.Line(chart.Orange, 1.8, 5, 3),
	chart.Line(chart.Blue, 1.8), chart.Line(chart.Red, 1.8), chart.Line(chart.Pink, 1.8, 3, 2),
}

// frontierFigure shows the paper's decentralised algorithms and the scaled one in
// their plain form, and of each method the variant that needs the fewest bytes of
// those that always arrive. Points are in the order of byBytes.
func frontierFigure(s *Setting, points []point) *chart.Figure {
	shown := make([]*Result, len(frontierStyles))
	show := func(first int, methods []string, p point) {
		if i := slices.Index(methods, p.run.Summary.Setting.Methods[0]); i >= 0 && shown[first+i] == nil {
			shown[first+i] = p.run
		}
	}
	for _, p := range points {
		own := &p.run.Summary.Setting
		if own.Agree == "" && own.Compress == "" && own.ScaledStep == 0 && own.Weights == "equal" {
			show(0, []string{"dif", "dec", "scaled"}, p)
		}
		if own.Compress != "" && p.there == p.run.Summary.Trials {
			show(3, []string{"dif", "scaled", "tracking"}, p)
		}
	}
	sent := chart.Panel{X: chart.Axis{Label: "KB sent by a node", Log: true}}
	seconds := chart.Panel{X: chart.Axis{Label: fmt.Sprintf("Execution time at %v a round (s)", s.Time.Latency), Log: true}}
	for i, run := range shown {
		if run == nil {
			continue
		}
		own, band := &run.Summary.Setting, run.Bands[0]
		l := look{fmt.Sprintf("%s, %d × %s", own.Methods[0], own.Rounds, own.AgreementText()), frontierStyles[i]}
		if k, ok := band.arrival(); ok && band.Rows[k].Mean < accurate {
			band.Rows = band.Rows[:k+1] // the rest is rounding
		}
		sent.Series = append(sent.Series, band.series(l, false, func(k int) float64 { return max(1, band.Rows[k].Bytes/1e3/float64(own.Nodes)) }))
		seconds.Series = append(seconds.Series, band.series(l, false, func(k int) float64 { return max(own.Time.Latency.Seconds(), band.Rows[k].Seconds) }))
	}
	return distanceFigure(fmt.Sprintf("L = %d,  d = %d,  T = %d,  n = %d,  r = %d,  κ = %g,  graph %s;  mean of %s",
		s.Nodes, s.Features, s.Tasks, s.Samples, s.Rank, s.Kappa, s.Graph, text.Plural(points[0].run.Summary.Trials, "trial")), sent, seconds)
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
	r.printf("\n## Beyond the paper: the condition number\n\nMedians of %s with L = %d, d = %d, T = %d, n = %d, r = %d, graph %s, %s weights and T_con = %d, after at most %d iterations.\n",
		text.Plural(runs[0].Summary.Trials, "trial"), s.Nodes, s.Features, s.Tasks, s.Samples, s.Rank, s.Graph, s.Weights, s.Rounds, s.Iterations)
	t := text.Table{{"κ", "start"}}
	for _, run := range runs {
		t = append(t, []string{fmt.Sprint(run.Summary.Setting.Kappa), format(run.Bands[0].Rows[0].Median, 'f', 2)})
	}
	f := &chart.Figure{Legend: true}
	for _, target := range []float64{1e-6, accurate} {
		p := chart.Panel{
			Title: fmt.Sprintf("Iterations to 10^{−%.0f}", -math.Log10(target)),
			X:     chart.Axis{Label: "condition number κ", Log: true}, Y: chart.Axis{Log: true, Min: 10, Max: 20000},
		}
		for _, m := range s.Methods {
			line := chart.Series{Name: lookOf(m).name, Style: lookOf(m).style}
			line.Dot = 1.9
			t[0] = append(t[0], fmt.Sprintf("%s to %g", m, target))
			for i, run := range runs {
				n := math.Inf(1)
				if found := run.method(m); found != nil {
					n = orInf(found.reached(target).Iterations)
				}
				line.X, line.Y = append(line.X, run.Summary.Setting.Kappa), append(line.Y, n)
				t[1+i] = append(t[1+i], whole(n))
			}
			p.Series = append(p.Series, line)
		}
		f.Panels = append(f.Panels, p)
	}
	if err := r.picture("kappa", "iterations against the condition number", f); err != nil {
		return err
	}
	r.table(t)
	return nil
}
