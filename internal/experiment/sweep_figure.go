package experiment

import (
	"image/color"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A SweepFigure shows measurements in two panels, with the slope of the theory.
type SweepFigure struct {
	Name   string // of its files, without suffix
	panels [2]sweepPanel
}

// WritePNG writes the figure as a PNG image.
func (f *SweepFigure) WritePNG(w io.Writer) error { return writePNG(w, f.draw) }

// WriteSVG writes the figure as an SVG image.
func (f *SweepFigure) WriteSVG(w io.Writer) error { return writeSVG(w, f.draw) }

// A sweepPanel plots groups of measurements against one quantity.
type sweepPanel struct {
	title, x     string
	logX, logY   bool
	scatter      bool // no lines
	legendRight  bool
	groups       []sweepGroup
	lowest, most float64 // of the y axis; 0 to fit
}

// A sweepGroup is a line of medians with its measurements. Without marks it is a
// guide.
type sweepGroup struct {
	name   string
	line   draw.LineStyle
	points plotter.XYs // in any order, several for one x
	guide  bool
}

func (f *SweepFigure) draw(c draw.Canvas) error {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, 4, -12, 4, -5)
	var row pair
	for i := range f.panels {
		p, err := f.panels[i].plot()
		if err != nil {
			return err
		}
		row.plots[i], row.labels[i] = p, f.panels[i].x
	}
	top := c.Max.Y
	c.Max.Y -= 2 * fontSize // for the titles
	title := style(fontSize, color.Black, draw.XCenter, draw.YTop)
	for i, data := range row.draw(c) {
		c.FillText(title, vg.Point{X: data.Center().X, Y: top}, f.panels[i].title)
		f.panels[i].legend(data)
	}
	return nil
}

// legend names the groups in a corner at the top of the canvas.
func (s *sweepPanel) legend(c draw.Canvas) {
	const sample, gap, line = 20, 4, 1.35 * smallSize
	text := style(smallSize, color.Black, draw.XLeft, draw.YCenter)
	x, y := c.Min.X+6, c.Max.Y-line/2
	if s.legendRight {
		width := vg.Length(0)
		for _, g := range s.groups {
			width = max(width, text.Width(g.name))
		}
		x = c.Max.X - sample - gap - width
	}
	for _, g := range s.groups {
		if g.guide || !s.scatter {
			c.StrokeLine2(g.line, x, y, x+sample, y)
		}
		if !g.guide {
			c.DrawGlyph(g.glyph(), vg.Point{X: x + sample/2, Y: y})
		}
		c.FillText(text, vg.Point{X: x + sample + gap, Y: y}, g.name)
		y -= line
	}
}

// glyph returns the mark of a measurement.
func (g *sweepGroup) glyph() draw.GlyphStyle {
	return draw.GlyphStyle{Color: g.line.Color, Radius: vg.Points(1.9), Shape: draw.CircleGlyph{}}
}

func (s *sweepPanel) plot() (*plot.Plot, error) {
	p := plot.New()
	p.TextHandler = handler()
	p.BackgroundColor = nil
	for _, a := range []struct {
		axis *plot.Axis
		log  bool
	}{{&p.X, s.logX}, {&p.Y, s.logY}} {
		a.axis.Tick.Length = 4
		a.axis.Tick.LineStyle.Width, a.axis.LineStyle.Width = 0.6, 0.6
		a.axis.Tick.Marker = decimals{}
		if a.log {
			a.axis.Scale, a.axis.Tick.Marker = plot.LogScale{}, roundNumbers{}
		}
	}
	p.X.Tick.Label = style(smallSize, color.Black, draw.XCenter, draw.YTop)
	p.Y.Tick.Label = style(smallSize, color.Black, draw.XRight, draw.YCenter)
	for i := range s.groups {
		if err := s.add(p, &s.groups[i]); err != nil {
			return nil, err
		}
	}
	if s.most > 0 {
		p.Y.Min, p.Y.Max = s.lowest, s.most
	}
	return p, nil
}

// add draws a group.
func (s *sweepPanel) add(p *plot.Plot, g *sweepGroup) error {
	if g.guide || !s.scatter {
		line, err := plotter.NewLine(medians(g.points))
		if err != nil {
			return err
		}
		line.LineStyle = g.line
		p.Add(line)
	}
	if g.guide {
		return nil
	}
	marks, err := plotter.NewScatter(g.points)
	if err != nil {
		return err
	}
	marks.GlyphStyle = g.glyph()
	p.Add(marks)
	return nil
}

// medians returns the median y for every x, in ascending order of x.
func medians(points plotter.XYs) plotter.XYs {
	byX := map[float64][]float64{}
	for _, p := range points {
		byX[p.X] = append(byX[p.X], p.Y)
	}
	var out plotter.XYs
	for _, x := range slices.Sorted(maps.Keys(byX)) {
		out = append(out, plotter.XY{X: x, Y: median(byX[x])})
	}
	return out
}

// roundNumbers marks 1, 2 and 5 times powers of ten on a logarithmic axis; all digits
// when there is less than one power, and labels at powers only when there are many.
type roundNumbers struct{}

// Ticks implements plot.Ticker.
func (roundNumbers) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	digits, wide := []float64{1, 2, 5}, high/low > 300
	if high/low < 10 {
		digits = []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}
	}
	for e := math.Floor(math.Log10(low)); e <= math.Log10(high); e++ {
		for _, m := range digits {
			v := m * math.Pow(10, e)
			if v < low*(1-1e-9) || v > high*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 || !wide {
				t.Label = strconv.FormatFloat(v, 'g', 6, 64)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}
