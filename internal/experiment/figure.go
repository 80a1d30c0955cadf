package experiment

import (
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/internal/chart"
)

// A look is how a method appears in a figure. Dashes tell methods apart without
// colour.
type look struct {
	name  string
	style chart.Style
}

var looks = map[string]look{
	// AltGDmin's dashes lie on Dif's wider line, since the two nearly coincide, as
	// those of tracking lie on the scaled method's.
	"dif":      {"Dif-AltGDmin", chart.Line(chart.Blue, 2.2)},
	"altgdmin": {"AltGDmin (centralised)", chart.Line(chart.Orange, 1.3, 5, 4)},
	"dec":      {"Dec-AltGDmin", chart.Line(chart.Green, 1.5, 7, 2.5, 1.5, 2.5)},
	"dgd":      {"DGD variant", chart.Line(chart.Pink, 1.7, 1.7, 2)},
	"scaled":   {"Scaled diffusion", chart.Line(chart.Red, 2.2)},
	Auto:       {"Auto", chart.Line(chart.Black, 1.5, 2, 2)},
	"tracking": {"Gradient tracking", chart.Line(chart.Sky, 1.3, 5, 4)},
}

// lookOf returns the look of a method.
func lookOf(method string) look {
	if l, ok := looks[method]; ok {
		return l
	}
	return look{method, chart.Line(chart.Black, 1.2)}
}

// distanceLabel is that of the vertical axis of distances.
const distanceLabel = "Subspace distance SD_{2}, node 0"

// NewFigure returns the figure of a setting as the paper draws it: the mean
// distance of node 0, the paper's node 1, against iterations and against execution
// time, on a band from the 10th to the 90th percentile. It returns an error when
// there is nothing to show.
//
// The time axis ends a little after the last method has arrived, see
// Band.arrival. Of methods that are still falling at the end, the rest is cut off
// there, unless one of them is the best of all.
func NewFigure(s *Setting, bands []Band) (*chart.Figure, error) {
	if len(bands) == 0 {
		return nil, errors.New("no curves for a figure")
	}
	trials, end := 0, timeLimit(bands)
	for _, b := range bands {
		trials = max(trials, b.Rows[0].Trials)
	}
	iterations := chart.Panel{X: chart.Axis{Label: "Iteration", Zero: true}}
	seconds := chart.Panel{X: chart.Axis{Label: "Execution time (s)", Max: end}}
	for i := range bands {
		b, l := &bands[i], lookOf(bands[i].Method)
		byIteration := b.series(l, trials > 1, func(k int) float64 { return float64(k) })
		bySeconds := b.series(l, trials > 1, func(k int) float64 { return b.Rows[k].Seconds })
		cut(&bySeconds, end)
		iterations.Series = append(iterations.Series, byIteration)
		seconds.Series = append(seconds.Series, bySeconds)
	}
	return distanceFigure(s.caption(trials), iterations, seconds), nil
}

// distanceFigure puts panels of distances on one vertical axis.
func distanceFigure(caption string, panels ...chart.Panel) *chart.Figure {
	low := 1.0
	for _, p := range panels {
		for _, s := range p.Series {
			for _, values := range [][]float64{s.Y, s.Low} {
				for _, v := range values {
					low = min(low, v)
				}
			}
		}
	}
	for i := range panels {
		panels[i].Y = chart.Axis{Log: true, Min: math.Pow(10, math.Floor(math.Log10(low)-0.1)), Max: 1}
	}
	return &chart.Figure{Panels: panels, Legend: true, Y: distanceLabel, Caption: caption}
}

// floor is what the logarithmic axis shows in place of smaller distances, zero
// included.
const floor = 1e-17

// series returns the mean of a band against a function of the iteration. It has at
// most about 300 points, the last included: more would only make files larger.
func (b *Band) series(l look, shaded bool, x func(k int) float64) chart.Series {
	s := chart.Series{Name: l.name, Style: l.style}
	n := len(b.Rows)
	step := (n + 299) / 300
	for k := 0; k < n; k = max(k+1, min(k+step, n-1)) {
		row := &b.Rows[k]
		s.X, s.Y = append(s.X, x(k)), append(s.Y, max(row.Mean, floor))
		if shaded {
			s.Low, s.High = append(s.Low, max(row.Low, floor)), append(s.High, max(row.High, floor))
		}
	}
	return s
}

// cut ends a series at x = end, where it interpolates as the eye does on the
// logarithmic axis.
func cut(s *chart.Series, end float64) {
	for i := 1; i < len(s.X); i++ {
		if s.X[i] <= end {
			continue
		}
		share := (end - s.X[i-1]) / (s.X[i] - s.X[i-1])
		for _, v := range []*[]float64{&s.Y, &s.Low, &s.High} {
			if *v != nil {
				*v = append((*v)[:i:i], (*v)[i-1]*math.Pow((*v)[i]/(*v)[i-1], share))
			}
		}
		s.X = append(s.X[:i:i], end)
		return
	}
}

// arrived is the factor of its final distance within which a curve counts as
// arrived, and early the share of its iterations in which it has to get there.
const (
	arrived = 3.0
	early   = 0.97
)

// arrival returns the first iteration from which the mean distance is within a
// factor of three of the final one, and whether that is so before the last 3 % of
// the iterations: if not, the method is still falling.
func (b *Band) arrival() (k int, ok bool) {
	last := len(b.Rows) - 1
	for k = last; k > 0 && b.Rows[k-1].Mean <= arrived*b.Rows[last].Mean; k-- {
	}
	return k, float64(k) <= early*float64(last)
}

// timeLimit returns where the time axis ends.
func timeLimit(bands []Band) float64 {
	limit, longest := 0.0, 0.0
	best, bestArrived := math.Inf(1), false
	for i := range bands {
		b := &bands[i]
		k, ok := b.arrival()
		if ok {
			limit = max(limit, b.Rows[k].Seconds)
		}
		last := &b.Rows[len(b.Rows)-1]
		longest = max(longest, last.Seconds)
		if last.Mean < best {
			best, bestArrived = last.Mean, ok
		}
	}
	if !bestArrived {
		return longest
	}
	return min(1.15*limit, longest)
}

// caption describes the setting and what lines and bands are.
func (s *Setting) caption(trials int) string {
	text := ""
	if s.Name != "" {
		text = s.Name + ":  "
	}
	text += fmt.Sprintf("L = %d,  d = %d,  T = %d,  n = %d,  r = %d,  graph %s,  %s weights,  T_{con} = %d",
		s.Nodes, s.Features, s.Tasks, s.Samples, s.Rank, s.Graph, s.Weights, s.Rounds)
	if a := s.AgreementText(); a != "float64" {
		text += " " + a
	}
	if trials > 1 {
		text += fmt.Sprintf(";  mean and 10–90 %% band of %d trials", trials)
	}
	return text
}
