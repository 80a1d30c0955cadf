package simulation

import (
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/chart"
)

// A Look is how a method appears in a figure. Dashes tell methods apart without
// colour.
type Look struct {
	Name  string
	Style chart.Style
}

var looks = map[string]Look{
	// AltGDmin's dashes lie on Dif's wider line, since the two nearly coincide, as
	// those of tracking lie on the scaled method's.
	"dif":      {"Dif-AltGDmin", chart.Line(chart.Blue, 2.2)},
	"altgdmin": {"AltGDmin (centralised)", chart.Line(chart.Orange, 1.3, 5, 4)},
	"dec":      {"Dec-AltGDmin", chart.Line(chart.Green, 1.5, 7, 2.5, 1.5, 2.5)},
	"dgd":      {"DGD variant", chart.Line(chart.Pink, 1.7, 1.7, 2)},
	"scaled":   {"Scaled diffusion", chart.Line(chart.Red, 2.2)},
	Auto:       {"Auto", chart.Line(chart.Black, 1.5, 2, 2)},
	Pooled:     {"One node with all data", chart.Line(chart.Gray, 1.2, 2, 2)},
	"tracking": {"Gradient tracking", chart.Line(chart.Sky, 1.3, 5, 4)},

	"accelerated":          {"Accelerated", chart.Line(chart.Purple, 2.2)},
	"accelerated-tracking": {"Accelerated tracking", chart.Line(chart.Brown, 1.7, 6, 3)},
	"extra":                {"EXTRA", chart.Line(chart.Green, 1.7, 2, 2)},
	"exact":                {"Exact diffusion", chart.Line(chart.Orange, 2)},
	"scaled-exact":         {"Scaled exact diffusion", chart.Line(chart.Red, 1.5, 5, 3)},
	"diging":               {"DIGing", chart.Line(chart.Pink, 1.7, 7, 2.5, 1.5, 2.5)},
	"newton":               {"Newton", chart.Line(chart.Black, 1.7, 5, 2, 1, 2)},
}

// LookOf returns the look of a method.
func LookOf(method string) Look {
	if l, ok := looks[method]; ok {
		return l
	}
	return Look{method, chart.Line(chart.Black, 1.2)}
}

// distanceLabel is that of the vertical axis of distances.
const distanceLabel = "Subspace distance SD_{2}, node 0"

// Figure returns the figure of a run as the paper draws it: the distance of node
// 0, the paper's node 1, against iterations and against execution time, as the median on
// a band from the 10th to the 90th percentile. Time includes the initialisation's.
func (s *Summary) Figure() *chart.Figure {
	iterations := chart.Panel{X: chart.Axis{Label: "Iteration", Zero: true}}
	seconds := chart.Panel{X: chart.Axis{Label: "Execution time (s)", Zero: true}}
	for i := range s.Methods {
		m, l := &s.Methods[i], LookOf(s.Methods[i].Method)
		iterations.Series = append(iterations.Series, Series(m.Curve, l, Iterations))
		seconds.Series = append(seconds.Series, Series(m.Curve, l, func(_ int, row *BandRow) float64 { return row.Seconds }))
	}
	text := s.Setting.caption()
	if s.Setting.Name != "" {
		text = s.Setting.Name + ":  " + text
	}
	f := DistanceFigure(text+s.TrialsText(), iterations, seconds)
	f.Title, f.Text = "Subspace distance against iterations and execution time", f.Caption
	return f
}

// DistanceFigure puts panels of distances on one vertical axis.
func DistanceFigure(caption string, panels ...chart.Panel) *chart.Figure {
	low := 1.0
	for _, p := range panels {
		for _, s := range p.Series {
			for _, v := range slices.Concat(s.Y, s.Low) {
				low = min(low, v)
			}
		}
	}
	for i := range panels {
		panels[i].Y = chart.Axis{Log: true, Min: math.Pow(10, math.Floor(math.Log10(low)-0.1)), Max: 1}
	}
	return &chart.Figure{Panels: panels, Y: distanceLabel, Caption: caption}
}

// floor is what the logarithmic axis shows in place of smaller distances, zero
// included.
const floor = 1e-17

// Iterations is the horizontal axis of Series that counts iterations.
func Iterations(iteration int, _ *BandRow) float64 { return float64(iteration) }

// Series returns the median of a curve and, if there is more than one trial, the range
// from the 10th to the 90th percentile, against a function of the iteration and its row.
// It has at most about 300 points, the last included: more would only make files larger.
func Series(curve []BandRow, l Look, x func(iteration int, row *BandRow) float64) chart.Series {
	s := chart.Series{Name: l.Name, Style: l.Style}
	n := len(curve)
	step := (n + 299) / 300
	for k := 0; k < n; k = max(k+1, min(k+step, n-1)) {
		row := &curve[k]
		s.X, s.Y = append(s.X, x(k, row)), append(s.Y, max(row.Median, floor))
		if row.Trials > 1 {
			s.Low, s.High = append(s.Low, max(row.Low, floor)), append(s.High, max(row.High, floor))
		}
	}
	return s
}

func (s *Setting) caption() string {
	text := fmt.Sprintf("L = %d,  d = %d,  T = %d,  n = %d,  r = %d,  graph %s,  %s weights,  T_{con} = %d",
		s.Nodes, s.Features, s.Tasks, s.Samples, s.Rank, s.Graph, s.Weights, s.Rounds)
	if a := s.AgreementText(); a != "float64" {
		text += " " + a
	}
	return text
}

// TrialsText says what lines and bands are.
func (s *Summary) TrialsText() string {
	if n := s.Methods[0].Curve[0].Trials; n > 1 {
		return fmt.Sprintf(";  median and 10–90 %% band of %d trials", n)
	}
	return ""
}
