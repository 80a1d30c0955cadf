package experiment

import (
	"fmt"
	"image/color"
	"math"

	"github.com/difalt/difalt/difalt"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Colours of Okabe and Ito, and the dashes of guides.
var (
	sweepColors = []draw.LineStyle{
		stroke(0x00, 0x72, 0xb2, 1.5), stroke(0xe6, 0x9f, 0x00, 1.5), stroke(0x00, 0x9e, 0x73, 1.5), stroke(0xcc, 0x79, 0xa7, 1.5),
	}
	guideLine = draw.LineStyle{Color: color.Gray{120}, Width: 0.9, Dashes: []vg.Length{4, 3}}
)

// SweepFigures returns the figures of the measurements of a Sweep: iterations
// against kappa and epsilon, rounds against gamma and epsilon, and what the samples
// do.
func SweepFigures(all []Measurement) []*SweepFigure {
	return []*SweepFigure{
		{"iterations", [2]sweepPanel{iterationsByKappa(all), iterationsByEpsilon(all)}},
		{"rounds", [2]sweepPanel{roundsByGap(all), roundsByEpsilon(all)}},
		{"samples", [2]sweepPanel{iterationsBySamples(all), startByKappa(all)}},
	}
}

func iterationsByKappa(all []Measurement) sweepPanel {
	p := sweepPanel{title: "Iterations T_{GD}, L = 10", x: "condition number κ", logX: true, logY: true}
	for _, e := range []float64{1e-10, 1e-6, 1e-2} {
		p.show(all, fmt.Sprintf("to ε = 10^{−%.0f}", -math.Log10(e)), query{QuantityIterations, difalt.DifAltGDmin,
			func(m *Measurement) bool { return rich(m) && m.Epsilon == e }, byKappa, 0, nil})
	}
	p.guide("slope of κ^{2}", 2, 0)
	return p
}

func iterationsByEpsilon(all []Measurement) sweepPanel {
	p := sweepPanel{title: "Iterations T_{GD}, L = 10", x: "decades of accuracy, log_{10}(1/ε)"}
	for _, kappa := range []float64{4, 3, 2, 1} {
		p.show(all, fmt.Sprintf("κ = %g", kappa), query{QuantityIterations, difalt.DifAltGDmin,
			func(m *Measurement) bool { return rich(m) && m.Kappa == kappa }, byDecades, 0, nil})
	}
	return p
}

func roundsByGap(all []Measurement) sweepPanel {
	p := sweepPanel{title: "Rounds T_{con}, L = 20, two tasks a node", x: "1 / log(1/γ)", logX: true, logY: true, scatter: true}
	for _, e := range []float64{1e-8, 1e-2} {
		p.show(all, fmt.Sprintf("Dec-AltGDmin to 10^{−%.0f}", -math.Log10(e)), query{QuantityRounds, difalt.DecAltGDmin,
			func(m *Measurement) bool { return scarce(m, true, false) && m.Epsilon == e }, byGap, 0, nil})
	}
	p.show(all, "start, T_{con,init}", query{QuantityInitRounds, difalt.DifAltGDmin,
		func(m *Measurement) bool { return scarce(m, true, false) }, byGap, 0, nil})
	p.show(all, "Dif-AltGDmin to 10^{−8}", query{QuantityRounds, difalt.DifAltGDmin,
		func(m *Measurement) bool { return scarce(m, true, false) && m.Epsilon == 1e-8 }, byGap, 0, nil})
	p.guide("slope of 1/log(1/γ)", 1, 0)
	p.lowest, p.most = 0.8, 100000
	return p
}

func roundsByEpsilon(all []Measurement) sweepPanel {
	p := sweepPanel{title: "Rounds × log(1/γ), graph " + scarceSetting.Graph, x: "decades of accuracy, log_{10}(1/ε)"}
	for _, kappa := range []float64{3, 1.5, 1} {
		p.show(all, fmt.Sprintf("Dec-AltGDmin, κ = %g", kappa), query{QuantityRounds, difalt.DecAltGDmin,
			func(m *Measurement) bool { return scarce(m, false, true) && m.Kappa == kappa }, byDecades, 0, gap})
	}
	p.show(all, "Dif-AltGDmin, κ = 1.5", query{QuantityRounds, difalt.DifAltGDmin,
		func(m *Measurement) bool { return scarce(m, false, false) }, byDecades, 0, gap})
	return p
}

func iterationsBySamples(all []Measurement) sweepPanel {
	p := sweepPanel{title: "Iterations T_{GD}, d = T = 40, r = 3", x: "samples of a task n", logX: true, logY: true, legendRight: true}
	for _, e := range []float64{1e-10, 1e-6, 1e-2} {
		p.show(all, fmt.Sprintf("to ε = 10^{−%.0f}", -math.Log10(e)), query{QuantityIterations, difalt.DifAltGDmin,
			func(m *Measurement) bool { return scarce(m, false, false) && m.Epsilon == e }, bySamples, 0, nil})
	}
	return p
}

func startByKappa(all []Measurement) sweepPanel {
	p := sweepPanel{title: "Samples n and power iterations T_{pm}", x: "condition number κ", logX: true, logY: true, lowest: 0.9, most: 200}
	p.show(all, "smallest n, d = 40, T = 120, r = 3", query{QuantitySamples, difalt.DifAltGDmin, rich, byKappa, 0, nil})
	p.show(all, "smallest T_{pm}", query{QuantityPower, difalt.DifAltGDmin, rich, byKappa, 0, nil})
	p.guide("slope of κ^{2}", 2, 1)
	p.guide("slope of κ^{6}", 6, 0)
	return p
}

func byDecades(m *Measurement) float64 { return -math.Log10(m.Epsilon) }

// show adds what a query selects, in the next colour.
func (p *sweepPanel) show(all []Measurement, name string, q query) {
	g := sweepGroup{name: name, line: sweepColors[len(p.groups)]}
	x, y := q.points(all)
	for i := range x {
		g.points = append(g.points, plotter.XY{X: x[i], Y: y[i]})
	}
	if len(g.points) > 0 {
		p.groups = append(p.groups, g)
	}
}

// guide draws a power law through the first point of a group.
func (p *sweepPanel) guide(name string, exponent float64, through int) {
	if through >= len(p.groups) {
		return
	}
	line := medians(p.groups[through].points)
	first, last := line[0], line[len(line)-1]
	end := plotter.XY{X: last.X, Y: first.Y * math.Pow(last.X/first.X, exponent)}
	if roof := p.most / 6; p.most > 0 && end.Y > roof { // below the legend
		end = plotter.XY{X: first.X * math.Pow(roof/first.Y, 1/exponent), Y: roof}
	}
	p.groups = append(p.groups, sweepGroup{name: name, line: guideLine, guide: true, points: plotter.XYs{first, end}})
}
