package simulation

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/chart"
)

// An Appearance is the appearance of a method in a figure. Shapes and dashes distinguish methods without
// colour. Dif-AltGDmin nearly coincides with AltGDmin, and so do codes of 8 and 64 bits: of such methods one
// has marks and a thin line.
type Appearance struct {
	Name  string
	Style chart.Style
}

var appearances = map[string]Appearance{
	"dif":                 {"Dif-AltGDmin", chart.Line(chart.Blue, 2.2)},
	"altgdmin":            {"AltGDmin (centralised)", chart.Line(chart.Orange, 1).With(chart.Circle)},
	"dec":                 {"Dec-AltGDmin", chart.Line(chart.Green, 1.5, 7, 2.5, 1.5, 2.5)},
	"dgd":                 {"DGD variant", chart.Line(chart.Pink, 1.7, 1.7, 2)},
	"accelerated:float64": {"Accelerated, float64", chart.Line(chart.Purple, 2.2)},
	"accelerated:int16":   {"Accelerated, int16", chart.Line(chart.Brown, 1).With(chart.Diamond)},
	"accelerated:int8":    {"Accelerated, int8", chart.Line(chart.Red, 1.2).With(chart.Triangle)},
	// The codec is int8 by default.
	"accelerated": {"Accelerated", chart.Line(chart.Red, 1.2).With(chart.Triangle)},
}

// AppearanceOf returns the appearance of a method.
func AppearanceOf(method string) Appearance {
	if a, ok := appearances[method]; ok {
		return a
	}
	return Appearance{method, chart.Line(chart.Black, 1.2)}
}

// An X is the horizontal coordinate of row k of a curve.
type X func(k int, row *BandRow) float64

// Iterations is the number of the row.
func Iterations(k int, _ *BandRow) float64 { return float64(k) }

// Panel returns the curves of all methods against x, on an axis with a label.
func (s *Summary) Panel(label string, x X) chart.Panel {
	p := chart.Panel{X: chart.Axis{Label: label, Zero: true}}
	for i := range s.Methods {
		p.Series = append(p.Series, series(s.Methods[i].Curve, AppearanceOf(s.Methods[i].Method), x, s.Trials > 1))
	}
	return p
}

// Figure returns the figure of a run: the distance of node 0, the paper's node 1, against iterations and
// against time, initialisation included. Most of that time is modelled, as its axis states.
func (s *Summary) Figure() *chart.Figure {
	caption := fmt.Sprintf("%s, %s, %s weights, T_con = %d, %d iterations; %s",
		s.Setting.Sizes(), s.Setting.Graph, s.Setting.Weights, s.Setting.Rounds, s.Setting.Iterations, s.TrialsText())
	return DistanceFigure("Subspace distance against iterations and modelled time", caption,
		s.Panel("Iteration", Iterations),
		s.Panel("Modelled execution time (s)", func(_ int, row *BandRow) float64 { return row.Seconds }))
}

// A panel whose smallest distance is ownAxis times as large as the smallest of its figure has its own axis.
// On the axis of the figure, most of the panel would be empty.
const ownAxis = 1e4

// DistanceFigure puts panels of distances next to each other, on one vertical axis unless their ranges differ
// by more than ownAxis.
func DistanceFigure(title, caption string, panels ...chart.Panel) *chart.Figure {
	lowest := 1.0
	for i := range panels {
		lowest = min(lowest, smallest(&panels[i]))
	}
	for i := range panels {
		low := lowest
		if own := smallest(&panels[i]); own >= ownAxis*lowest {
			low = own
		}
		bottom := math.Pow(10, math.Floor(math.Log10(low)-0.1))
		panels[i].Y = chart.Axis{Log: true, Min: bottom, Max: 1}
	}
	return &chart.Figure{Title: title, Text: ends(panels), Panels: panels, Y: "Subspace distance of node 0",
		Caption: caption}
}

// smallest returns the smallest distance in a panel, bands included, and 1 if none is below 1.
func smallest(p *chart.Panel) float64 {
	low := 1.0
	for _, s := range p.Series {
		for i, v := range s.Y {
			low = min(low, v)
			if s.Low != nil {
				low = min(low, s.Low[i])
			}
		}
	}
	return low
}

// ends describes panels by the distances at the ends of their curves.
func ends(panels []chart.Panel) string {
	var words []string
	for _, p := range panels {
		var list []string
		for _, s := range p.Series {
			list = append(list, fmt.Sprintf("%s ends at %.1e", s.Name, s.Y[len(s.Y)-1]))
		}
		words = append(words, fmt.Sprintf("%s against %s: %s.", cmp.Or(p.Title, "Distance"), p.X.Label,
			strings.Join(list, ", ")))
	}
	return strings.Join(words, " ")
}

// floor replaces smaller distances, zero included, on the logarithmic axis.
const floor = 1e-17

// mostPoints is about the number of points of a series: more would only make files larger.
const mostPoints = 300

// series returns the median of a curve, on its band if it has one. Its last point is the end of the curve.
func series(curve []BandRow, a Appearance, x X, banded bool) chart.Series {
	s := chart.Series{Name: a.Name, Style: a.Style}
	n := len(curve)
	step := (n + mostPoints - 1) / mostPoints
	for k := 0; k < n; k = max(k+1, min(k+step, n-1)) {
		row := &curve[k]
		s.X, s.Y = append(s.X, x(k, row)), append(s.Y, max(row.Median, floor))
		if banded {
			s.Low, s.High = append(s.Low, max(row.Low, floor)), append(s.High, max(row.High, floor))
		}
	}
	return s
}

// Sizes describes the problem in the symbols of the paper.
func (s *Setting) Sizes() string {
	return fmt.Sprintf("L = %d, d = %d, T = %d, n = %d, r = %d", s.Nodes, s.Features, s.Tasks, s.Samples, s.Rank)
}

// TrialsText describes the lines and bands of a figure.
func (s *Summary) TrialsText() string {
	if s.Trials == 1 {
		return "one trial"
	}
	return fmt.Sprintf("median and %s of %d trials", s.Band, s.Trials)
}
