package experiment

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// floor is what the logarithmic axis shows in place of smaller distances, zero
// included.
const floor = 1e-17

// A panel plots distances against one quantity.
type panel struct {
	label string
	logX  bool
	end   float64 // of the x axis; 0 shows everything
	lines []panelLine
}

// A panelLine is a curve with its band.
type panelLine struct {
	look           look
	mid, low, high plotter.XYs
}

// add adds a band with its mean; x is a function of the iteration.
func (p *panel) add(b *Band, l look, x func(k int) float64) {
	var points [3]plotter.XYs
	for _, k := range thinned(len(b.Rows)) {
		row := &b.Rows[k]
		for i, y := range [...]float64{row.Mean, row.Low, row.High} {
			points[i] = append(points[i], plotter.XY{X: x(k), Y: max(y, floor)})
		}
	}
	if p.end > 0 {
		for i := range points {
			points[i] = cut(points[i], p.end)
		}
	}
	p.lines = append(p.lines, panelLine{l, points[0], points[1], points[2]})
}

// thinned returns at most about 300 indices of n points, the last included: more
// would only make the files larger.
func thinned(n int) []int {
	step := (n + 299) / 300
	var at []int
	for i := 0; i < n-1; i += step {
		at = append(at, i)
	}
	return append(at, n-1)
}

// cut ends a curve at x = end, where it interpolates as the eye does on the
// logarithmic axis.
func cut(points plotter.XYs, end float64) plotter.XYs {
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		if b.X <= end {
			continue
		}
		y := a.Y * math.Pow(b.Y/a.Y, (end-a.X)/(b.X-a.X))
		return append(points[:i:i], plotter.XY{X: end, Y: y})
	}
	return points
}

// lowest returns the smallest distance in the panel.
func (p *panel) lowest() float64 {
	low := 1.0
	for _, l := range p.lines {
		for i := range l.mid {
			low = min(low, l.mid[i].Y, l.low[i].Y)
		}
	}
	return low
}

// plot draws the panel on axes that go down to the given distance.
func (p *panel) plot(low float64, shaded bool) (*plot.Plot, error) {
	out := plot.New()
	out.TextHandler = handler()
	out.BackgroundColor = nil
	for _, a := range []*plot.Axis{&out.X, &out.Y} {
		a.Padding = 0
		a.Tick.Length = 4
		a.Tick.LineStyle.Width = 0.6
		a.LineStyle.Width = 0.6
	}
	out.X.Tick.Marker = decimals{}
	if p.logX {
		out.X.Scale, out.X.Tick.Marker = plot.LogScale{}, decades{}
	}
	out.X.Tick.Label = style(smallSize, color.Black, draw.XCenter, draw.YTop)
	out.Y.Tick.Label = style(smallSize, color.Black, draw.XRight, draw.YCenter)
	out.Y.Tick.Marker = decades{}
	out.Y.Scale = plot.LogScale{}

	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal = draw.LineStyle{Color: color.Gray{225}, Width: 0.5}
	out.Add(grid)
	for i := range p.lines {
		if err := p.lines[i].addTo(out, shaded); err != nil {
			return nil, err
		}
	}
	if !p.logX {
		out.X.Min = 0
	}
	if p.end > 0 {
		out.X.Max = p.end
	}
	out.Y.Min, out.Y.Max = math.Pow(10, math.Floor(math.Log10(low)-0.1)), 1
	return out, nil
}

func (l *panelLine) addTo(p *plot.Plot, shaded bool) error {
	if shaded {
		area := append(plotter.XYs(nil), l.high...)
		for i := len(l.low) - 1; i >= 0; i-- {
			area = append(area, l.low[i])
		}
		poly, err := plotter.NewPolygon(area)
		if err != nil {
			return err
		}
		poly.Color = l.look.shade()
		poly.LineStyle.Width = 0
		p.Add(poly)
	}
	line, err := plotter.NewLine(l.mid)
	if err != nil {
		return err
	}
	line.LineStyle = l.look.line
	p.Add(line)
	return nil
}
